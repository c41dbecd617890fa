#include <lp/precision/lp-precision-plugin-private.h>

#include <lp/autograd/lp-matmul-private.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/optim/lp-optimizer-private.h>
#include <lp/tensor/lp-device-private.h>

#define GET_CLASS(self) LP_PRECISION_PLUGIN_GET_CLASS (self)
#define ensure_init     _lp_precision_plugin_ensure_init

gboolean
_lp_precision_plugin_end_boolean (LpPrecisionPlugin  *self,
                                  const char         *method,
                                  gboolean            ok,
                                  GError             *local,
                                  GError            **error)
{
  if (G_LIKELY (ok && local == NULL))
    return lp_check_exceptions (error);

  if (ok)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s reported success and set an error: %s",
                   G_OBJECT_TYPE_NAME (self), method, local->message);
      g_error_free (local);
      return FALSE;
    }
  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s failed without an error", G_OBJECT_TYPE_NAME (self), method);
  g_propagate_error (error, local);

  return FALSE;
}

gpointer
_lp_precision_plugin_end_object (LpPrecisionPlugin  *self,
                                 const char         *method,
                                 gpointer            result,
                                 GType               type,
                                 gboolean            nullable,
                                 GError             *local,
                                 GError            **error)
{
  gboolean fits = result != NULL && G_TYPE_CHECK_INSTANCE_TYPE (result, type);

  if (G_LIKELY (local == NULL && (fits || (nullable && result == NULL))))
    {
      if (lp_check_exceptions (error))
        return result;
      g_clear_object (&result);
      return NULL;
    }

  if (local != NULL && result != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave a result and set an error: %s",
                   G_OBJECT_TYPE_NAME (self), method, local->message);
      g_clear_error (&local);
    }
  else if (local != NULL)
    g_propagate_error (error, local);
  else if (result == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave nothing and no error", G_OBJECT_TYPE_NAME (self), method);
  else
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave a %s, not a %s", G_OBJECT_TYPE_NAME (self), method,
                 G_OBJECT_TYPE_NAME (result), g_type_name (type));
  if (result != NULL)
    g_object_unref (result);

  return NULL;
}

static LpTensor *
end_tensor (LpPrecisionPlugin  *self,
            const char         *method,
            LpTensor           *result,
            LpTensor           *like,
            GError             *local,
            GError            **error)
{
  g_autoptr (LpTensor) tensor = _lp_precision_plugin_end_object (self, method, result, LP_TYPE_TENSOR, FALSE, local, error);
  g_autoptr (LpShape) expected = NULL;
  g_autoptr (LpShape) actual = NULL;
  g_autofree char *expected_text = NULL, *actual_text = NULL;

  if (tensor == NULL || tensor == like)
    return g_steal_pointer (&tensor);

  expected = lp_tensor_dup_shape (like);
  actual = lp_tensor_dup_shape (tensor);
  if (!lp_shape_equal (expected, actual))
    {
      expected_text = lp_shape_to_string (expected);
      actual_text = lp_shape_to_string (actual);
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave a tensor of shape %s for one of %s",
                   G_OBJECT_TYPE_NAME (self), method, actual_text, expected_text);
      return NULL;
    }
  if (lp_tensor_get_device (tensor) != lp_tensor_get_device (like))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave a tensor on %s for one on %s", G_OBJECT_TYPE_NAME (self),
                   method, lp_device_get_name (lp_tensor_get_device (tensor)),
                   lp_device_get_name (lp_tensor_get_device (like)));
      return NULL;
    }
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave a tensor of %s for one of %s", G_OBJECT_TYPE_NAME (self),
                   method, lp_dtype_get_name (lp_tensor_get_dtype (tensor)),
                   lp_dtype_get_name (lp_tensor_get_dtype (like)));
      return NULL;
    }

  return g_steal_pointer (&tensor);
}

/**
 * lp_precision_plugin_validate:
 * @self: a plugin
 * @context: what is known of the run
 * @error: return location for an error
 *
 * Asks whether the plugin can do what is asked of it. It changes nothing. An override chains up first.
 *
 * Returns: %TRUE if it can. Errors: an `LP_PRECISION_ERROR` that says what can't be done, why, and what would work
 */
gboolean
lp_precision_plugin_validate (LpPrecisionPlugin   *self,
                              LpPrecisionContext  *context,
                              GError             **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (context), FALSE);

  ok = GET_CLASS (self)->validate (self, context, &local);

  return _lp_precision_plugin_end_boolean (self, "validate", ok, local, error);
}

/**
 * lp_precision_plugin_validate_state:
 * @self: a plugin
 * @state: values that the plugin is to report
 * @error: return location for an error
 *
 * Asks whether the plugin implements what it would report.
 *
 * Returns: %TRUE if it does. Errors: %LP_PRECISION_ERROR_UNSUPPORTED, %LP_PRECISION_ERROR_BAD_LEVEL
 */
