/* The public invokers of the hooks. */

#include <lp/trainer/lp-callback.h>

/**
 * lp_callback_setup:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @stage: the entry point
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an entry point starts, before anything else.
 */
void
lp_callback_setup (LpCallback  *self,
                   LpTrainer   *trainer,
                   LpModel     *model,
                   LpStage      stage,
                   GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->setup (self, trainer, model, stage, error);
}

/**
 * lp_callback_teardown:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @stage: the entry point
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an entry point ends, whatever the outcome.
 */
void
lp_callback_teardown (LpCallback  *self,
                      LpTrainer   *trainer,
                      LpModel     *model,
                      LpStage      stage,
                      GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->teardown (self, trainer, model, stage, error);
}

/**
 * lp_callback_on_fit_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a fit starts.
 */
void
lp_callback_on_fit_start (LpCallback  *self,
                          LpTrainer   *trainer,
                          LpModel     *model,
                          GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_fit_start (self, trainer, model, error);
}

/**
 * lp_callback_on_fit_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a fit has ended.
 */
void
lp_callback_on_fit_end (LpCallback  *self,
                        LpTrainer   *trainer,
                        LpModel     *model,
                        GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_fit_end (self, trainer, model, error);
}

/**
 * lp_callback_on_sanity_check_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the check of validation before training starts.
 */
void
lp_callback_on_sanity_check_start (LpCallback  *self,
                                   LpTrainer   *trainer,
                                   LpModel     *model,
                                   GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_sanity_check_start (self, trainer, model, error);
}

/**
 * lp_callback_on_sanity_check_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the check of validation before training has ended.
 */
void
lp_callback_on_sanity_check_end (LpCallback  *self,
                                 LpTrainer   *trainer,
                                 LpModel     *model,
                                 GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_sanity_check_end (self, trainer, model, error);
}

/**
 * lp_callback_on_train_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when training starts.
 */
void
lp_callback_on_train_start (LpCallback  *self,
                            LpTrainer   *trainer,
                            LpModel     *model,
                            GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_start (self, trainer, model, error);
}

/**
 * lp_callback_on_train_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when training has ended.
 */
void
lp_callback_on_train_end (LpCallback  *self,
                          LpTrainer   *trainer,
                          LpModel     *model,
                          GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_end (self, trainer, model, error);
}

/**
 * lp_callback_on_train_epoch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an epoch of training starts.
 */
void
lp_callback_on_train_epoch_start (LpCallback  *self,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_epoch_start (self, trainer, model, error);
}

/**
 * lp_callback_on_train_epoch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when an epoch of training has ended.
 */
void
lp_callback_on_train_epoch_end (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_epoch_end (self, trainer, model, error);
}

/**
 * lp_callback_on_train_batch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of train.
 */
void
lp_callback_on_train_batch_start (LpCallback  *self,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  LpBatch     *batch,
                                  gint64       batch_idx,
                                  GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_batch_start (self, trainer, model, batch, batch_idx, error);
}

/**
 * lp_callback_on_train_batch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of train.
 */
void
lp_callback_on_train_batch_end (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                LpTensor    *outputs,
                                LpBatch     *batch,
                                gint64       batch_idx,
                                GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_train_batch_end (self, trainer, model, outputs, batch, batch_idx, error);
}

/**
 * lp_callback_on_validation_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when validation starts.
 */
void
lp_callback_on_validation_start (LpCallback  *self,
                                 LpTrainer   *trainer,
                                 LpModel     *model,
                                 GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_start (self, trainer, model, error);
}

/**
 * lp_callback_on_validation_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when validation has ended.
 */
void
lp_callback_on_validation_end (LpCallback  *self,
                               LpTrainer   *trainer,
                               LpModel     *model,
                               GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_end (self, trainer, model, error);
}

/**
 * lp_callback_on_validation_epoch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of validation over the data starts.
 */
void
lp_callback_on_validation_epoch_start (LpCallback  *self,
                                       LpTrainer   *trainer,
                                       LpModel     *model,
                                       GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_epoch_start (self, trainer, model, error);
}

/**
 * lp_callback_on_validation_epoch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of validation over the data has ended.
 */
void
lp_callback_on_validation_epoch_end (LpCallback  *self,
                                     LpTrainer   *trainer,
                                     LpModel     *model,
                                     GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_epoch_end (self, trainer, model, error);
}

/**
 * lp_callback_on_validation_batch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of validation.
 */
void
lp_callback_on_validation_batch_start (LpCallback  *self,
                                       LpTrainer   *trainer,
                                       LpModel     *model,
                                       LpBatch     *batch,
                                       gint64       batch_idx,
                                       GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_batch_start (self, trainer, model, batch, batch_idx, error);
}

/**
 * lp_callback_on_validation_batch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of validation.
 */
void
lp_callback_on_validation_batch_end (LpCallback  *self,
                                     LpTrainer   *trainer,
                                     LpModel     *model,
                                     LpTensor    *outputs,
                                     LpBatch     *batch,
                                     gint64       batch_idx,
                                     GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_validation_batch_end (self, trainer, model, outputs, batch, batch_idx, error);
}

/**
 * lp_callback_on_test_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when testing starts.
 */
void
lp_callback_on_test_start (LpCallback  *self,
                           LpTrainer   *trainer,
                           LpModel     *model,
                           GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_start (self, trainer, model, error);
}

/**
 * lp_callback_on_test_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when testing has ended.
 */
void
lp_callback_on_test_end (LpCallback  *self,
                         LpTrainer   *trainer,
                         LpModel     *model,
                         GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_end (self, trainer, model, error);
}

