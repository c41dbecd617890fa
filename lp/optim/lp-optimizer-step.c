#include <lp/optim/lp-optimizer-private.h>

#include <math.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>

/* A step, and what fused optimizers do in it with each parameter. */

/**
 * lp_optimizer_step_group:
 * @self: an optimizer
 * @group: a group of it
 * @error: return location for an error
 *
 * Updates the masters of one group. Programs call [method@Optimizer.step].
 *
 * Returns: %TRUE on success. Errors: those of the optimizer; %LP_ERROR_SUBCLASS for a failure without an error
 */
gboolean
lp_optimizer_step_group (LpOptimizer   *self,
                         LpParamGroup  *group,
                         GError       **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);
  g_return_val_if_fail (LP_IS_PARAM_GROUP (group), FALSE);

  ok = LP_OPTIMIZER_GET_CLASS (self)->step_group (self, group, &local);
  if (ok && local == NULL)
    return TRUE;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.step_group returned FALSE without an error",
                 G_OBJECT_TYPE_NAME (self));
  g_propagate_error (error, local);

  return FALSE;
}

/* What a subclass that knows masters only has left to do. */
static gboolean
store_group (LpParamGroup  *group,
             GError       **error)
{
  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);

      if (!slot->present)
        continue;
      slot->step++;
      if (!_lp_param_group_store (group, slot, i, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
step_groups (LpOptimizer  *self,
             gboolean      fused,
             GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      if (!isfinite (group->lr) || group->lr < 0 || !isfinite (group->weight_decay) || group->weight_decay < 0)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                       "Learning rate %g and weight decay %g of group %u have to be finite and at least 0", group->lr,
                       group->weight_decay, i);
          return FALSE;
        }
      if (!lp_optimizer_step_group (self, group, error) || (!fused && !store_group (group, error)))
        return FALSE;
    }

  return TRUE;
}

static gboolean
run_closure (LpStepClosure  *closure,
             GError        **error)
{
  g_autoptr (LpTensor) loss = closure != NULL ? lp_step_closure_run (closure, error) : NULL;

  return closure == NULL || loss != NULL;
}

/* What was set for one step is used up by it. */
static void
forget_scalars (LpOptimizer *self)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  g_clear_object (&data->grad_scale);
  g_clear_object (&data->found_inf);
  g_clear_object (&data->clip_coefficient);
  data->has_sum = FALSE;
}

static LpStepResult
apply (LpOptimizer  *self,
       GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  gboolean fused = lp_optimizer_scales_gradients (self);
  gboolean ok;

  if (_lp_optimizer_has_found_inf (self))
    return LP_STEP_SKIPPED;

  lp_grad_mode_push (FALSE);
  ok = fused || (_lp_optimizer_multiply (self, data->grad_scale, error) &&
                 _lp_optimizer_multiply (self, data->clip_coefficient, error));
  ok = ok && step_groups (self, fused, error);
  lp_grad_mode_pop ();
  if (!ok)
    return LP_STEP_FAILED;

  return LP_STEP_APPLIED;
}

void
_lp_optimizer_set_scaled (LpOptimizer *self,
                          gboolean     scaled)
{
  _lp_optimizer_get_data (self)->scaled = scaled;
}

static gboolean
check_not_scaled (LpOptimizer  *self,
                  GError      **error)
{
  if (!_lp_optimizer_get_data (self)->scaled)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE,
               "The gradients of the %s are multiplied by the loss scale: step with the optimizer_step of the fabric, the model or "
               "the precision plugin, which knows it", G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

/**
 * lp_optimizer_step:
 * @self: an optimizer
 * @closure: (nullable): computes the gradients first
 * @error: return location for an error
 *
 * Updates the parameters that have a gradient. The gradients are multiplied by the gradient scale and the clip
 * coefficient, and nothing is changed if found-inf is not zero. These three are used up by the step.
 *
 * Returns: what became of the step. Errors: those of the optimizer and of @closure; %LP_ERROR_STATE without parameters,
 *   for a parameter that was converted after the first step, and for gradients that a precision has scaled, whose
 *   [method@PrecisionPlugin.optimizer_step] has to be called; %LP_ERROR_ARGUMENT for a negative learning rate
 */
LpStepResult
lp_optimizer_step (LpOptimizer    *self,
                   LpStepClosure  *closure,
                   GError        **error)
{
  LpStepResult result = LP_STEP_FAILED;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), LP_STEP_FAILED);
  g_return_val_if_fail (closure == NULL || LP_IS_STEP_CLOSURE (closure), LP_STEP_FAILED);

  if (_lp_optimizer_check (self, error) && check_not_scaled (self, error) && run_closure (closure, error) &&
      _lp_optimizer_gather (self, error))
    result = apply (self, error);
  if (result != LP_STEP_FAILED && !lp_check_exceptions (error))
    result = LP_STEP_FAILED;
  forget_scalars (self);
  _lp_optimizer_count_result (self, result);

  return result;
}

