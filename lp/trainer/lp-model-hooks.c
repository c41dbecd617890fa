/* The hooks of LpModel: their defaults and public invokers. */

#include <lp/trainer/lp-model-private.h>

static void
ignore_stage (LpModel  *self,
              LpStage   stage,
              GError  **error)
{
}

static void
ignore_event (LpModel  *self,
              GError  **error)
{
}

static void
ignore_batch_batch_idx (LpModel  *self,
                        LpBatch  *batch,
                        gint64    batch_idx,
                        GError  **error)
{
}

static void
ignore_outputs_batch_batch_idx (LpModel   *self,
                                LpTensor  *outputs,
                                LpBatch   *batch,
                                gint64     batch_idx,
                                GError   **error)
{
}

static void
ignore_optimizer (LpModel      *self,
                  LpOptimizer  *optimizer,
                  GError      **error)
{
}

static void
ignore_loss (LpModel   *self,
             LpTensor  *loss,
             GError   **error)
{
}

static void
ignore_checkpoint (LpModel  *self,
                   LpState  *checkpoint,
                   GError  **error)
{
}

void
_lp_model_class_init_hooks (LpModelClass *klass)
{
  klass->setup = ignore_stage;
  klass->teardown = ignore_stage;
  klass->on_fit_start = ignore_event;
  klass->on_fit_end = ignore_event;
  klass->on_train_start = ignore_event;
  klass->on_train_end = ignore_event;
  klass->on_train_epoch_start = ignore_event;
  klass->on_train_epoch_end = ignore_event;
  klass->on_train_batch_start = ignore_batch_batch_idx;
  klass->on_train_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_validation_start = ignore_event;
  klass->on_validation_end = ignore_event;
  klass->on_validation_epoch_start = ignore_event;
  klass->on_validation_epoch_end = ignore_event;
  klass->on_validation_batch_start = ignore_batch_batch_idx;
  klass->on_validation_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_test_start = ignore_event;
  klass->on_test_end = ignore_event;
  klass->on_test_epoch_start = ignore_event;
  klass->on_test_epoch_end = ignore_event;
  klass->on_test_batch_start = ignore_batch_batch_idx;
  klass->on_test_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_predict_start = ignore_event;
  klass->on_predict_end = ignore_event;
  klass->on_predict_epoch_start = ignore_event;
  klass->on_predict_epoch_end = ignore_event;
  klass->on_predict_batch_start = ignore_batch_batch_idx;
  klass->on_predict_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_before_zero_grad = ignore_optimizer;
  klass->on_before_backward = ignore_loss;
  klass->on_after_backward = ignore_event;
  klass->on_before_optimizer_step = ignore_optimizer;
  klass->on_save_checkpoint = ignore_checkpoint;
  klass->on_load_checkpoint = ignore_checkpoint;
}

/**
 * lp_model_setup:
 * @self: a model
 * @stage: the entry point
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an entry point starts, before anything else.
 */
void
lp_model_setup (LpModel  *self,
                LpStage   stage,
                GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->setup (self, stage, error);
}

/**
 * lp_model_teardown:
 * @self: a model
 * @stage: the entry point
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an entry point ends, whatever the outcome.
 */
void
lp_model_teardown (LpModel  *self,
                   LpStage   stage,
                   GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->teardown (self, stage, error);
}

/**
 * lp_model_on_fit_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a fit starts.
 */
void
lp_model_on_fit_start (LpModel  *self,
                       GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_fit_start (self, error);
}

/**
 * lp_model_on_fit_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a fit has ended.
 */
void
lp_model_on_fit_end (LpModel  *self,
                     GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_fit_end (self, error);
}

/**
 * lp_model_on_train_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when training starts.
 */
void
lp_model_on_train_start (LpModel  *self,
                         GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_start (self, error);
}

/**
 * lp_model_on_train_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when training has ended.
 */
void
lp_model_on_train_end (LpModel  *self,
                       GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_end (self, error);
}

/**
 * lp_model_on_train_epoch_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an epoch of training starts.
 */
void
lp_model_on_train_epoch_start (LpModel  *self,
                               GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_epoch_start (self, error);
}

/**
 * lp_model_on_train_epoch_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an epoch of training has ended.
 */
void
lp_model_on_train_epoch_end (LpModel  *self,
                             GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_epoch_end (self, error);
}

/**
 * lp_model_on_train_batch_start:
 * @self: a model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of train.
 */
void
lp_model_on_train_batch_start (LpModel  *self,
                               LpBatch  *batch,
                               gint64    batch_idx,
                               GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_batch_start (self, batch, batch_idx, error);
}

/**
 * lp_model_on_train_batch_end:
 * @self: a model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of train.
 */
void
lp_model_on_train_batch_end (LpModel   *self,
                             LpTensor  *outputs,
                             LpBatch   *batch,
                             gint64     batch_idx,
                             GError   **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_train_batch_end (self, outputs, batch, batch_idx, error);
}

/**
 * lp_model_on_validation_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when validation starts.
 */
void
lp_model_on_validation_start (LpModel  *self,
                              GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_start (self, error);
}

/**
 * lp_model_on_validation_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when validation has ended.
 */
void
lp_model_on_validation_end (LpModel  *self,
                            GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_end (self, error);
}

/**
 * lp_model_on_validation_epoch_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of validation over the data starts.
 */
void
lp_model_on_validation_epoch_start (LpModel  *self,
                                    GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_epoch_start (self, error);
}

