#include <lp/ops/lp-ops-private.h>

/* Reductions. ints: bit mask of the reduced axes, keep_dims, LpReduce. */

/* The result with the reduced axes kept as extent 1. */
static LpTensor *
new_reduced (LpTensor  *x,
             guint      mask,
             LpDType   *dtype,
             GError   **error)
{
  gint64 dims[LP_MAX_DIMS];

  for (int i = 0; i < x->array.n_dims; i++)
    dims[i] = mask >> i & 1 ? 1 : x->array.dims[i];

  return _lp_tensor_new (dims, x->array.n_dims, dtype, x->storage->device, error);
}

static LpTensor *
drop_axes (LpTensor *kept,
           guint     mask)
{
  LpArray array = kept->array;

  array.n_dims = 0;
  for (int i = 0; i < kept->array.n_dims; i++)
    if (!(mask >> i & 1))
      {
        array.dims[array.n_dims] = kept->array.dims[i];
        array.strides[array.n_dims++] = kept->array.strides[i];
      }

  return _lp_tensor_new_view (kept->storage, &array);
}

/* @y, whose reduced axes may be dropped, seen with the extents of @x. */
static LpArray
spread (const LpArray *y,
        const LpArray *x,
        guint          mask,
        gboolean       kept)
{
  LpArray array = *y;
  int from = 0;

  array.n_dims = x->n_dims;
  for (int i = 0; i < x->n_dims; i++)
    {
      gboolean reduced = mask >> i & 1;

      array.dims[i] = x->dims[i];
      array.strides[i] = reduced ? 0 : y->strides[kept ? i : from];
      from += !reduced;
    }

  return array;
}

static gint64
count_reduced (const LpArray *x,
               guint          mask)
{
  gint64 n = 1;

  for (int i = 0; i < x->n_dims; i++)
    if (mask >> i & 1)
      n *= x->dims[i];

  return n;
}

static LpTensor *
reduce (LpTensor  *x,
        LpReduce   op,
        guint      mask,
        gboolean   keep_dims,
        LpDType   *dtype,
        GError   **error)
{
  const LpKernelTable *kernels = _lp_tensor_get_kernels (x);
  g_autoptr (LpTensor) y = new_reduced (x, mask, dtype, error);

  if (y == NULL || !kernels->reduce (op, &x->array, &y->array, error))
    return NULL;

  return keep_dims ? g_steal_pointer (&y) : drop_axes (y, mask);
}

LpTensor *
_lp_sum_forward (LpOpCall  *call,
                 GError   **error)
{
  LpTensor *x = call->inputs[0];
  LpReduce op = call->args.ints[2];
  LpDType *dtype = x->array.dtype;

  if (!_lp_check_native (call->op->name, x, error))
    return NULL;
  if (!lp_dtype_is_floating (dtype))
    dtype = op == LP_REDUCE_MEAN ? lp_default_dtype_get () : lp_dtype_i64 ();

  return reduce (x, op, call->args.ints[0], call->args.ints[1], dtype, error);
}

gboolean
_lp_sum_backward (LpNode    *node,
                  LpTensor  *dy,
                  LpTensor **grads,
                  GError   **error)
{
  LpTensor *x = node->edges[0].value;
  guint mask = node->args.ints[0];
  LpArray spread_dy = spread (&dy->array, &x->array, mask, node->args.ints[1]);
  LpTensor *dx = grads[0] = _lp_tensor_new_like (x, dy->array.dtype, error);
  const LpKernelTable *kernels = _lp_tensor_get_kernels (dy);

  if (dx == NULL)
    return FALSE;
  if (node->args.ints[2] == LP_REDUCE_SUM)
    return kernels->copy (&spread_dy, &dx->array, error);

  return kernels->unary (LP_UNARY_SCALE, 1.0 / MAX (count_reduced (&x->array, mask), 1), &spread_dy, &dx->array, error);
}

LpTensor *
_lp_extremum_forward (LpOpCall  *call,
                      GError   **error)
{
  LpTensor *x = call->inputs[0];

  if (!_lp_check_native (call->op->name, x, error))
    return NULL;
  if (count_reduced (&x->array, call->args.ints[0]) == 0)
    {
      _lp_shape_error (error, call->op->name, "there is no element to choose", x, NULL);
      return NULL;
    }

  return reduce (x, call->args.ints[2], call->args.ints[0], call->args.ints[1], x->array.dtype, error);
}

