/* What a loop of the user's calls per batch. */

#include <math.h>

#include <lp/trainer/lp-fabric-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-skipped-steps-private.h>

gboolean
_lp_fabric_require_attached (LpFabric  *self,
                             GError   **error)
{
  if (!self->attached)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "No module was set up");

  return self->attached;
}

/**
 * lp_fabric_convert_batch:
 * @self: a fabric
 * @batch: a batch
 * @error: return location for an error
 *
 * Converts the floating tensors of a batch for the precision, and brings it to the device.
 *
 * Returns: (transfer full): the batch. Errors: %LP_ERROR_STATE before a module was set up, and the precision's
 */
LpBatch *
lp_fabric_convert_batch (LpFabric  *self,
                         LpBatch   *batch,
                         GError   **error)
{
  g_autoptr (LpBatch) converted = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  if (!_lp_fabric_require_attached (self, error))
    return NULL;
  converted = _lp_precision_convert_batch (self->plugin, batch, error);

  return converted != NULL ? lp_batch_to_device (converted, self->device, error) : NULL;
}

/**
 * lp_fabric_forward:
 * @self: a fabric
 * @module: a module that was set up
 * @input: its input
 * @error: return location for an error
 *
 * Computes a module's output the way the precision does: the input converted, the scope entered, the output converted back.
 *
 * Returns: (transfer full): the output. Errors: %LP_ERROR_STATE before a module was set up, the precision's and the module's
 */
LpTensor *
lp_fabric_forward (LpFabric  *self,
                   LpModule  *module,
                   LpTensor  *input,
                   GError   **error)
{
  g_autoptr (LpTensor) converted = NULL;
  g_autoptr (LpTensor) output = NULL;
  LpStepScope scope;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (LP_IS_MODULE (module), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (input), NULL);

  if (!_lp_fabric_require_attached (self, error))
    return NULL;
  converted = lp_dtype_is_floating (lp_tensor_get_dtype (input))
              ? lp_precision_plugin_convert_input (self->plugin, input, error)
              : g_object_ref (input);
  if (converted == NULL || !_lp_precision_plugin_begin_step_scope (self->plugin, &scope, error))
    return NULL;
  output = lp_module_forward (module, converted, error);
  if (!_lp_precision_plugin_end_step_scope (self->plugin, &scope, G_OBJECT_TYPE_NAME (module), "forward",
                                            output != NULL ? error : NULL))
    return NULL;
  if (output == NULL || !lp_dtype_is_floating (lp_tensor_get_dtype (output)))
    return g_steal_pointer (&output);

  return lp_precision_plugin_convert_output (self->plugin, output, error);
}

/**
 * lp_fabric_begin_autocast:
 * @self: a fabric
 * @error: return location for an error
 *
 * Enters the scope of the precision on this thread: what is computed until [method@Fabric.end_autocast] is computed its
 * way. Every entry that succeeded needs its end.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE before a module was set up, and the precision's
 */
gboolean
lp_fabric_begin_autocast (LpFabric  *self,
                          GError   **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  return _lp_fabric_require_attached (self, error) && lp_precision_plugin_push_scope (self->plugin, error);
}

/**
 * lp_fabric_end_autocast:
 * @self: a fabric
 *
 * Leaves the scope of the precision.
 */
void
lp_fabric_end_autocast (LpFabric *self)
{
  g_return_if_fail (LP_IS_FABRIC (self));
  g_return_if_fail (self->attached);

  lp_precision_plugin_pop_scope (self->plugin);
}

/**
 * lp_fabric_leave_autocast: (rename-to lp_fabric_end_autocast)
 * @self: a fabric
 * @error: return location for an error
 *
 * Leaves the scope of the precision, if it was entered.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE without [method@Fabric.begin_autocast]
 */
gboolean
lp_fabric_leave_autocast (LpFabric  *self,
                          GError   **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  return _lp_fabric_require_attached (self, error) && lp_precision_plugin_leave_scope (self->plugin, error);
}

/**
 * lp_fabric_backward:
 * @self: a fabric
 * @loss: a loss
 * @error: return location for an error
 *
 * Computes the gradients of a loss, which are scaled if the precision scales.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE before a module was set up and for a loss that depends on nothing that is
 *   trained, and the precision's
 */
