#include <lp/precision/lp-grad-scaler-private.h>

#include <math.h>

#include <lp/ops/lp-ops.h>
#include <lp/optim/lp-optimizer-private.h>
#include <lp/precision/lp-precision-error.h>

/* What happens within a step: scale, unscale, step, update. */

static LpTensor *
peek_scale_tensor (LpGradScaler  *self,
                   LpDevice      *device,
                   GError       **error)
{
  if (self->scale_tensor != NULL && lp_tensor_get_device (self->scale_tensor) == device)
    return self->scale_tensor;

  g_clear_object (&self->scale_tensor);
  self->scale_tensor = lp_tensor_scalar (self->scale, lp_dtype_f32 (), device, error);

  return self->scale_tensor;
}

/**
 * lp_grad_scaler_scale:
 * @self: a scaler
 * @loss: a loss
 * @error: return location for an error
 *
 * Multiplies the loss by the scale, in float32 or wider.
 *
 * Returns: (transfer full): the scaled loss, or @loss itself if the scaler is not enabled
 */
LpTensor *
lp_grad_scaler_scale (LpGradScaler  *self,
                      LpTensor      *loss,
                      GError       **error)
{
  g_autoptr (LpTensor) wide = NULL;
  LpTensor *scale;

  if (loss == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (loss), NULL);

  if (!self->enabled)
    return g_object_ref (loss);
  if (!lp_grad_scaler_check (self, error))
    return NULL;

  scale = peek_scale_tensor (self, lp_tensor_get_device (loss), error);
  if (scale == NULL)
    return NULL;
  self->started = TRUE;
  if (lp_tensor_get_dtype (loss) == lp_dtype_f64 () || lp_tensor_get_dtype (loss) == lp_dtype_f32 ())
    wide = g_object_ref (loss);
  else
    wide = lp_tensor_to_dtype (loss, lp_dtype_f32 (), error);

  return lp_tensor_mul (wide, scale, error);
}

static LpScalerRecord *
get_record (LpGradScaler *self,
            LpOptimizer  *optimizer)
{
  return g_hash_table_lookup (self->records, optimizer);
}

void
_lp_grad_scaler_allow_f16 (LpGradScaler *self)
{
  self->allows_f16 = TRUE;
}

/* The device of the gradients. */
static LpDevice *
find_gradients (LpGradScaler  *self,
                LpOptimizer   *optimizer,
                GError       **error)
{
  LpDevice *device = NULL;

  if (!_lp_optimizer_gather (optimizer, error))
    return NULL;

  for (guint i = 0; i < lp_optimizer_get_n_groups (optimizer); i++)
    {
      LpParamGroup *group = lp_optimizer_get_group (optimizer, i);

      for (guint j = 0; j < group->slots->len; j++)
        {
          LpParamSlot *slot = _lp_param_group_get_slot (group, j);

          if (!slot->present)
            continue;
          if (slot->grad->array.scalar == LP_SCALAR_F16 && !self->allows_f16)
            {
              g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                           "The gradient of parameter %u of group %u is f16, which can't be unscaled: keep the weights in "
                           "f32, or f32 masters of them", j, i);
              return NULL;
            }
          device = lp_tensor_get_device (slot->parameter);
        }
    }

  if (device == NULL)
    _lp_grad_scaler_fail (error, "No parameter of the optimizer has a gradient: there is nothing to unscale");

  return device;
}

/* Multiplies by the reciprocal, computed in f64; not at all when it is 1. */
static LpTensor *
unscale_into (LpGradScaler  *self,
              LpOptimizer   *optimizer,
              LpDevice      *device,
              GError       **error)
{
  float inverse = (float) (1 / (double) self->scale);
  g_autoptr (LpTensor) factor = NULL;
  g_autoptr (LpTensor) found_inf = lp_tensor_scalar (0, lp_dtype_f32 (), device, error);

  if (found_inf == NULL)
    return NULL;
  if (inverse != 1)
    {
      factor = lp_tensor_scalar (inverse, lp_dtype_f32 (), device, error);
      if (factor == NULL)
        return NULL;
    }

  if (!lp_optimizer_scale_gradients (optimizer, factor, found_inf, error))
    return NULL;

  return g_steal_pointer (&found_inf);
}

/**
 * lp_grad_scaler_unscale:
 * @self: a scaler
 * @optimizer: an optimizer
 * @error: return location for an error
 *
 * Gives the gradients of an optimizer their true values, and looks for those that are not finite, as
 * [method@Optimizer.scale_gradients] does. The reciprocal of the scale is computed in float64.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER if no loss was scaled, if it was done already since
 *   the last update, for gradients in float16 and for no gradients at all
 */
gboolean
lp_grad_scaler_unscale (LpGradScaler  *self,
                        LpOptimizer   *optimizer,
                        GError       **error)
{
  LpDevice *device;
  LpTensor *found_inf;
  LpScalerRecord *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!self->enabled)
    return TRUE;
  if (!lp_grad_scaler_check (self, error))
    return FALSE;
  if (!self->started)
    return _lp_grad_scaler_fail (error, "Gradients can't be unscaled before a loss was scaled");

  record = get_record (self, optimizer);
  if (record != NULL)
    return _lp_grad_scaler_fail (error, record->stage == LP_SCALER_UNSCALED
                          ? "The gradients of the optimizer were unscaled already since the last update"
                          : "The optimizer has stepped already since the last update");
  device = find_gradients (self, optimizer, error);
  if (device == NULL)
    return FALSE;
  found_inf = unscale_into (self, optimizer, device, error);
  if (found_inf == NULL)
    return FALSE;

  record = g_new0 (LpScalerRecord, 1);
  record->stage = LP_SCALER_UNSCALED;
  record->found_inf = found_inf;
  g_hash_table_insert (self->records, g_object_ref (optimizer), record);
  _lp_optimizer_set_scaled (optimizer, FALSE);
  lp_optimizer_set_found_inf (optimizer, found_inf);

  return TRUE;
}

