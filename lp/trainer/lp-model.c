#include <lp/trainer/lp-model-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-trainer-private.h>

/**
 * LpModel:
 *
 * A module that knows how to be trained.
 *
 * A subclass gives [vfunc@Model.training_step] and [vfunc@Model.configure_optimizers], and
 * [vfunc@Model.validation_step], [vfunc@Model.test_step] or [vfunc@Model.predict_step] for what else it is used for. A
 * training step returns the loss; what it returns without an error and without a loss skips the batch, but an epoch in
 * which no batch had a loss is an error, unless [property@Model:automatic-optimization] is off.
 */
typedef struct
{
  LpTrainer *trainer;               /* while a run is on; not owned */
  gboolean   automatic_optimization;
  gboolean   configured;
} LpModelPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpModel, lp_model, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_AUTOMATIC_OPTIMIZATION,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static LpTensor *
lp_model_real_training_step (LpModel  *self,
                             LpBatch  *batch,
                             gint64    batch_idx,
                             GError  **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement training_step", G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static LpTensor *
lp_model_real_validation_step (LpModel  *self,
                               LpBatch  *batch,
                               gint64    batch_idx,
                               GError  **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement validation_step",
               G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static LpTensor *
lp_model_real_test_step (LpModel  *self,
                         LpBatch  *batch,
                         gint64    batch_idx,
                         GError  **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement test_step", G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static LpTensor *
lp_model_real_predict_step (LpModel  *self,
                            LpBatch  *batch,
                            gint64    batch_idx,
                            GError  **error)
{
  LpTensor *input = lp_batch_get_tensor (batch, 0);

  if (input == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The first entry of the batch is no tensor that %s could be given",
                   G_OBJECT_TYPE_NAME (self));
      return NULL;
    }

  return lp_module_forward (LP_MODULE (self), input, error);
}

static GObject *
lp_model_real_configure_optimizers (LpModel  *self,
                                    GError  **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement configure_optimizers",
               G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static void
lp_model_real_configure_model (LpModel  *self,
                               GError  **error)
{
}

static void
lp_model_real_configure_gradient_clipping (LpModel          *self,
                                           LpOptimizer      *optimizer,
                                           double            value,
                                           LpClipAlgorithm   algorithm,
                                           GError          **error)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  if (value > 0 && priv->trainer != NULL)
    lp_precision_plugin_clip_gradients (priv->trainer->run.plugin, optimizer, value, algorithm, error);
}

static LpBatch *
lp_model_real_transfer_batch (LpModel   *self,
                              LpBatch   *batch,
                              LpDevice  *device,
                              GError   **error)
{
  return lp_batch_to_device (batch, device, error);
}

static void
lp_model_get_property (GObject    *object,
                       guint       prop_id,
                       GValue     *value,
                       GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_AUTOMATIC_OPTIMIZATION:
      g_value_set_boolean (value, lp_model_get_automatic_optimization (LP_MODEL (object)));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_model_set_property (GObject      *object,
                       guint         prop_id,
                       const GValue *value,
                       GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_AUTOMATIC_OPTIMIZATION:
      lp_model_set_automatic_optimization (LP_MODEL (object), g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_model_class_init (LpModelClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_model_get_property;
  object_class->set_property = lp_model_set_property;

  klass->training_step = lp_model_real_training_step;
  klass->validation_step = lp_model_real_validation_step;
  klass->test_step = lp_model_real_test_step;
  klass->predict_step = lp_model_real_predict_step;
  klass->configure_optimizers = lp_model_real_configure_optimizers;
  klass->configure_model = lp_model_real_configure_model;
  klass->configure_gradient_clipping = lp_model_real_configure_gradient_clipping;
  klass->transfer_batch = lp_model_real_transfer_batch;
  _lp_model_class_init_hooks (klass);
  _lp_model_class_init_returning_hooks (klass);

  /**
   * LpModel:automatic-optimization:
   *
   * Whether the trainer calls backward and steps the optimizer. If not, the training step does.
   */
  properties[PROP_AUTOMATIC_OPTIMIZATION] =
    g_param_spec_boolean ("automatic-optimization", NULL, NULL, TRUE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_model_init (LpModel *self)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  priv->automatic_optimization = TRUE;
}

void
_lp_model_set_trainer (LpModel   *self,
                       LpTrainer *trainer)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  priv->trainer = trainer;
}

gboolean
_lp_model_needs_configure (LpModel *self)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);
  gboolean needs = !priv->configured;

  priv->configured = TRUE;

  return needs;
}

/* What a step gave back, with the contract checked: a tensor, or nothing at all. */
static LpTensor *
check_outputs (LpModel     *self,
               const char  *method,
               LpTensor    *outputs,
               GError      *local,
               GError     **error)
{
  if (G_LIKELY (local == NULL && (outputs == NULL || LP_IS_TENSOR (outputs))))
    return outputs;

  if (local == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s returned something that is no tensor",
                   G_OBJECT_TYPE_NAME (self), method);
      return NULL;
    }
  g_clear_object (&outputs);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_model_training_step:
 * @self: a model
 * @batch: a batch
 * @batch_idx: its number in the epoch
 * @error: return location for an error
 *
 * Computes the loss of a batch.
 *
 * Returns: (transfer full) (nullable): the loss, one element; or %NULL without an error, to skip the batch. Errors: a
 *   subclass's own
 */
LpTensor *
lp_model_training_step (LpModel  *self,
                        LpBatch  *batch,
                        gint64    batch_idx,
                        GError  **error)
{
  GError *local = NULL;
  LpTensor *outputs;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  outputs = LP_MODEL_GET_CLASS (self)->training_step (self, batch, batch_idx, &local);

  return check_outputs (self, "training_step", outputs, local, error);
}

/**
 * lp_model_validation_step:
 * @self: a model
 * @batch: a batch
 * @batch_idx: its number
 * @error: return location for an error
 *
 * Judges a batch of validation, without gradients.
 *
 * Returns: (transfer full) (nullable): something for callbacks, or %NULL. Errors: a subclass's own
 */
LpTensor *
lp_model_validation_step (LpModel  *self,
                          LpBatch  *batch,
                          gint64    batch_idx,
                          GError  **error)
{
  GError *local = NULL;
  LpTensor *outputs;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  outputs = LP_MODEL_GET_CLASS (self)->validation_step (self, batch, batch_idx, &local);

  return check_outputs (self, "validation_step", outputs, local, error);
}

/**
 * lp_model_test_step:
 * @self: a model
 * @batch: a batch
 * @batch_idx: its number
 * @error: return location for an error
 *
 * Judges a batch of testing, without gradients.
 *
 * Returns: (transfer full) (nullable): something for callbacks, or %NULL. Errors: a subclass's own
 */
LpTensor *
lp_model_test_step (LpModel  *self,
                    LpBatch  *batch,
                    gint64    batch_idx,
                    GError  **error)
{
  GError *local = NULL;
  LpTensor *outputs;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  outputs = LP_MODEL_GET_CLASS (self)->test_step (self, batch, batch_idx, &local);

  return check_outputs (self, "test_step", outputs, local, error);
}

/**
 * lp_model_predict_step:
 * @self: a model
 * @batch: a batch
 * @batch_idx: its number
 * @error: return location for an error
 *
 * Computes predictions, without gradients. The default is forward on the first tensor of the batch.
 *
 * Returns: (transfer full): the predictions. Errors: %LP_ERROR_SUBCLASS if the subclass returns nothing, and its own
 */
LpTensor *
lp_model_predict_step (LpModel  *self,
                       LpBatch  *batch,
                       gint64    batch_idx,
                       GError  **error)
{
  GError *local = NULL;
  LpTensor *outputs;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  outputs = LP_MODEL_GET_CLASS (self)->predict_step (self, batch, batch_idx, &local);
  if (outputs == NULL && local == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.predict_step returned nothing", G_OBJECT_TYPE_NAME (self));
      return NULL;
    }

  return check_outputs (self, "predict_step", outputs, local, error);
}

/**
 * lp_model_configure_optimizers:
 * @self: a model
 * @error: return location for an error
 *
 * Makes what the model is trained with, once per fit.
 *
 * Returns: (transfer full): an [class@Optimizer] or an [class@OptimizerConfig]. Errors: %LP_ERROR_SUBCLASS if the subclass
 *   returns something else, and its own
 */
GObject *
lp_model_configure_optimizers (LpModel  *self,
                               GError  **error)
{
  GError *local = NULL;
  GObject *result;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);

  result = LP_MODEL_GET_CLASS (self)->configure_optimizers (self, &local);
  if (local == NULL && !LP_IS_OPTIMIZER (result) && !LP_IS_OPTIMIZER_CONFIG (result))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS,
                   "%s.configure_optimizers returned %s; it must return an LpOptimizer or an LpOptimizerConfig (an empty one "
                   "to train nothing)", G_OBJECT_TYPE_NAME (self), result != NULL ? G_OBJECT_TYPE_NAME (result) : "nothing");
      return NULL;
    }
  if (local == NULL)
    return result;

  g_clear_object (&result);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_model_configure_model:
 * @self: a model
 * @error: return location for an error
 *
 * Builds what the constructor left out. A trainer calls it once per model, under the default dtype of its precision, so
 * that what is built has the right dtype at once.
 */
void
lp_model_configure_model (LpModel  *self,
                          GError  **error)
{
  g_return_if_fail (LP_IS_MODEL (self));

  LP_MODEL_GET_CLASS (self)->configure_model (self, error);
}

/**
 * lp_model_configure_gradient_clipping:
 * @self: a model
 * @optimizer: an optimizer; its gradients have true values
 * @value: the trainer's `gradient-clip-val`; 0 is off
 * @algorithm: the trainer's `gradient-clip-algorithm`
 * @error: return location for an error
 *
 * Clips the gradients. The default asks the precision to do so if @value is above 0.
 */
void
lp_model_configure_gradient_clipping (LpModel          *self,
                                      LpOptimizer      *optimizer,
                                      double            value,
                                      LpClipAlgorithm   algorithm,
                                      GError          **error)
{
  g_return_if_fail (LP_IS_MODEL (self));
  g_return_if_fail (LP_IS_OPTIMIZER (optimizer));

  LP_MODEL_GET_CLASS (self)->configure_gradient_clipping (self, optimizer, value, algorithm, error);
}

/**
 * lp_model_transfer_batch:
 * @self: a model
 * @batch: a batch
 * @device: where the model is
 * @error: return location for an error
 *
 * Brings a batch to the device. Override it to change batches there.
 *
 * Returns: (transfer full): the batch. Errors: %LP_ERROR_SUBCLASS if the subclass returns nothing, and its own
 */
LpBatch *
lp_model_transfer_batch (LpModel   *self,
                         LpBatch   *batch,
                         LpDevice  *device,
                         GError   **error)
{
  GError *local = NULL;
  LpBatch *result;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);
  g_return_val_if_fail (LP_IS_DEVICE (device), NULL);

  result = LP_MODEL_GET_CLASS (self)->transfer_batch (self, batch, device, &local);
  if (local == NULL && !LP_IS_BATCH (result))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.transfer_batch returned no LpBatch and no error",
                 G_OBJECT_TYPE_NAME (self));
  if (local == NULL)
    return result;

  g_clear_object (&result);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_model_get_trainer:
 * @self: a model
 *
 * Gets the trainer that runs the model.
 *
 * Returns: (transfer none) (nullable): the trainer, or %NULL outside of runs
 */
LpTrainer *
lp_model_get_trainer (LpModel *self)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);

  return priv->trainer;
}

/**
 * lp_model_get_automatic_optimization:
 * @self: a model
 *
 * Gets whether the trainer calls backward and steps the optimizer.
 *
 * Returns: whether it does
 */
gboolean
lp_model_get_automatic_optimization (LpModel *self)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  g_return_val_if_fail (LP_IS_MODEL (self), TRUE);

  return priv->automatic_optimization;
}

/**
 * lp_model_set_automatic_optimization:
 * @self: a model
 * @automatic_optimization: whether the trainer calls backward and steps the optimizer
 *
 * Sets who optimizes: the trainer, or the training step with [method@Model.manual_backward] and
 * [method@Model.optimizer_step].
 */
void
lp_model_set_automatic_optimization (LpModel  *self,
                                     gboolean  automatic_optimization)
{
  LpModelPrivate *priv = lp_model_get_instance_private (self);

  g_return_if_fail (LP_IS_MODEL (self));

  if (priv->automatic_optimization == !!automatic_optimization)
    return;

  priv->automatic_optimization = !!automatic_optimization;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_AUTOMATIC_OPTIMIZATION]);
}