/**
 * lp_optimizer_zero_grad:
 * @self: an optimizer
 * @error: return location for an error
 *
 * Clears the gradients. Until backward adds to them they are zero, and a step leaves parameters alone that it didn't
 * reach.
 *
 * Returns: %TRUE on success. Errors: as for [method@Optimizer.step]
 */
gboolean
lp_optimizer_zero_grad (LpOptimizer  *self,
                        GError      **error)
{
  LpOptimizerData *data;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);

  if (!_lp_optimizer_check (self, error))
    return FALSE;

  data = _lp_optimizer_get_data (self);
  data->has_sum = FALSE;
  data->scaled = FALSE;
  for (guint i = 0; i < data->groups->len; i++)
    if (!_lp_param_group_zero_grad (g_ptr_array_index (data->groups, i), error))
      return FALSE;

  return TRUE;
}

static const float *
peek_scalar (LpTensor *scalar)
{
  return scalar != NULL ? (const float *) scalar->array.data : NULL;
}

gboolean
_lp_optimizer_fill_args (LpOptimizer      *self,
                         LpParamGroup     *group,
                         guint             index,
                         guint             n_moments,
                         LpFusedStepArgs  *args,
                         GError          **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  LpParamSlot *slot = _lp_param_group_get_slot (group, index);
  LpTensor *parameter = slot->parameter;
  gboolean direct = parameter->array.scalar != LP_SCALAR_ENCODED && _lp_array_is_contiguous (&parameter->array);
  LpTensor *weight = direct ? parameter : slot->master;
  LpTensor *low = direct && slot->master == NULL ? parameter->low : NULL;
  gpointer *moments[LP_N_MOMENTS] = { &args->moment1, &args->moment2 };

  if (!_lp_tensor_check_writable (weight, error) ||
      (data->grad_scale != NULL && !_lp_tensor_settle (slot->grad, error)))
    return FALSE;

  args->n = slot->n;
  args->weight = weight->array.data;
  args->weight_scalar = weight->array.scalar;
  args->master = direct && slot->master != NULL ? slot->master->array.data : NULL;
  args->grad = slot->grad->array.data;
  args->grad_scalar = slot->grad->array.scalar;
  if (low != NULL && _lp_array_is_contiguous (&low->array) && _lp_scalar_sizes[low->array.scalar] == 2)
    {
      args->weight16 = (guint16 *) low->array.data;
      args->weight16_scalar = low->array.scalar;
    }
  args->grad_scale = peek_scalar (data->grad_scale != NULL ? data->grad_scale : slot->grad->factor);
  args->clip = peek_scalar (data->clip_coefficient);
  args->found_inf = peek_scalar (data->found_inf);
  args->stochastic = group->stochastic_rounding;
  args->random = _lp_param_group_get_random (group, slot, index);
  args->moment_random = _lp_param_group_get_moment_random (group, slot, index);
  args->lr = group->lr;
  args->weight_decay = group->weight_decay;

  for (guint i = 0; i < n_moments; i++)
    {
      LpTensor *moment = _lp_param_group_get_moment (group, slot->bucket, i, error);

      if (moment == NULL)
        return FALSE;
      args->moment_scalar = moment->array.scalar;
      *moments[i] = moment->array.data + slot->offset * _lp_scalar_sizes[moment->array.scalar];
    }

  return TRUE;
}

gboolean
_lp_param_group_finish_slot (LpParamGroup  *group,
                             guint          index,
                             GError       **error)
{
  LpParamSlot *slot = _lp_param_group_get_slot (group, index);
  LpTensor *parameter = slot->parameter;
  gboolean direct = parameter->array.scalar != LP_SCALAR_ENCODED && _lp_array_is_contiguous (&parameter->array);

  slot->step++;
  if (!direct)
    return _lp_param_group_store (group, slot, index, error);

  _lp_tensor_changed (parameter);
  if (slot->master != NULL)
    g_clear_object (&parameter->low);
  else if (parameter->low != NULL)
    parameter->low_version = parameter->storage->version;

  return TRUE;
}
