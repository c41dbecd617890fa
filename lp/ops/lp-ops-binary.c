#include <lp/ops/lp-ops-private.h>

/* Element-wise operations on several tensors, which broadcast. ints[0] is the LpBinary. */

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