/* The gradient is shared evenly by all elements that reach the extremum. */
gboolean
_lp_extremum_backward (LpNode    *node,
                       LpTensor  *dy,
                       LpTensor **grads,
                       GError   **error)
{
  LpTensor *x = node->edges[0].value, *y = node->saved[LP_MAX_SAVED - 1];
  const LpKernelTable *kernels = _lp_tensor_get_kernels (dy);
  guint mask = node->args.ints[0];
  gboolean keep_dims = node->args.ints[1];
  LpArray y_spread = spread (&y->array, &x->array, mask, keep_dims);
  LpArray dy_spread = spread (&dy->array, &x->array, mask, keep_dims);
  LpArray share_spread;
  g_autoptr (LpTensor) hits = _lp_tensor_new_like (x, lp_dtype_bool (), error);
  g_autoptr (LpTensor) counts = hits != NULL ? new_reduced (x, mask, dy->array.dtype, error) : NULL;
  LpTensor *dx;

  if (counts == NULL)
    return FALSE;
  dx = grads[0] = _lp_tensor_new_like (x, dy->array.dtype, error);
  if (dx == NULL)
    return FALSE;

  share_spread = spread (&counts->array, &x->array, mask, TRUE);
  return kernels->binary (LP_BINARY_EQUAL, &x->array, &y_spread, &hits->array, error)
         && kernels->reduce (LP_REDUCE_SUM, &hits->array, &counts->array, error)
         && kernels->binary (LP_BINARY_MUL, &hits->array, &dy_spread, &dx->array, error)
         && kernels->binary (LP_BINARY_DIV, &dx->array, &share_spread, &dx->array, error);
}

/* ints: axis */
LpTensor *
_lp_argmax_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0];
  int axis = call->args.ints[0];
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_native ("argmax", x, error))
    return NULL;
  if (x->array.dims[axis] == 0)
    {
      _lp_shape_error (error, "argmax", "there is no element to choose", x, NULL);
      return NULL;
    }
  y = new_reduced (x, 1u << axis, lp_dtype_i64 (), error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->argmax (&x->array, axis, &y->array, error))
    return NULL;

  return drop_axes (y, 1u << axis);
}

