#include <lp/nn/lp-init.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/nn/lp-module-private.h>
#include <lp/tensor/lp-tensor-private.h>

typedef LpTensor *(* DrawFunc) (const gint64 *dims, gsize n_dims, double a, double b, LpDType *dtype, LpDevice *device,
                                GError **error);

/* Draws in 32 bits or more, so that every dtype gets the same numbers. */
static gboolean
draw (LpTensor  *tensor,
      DrawFunc   func,
      double     a,
      double     b,
      GError   **error)
{
  g_autoptr (LpTensor) values = NULL;
  LpDType *dtype = tensor->array.scalar == LP_SCALAR_F64 ? lp_dtype_f64 () : lp_dtype_f32 ();

  if (!isfinite (a) || !isfinite (b))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Random numbers can't be drawn with the parameters %g and %g", a, b);
      return FALSE;
    }
  values = func (tensor->array.dims, tensor->array.n_dims, a, b, dtype, lp_tensor_get_device (tensor), error);

  return values != NULL && lp_tensor_assign (tensor, values, error);
}

/* Of a weight [out, in, ...]. */
static gboolean
get_fans (LpTensor  *tensor,
          double    *fan_in,
          double    *fan_out,
          GError   **error)
{
  double field = 1;

  if (tensor->array.n_dims < 2)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A weight has at least 2 dimensions, not %d", tensor->array.n_dims);
      return FALSE;
    }

  for (int i = 2; i < tensor->array.n_dims; i++)
    field *= tensor->array.dims[i];
  *fan_in = MAX (tensor->array.dims[1] * field, 1);
  *fan_out = MAX (tensor->array.dims[0] * field, 1);

  return TRUE;
}

/**
 * lp_init_constant:
 * @tensor: a tensor
 * @value: a number
 * @error: return location for an error
 *
 * Sets every element to one value.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_init_constant (LpTensor  *tensor,
                  double     value,
                  GError   **error)
{
  return lp_tensor_fill (tensor, value, error);
}

/**
 * lp_init_uniform:
 * @tensor: a floating tensor
 * @low: the lower bound
 * @high: the upper bound
 * @error: return location for an error
 *
 * Draws the elements uniformly from [@low, @high), with the default generator of the thread.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT
 */
gboolean
lp_init_uniform (LpTensor  *tensor,
                 double     low,
                 double     high,
                 GError   **error)
{
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  return draw (tensor, lp_tensor_uniform, low, high, error);
}

/**
 * lp_init_normal:
 * @tensor: a floating tensor
 * @mean: the mean
 * @std: the standard deviation
 * @error: return location for an error
 *
 * Draws the elements from a normal distribution, with the default generator of the thread.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT
 */
gboolean
lp_init_normal (LpTensor  *tensor,
                double     mean,
                double     std,
                GError   **error)
{
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  return draw (tensor, lp_tensor_normal, mean, std, error);
}

/**
 * lp_init_kaiming_uniform:
 * @tensor: a weight `[out, in, ...]`
 * @slope: the slope of the leaky ReLU that follows; 0 for a ReLU
 * @error: return location for an error
 *
 * Draws the elements from the uniform distribution that keeps the variance of activations from layer to layer under ReLUs.
 *
 * K. He et al., "Delving Deep into Rectifiers: Surpassing Human-Level Performance on ImageNet Classification",
 * ICCV 2015.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_SHAPE for fewer than 2 dimensions
 */
gboolean
lp_init_kaiming_uniform (LpTensor  *tensor,
                         double     slope,
                         GError   **error)
{
  double fan_in, fan_out, std;

  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  if (!get_fans (tensor, &fan_in, &fan_out, error))
    return FALSE;

  std = sqrt (2 / ((1 + slope * slope) * fan_in));

  return draw (tensor, lp_tensor_uniform, -sqrt (3) * std, sqrt (3) * std, error);
}

/**
 * lp_init_kaiming_normal:
 * @tensor: a weight `[out, in, ...]`
 * @slope: the slope of the leaky ReLU that follows; 0 for a ReLU
 * @error: return location for an error
 *
 * Draws the elements from the normal distribution that keeps the variance of activations from layer to layer under ReLUs.
 *
 * K. He et al., "Delving Deep into Rectifiers: Surpassing Human-Level Performance on ImageNet Classification",
 * ICCV 2015.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_SHAPE for fewer than 2 dimensions
 */
gboolean
lp_init_kaiming_normal (LpTensor  *tensor,
                        double     slope,
                        GError   **error)
{
  double fan_in, fan_out, std;

  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  if (!get_fans (tensor, &fan_in, &fan_out, error))
    return FALSE;

  std = sqrt (2 / ((1 + slope * slope) * fan_in));

  return draw (tensor, lp_tensor_normal, 0, std, error);
}

/**
 * lp_init_xavier_uniform:
 * @tensor: a weight `[out, in, ...]`
 * @gain: a factor; 1 for linear layers and tanh
 * @error: return location for an error
 *
 * Draws the elements from the uniform distribution that keeps the variance of activations and gradients from layer to layer.
 *
 * X. Glorot, Y. Bengio, "Understanding the Difficulty of Training Deep Feedforward Neural Networks", AISTATS 2010.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_SHAPE for fewer than 2 dimensions
 */
gboolean
lp_init_xavier_uniform (LpTensor  *tensor,
                        double     gain,
                        GError   **error)
{
  double fan_in, fan_out, std;

  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  if (!get_fans (tensor, &fan_in, &fan_out, error))
    return FALSE;

  std = gain * sqrt (2 / (fan_in + fan_out));

  return draw (tensor, lp_tensor_uniform, -sqrt (3) * std, sqrt (3) * std, error);
}

/**
 * lp_init_xavier_normal:
 * @tensor: a weight `[out, in, ...]`
 * @gain: a factor; 1 for linear layers and tanh
 * @error: return location for an error
 *
 * Draws the elements from the normal distribution that keeps the variance of activations and gradients from layer to layer.
 *
 * X. Glorot, Y. Bengio, "Understanding the Difficulty of Training Deep Feedforward Neural Networks", AISTATS 2010.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_SHAPE for fewer than 2 dimensions
 */
gboolean
lp_init_xavier_normal (LpTensor  *tensor,
                       double     gain,
                       GError   **error)
{
  double fan_in, fan_out, std;

  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  if (!get_fans (tensor, &fan_in, &fan_out, error))
    return FALSE;

  std = gain * sqrt (2 / (fan_in + fan_out));

  return draw (tensor, lp_tensor_normal, 0, std, error);
}

void
_lp_module_fill (LpModule *self,
                 LpTensor *tensor,
                 gint64    fan_in)
{
  double bound = 1 / sqrt (MAX (fan_in, 1));
  GError *error = NULL;

  if (tensor != NULL && !lp_init_uniform (tensor, -bound, bound, &error))
    _lp_module_take_problem (self, error);
}