gboolean
lp_fabric_backward (LpFabric  *self,
                    LpTensor  *loss,
                    GError   **error)
{
  g_autoptr (LpTensor) scaled = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (loss), FALSE);

  if (!_lp_fabric_require_attached (self, error) || !_lp_check_recorded (loss, self->modules, self->plugin, error))
    return FALSE;
  scaled = lp_precision_plugin_scale_loss (self->plugin, loss, error);

  return scaled != NULL && lp_precision_plugin_backward (self->plugin, scaled, self->optimizers, error);
}

static gboolean
unscale (LpFabric     *self,
         LpOptimizer  *optimizer,
         GError      **error)
{
  if (!_lp_fabric_require_attached (self, error))
    return FALSE;
  if (!g_ptr_array_find (self->optimizers, optimizer, NULL))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The optimizer was not set up");
      return FALSE;
    }
  if (g_ptr_array_find (self->unscaled, optimizer, NULL))
    return TRUE;
  if (!lp_precision_plugin_unscale_gradients (self->plugin, optimizer, error))
    return FALSE;

  g_ptr_array_add (self->unscaled, optimizer);
  return TRUE;
}

/* No factor makes gradients finite again that are not: they would end in the weights, unless the step is going to be skipped. */
static gboolean
check_norm (LpOptimizer  *optimizer,
            GError      **error)
{
  LpTensor *found_inf = lp_optimizer_get_found_inf (optimizer);
  const double norm = lp_optimizer_compute_grad_norm (optimizer, error);

  if (norm < 0)
    return FALSE;
  if (isfinite (norm) || (found_inf != NULL && lp_tensor_get_item (found_inf, NULL) != 0))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_NOT_FINITE,
               "The norm of the gradients is %g, which clipping can't mend; a smaller learning rate or another precision may help, or "
               "clipping by value", norm);
  return FALSE;
}

/**
 * lp_fabric_clip_gradients:
 * @self: a fabric
 * @optimizer: an optimizer that was set up
 * @value: what to clip at, above 0
 * @algorithm: how
 * @error: return location for an error
 *
 * Clips gradients, after giving them their true values. By norm it may be the step that multiplies them: `.grad` then reads as before, as
 * [method@Optimizer.clip_gradients] says.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE for an optimizer that was not set up, %LP_ERROR_ARGUMENT, and the
 *   precision's; %LP_ERROR_NOT_FINITE when the norm is not finite and the precision will not skip the step
 */
gboolean
lp_fabric_clip_gradients (LpFabric         *self,
                          LpOptimizer      *optimizer,
                          double            value,
                          LpClipAlgorithm   algorithm,
                          GError          **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!(value > 0))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Gradients are clipped at a number above 0, not at %g", value);
      return FALSE;
    }

  return unscale (self, optimizer, error) && (algorithm != LP_CLIP_NORM || check_norm (optimizer, error)) &&
         lp_precision_plugin_clip_gradients (self->plugin, optimizer, value, algorithm, error);
}

/* A streak of skipped steps is told once. */
static void
judge_step (LpFabric     *self,
            LpStepResult  result)
{
  g_autofree char *text = NULL;

  self->skipped_in_a_row = result == LP_STEP_SKIPPED ? self->skipped_in_a_row + 1 : 0;
  if (self->skipped_in_a_row != LP_MANY_SKIPPED_STEPS)
    return;

  text = _lp_describe_skipped_steps (self->skipped_in_a_row, self->plugin, self->modules, FALSE);
  g_warning ("%s", text);
}

/**
 * lp_fabric_optimizer_step:
 * @self: a fabric
 * @optimizer: an optimizer that was set up
 * @error: return location for an error
 *
 * Makes a step of an optimizer, the way the precision does. It doesn't clear the gradients.
 *
 * When 100 steps in a row were skipped, since gradients were not finite, a warning says so, once.
 *
 * Returns: what became of the step; %LP_STEP_FAILED with an error. Errors: %LP_ERROR_STATE for an optimizer that was not
 *   set up, and the precision's
 */
LpStepResult
lp_fabric_optimizer_step (LpFabric     *self,
                          LpOptimizer  *optimizer,
                          GError      **error)
{
  LpStepResult result;

  g_return_val_if_fail (LP_IS_FABRIC (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);

  if (!unscale (self, optimizer, error))
    return LP_STEP_FAILED;
  result = lp_precision_plugin_optimizer_step (self->plugin, optimizer, NULL, error);
  if (result == LP_STEP_FAILED)
    return LP_STEP_FAILED;

  g_ptr_array_remove (self->unscaled, optimizer);
  if (!lp_precision_plugin_end_step (self->plugin, error))
    return LP_STEP_FAILED;
  judge_step (self, result);

  return result;
}