LpTensor *
_lp_norm_forward (LpOpCall  *call,
                  GError   **error)
{
  LpTensor *x = call->inputs[0];
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_floating ("norm", x, error))
    return NULL;
  y = reduce (x, LP_REDUCE_SUM_SQUARES, (1u << x->array.n_dims) - 1, FALSE,
              x->array.scalar == LP_SCALAR_F64 ? x->array.dtype : lp_dtype_f32 (), error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->unary (LP_UNARY_SQRT, 0, &y->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

/* x dy / y; 0 where y is 0 */
gboolean
_lp_norm_backward (LpNode    *node,
                   LpTensor  *dy,
                   LpTensor **grads,
                   GError   **error)
{
  LpTensor *x = node->edges[0].value, *y = node->saved[LP_MAX_SAVED - 1];
  const LpKernelTable *kernels = _lp_tensor_get_kernels (dy);
  g_autoptr (LpTensor) factor = _lp_tensor_new_like (y, y->array.dtype, error);
  LpArray spread_factor;
  LpTensor *dx;

  if (factor == NULL)
    return FALSE;
  dx = grads[0] = _lp_tensor_new_like (x, dy->array.dtype, error);
  if (dx == NULL)
    return FALSE;

  spread_factor = _lp_broadcast_array (&factor->array, x->array.dims, x->array.n_dims);
  return kernels->unary (LP_UNARY_CLAMP_MIN, G_MINFLOAT, &y->array, &factor->array, error)
         && kernels->binary (LP_BINARY_DIV, &dy->array, &factor->array, &factor->array, error)
         && kernels->binary (LP_BINARY_MUL, &x->array, &spread_factor, &dx->array, error);
}

/* ints: axis */
LpTensor *
_lp_cumsum_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0];
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_native ("cumsum", x, error))
    return NULL;
  y = _lp_tensor_new_like (x, lp_dtype_is_floating (x->array.dtype) ? x->array.dtype : lp_dtype_i64 (), error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->cumsum (&x->array, call->args.ints[0], FALSE, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_cumsum_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpTensor *dx = grads[0] = _lp_tensor_new_like (dy, dy->array.dtype, error);

  return dx != NULL && _lp_tensor_get_kernels (dy)->cumsum (&dy->array, node->args.ints[0], TRUE, &dx->array, error);
}

static LpTensor *
run_reduce (LpOpId      id,
            LpReduce    op,
            LpTensor   *self,
            const int  *axes,
            gsize       n_axes,
            gboolean    keep_dims,
            GError    **error)
{
  LpOpArgs args = { { 0 }, { 0, keep_dims, op } };

  if (!_lp_input_ok (self, _lp_ops[id].name, error))
    return NULL;
  for (gsize i = 0; i < n_axes; i++)
    {
      int axis = _lp_axis_resolve (axes[i], self->array.n_dims, error);

      if (axis < 0)
        return NULL;
      args.ints[0] |= 1 << axis;
    }
  if (n_axes == 0)
    args.ints[0] = (1 << self->array.n_dims) - 1;

  return _lp_run1 (id, self, &args, error);
}

/**
 * lp_tensor_sum:
 * @self: a tensor
 * @axes: (array length=n_axes) (nullable): the axes to reduce; none means all
 * @n_axes: how many there are
 * @keep_dims: whether reduced axes stay, with extent 1
 * @error: return location for an error
 *
 * Sums over axes, in float32 or wider.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_sum (LpTensor   *self,
               const int  *axes,
               gsize       n_axes,
               gboolean    keep_dims,
               GError    **error)
{
  return run_reduce (LP_OP_SUM, LP_REDUCE_SUM, self, axes, n_axes, keep_dims, error);
}

/**
 * lp_tensor_mean:
 * @self: a tensor
 * @axes: (array length=n_axes) (nullable): the axes to reduce; none means all
 * @n_axes: how many there are
 * @keep_dims: whether reduced axes stay, with extent 1
 * @error: return location for an error
 *
 * Averages over axes, in float32 or wider.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_mean (LpTensor   *self,
                const int  *axes,
                gsize       n_axes,
                gboolean    keep_dims,
                GError    **error)
{
  return run_reduce (LP_OP_MEAN, LP_REDUCE_MEAN, self, axes, n_axes, keep_dims, error);
}

/**
 * lp_tensor_max:
 * @self: a tensor
 * @axes: (array length=n_axes) (nullable): the axes to reduce; none means all
 * @n_axes: how many there are
 * @keep_dims: whether reduced axes stay, with extent 1
 * @error: return location for an error
 *
 * Takes the largest element along axes.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_max (LpTensor   *self,
               const int  *axes,
               gsize       n_axes,
               gboolean    keep_dims,
               GError    **error)
{
  return run_reduce (LP_OP_MAX, LP_REDUCE_MAX, self, axes, n_axes, keep_dims, error);
}

/**
 * lp_tensor_min:
 * @self: a tensor
 * @axes: (array length=n_axes) (nullable): the axes to reduce; none means all
 * @n_axes: how many there are
 * @keep_dims: whether reduced axes stay, with extent 1
 * @error: return location for an error
 *
 * Takes the smallest element along axes.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_min (LpTensor   *self,
               const int  *axes,
               gsize       n_axes,
               gboolean    keep_dims,
               GError    **error)
{
  return run_reduce (LP_OP_MIN, LP_REDUCE_MIN, self, axes, n_axes, keep_dims, error);
}

/**
 * lp_tensor_norm:
 * @self: a tensor
 * @error: return location for an error
 *
 * The square root of the sum of all squares.
 *
 * Returns: (transfer full): a tensor of shape `[]`, in float32 or wider. Errors: %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_norm (LpTensor  *self,
                GError   **error)
{
  return _lp_run1 (LP_OP_NORM, self, NULL, error);
}

/**
 * lp_tensor_argmax:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 * @error: return location for an error
 *
 * Finds where the largest element along an axis is: i64, the axis dropped. The first of equals counts.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_argmax (LpTensor  *self,
                  int        axis,
                  GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (!_lp_input_ok (self, "argmax", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run1 (LP_OP_ARGMAX, self, &args, error) : NULL;
}

/**
 * lp_tensor_cumsum:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 * @error: return location for an error
 *
 * Sums up from the beginning of an axis to each element.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_cumsum (LpTensor  *self,
                  int        axis,
                  GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (!_lp_input_ok (self, "cumsum", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run1 (LP_OP_CUMSUM, self, &args, error) : NULL;
}