/**
 * lp_grad_scaler_step:
 * @self: a scaler
 * @optimizer: an optimizer
 * @closure: (nullable): must be %NULL, unless the scaler is not enabled
 * @error: return location for an error
 *
 * Has the optimizer step, unless a gradient is not finite. The gradients are unscaled first if they were not.
 *
 * Returns: what became of the step. Errors: %LP_PRECISION_ERROR_BAD_SCALER for a closure and for a second step without
 *   [method@GradScaler.update]; those of [method@GradScaler.unscale] and [method@Optimizer.step]
 */
LpStepResult
lp_grad_scaler_step (LpGradScaler   *self,
                     LpOptimizer    *optimizer,
                     LpStepClosure  *closure,
                     GError        **error)
{
  LpStepResult result;
  LpScalerRecord *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);

  if (!self->enabled)
    return lp_optimizer_step (optimizer, closure, error);
  if (closure != NULL)
    return _lp_grad_scaler_fail (error, "An optimizer that computes its gradients again can't be used with a gradient scaler: use a "
                                        "precision that scales nothing, such as bf16-mixed");

  record = get_record (self, optimizer);
  if (record != NULL && record->stage == LP_SCALER_STEPPED)
    return _lp_grad_scaler_fail (error, "The optimizer has stepped already since the last update");
  if (record == NULL && !lp_grad_scaler_unscale (self, optimizer, error))
    return LP_STEP_FAILED;

  record = get_record (self, optimizer);
  lp_optimizer_set_found_inf (optimizer, record->found_inf);
  result = lp_optimizer_step (optimizer, NULL, error);
  if (result == LP_STEP_FAILED)
    return result;

  record->stage = LP_SCALER_STEPPED;
  _lp_grad_scaler_count_result (self, result);

  return result;
}

static gboolean
any_found_inf (LpGradScaler *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->records);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (lp_tensor_get_item (((LpScalerRecord *) value)->found_inf, NULL) != 0)
      return TRUE;

  return FALSE;
}

static void
back_off (LpGradScaler *self)
{
  float lowered = MAX ((float) (self->scale * self->backoff_factor), (float) self->min_scale);

  self->growth_tracker = 0;
  self->hysteresis_tracker--;
  if (self->hysteresis_tracker > 0)
    return;

  self->hysteresis_tracker = 0;
  if (lowered > 0)
    _lp_grad_scaler_change_scale (self, lowered);
}

static void
grow (LpGradScaler *self)
{
  float raised = (float) (self->scale * self->growth_factor);

  self->hysteresis_tracker = self->hysteresis;
  if (++self->growth_tracker != self->growth_interval)
    return;

  self->growth_tracker = 0;
  if (isfinite (raised))
    _lp_grad_scaler_change_scale (self, MIN (raised, (float) self->max_scale));
}

/**
 * lp_grad_scaler_update:
 * @self: a scaler
 * @error: return location for an error
 *
 * Lowers or raises the scale, once after all optimizers of a step.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER if nothing was unscaled since the last update
 */
gboolean
lp_grad_scaler_update (LpGradScaler  *self,
                       GError       **error)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  if (!self->enabled)
    return TRUE;
  if (g_hash_table_size (self->records) == 0)
    return _lp_grad_scaler_fail (error, "A gradient scaler can't be updated before gradients were unscaled");

  if (any_found_inf (self))
    back_off (self);
  else
    grow (self);
  g_hash_table_remove_all (self->records);

  return TRUE;
}

/**
 * lp_grad_scaler_set_scale:
 * @self: a scaler
 * @scale: the scale
 * @error: return location for an error
 *
 * Sets the scale, in place of [method@GradScaler.update].
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER for a scale that is not above 0 and finite
 */
gboolean
lp_grad_scaler_set_scale (LpGradScaler  *self,
                          double         scale,
                          GError       **error)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  if (!(scale > 0 && (float) scale > 0 && isfinite ((float) scale)))
    return _lp_grad_scaler_fail (error, "The scale of a gradient scaler is above 0 and fits in f32");

  _lp_grad_scaler_change_scale (self, (float) scale);
  g_hash_table_remove_all (self->records);

  return TRUE;
}

/**
 * lp_grad_scaler_get_stage:
 * @self: a scaler
 * @optimizer: an optimizer
 *
 * Gets how far an optimizer is since the last update.
 *
 * Returns: the stage
 */
LpScalerStage
lp_grad_scaler_get_stage (LpGradScaler *self,
                          LpOptimizer  *optimizer)
{
  LpScalerRecord *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), LP_SCALER_READY);

  record = get_record (self, optimizer);

  return record != NULL ? record->stage : LP_SCALER_READY;
}

/**
 * lp_grad_scaler_get_pending:
 * @self: a scaler
 *
 * Finds out whether gradients were unscaled since the last update, so that one is due.
 *
 * Returns: whether they were
 */
gboolean
lp_grad_scaler_get_pending (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  return g_hash_table_size (self->records) > 0;
}
