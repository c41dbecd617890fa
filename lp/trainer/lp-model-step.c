/* What the steps and hooks of a model may ask of its run: logging, and optimization by hand. */

#include <lp/trainer/lp-model.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-trainer-private.h>

static LpTrainer *
require_trainer (LpModel     *self,
                 const char  *what,
                 GError     **error)
{
  LpTrainer *trainer = lp_model_get_trainer (self);

  if (trainer == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "%s is possible inside a run only", what);

  return trainer;
}

/**
 * lp_model_log:
 * @self: a model, inside a run
 * @name: a name
 * @value: a number
 * @flags: what becomes of it
 * @error: return location for an error
 *
 * Logs a number. The mean of an epoch is weighted by the number of samples in each batch.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE where logging is not possible, %LP_ERROR_CONFLICT for other flags than
 *   the last time
 */
gboolean
lp_model_log (LpModel     *self,
              const char  *name,
              double       value,
              LpLogFlags   flags,
              GError     **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  trainer = require_trainer (self, "Logging", error);

  return trainer != NULL &&
         _lp_log_add_value (&trainer->run.log, name, value, trainer->run.batch_samples, flags, error);
}

/**
 * lp_model_log_tensor:
 * @self: a model, inside a run
 * @name: a name
 * @value: a tensor of one element
 * @flags: what becomes of it
 * @error: return location for an error
 *
 * Logs a number that a device holds. It is read when it is needed, so that the device need not be waited for.
 *
 * Returns: whether it could. Errors: as [method@Model.log], and %LP_ERROR_SHAPE for more than one element
 */
gboolean
lp_model_log_tensor (LpModel     *self,
                     const char  *name,
                     LpTensor    *value,
                     LpLogFlags   flags,
                     GError     **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (value), FALSE);

  trainer = require_trainer (self, "Logging", error);

  return trainer != NULL &&
         _lp_log_add_tensor (&trainer->run.log, name, value, trainer->run.batch_samples, flags, error);
}

/**
 * lp_model_log_metric:
 * @self: a model, inside a run
 * @name: a name
 * @metric: a metric whose value is one number
 * @flags: what becomes of it; on epoch if it doesn't say
 * @error: return location for an error
 *
 * Logs a metric after it was updated. At the end of the epoch its value is taken, and it is reset.
 *
 * Returns: whether it could. Errors: as [method@Model.log], and the metric's own
 */
gboolean
lp_model_log_metric (LpModel     *self,
                     const char  *name,
                     LpMetric    *metric,
                     LpLogFlags   flags,
                     GError     **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (LP_IS_METRIC (metric), FALSE);

  trainer = require_trainer (self, "Logging", error);

  return trainer != NULL && _lp_log_add_metric (&trainer->run.log, name, metric, flags, error);
}

/**
 * lp_model_get_n_optimizers:
 * @self: a model
 *
 * Gets the number of optimizers of the run.
 *
 * Returns: how many there are; 0 outside of a fit
 */
guint
lp_model_get_n_optimizers (LpModel *self)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), 0);

  trainer = lp_model_get_trainer (self);

  return trainer != NULL && trainer->run.optimizers != NULL ? trainer->run.optimizers->len : 0;
}

/**
 * lp_model_get_optimizer:
 * @self: a model
 * @index: the number of an optimizer
 *
 * Gets an optimizer of the run.
 *
 * Returns: (transfer none) (nullable): the optimizer
 */
LpOptimizer *
lp_model_get_optimizer (LpModel *self,
                        guint    index)
{
  g_return_val_if_fail (LP_IS_MODEL (self), NULL);

  if (index >= lp_model_get_n_optimizers (self))
    return NULL;

  return g_ptr_array_index (lp_model_get_trainer (self)->run.optimizers, index);
}

static LpTrainer *
require_manual (LpModel     *self,
                const char  *what,
                GError     **error)
{
  LpTrainer *trainer = require_trainer (self, what, error);

  if (trainer == NULL)
    return NULL;
  if (lp_model_get_automatic_optimization (self) || trainer->run.stage != LP_STAGE_FIT)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "%s takes manual optimization, in a training step", what);
      return NULL;
    }

  return trainer;
}

/**
 * lp_model_manual_backward:
 * @self: a model with manual optimization
 * @loss: a loss
 * @error: return location for an error
 *
 * Computes the gradients of a loss, the way the precision does.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE outside of manual optimization, and those of backward
 */
gboolean
lp_model_manual_backward (LpModel   *self,
                          LpTensor  *loss,
                          GError   **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (loss), FALSE);

  trainer = require_manual (self, "manual_backward", error);

  return trainer != NULL && _lp_trainer_manual_backward (trainer, loss, error);
}

/**
 * lp_model_optimizer_step:
 * @self: a model with manual optimization
 * @optimizer: one of its optimizers
 * @error: return location for an error
 *
 * Makes a step of an optimizer, the way the precision does: gradients get their true values, then the parameters are
 * updated unless the gradients are not finite. It doesn't clear them.
 *
 * Returns: what became of the step; %LP_STEP_FAILED with an error. Errors: %LP_ERROR_STATE outside of manual
 *   optimization, %LP_ERROR_ARGUMENT for an optimizer that is not of this run
 */
LpStepResult
lp_model_optimizer_step (LpModel      *self,
                         LpOptimizer  *optimizer,
                         GError      **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);

  trainer = require_manual (self, "optimizer_step", error);

  return trainer != NULL ? _lp_trainer_manual_step (trainer, optimizer, error) : LP_STEP_FAILED;
}

/**
 * lp_model_clip_gradients:
 * @self: a model, inside a fit
 * @optimizer: an optimizer
 * @value: what to clip at; 0 does nothing
 * @algorithm: how
 * @error: return location for an error
 *
 * Clips gradients, after giving them their true values.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE outside of a fit, and the precision's
 */
gboolean
lp_model_clip_gradients (LpModel          *self,
                         LpOptimizer      *optimizer,
                         double            value,
                         LpClipAlgorithm   algorithm,
                         GError          **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  trainer = require_trainer (self, "Clipping", error);
  if (trainer == NULL)
    return FALSE;
  if (value <= 0)
    return TRUE;

  return _lp_trainer_unscale (trainer, optimizer, error) &&
         lp_precision_plugin_clip_gradients (trainer->run.plugin, optimizer, value, algorithm, error);
}

/**
 * lp_model_step_schedulers:
 * @self: a model with manual optimization
 * @error: return location for an error
 *
 * Moves on the schedules that move with every step.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE outside of manual optimization
 */
gboolean
lp_model_step_schedulers (LpModel  *self,
                          GError  **error)
{
  LpTrainer *trainer;

  g_return_val_if_fail (LP_IS_MODEL (self), FALSE);

  trainer = require_manual (self, "step_schedulers", error);

  return trainer != NULL && _lp_trainer_step_schedulers (trainer, LP_LR_INTERVAL_STEP, error);
}