/**
 * lp_model_on_validation_epoch_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of validation over the data has ended.
 */
void
lp_model_on_validation_epoch_end (LpModel  *self,
                                  GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_epoch_end (self, error);
}

/**
 * lp_model_on_validation_batch_start:
 * @self: a model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of validation.
 */
void
lp_model_on_validation_batch_start (LpModel  *self,
                                    LpBatch  *batch,
                                    gint64    batch_idx,
                                    GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_batch_start (self, batch, batch_idx, error);
}

/**
 * lp_model_on_validation_batch_end:
 * @self: a model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of validation.
 */
void
lp_model_on_validation_batch_end (LpModel   *self,
                                  LpTensor  *outputs,
                                  LpBatch   *batch,
                                  gint64     batch_idx,
                                  GError   **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_validation_batch_end (self, outputs, batch, batch_idx, error);
}

/**
 * lp_model_on_test_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when testing starts.
 */
void
lp_model_on_test_start (LpModel  *self,
                        GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_start (self, error);
}

/**
 * lp_model_on_test_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when testing has ended.
 */
void
lp_model_on_test_end (LpModel  *self,
                      GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_end (self, error);
}

/**
 * lp_model_on_test_epoch_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of testing over the data starts.
 */
void
lp_model_on_test_epoch_start (LpModel  *self,
                              GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_epoch_start (self, error);
}

/**
 * lp_model_on_test_epoch_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of testing over the data has ended.
 */
void
lp_model_on_test_epoch_end (LpModel  *self,
                            GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_epoch_end (self, error);
}

/**
 * lp_model_on_test_batch_start:
 * @self: a model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of test.
 */
void
lp_model_on_test_batch_start (LpModel  *self,
                              LpBatch  *batch,
                              gint64    batch_idx,
                              GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_batch_start (self, batch, batch_idx, error);
}

/**
 * lp_model_on_test_batch_end:
 * @self: a model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of test.
 */
void
lp_model_on_test_batch_end (LpModel   *self,
                            LpTensor  *outputs,
                            LpBatch   *batch,
                            gint64     batch_idx,
                            GError   **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_test_batch_end (self, outputs, batch, batch_idx, error);
}

/**
 * lp_model_on_predict_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when prediction starts.
 */
void
lp_model_on_predict_start (LpModel  *self,
                           GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_start (self, error);
}

/**
 * lp_model_on_predict_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when prediction has ended.
 */
void
lp_model_on_predict_end (LpModel  *self,
                         GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_end (self, error);
}

/**
 * lp_model_on_predict_epoch_start:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of prediction over the data starts.
 */
void
lp_model_on_predict_epoch_start (LpModel  *self,
                                 GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_epoch_start (self, error);
}

/**
 * lp_model_on_predict_epoch_end:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of prediction over the data has ended.
 */
void
lp_model_on_predict_epoch_end (LpModel  *self,
                               GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_epoch_end (self, error);
}

/**
 * lp_model_on_predict_batch_start:
 * @self: a model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of predict.
 */
void
lp_model_on_predict_batch_start (LpModel  *self,
                                 LpBatch  *batch,
                                 gint64    batch_idx,
                                 GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_batch_start (self, batch, batch_idx, error);
}

/**
 * lp_model_on_predict_batch_end:
 * @self: a model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of predict.
 */
void
lp_model_on_predict_batch_end (LpModel   *self,
                               LpTensor  *outputs,
                               LpBatch   *batch,
                               gint64     batch_idx,
                               GError   **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_predict_batch_end (self, outputs, batch, batch_idx, error);
}

/**
 * lp_model_on_before_zero_grad:
 * @self: a model
 * @optimizer: the optimizer
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before gradients are cleared.
 */
void
lp_model_on_before_zero_grad (LpModel      *self,
                              LpOptimizer  *optimizer,
                              GError      **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_before_zero_grad (self, optimizer, error);
}

/**
 * lp_model_on_before_backward:
 * @self: a model
 * @loss: the loss
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the loss that backward starts from, scaled if the precision scales.
 */
void
lp_model_on_before_backward (LpModel   *self,
                             LpTensor  *loss,
                             GError   **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_before_backward (self, loss, error);
}

/**
 * lp_model_on_after_backward:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after backward; gradients are still scaled.
 */
void
lp_model_on_after_backward (LpModel  *self,
                            GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_after_backward (self, error);
}

/**
 * lp_model_on_before_optimizer_step:
 * @self: a model
 * @optimizer: the optimizer
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before clipping and the step; gradients have true values.
 */
void
lp_model_on_before_optimizer_step (LpModel      *self,
                                   LpOptimizer  *optimizer,
                                   GError      **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_before_optimizer_step (self, optimizer, error);
}

/**
 * lp_model_on_save_checkpoint:
 * @self: a model
 * @checkpoint: the state of the checkpoint
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the state of a checkpoint about to be written: add to it.
 */
void
lp_model_on_save_checkpoint (LpModel  *self,
                             LpState  *checkpoint,
                             GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_save_checkpoint (self, checkpoint, error);
}

/**
 * lp_model_on_load_checkpoint:
 * @self: a model
 * @checkpoint: the state of the checkpoint
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the state of a checkpoint being restored.
 */
void
lp_model_on_load_checkpoint (LpModel  *self,
                             LpState  *checkpoint,
                             GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->on_load_checkpoint (self, checkpoint, error);
}
