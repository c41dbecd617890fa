#include <lp/ops/lp-ops-private.h>

/* Element-wise operations on one tensor. ints[0] is the LpUnary, numbers[0] the parameter. */

LpTensor *
_lp_unary_forward (LpOpCall  *call,
                   GError   **error)
{
  LpTensor *x = call->inputs[0];
  LpUnary op = call->args.ints[0];
  g_autoptr (LpTensor) y = NULL;
  const LpKernelTable *kernels = _lp_tensor_get_kernels (x);
  gboolean any_number = op == LP_UNARY_NEG || op == LP_UNARY_ABS || op == LP_UNARY_CLAMP_MAX || op == LP_UNARY_CLAMP_MIN
                        || op == LP_UNARY_IS_FINITE || op == LP_UNARY_SCALE || op == LP_UNARY_OFFSET || op == LP_UNARY_RELU
                        || (op >= LP_UNARY_SIGN && op <= LP_UNARY_TRUNC);

  if (kernels->unary == NULL)
    return _lp_missing_kernel (call->op->name, x, error), NULL;
  if (!_lp_check_native (call->op->name, x, error) || (!any_number && !_lp_check_floating (call->op->name, x, error)))
    return NULL;

  y = _lp_tensor_new_like (x, op == LP_UNARY_IS_FINITE ? lp_dtype_bool () : x->array.dtype, error);
  if (y == NULL || !kernels->unary (op, call->args.numbers[0], &x->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_unary_backward (LpNode    *node,
                    LpTensor  *dy,
                    LpTensor **grads,
                    GError   **error)
{
  LpTensor *known = node->saved[LP_MAX_SAVED - 1];
  LpTensor *dx;

  if (known == NULL)
    known = node->edges[0].value != NULL ? node->edges[0].value : dy;
  dx = grads[0] = _lp_tensor_new_like (known, dy->array.dtype, error);

  return dx != NULL && _lp_tensor_get_kernels (dy)->unary_grad (node->args.ints[0], node->args.numbers[0], &known->array,
                                                                &dy->array, &dx->array, error);
}

static LpTensor *
run_unary (LpOpId     id,
           LpUnary    op,
           double     param,
           LpTensor  *self,
           GError   **error)
{
  LpOpArgs args = { { param }, { op } };

  return _lp_run1 (id, self, &args, error);
}

/**
 * lp_tensor_neg:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Changes the sign.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_neg (LpTensor  *self,
               GError   **error)
{
  return run_unary (LP_OP_NEG, LP_UNARY_NEG, 0, self, error);
}

/**
 * lp_tensor_abs:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Takes the absolute value.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_abs (LpTensor  *self,
               GError   **error)
{
  return run_unary (LP_OP_ABS, LP_UNARY_ABS, 0, self, error);
}

/**
 * lp_tensor_sign:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Takes the sign: −1, 0 or 1; NaN stays NaN. The gradient is 0.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_sign (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_SIGN, LP_UNARY_SIGN, 0, self, error);
}

/**
 * lp_tensor_round:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Rounds to the nearest whole number: ties go to the even one. The gradient is 0.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_round (LpTensor  *self,
                 GError   **error)
{
  return run_unary (LP_OP_ROUND, LP_UNARY_ROUND, 0, self, error);
}

/**
 * lp_tensor_floor:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Rounds down: the largest whole number that is not above. The gradient is 0.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_floor (LpTensor  *self,
                 GError   **error)
{
  return run_unary (LP_OP_FLOOR, LP_UNARY_FLOOR, 0, self, error);
}

/**
 * lp_tensor_ceil:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Rounds up: the smallest whole number that is not below. The gradient is 0.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_ceil (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_CEIL, LP_UNARY_CEIL, 0, self, error);
}

/**
 * lp_tensor_trunc:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * Rounds towards zero: what is before the point. The gradient is 0.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_trunc (LpTensor  *self,
                 GError   **error)
{
  return run_unary (LP_OP_TRUNC, LP_UNARY_TRUNC, 0, self, error);
}

/**
 * lp_tensor_square:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * Multiplies each element by itself.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_square (LpTensor  *self,
                  GError   **error)
{
  return run_unary (LP_OP_SQUARE, LP_UNARY_SQUARE, 0, self, error);
}

/**
 * lp_tensor_relu:
 * @self: a tensor of any shape (any numbers)
 * @error: return location for an error
 *
 * max (x, 0).
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_relu (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_RELU, LP_UNARY_RELU, 0, self, error);
}

/**
 * lp_tensor_silu:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * x · sigmoid (x), also called swish.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_silu (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_SILU, LP_UNARY_SILU, 0, self, error);
}

/**
 * lp_tensor_tanh:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * The hyperbolic tangent.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_tanh (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_TANH, LP_UNARY_TANH, 0, self, error);
}

/**
 * lp_tensor_sigmoid:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * 1 / (1 + exp (-x)).
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_sigmoid (LpTensor  *self,
                   GError   **error)
{
  return run_unary (LP_OP_SIGMOID, LP_UNARY_SIGMOID, 0, self, error);
}

/**
 * lp_tensor_exp:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * The exponential.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_exp (LpTensor  *self,
               GError   **error)
{
  return run_unary (LP_OP_EXP, LP_UNARY_EXP, 0, self, error);
}

/**
 * lp_tensor_log:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * The natural logarithm.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_log (LpTensor  *self,
               GError   **error)
{
  return run_unary (LP_OP_LOG, LP_UNARY_LOG, 0, self, error);
}

/**
 * lp_tensor_sqrt:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * The square root.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_sqrt (LpTensor  *self,
                GError   **error)
{
  return run_unary (LP_OP_SQRT, LP_UNARY_SQRT, 0, self, error);
}

/**
 * lp_tensor_rsqrt:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * The reciprocal of the square root.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_rsqrt (LpTensor  *self,
                 GError   **error)
{
  return run_unary (LP_OP_RSQRT, LP_UNARY_RSQRT, 0, self, error);
}

/**
 * lp_tensor_reciprocal:
 * @self: a tensor of any shape (floating)
 * @error: return location for an error
 *
 * 1 / x.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_reciprocal (LpTensor  *self,
                      GError   **error)
{
  return run_unary (LP_OP_RECIPROCAL, LP_UNARY_RECIPROCAL, 0, self, error);
}

/**
 * lp_tensor_is_finite:
 * @self: a tensor of any shape (any; the result is bool)
 * @error: return location for an error
 *
 * Tells for each element whether it is neither infinite nor NaN.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_is_finite (LpTensor  *self,
                     GError   **error)
{
  return run_unary (LP_OP_IS_FINITE, LP_UNARY_IS_FINITE, 0, self, error);
}

/**
 * lp_tensor_gelu:
 * @self: a tensor of any shape
 * @approximate: whether to use the form with tanh instead of erf
 * @error: return location for an error
 *
 * The Gaussian error linear unit, x · Φ (x). D. Hendrycks, K. Gimpel, arXiv:1606.08415.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_gelu (LpTensor  *self,
                gboolean   approximate,
                GError   **error)
{
  if (approximate)
    return run_unary (LP_OP_GELU_TANH, LP_UNARY_GELU_TANH, 0, self, error);

  return run_unary (LP_OP_GELU_ERF, LP_UNARY_GELU_ERF, 0, self, error);
}

/**
 * lp_tensor_pow:
 * @self: a tensor of any shape
 * @exponent: a number
 * @error: return location for an error
 *
 * Raises each element to a power.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_pow (LpTensor  *self,
               double     exponent,
               GError   **error)
{
  return run_unary (LP_OP_POW, LP_UNARY_POW, exponent, self, error);
}

/**
 * lp_tensor_scale:
 * @self: a tensor of any shape
 * @factor: a number
 * @error: return location for an error
 *
 * Multiplies by a number.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_scale (LpTensor  *self,
                 double     factor,
                 GError   **error)
{
  return run_unary (LP_OP_SCALE, LP_UNARY_SCALE, factor, self, error);
}

/**
 * lp_tensor_offset:
 * @self: a tensor of any shape
 * @value: a number
 * @error: return location for an error
 *
 * Adds a number.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_offset (LpTensor  *self,
                  double     value,
                  GError   **error)
{
  return run_unary (LP_OP_OFFSET, LP_UNARY_OFFSET, value, self, error);
}

/**
 * lp_tensor_clamp:
 * @self: a tensor of any shape
 * @low: the lower bound, or minus infinity
 * @high: the upper bound, or infinity
 * @error: return location for an error
 *
 * Moves elements outside the bounds to the bounds.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_clamp (LpTensor  *self,
                 double     low,
                 double     high,
                 GError   **error)
{
  g_autoptr (LpTensor) bounded = run_unary (LP_OP_CLAMP_MIN, LP_UNARY_CLAMP_MIN, low, self, error);

  return bounded != NULL ? run_unary (LP_OP_CLAMP_MAX, LP_UNARY_CLAMP_MAX, high, bounded, error) : NULL;
}