gboolean
lp_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                    LpPrecisionState   *state,
                                    GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (state != NULL, FALSE);

  ok = GET_CLASS (self)->validate_state (self, state, &local);

  return _lp_precision_plugin_end_boolean (self, "validate_state", ok, local, error);
}

/**
 * lp_precision_plugin_supports:
 * @self: a plugin
 * @device: a device
 * @error: return location for an error
 *
 * Asks whether the precision can run on a device.
 *
 * Returns: %TRUE if it can. Errors: %LP_PRECISION_ERROR_UNSUPPORTED, which says what would work
 */
gboolean
lp_precision_plugin_supports (LpPrecisionPlugin  *self,
                              LpDevice           *device,
                              GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_DEVICE (device), FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  ok = GET_CLASS (self)->supports (self, device, &local);

  return _lp_precision_plugin_end_boolean (self, "supports", ok, local, error);
}

/**
 * lp_precision_plugin_dup_traits:
 * @self: a plugin
 * @error: return location for an error
 *
 * Gets the dtypes that the precision really uses.
 *
 * Returns: (transfer full): the traits
 */
LpPrecisionTraits *
lp_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                GError            **error)
{
  GError *local = NULL;
  gpointer traits;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  if (!ensure_init (self, error))
    return NULL;
  traits = GET_CLASS (self)->dup_traits (self, &local);

  return _lp_precision_plugin_end_object (self, "dup_traits", traits, LP_TYPE_PRECISION_TRAITS, FALSE, local, error);
}

/**
 * lp_precision_plugin_get_default_dtype:
 * @self: a plugin
 * @error: return location for an error
 *
 * Gets the dtype of tensors that are made without one, while a model is built and inside a step.
 *
 * Returns: (transfer full) (nullable): the dtype, or %NULL to leave it as it is
 */
LpDType *
lp_precision_plugin_get_default_dtype (LpPrecisionPlugin  *self,
                                       GError            **error)
{
  GError *local = NULL;
  g_autoptr (LpDType) dtype = NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  if (!ensure_init (self, error))
    return NULL;
  dtype = GET_CLASS (self)->get_default_dtype (self, &local);
  dtype = _lp_precision_plugin_end_object (self, "get_default_dtype", dtype, LP_TYPE_DTYPE, TRUE, local, error);
  if (dtype == NULL || (lp_dtype_is_floating (dtype) && lp_dtype_is_native (dtype)))
    return g_steal_pointer (&dtype);

  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.get_default_dtype gave %s, which tensors can't be made in by default",
               G_OBJECT_TYPE_NAME (self), lp_dtype_get_name (dtype));
  return NULL;
}

/* What the weights were before is of no use to a step: it would wait in memory for ever. */
static void
trim_devices (LpModule *module)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (module);
  LpDevice *trimmed = NULL;

  for (guint i = 0; i < parameters->len; i++)
    {
      LpDevice *device = lp_tensor_get_device (g_ptr_array_index (parameters, i));

      if (device != trimmed)
        _lp_device_trim (device);
      trimmed = device;
    }
}

/**
 * lp_precision_plugin_convert_module:
 * @self: a plugin
 * @module: a module
 * @error: return location for an error
 *
 * Casts, replaces or re-encodes what a module is made of, in place. To be called before optimizers are made.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                    LpModule           *module,
                                    GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_MODULE (module), FALSE);

  if (!ensure_init (self, error) || !lp_module_check (module, error))
    return FALSE;
  ok = GET_CLASS (self)->convert_module (self, module, &local);
  if (!_lp_precision_plugin_end_boolean (self, "convert_module", ok, local, error) || !lp_module_check (module, error))
    return FALSE;

  trim_devices (module);

  return TRUE;
}

/**
 * lp_precision_plugin_convert_optimizer:
 * @self: a plugin
 * @optimizer: an optimizer that has not stepped
 * @error: return location for an error
 *
 * Sets up the groups of an optimizer, of a module that was converted: whether they have master weights, and how stored
 * weights are rounded. Each optimizer of a plugin, or of a run of it, rounds by chance in its own stream. To be called
 * before the first step, and before saved state is loaded.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_convert_optimizer (LpPrecisionPlugin  *self,
                                       LpOptimizer        *optimizer,
                                       GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  _lp_optimizer_set_stream (optimizer, _lp_precision_plugin_get_data (self)->n_optimizers++);
  ok = GET_CLASS (self)->convert_optimizer (self, optimizer, &local);

  return _lp_precision_plugin_end_boolean (self, "convert_optimizer", ok, local, error);
}

/**
 * lp_precision_plugin_convert_input:
 * @self: a plugin
 * @tensor: a tensor of a batch
 * @error: return location for an error
 *
 * Converts a tensor that goes into a step. Integer tensors come back as they are.
 *
 * Returns: (transfer full): a tensor of the same shape on the same device, possibly @tensor itself
 */
