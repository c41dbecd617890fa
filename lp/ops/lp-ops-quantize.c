#include <lp/ops/lp-ops-private.h>

/* Scaled encodings: what fp8 products take. */

gboolean
_lp_tensor_absmax (LpTensor  *self,
                   double    *amax,
                   GError   **error)
{
  return _lp_check_floating ("absmax", self, error) && _lp_tensor_get_kernels (self)->absmax (&self->array, amax, error);
}

LpTensor *
_lp_tensor_quantize (LpTensor  *self,
                     LpDType   *dtype,
                     double     scale,
                     double    *amax,
                     GError   **error)
{
  g_autoptr (LpTensor) result = NULL;

  if (!_lp_check_floating ("quantize", self, error))
    return NULL;
  if (lp_dtype_is_native (dtype))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "quantize: %s is no encoded dtype; there are f8e4m3, f8e5m2 and others",
                   lp_dtype_get_name (dtype));
      return NULL;
    }
  if (!((float) scale > 0) || (float) scale > G_MAXFLOAT)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "quantize: a scale is above 0 and finite, not %g", scale);
      return NULL;
    }

  result = _lp_tensor_new (self->array.dims, self->array.n_dims, dtype, self->storage->device, error);
  if (result == NULL || !_lp_tensor_get_kernels (self)->quantize (&self->array, (float) scale, &result->array, amax, error))
    return NULL;
  result->array.factor = 1.0f / (float) scale;

  return g_steal_pointer (&result);
}

/**
 * lp_tensor_quantize:
 * @self: a floating tensor
 * @dtype: an encoded dtype, such as `f8e4m3`
 * @scale: what elements are multiplied by, in float32, before they are encoded; above 0
 * @error: return location for an error
 *
 * Encodes scaled elements. The result stands for its decoded elements times [method@Tensor.get_factor], which is 1 / @scale:
 * products multiply their sums by it, so that the products of fp8 elements stay exact. Gradients don't pass.
 *
 * Returns: (transfer full): the encoded tensor, of the same shape. Errors: %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT,
 *   %LP_ERROR_MEMORY, and what the dtype's encoder reports
 */
LpTensor *
lp_tensor_quantize (LpTensor  *self,
                    LpDType   *dtype,
                    double     scale,
                    GError   **error)
{
  double amax;

  if (!_lp_input_ok (self, "quantize", error))
    return NULL;
  g_return_val_if_fail (LP_IS_DTYPE (dtype), NULL);

  return _lp_tensor_quantize (self, dtype, scale, &amax, error);
}

/**
 * lp_tensor_get_factor:
 * @self: a tensor
 *
 * Gets what the decoded elements of an encoded tensor are multiplied by: see [method@Tensor.quantize].
 *
 * Returns: the factor; 1 for tensors without one
 */
double
lp_tensor_get_factor (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 1);

  return _lp_array_get_factor (&self->array);
}
