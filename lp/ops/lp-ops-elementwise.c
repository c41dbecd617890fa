#include <lp/ops/lp-ops-private.h>

/* Element-wise operations. ints[0] is the LpUnary or LpBinary, numbers[0] the parameter. */

LpTensor *
_lp_unary_forward (LpOpCall  *call,
                   GError   **error)
{
  LpTensor *x = call->inputs[0];
  LpUnary op = call->args.ints[0];
  g_autoptr (LpTensor) y = NULL;
  const LpKernelTable *kernels = _lp_tensor_get_kernels (x);
  gboolean any_number = op == LP_UNARY_NEG || op == LP_UNARY_ABS || op == LP_UNARY_CLAMP_MAX || op == LP_UNARY_CLAMP_MIN
                        || op == LP_UNARY_IS_FINITE || op == LP_UNARY_SCALE || op == LP_UNARY_OFFSET || op == LP_UNARY_RELU;

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

static gboolean
is_comparison (LpBinary op)
{
  return op >= LP_BINARY_EQUAL;
}

static LpTensor *
new_broadcast (LpTensor      *a,
               LpTensor      *b,
               const gint64  *dims,
               int            n_dims,
               LpDType       *dtype,
               GError       **error)
{
  /* keep channels-last and other dense orders where a whole operand has them */
  LpTensor *whole = a->array.n_dims == n_dims && _lp_array_get_n_elements (&a->array) >= _lp_array_get_n_elements (&b->array)
                      ? a : b;

  for (int i = 0; i < n_dims; i++)
    if (whole->array.n_dims != n_dims || whole->array.dims[i] != dims[i])
      return _lp_tensor_new (dims, n_dims, dtype, a->storage->device, error);

  return _lp_tensor_new_like (whole, dtype, error);
}

LpTensor *
_lp_binary_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *a = call->inputs[0], *b = call->inputs[1];
  LpBinary op = call->args.ints[0];
  g_autoptr (LpTensor) y = NULL;
  const LpKernelTable *kernels = _lp_tensor_get_kernels (a);
  gint64 dims[LP_MAX_DIMS];
  LpArray a_array, b_array;
  LpDType *dtype;
  int n_dims;

  if (kernels->binary == NULL)
    return _lp_missing_kernel (call->op->name, a, error), NULL;
  if (!_lp_check_native (call->op->name, a, error) || !_lp_check_native (call->op->name, b, error))
    return NULL;
  if (!_lp_broadcast_dims (&a->array, &b->array, dims, &n_dims))
    {
      _lp_shape_error (error, call->op->name, "the shapes don't broadcast", a, b);
      return NULL;
    }

  dtype = is_comparison (op) ? lp_dtype_bool () : _lp_promote (a, b);
  if (op == LP_BINARY_DIV && !lp_dtype_is_floating (dtype))
    dtype = lp_default_dtype_get ();
  y = new_broadcast (a, b, dims, n_dims, dtype, error);
  if (y == NULL)
    return NULL;

  a_array = _lp_broadcast_array (&a->array, dims, n_dims);
  b_array = _lp_broadcast_array (&b->array, dims, n_dims);
  if (!kernels->binary (op, &a_array, &b_array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

/* dy times @factor, an array that broadcasts to dy. */
static LpTensor *
combine (LpBinary        op,
         LpTensor       *dy,
         const LpArray  *factor,
         GError        **error)
{
  g_autoptr (LpTensor) result = _lp_tensor_new_like (dy, dy->array.dtype, error);
  LpArray array;

  if (result == NULL)
    return NULL;
  array = _lp_broadcast_array (factor, dy->array.dims, dy->array.n_dims);
  if (!_lp_tensor_get_kernels (dy)->binary (op, &dy->array, &array, &result->array, error))
    return NULL;

  return g_steal_pointer (&result);
}

static LpTensor *
negate (LpTensor  *taken,
        GError   **error)
{
  g_autoptr (LpTensor) x = taken;
  g_autoptr (LpTensor) y = x != NULL ? _lp_tensor_new_like (x, x->array.dtype, error) : NULL;

  if (y == NULL || !_lp_tensor_get_kernels (y)->unary (LP_UNARY_NEG, 0, &x->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

/* dy where input @i was chosen; ties go to the first. */
static LpTensor *
chosen (LpNode    *node,
        int        i,
        LpBinary   op,
        LpTensor  *dy,
        GError   **error)
{
  LpBinary first = op == LP_BINARY_MAXIMUM ? LP_BINARY_GREATER_EQUAL : LP_BINARY_LESS_EQUAL;
  LpBinary second = op == LP_BINARY_MAXIMUM ? LP_BINARY_LESS : LP_BINARY_GREATER;
  g_autoptr (LpTensor) mask = _lp_tensor_new_like (dy, lp_dtype_bool (), error);
  LpArray a, b;

  if (mask == NULL)
    return NULL;
  a = _lp_broadcast_array (&node->edges[0].value->array, dy->array.dims, dy->array.n_dims);
  b = _lp_broadcast_array (&node->edges[1].value->array, dy->array.dims, dy->array.n_dims);
  if (!_lp_tensor_get_kernels (dy)->binary (i == 0 ? first : second, &a, &b, &mask->array, error))
    return NULL;

  return combine (LP_BINARY_MUL, dy, &mask->array, error);
}

/* The gradient of a b^-1 by b is -a b^-2 */
static LpTensor *
divisor_gradient (LpNode    *node,
                  LpTensor  *dy,
                  GError   **error)
{
  g_autoptr (LpTensor) by_b = combine (LP_BINARY_DIV, dy, &node->edges[1].value->array, error);
  g_autoptr (LpTensor) by_b_twice = by_b != NULL ? combine (LP_BINARY_DIV, by_b, &node->edges[1].value->array, error) : NULL;

  if (by_b_twice == NULL)
    return NULL;

  return negate (combine (LP_BINARY_MUL, by_b_twice, &node->edges[0].value->array, error), error);
}

static LpTensor *
binary_gradient (LpNode    *node,
                 int        i,
                 LpTensor  *dy,
                 GError   **error)
{
  LpBinary op = node->args.ints[0];

  switch (op)
    {
    case LP_BINARY_ADD:
      return g_object_ref (dy);
    case LP_BINARY_SUB:
      return i == 0 ? g_object_ref (dy) : negate (g_object_ref (dy), error);
    case LP_BINARY_MUL:
      return combine (LP_BINARY_MUL, dy, &node->edges[1 - i].value->array, error);
    case LP_BINARY_DIV:
      return i == 0 ? combine (LP_BINARY_DIV, dy, &node->edges[1].value->array, error) : divisor_gradient (node, dy, error);
    default:
      return chosen (node, i, op, dy, error);
    }
}

gboolean
_lp_binary_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  for (int i = 0; i < 2; i++)
    {
      LpArray *input = &node->edges[i].value->array;
      LpTensor *grad;

      if (!_lp_node_needs (node, i))
        continue;
      grad = binary_gradient (node, i, dy, error);
      if (grad == NULL)
        return FALSE;
      grads[i] = _lp_sum_to (grad, input->dims, input->n_dims, error);
      if (grads[i] == NULL)
        return FALSE;
    }

  return TRUE;
}

LpTensor *
_lp_where_forward (LpOpCall  *call,
                   GError   **error)
{
  LpTensor *condition = call->inputs[0], *a = call->inputs[1], *b = call->inputs[2];
  g_autoptr (LpTensor) y = NULL;
  gint64 ab[LP_MAX_DIMS], dims[LP_MAX_DIMS];
  LpArray pair = { NULL, }, c_array, a_array, b_array;
  int n_dims;

  if (condition->array.scalar != LP_SCALAR_BOOL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "where chooses by bool, not %s", lp_dtype_get_name (condition->array.dtype));
      return NULL;
    }
  if (!_lp_check_native ("where", a, error) || !_lp_check_native ("where", b, error))
    return NULL;
  if (!_lp_broadcast_dims (&a->array, &b->array, ab, &pair.n_dims))
    {
      _lp_shape_error (error, "where", "the two choices don't broadcast", a, b);
      return NULL;
    }
  for (int i = 0; i < pair.n_dims; i++)
    pair.dims[i] = ab[i];
  if (!_lp_broadcast_dims (&pair, &condition->array, dims, &n_dims))
    {
      _lp_shape_error (error, "where", "the condition doesn't broadcast with the choices", condition, a);
      return NULL;
    }

  y = _lp_tensor_new (dims, n_dims, _lp_promote (a, b), a->storage->device, error);
  if (y == NULL)
    return NULL;
  c_array = _lp_broadcast_array (&condition->array, dims, n_dims);
  a_array = _lp_broadcast_array (&a->array, dims, n_dims);
  b_array = _lp_broadcast_array (&b->array, dims, n_dims);
  if (!_lp_tensor_get_kernels (y)->where (&c_array, &a_array, &b_array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_where_backward (LpNode    *node,
                    LpTensor  *dy,
                    LpTensor **grads,
                    GError   **error)
{
  LpArray condition = _lp_broadcast_array (&node->edges[0].value->array, dy->array.dims, dy->array.n_dims);
  g_autoptr (LpTensor) zero = lp_tensor_scalar (0, dy->array.dtype, dy->storage->device, error);
  LpArray zeros;

  if (zero == NULL)
    return FALSE;
  zeros = _lp_broadcast_array (&zero->array, dy->array.dims, dy->array.n_dims);

  for (int i = 1; i < 3; i++)
    {
      LpArray *input = &node->edges[i].value->array;
      LpTensor *grad;

      if (!_lp_node_needs (node, i))
        continue;
      grad = _lp_tensor_new_like (dy, dy->array.dtype, error);
      if (grad == NULL)
        return FALSE;
      if (!_lp_tensor_get_kernels (dy)->where (&condition, i == 1 ? &dy->array : &zeros, i == 1 ? &zeros : &dy->array,
                                               &grad->array, error))
        {
          g_object_unref (grad);
          return FALSE;
        }
      grads[i] = _lp_sum_to (grad, input->dims, input->n_dims, error);
      if (grads[i] == NULL)
        return FALSE;
    }

  return TRUE;
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

/**
 * lp_tensor_add:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Adds.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_add (LpTensor  *self,
               LpTensor  *other,
               GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_ADD } };

  return _lp_run2 (LP_OP_ADD, self, other, &args, error);
}

/**
 * lp_tensor_sub:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Subtracts @other.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_sub (LpTensor  *self,
               LpTensor  *other,
               GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_SUB } };

  return _lp_run2 (LP_OP_SUB, self, other, &args, error);
}

/**
 * lp_tensor_mul:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Multiplies, element by element.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_mul (LpTensor  *self,
               LpTensor  *other,
               GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_MUL } };

  return _lp_run2 (LP_OP_MUL, self, other, &args, error);
}

/**
 * lp_tensor_div:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Divides by @other; integers give the default dtype.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_div (LpTensor  *self,
               LpTensor  *other,
               GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_DIV } };

  return _lp_run2 (LP_OP_DIV, self, other, &args, error);
}

/**
 * lp_tensor_maximum:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Takes the larger of two elements.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_maximum (LpTensor  *self,
                   LpTensor  *other,
                   GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_MAXIMUM } };

  return _lp_run2 (LP_OP_MAXIMUM, self, other, &args, error);
}

/**
 * lp_tensor_minimum:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Takes the smaller of two elements.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_minimum (LpTensor  *self,
                   LpTensor  *other,
                   GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_MINIMUM } };

  return _lp_run2 (LP_OP_MINIMUM, self, other, &args, error);
}

/**
 * lp_tensor_equal:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_equal (LpTensor  *self,
                 LpTensor  *other,
                 GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_EQUAL } };

  return _lp_run2 (LP_OP_EQUAL, self, other, &args, error);
}

/**
 * lp_tensor_not_equal:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_not_equal (LpTensor  *self,
                     LpTensor  *other,
                     GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_NOT_EQUAL } };

  return _lp_run2 (LP_OP_NOT_EQUAL, self, other, &args, error);
}

/**
 * lp_tensor_less:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_less (LpTensor  *self,
                LpTensor  *other,
                GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_LESS } };

  return _lp_run2 (LP_OP_LESS, self, other, &args, error);
}

/**
 * lp_tensor_less_equal:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_less_equal (LpTensor  *self,
                      LpTensor  *other,
                      GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_LESS_EQUAL } };

  return _lp_run2 (LP_OP_LESS_EQUAL, self, other, &args, error);
}

/**
 * lp_tensor_greater:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_greater (LpTensor  *self,
                   LpTensor  *other,
                   GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_GREATER } };

  return _lp_run2 (LP_OP_GREATER, self, other, &args, error);
}

/**
 * lp_tensor_greater_equal:
 * @self: a tensor
 * @other: a tensor whose shape broadcasts with that of @self
 * @error: return location for an error
 *
 * Compares: bool.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_greater_equal (LpTensor  *self,
                         LpTensor  *other,
                         GError   **error)
{
  LpOpArgs args = { { 0 }, { LP_BINARY_GREATER_EQUAL } };

  return _lp_run2 (LP_OP_GREATER_EQUAL, self, other, &args, error);
}

/**
 * lp_tensor_where:
 * @condition: a bool tensor
 * @a: what to take where @condition is true
 * @b: what to take elsewhere
 * @error: return location for an error
 *
 * Chooses element by element. The three shapes broadcast.
 *
 * Returns: (transfer full): a tensor of the common shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_where (LpTensor  *condition,
                 LpTensor  *a,
                 LpTensor  *b,
                 GError   **error)
{
  return _lp_run3 (LP_OP_WHERE, condition, a, b, NULL, error);
}

/**
 * lp_tensor_masked_fill:
 * @self: a tensor
 * @mask: a bool tensor whose shape broadcasts with that of @self
 * @value: a number
 * @error: return location for an error
 *
 * Replaces the elements where @mask is true by @value.
 *
 * Returns: (transfer full): a new tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_masked_fill (LpTensor  *self,
                       LpTensor  *mask,
                       double     value,
                       GError   **error)
{
  g_autoptr (LpTensor) filling = NULL;

  if (!_lp_input_ok (self, "masked_fill", error))
    return NULL;
  filling = lp_tensor_scalar (value, self->array.dtype, self->storage->device, error);

  return lp_tensor_where (mask, filling, self, error);
}