LpTensor *
lp_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                   LpTensor           *tensor,
                                   GError            **error)
{
  GError *local = NULL;
  LpTensor *result;

  if (tensor == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), NULL);

  if (!ensure_init (self, error))
    return NULL;
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    return g_object_ref (tensor);
  result = GET_CLASS (self)->convert_input (self, tensor, &local);

  return end_tensor (self, "convert_input", result, tensor, local, error);
}

/**
 * lp_precision_plugin_convert_output:
 * @self: a plugin
 * @tensor: a tensor that a step gave
 * @error: return location for an error
 *
 * Converts a tensor that comes out of a step. Integer tensors come back as they are.
 *
 * Returns: (transfer full): a tensor of the same shape on the same device, possibly @tensor itself
 */
LpTensor *
lp_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                    LpTensor           *tensor,
                                    GError            **error)
{
  GError *local = NULL;
  LpTensor *result;

  if (tensor == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), NULL);

  if (!ensure_init (self, error))
    return NULL;
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    return g_object_ref (tensor);
  result = GET_CLASS (self)->convert_output (self, tensor, &local);

  return end_tensor (self, "convert_output", result, tensor, local, error);
}

/**
 * lp_precision_plugin_get_cast_policy:
 * @self: a plugin
 * @error: return location for an error
 *
 * Gets which dtype each class of operations computes in.
 *
 * Returns: (transfer full) (nullable): the policy, or %NULL if operations compute in the dtype of their inputs
 */
LpCastPolicy *
lp_precision_plugin_get_cast_policy (LpPrecisionPlugin  *self,
                                     GError            **error)
{
  GError *local = NULL;
  gpointer policy;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  if (!ensure_init (self, error))
    return NULL;
  policy = GET_CLASS (self)->get_cast_policy (self, &local);

  return _lp_precision_plugin_end_object (self, "get_cast_policy", policy, LP_TYPE_CAST_POLICY, TRUE, local, error);
}

/**
 * lp_precision_plugin_quantize_operand:
 * @self: a plugin
 * @operand: an operand of a matrix product
 * @error: return location for an error
 *
 * Gets an operand in the plugin's format. Inside a step it is asked for each operand, if the class has an override of
 * this or of [vfunc@PrecisionPlugin.matmul]; not for the products that these compute themselves.
 *
 * Returns: (transfer full): a floating tensor of the operand's shape, possibly the operand's own
 */
LpTensor *
lp_precision_plugin_quantize_operand (LpPrecisionPlugin  *self,
                                      LpOperand          *operand,
                                      GError            **error)
{
  GError *local = NULL;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);
  g_return_val_if_fail (LP_IS_OPERAND (operand), NULL);

  if (!ensure_init (self, error))
    return NULL;
  result = GET_CLASS (self)->quantize_operand (self, operand, &local);

  return end_tensor (self, "quantize_operand", result, lp_operand_get_tensor (operand), local, error);
}

/**
 * lp_precision_plugin_matmul:
 * @self: a plugin
 * @matmul: a matrix product
 * @error: return location for an error
 *
 * Computes a matrix product, without the bias of a layer if the class overrides it. The default quantises both operands and has the
 * product computed from them. See [class@Matmul] for what an override has to give.
 *
 * Returns: (transfer full): the product
 */
LpTensor *
lp_precision_plugin_matmul (LpPrecisionPlugin  *self,
                            LpMatmul           *matmul,
                            GError            **error)
{
  GError *local = NULL;
  gpointer result;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);
  g_return_val_if_fail (LP_IS_MATMUL (matmul), NULL);

  if (!ensure_init (self, error))
    return NULL;
  _lp_matmul_enter (matmul);
  result = GET_CLASS (self)->matmul (self, matmul, &local);

  result = _lp_precision_plugin_end_object (self, "matmul", result, LP_TYPE_TENSOR, FALSE, local, error);
  if (result != NULL && !_lp_matmul_check_result (matmul, G_OBJECT (self), result, error))
    g_clear_object (&result);

  return result;
}

/**
 * lp_precision_plugin_scale_loss:
 * @self: a plugin
 * @loss: a loss
 * @error: return location for an error
 *
 * Gets what backward starts from. The gradients are too large by the same factor until
 * [method@PrecisionPlugin.unscale_gradients].
 *
 * Returns: (transfer full): a tensor of the same shape, possibly @loss itself
 */