/**
 * lp_callback_on_test_epoch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of testing over the data starts.
 */
void
lp_callback_on_test_epoch_start (LpCallback  *self,
                                 LpTrainer   *trainer,
                                 LpModel     *model,
                                 GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_epoch_start (self, trainer, model, error);
}

/**
 * lp_callback_on_test_epoch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of testing over the data has ended.
 */
void
lp_callback_on_test_epoch_end (LpCallback  *self,
                               LpTrainer   *trainer,
                               LpModel     *model,
                               GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_epoch_end (self, trainer, model, error);
}

/**
 * lp_callback_on_test_batch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of test.
 */
void
lp_callback_on_test_batch_start (LpCallback  *self,
                                 LpTrainer   *trainer,
                                 LpModel     *model,
                                 LpBatch     *batch,
                                 gint64       batch_idx,
                                 GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_batch_start (self, trainer, model, batch, batch_idx, error);
}

/**
 * lp_callback_on_test_batch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of test.
 */
void
lp_callback_on_test_batch_end (LpCallback  *self,
                               LpTrainer   *trainer,
                               LpModel     *model,
                               LpTensor    *outputs,
                               LpBatch     *batch,
                               gint64       batch_idx,
                               GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_test_batch_end (self, trainer, model, outputs, batch, batch_idx, error);
}

/**
 * lp_callback_on_predict_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when prediction starts.
 */
void
lp_callback_on_predict_start (LpCallback  *self,
                              LpTrainer   *trainer,
                              LpModel     *model,
                              GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_start (self, trainer, model, error);
}

/**
 * lp_callback_on_predict_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when prediction has ended.
 */
void
lp_callback_on_predict_end (LpCallback  *self,
                            LpTrainer   *trainer,
                            LpModel     *model,
                            GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_end (self, trainer, model, error);
}

/**
 * lp_callback_on_predict_epoch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of prediction over the data starts.
 */
void
lp_callback_on_predict_epoch_start (LpCallback  *self,
                                    LpTrainer   *trainer,
                                    LpModel     *model,
                                    GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_epoch_start (self, trainer, model, error);
}

/**
 * lp_callback_on_predict_epoch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when the pass of prediction over the data has ended.
 */
void
lp_callback_on_predict_epoch_end (LpCallback  *self,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_epoch_end (self, trainer, model, error);
}

/**
 * lp_callback_on_predict_batch_start:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch of predict.
 */
void
lp_callback_on_predict_batch_start (LpCallback  *self,
                                    LpTrainer   *trainer,
                                    LpModel     *model,
                                    LpBatch     *batch,
                                    gint64       batch_idx,
                                    GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_batch_start (self, trainer, model, batch, batch_idx, error);
}

/**
 * lp_callback_on_predict_batch_end:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @outputs: (nullable): what the step returned
 * @batch: the batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after a batch of predict.
 */
void
lp_callback_on_predict_batch_end (LpCallback  *self,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  LpTensor    *outputs,
                                  LpBatch     *batch,
                                  gint64       batch_idx,
                                  GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_predict_batch_end (self, trainer, model, outputs, batch, batch_idx, error);
}

/**
 * lp_callback_on_before_zero_grad:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @optimizer: the optimizer
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before gradients are cleared.
 */
void
lp_callback_on_before_zero_grad (LpCallback   *self,
                                 LpTrainer    *trainer,
                                 LpModel      *model,
                                 LpOptimizer  *optimizer,
                                 GError      **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_before_zero_grad (self, trainer, model, optimizer, error);
}

/**
 * lp_callback_on_before_backward:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @loss: the loss
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the loss that backward starts from, scaled if the precision scales.
 */
void
lp_callback_on_before_backward (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                LpTensor    *loss,
                                GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_before_backward (self, trainer, model, loss, error);
}

/**
 * lp_callback_on_after_backward:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called after backward; gradients are still scaled.
 */
void
lp_callback_on_after_backward (LpCallback  *self,
                               LpTrainer   *trainer,
                               LpModel     *model,
                               GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_after_backward (self, trainer, model, error);
}

/**
 * lp_callback_on_before_optimizer_step:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @optimizer: the optimizer
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before clipping and the step; gradients have true values.
 */
void
lp_callback_on_before_optimizer_step (LpCallback   *self,
                                      LpTrainer    *trainer,
                                      LpModel      *model,
                                      LpOptimizer  *optimizer,
                                      GError      **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_before_optimizer_step (self, trainer, model, optimizer, error);
}

/**
 * lp_callback_on_save_checkpoint:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @checkpoint: the state of the checkpoint
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the state of a checkpoint about to be written: add to it.
 */
void
lp_callback_on_save_checkpoint (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                LpState     *checkpoint,
                                GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_save_checkpoint (self, trainer, model, checkpoint, error);
}

/**
 * lp_callback_on_load_checkpoint:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @checkpoint: the state of the checkpoint
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called with the state of a checkpoint being restored.
 */
void
lp_callback_on_load_checkpoint (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                LpState     *checkpoint,
                                GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_load_checkpoint (self, trainer, model, checkpoint, error);
}

/**
 * lp_callback_on_exception:
 * @self: a callback
 * @trainer: the trainer
 * @model: the model
 * @message: what went wrong
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a run fails or is cancelled.
 */
void
lp_callback_on_exception (LpCallback  *self,
                          LpTrainer   *trainer,
                          LpModel     *model,
                          const char  *message,
                          GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));

  LP_CALLBACK_GET_CLASS (self)->on_exception (self, trainer, model, message, error);
}