LpTensor *
lp_precision_plugin_scale_loss (LpPrecisionPlugin  *self,
                                LpTensor           *loss,
                                GError            **error)
{
  GError *local = NULL;
  g_autoptr (LpTensor) result = NULL;

  if (loss == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (loss), NULL);

  if (!ensure_init (self, error))
    return NULL;
  result = GET_CLASS (self)->scale_loss (self, loss, &local);
  result = end_tensor (self, "scale_loss", result, loss, local, error);
  _lp_precision_plugin_get_data (self)->scales = result != loss;
  if (result == NULL || lp_tensor_get_requires_grad (result) || !lp_tensor_get_requires_grad (loss))
    return g_steal_pointer (&result);

  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.scale_loss gave a loss that no gradients can be computed from",
               G_OBJECT_TYPE_NAME (self));
  return NULL;
}

/**
 * lp_precision_plugin_backward:
 * @self: a plugin
 * @loss: what [method@PrecisionPlugin.scale_loss] gave
 * @optimizers: (element-type LpOptimizer): the optimizers of the run
 * @error: return location for an error
 *
 * Computes the gradients and adds them to those of the parameters.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_backward (LpPrecisionPlugin  *self,
                              LpTensor           *loss,
                              GPtrArray          *optimizers,
                              GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  if (loss == NULL)
    return FALSE;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (loss), FALSE);
  g_return_val_if_fail (optimizers != NULL, FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  ok = GET_CLASS (self)->backward (self, loss, optimizers, &local);
  for (guint i = 0; _lp_precision_plugin_get_data (self)->scales && i < optimizers->len; i++)
    _lp_optimizer_set_scaled (g_ptr_array_index (optimizers, i), TRUE);

  return _lp_precision_plugin_end_boolean (self, "backward", ok, local, error);
}

/**
 * lp_precision_plugin_unscale_gradients:
 * @self: a plugin
 * @optimizer: an optimizer
 * @error: return location for an error
 *
 * Gives the gradients of an optimizer their true values.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_unscale_gradients (LpPrecisionPlugin  *self,
                                       LpOptimizer        *optimizer,
                                       GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  ok = GET_CLASS (self)->unscale_gradients (self, optimizer, &local);
  if (!_lp_precision_plugin_end_boolean (self, "unscale_gradients", ok, local, error))
    return FALSE;
  _lp_optimizer_set_scaled (optimizer, FALSE);

  return TRUE;
}

/**
 * lp_precision_plugin_clip_gradients:
 * @self: a plugin
 * @optimizer: an optimizer
 * @value: the bound; 0 or less for none
 * @algorithm: what it bounds
 * @error: return location for an error
 *
 * Clips the gradients of an optimizer, which have true values.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_clip_gradients (LpPrecisionPlugin  *self,
                                    LpOptimizer        *optimizer,
                                    double              value,
                                    LpClipAlgorithm     algorithm,
                                    GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  ok = GET_CLASS (self)->clip_gradients (self, optimizer, value, algorithm, &local);

  return _lp_precision_plugin_end_boolean (self, "clip_gradients", ok, local, error);
}

/**
 * lp_precision_plugin_optimizer_step:
 * @self: a plugin
 * @optimizer: an optimizer
 * @closure: (nullable): computes the gradients first
 * @error: return location for an error
 *
 * Updates the parameters of an optimizer.
 *
 * Returns: what became of the step
 */
LpStepResult
lp_precision_plugin_optimizer_step (LpPrecisionPlugin  *self,
                                    LpOptimizer        *optimizer,
                                    LpStepClosure      *closure,
                                    GError            **error)
{
  GError *local = NULL;
  LpStepResult result;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);
  g_return_val_if_fail (closure == NULL || LP_IS_STEP_CLOSURE (closure), LP_STEP_FAILED);

  if (!ensure_init (self, error))
    return LP_STEP_FAILED;
  _lp_optimizer_set_scaled (optimizer, FALSE);
  result = GET_CLASS (self)->optimizer_step (self, optimizer, closure, &local);
  if (local == NULL && (result < LP_STEP_FAILED || result > LP_STEP_DEFERRED))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.optimizer_step gave %d, which is no result of a step",
                 G_OBJECT_TYPE_NAME (self), (int) result);
  else if (_lp_precision_plugin_end_boolean (self, "optimizer_step", result != LP_STEP_FAILED, local, error))
    return result;
  else
    return LP_STEP_FAILED;

  g_propagate_error (error, local);

  return LP_STEP_FAILED;
}

/**
 * lp_precision_plugin_end_step:
 * @self: a plugin
 * @error: return location for an error
 *
 * Must be called once after all optimizers of a window have stepped.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_end_step (LpPrecisionPlugin  *self,
                              GError            **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  if (!ensure_init (self, error))
    return FALSE;
  ok = GET_CLASS (self)->end_step (self, &local);

  return _lp_precision_plugin_end_boolean (self, "end_step", ok, local, error);
}
