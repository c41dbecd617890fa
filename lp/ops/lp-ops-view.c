#include <lp/ops/lp-ops-private.h>

/* Views: the result shares the memory of the input. */

static gboolean
same_elements (const LpArray *array,
               const gint64  *dims,
               int            n_dims)
{
  gint64 n;

  if (!_lp_dims_multiply (dims, n_dims, &n))
    return FALSE;
  for (int i = 0; i < n_dims; i++)
    if (dims[i] == 0)
      n = 0;

  return n == _lp_array_get_n_elements (array);
}

/* Whether a tensor of the other shape would be the same bytes. */
static gboolean
keeps_blocks (const LpArray *x,
              const gint64  *dims,
              int            n_dims)
{
  const gint64 block = lp_dtype_get_block_size (x->dtype);
  const gint64 row = x->n_dims > 0 ? x->dims[x->n_dims - 1] : 1, new_row = n_dims > 0 ? dims[n_dims - 1] : 1;
  g_autoptr (LpShape) before = NULL;
  g_autoptr (LpShape) after = NULL;

  if (row == new_row)
    return TRUE;
  if (!lp_dtype_get_flat (x->dtype) && (row % block != 0 || new_row % block != 0))
    return FALSE;

  before = lp_shape_new (x->dims, x->n_dims);
  after = lp_shape_new (dims, n_dims);

  return lp_dtype_get_encoded_size (x->dtype, before) == lp_dtype_get_encoded_size (x->dtype, after)
         && lp_dtype_get_encoded_size (x->dtype, after) >= 0;
}

static LpTensor *
reshaped_view (LpTensor     *x,
               const gint64 *dims,
               int           n_dims)
{
  LpArray array = x->array;
  gint64 stride = 1;

  array.n_dims = n_dims;
  for (int i = n_dims - 1; i >= 0; i--)
    {
      array.dims[i] = dims[i];
      array.strides[i] = stride;
      stride *= MAX (dims[i], 1);
    }

  return _lp_tensor_new_view (x->storage, &array);
}

/* ints: n_dims, then the extents */
LpTensor *
_lp_reshape_forward (LpOpCall  *call,
                     GError   **error)
{
  LpTensor *x = call->inputs[0];
  const gint64 *dims = &call->args.ints[1];
  int n_dims = call->args.ints[0];
  g_autoptr (LpTensor) row_major = NULL;

  if (!same_elements (&x->array, dims, n_dims))
    {
      g_autoptr (LpShape) shape = lp_shape_new (dims, n_dims);
      g_autofree char *text = lp_shape_to_string (shape);
      g_autofree char *problem = g_strdup_printf ("the elements don't fill %s", text);

      _lp_shape_error (error, "reshape", problem, x, NULL);
      return NULL;
    }
  if (x->array.scalar == LP_SCALAR_ENCODED && !keeps_blocks (&x->array, dims, n_dims))
    {
      _lp_shape_error (error, "reshape", "blocks of elements would be cut", x, NULL);
      return NULL;
    }

  row_major = _lp_tensor_contiguous (x, error);

  return row_major != NULL ? reshaped_view (row_major, dims, n_dims) : NULL;
}

gboolean
_lp_reshape_backward (LpNode    *node,
                      LpTensor  *dy,
                      LpTensor **grads,
                      GError   **error)
{
  /* the extents of the input follow those of the output */
  int n_out = node->args.ints[0];
  const gint64 *in = &node->args.ints[1 + n_out];
  g_autoptr (LpTensor) row_major = _lp_tensor_contiguous (dy, error);

  if (row_major == NULL)
    return FALSE;

  grads[0] = reshaped_view (row_major, in + 1, in[0]);
  return TRUE;
}

/* ints: the axes */
static LpTensor *
permuted_view (LpTensor     *x,
               const gint64 *axes)
{
  LpArray array = x->array;

  for (int i = 0; i < array.n_dims; i++)
    {
      array.dims[i] = x->array.dims[axes[i]];
      array.strides[i] = x->array.strides[axes[i]];
    }

  return _lp_tensor_new_view (x->storage, &array);
}

LpTensor *
_lp_permute_forward (LpOpCall  *call,
                     GError   **error)
{
  LpTensor *x = call->inputs[0];

  return _lp_check_native ("permute", x, error) ? permuted_view (x, call->args.ints) : NULL;
}

gboolean
_lp_permute_backward (LpNode    *node,
                      LpTensor  *dy,
                      LpTensor **grads,
                      GError   **error)
{
  gint64 inverse[LP_MAX_DIMS];

  for (int i = 0; i < dy->array.n_dims; i++)
    inverse[node->args.ints[i]] = i;
  grads[0] = permuted_view (dy, inverse);

  return TRUE;
}

/* ints: n_dims, then the extents; -1 keeps one */
LpTensor *
_lp_expand_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0];
  int n_dims = call->args.ints[0], shift = n_dims - x->array.n_dims;
  gint64 dims[LP_MAX_DIMS], n;
  LpArray array;

  if (!_lp_check_native ("expand", x, error))
    return NULL;
  for (int i = 0; i < n_dims; i++)
    {
      gint64 old = i < shift ? 1 : x->array.dims[i - MAX (shift, 0)];

      dims[i] = call->args.ints[1 + i] == -1 ? old : call->args.ints[1 + i];
      if (shift >= 0 && dims[i] >= 0 && (old == 1 || old == dims[i]))
        continue;
      _lp_shape_error (error, "expand", "only axes of extent 1 can be repeated", x, NULL);
      return NULL;
    }
  if (shift < 0)
    {
      _lp_shape_error (error, "expand", "the result has fewer dimensions", x, NULL);
      return NULL;
    }

  if (!_lp_dims_multiply (dims, n_dims, &n))
    {
      _lp_shape_error (error, "expand", "the result has too many elements", x, NULL);
      return NULL;
    }

  array = _lp_broadcast_array (&x->array, dims, n_dims);

  return _lp_tensor_new_view (x->storage, &array);
}

gboolean
_lp_expand_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpArray *x = &node->edges[0].value->array;

  grads[0] = _lp_sum_to (g_object_ref (dy), x->dims, x->n_dims, error);

  return grads[0] != NULL;
}

static LpTensor *
narrowed_view (LpTensor *x,
               int       axis,
               gint64    start,
               gint64    length)
{
  LpArray array = x->array;

  array.dims[axis] = length;
  if (array.scalar == LP_SCALAR_ENCODED)
    array.offset += start * array.strides[axis];
  else
    array.data += start * array.strides[axis] * _lp_scalar_sizes[array.scalar];

  return _lp_tensor_new_view (x->storage, &array);
}

/* Whether both ends lie between blocks: of every run of the view that is contiguous in memory. */
static gboolean
cuts_no_block (const LpArray *x,
               int            axis,
               gint64         start,
               gint64         length)
{
  const gint64 block = lp_dtype_get_block_size (x->dtype), n = lp_shape_get_n_elements (x->stored);
  const gboolean flat = lp_dtype_get_flat (x->dtype);
  gint64 row = lp_shape_get_n_dims (x->stored) > 0 ? lp_shape_get_dim (x->stored, -1) : 1;
  const gint64 ends[] = { start, start + length };

  if (flat)
    row = MAX (n, 1);
  for (int i = 0; i < 2; i++)
    {
      const gint64 at = x->offset + ends[i] * x->strides[axis];

      if (at % row % block != 0 && at != n && ends[i] != x->dims[axis])
        return FALSE;
    }
  /* the other runs begin at multiples of the strides before */
  for (int i = 0; i < axis; i++)
    if (flat && x->dims[i] != 1 && x->strides[i] % block != 0)
      return FALSE;

  return TRUE;
}

/* ints: axis, start, length */
LpTensor *
_lp_narrow_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0];
  int axis = call->args.ints[0];
  gint64 start = call->args.ints[1], length = call->args.ints[2];

  if (start < 0 || length < 0 || start > x->array.dims[axis] || length > x->array.dims[axis] - start)
    {
      g_autofree char *problem = g_strdup_printf ("%" G_GINT64_FORMAT " elements from %" G_GINT64_FORMAT
                                                  " on are not all on axis %d", length, start, axis);

      _lp_shape_error (error, "narrow", problem, x, NULL);
      return NULL;
    }
  if (x->array.scalar == LP_SCALAR_ENCODED && !cuts_no_block (&x->array, axis, start, length))
    {
      g_autofree char *problem = g_strdup_printf ("blocks of %u elements of %s would be cut",
                                                  lp_dtype_get_block_size (x->array.dtype), lp_dtype_get_name (x->array.dtype));

      _lp_shape_error (error, "narrow", problem, x, NULL);
      return NULL;
    }

  return narrowed_view (x, axis, start, length);
}

gboolean
_lp_narrow_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpArray *x = &node->edges[0].value->array;
  g_autoptr (LpTensor) dx = lp_tensor_zeros (x->dims, x->n_dims, dy->array.dtype, dy->storage->device, error);
  g_autoptr (LpTensor) part = dx != NULL ? narrowed_view (dx, node->args.ints[0], node->args.ints[1], node->args.ints[2]) : NULL;

  if (part == NULL || !_lp_tensor_get_kernels (dy)->copy (&dy->array, &part->array, error))
    return FALSE;

  g_clear_object (&part);
  grads[0] = g_steal_pointer (&dx);
  return TRUE;
}

/**
 * lp_tensor_reshape:
 * @self: a tensor
 * @dims: (array length=n_dims): the new extents; one may be -1 and follows from the others
 * @n_dims: how many there are
 * @error: return location for an error
 *
 * Gives the elements, in row-major order, other extents. Memory is shared if @self lies row-major.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_reshape (LpTensor      *self,
                   const gint64  *dims,
                   gsize          n_dims,
                   GError       **error)
{
  LpOpArgs args = { { 0 }, { n_dims } };
  gint64 known = 1, n;
  int open = -1;

  if (!_lp_input_ok (self, "reshape", error))
    return NULL;
  /* the args hold both shapes */
  if (n_dims + self->array.n_dims + 2 > G_N_ELEMENTS (args.ints) || n_dims > LP_MAX_DIMS)
    {
      _lp_shape_error (error, "reshape", "there are too many dimensions", self, NULL);
      return NULL;
    }

  n = _lp_array_get_n_elements (&self->array);
  for (gsize i = 0; i < n_dims; i++)
    {
      args.ints[1 + i] = dims[i];
      if (dims[i] == -1 && open < 0)
        open = i;
      else if (dims[i] < 0)
        {
          _lp_shape_error (error, "reshape", "an extent is negative", self, NULL);
          return NULL;
        }
      else
        known = (gint64) ((guint64) known * (guint64) dims[i]);   /* may wrap: the product of all is checked later */
    }
  if (open >= 0)
    args.ints[1 + open] = known > 0 && n % known == 0 ? n / known : 0;
  args.ints[1 + n_dims] = self->array.n_dims;
  for (int i = 0; i < self->array.n_dims; i++)
    args.ints[2 + n_dims + i] = self->array.dims[i];

  return _lp_run1 (LP_OP_RESHAPE, self, &args, error);
}

/**
 * lp_tensor_flatten:
 * @self: a tensor
 * @start_axis: the first axis to join; -1 is the last
 * @error: return location for an error
 *
 * Joins all axes from @start_axis on into one.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_flatten (LpTensor  *self,
                   int        start_axis,
                   GError   **error)
{
  gint64 dims[LP_MAX_DIMS];
  int axis;

  if (!_lp_input_ok (self, "flatten", error))
    return NULL;
  axis = _lp_axis_resolve (start_axis, MAX (self->array.n_dims, 1), error);
  if (axis < 0)
    return NULL;

  for (int i = 0; i < axis; i++)
    dims[i] = self->array.dims[i];
  dims[axis] = 1;
  for (int i = axis; i < self->array.n_dims; i++)
    dims[axis] *= self->array.dims[i];

  return lp_tensor_reshape (self, dims, axis + 1, error);
}

/**
 * lp_tensor_permute:
 * @self: a tensor
 * @axes: (array length=n_axes): which axis of @self comes first, second, and so on
 * @n_axes: how many there are
 * @error: return location for an error
 *
 * Reorders the axes.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_permute (LpTensor   *self,
                   const int  *axes,
                   gsize       n_axes,
                   GError    **error)
{
  LpOpArgs args = { { 0 }, { 0 } };
  guint seen = 0;

  if (!_lp_input_ok (self, "permute", error))
    return NULL;
  for (gsize i = 0; i < n_axes && i < LP_MAX_DIMS; i++)
    {
      int axis = _lp_axis_resolve (axes[i], self->array.n_dims, error);

      if (axis < 0)
        return NULL;
      args.ints[i] = axis;
      seen |= 1u << axis;
    }
  if ((int) n_axes != self->array.n_dims || seen != (1u << n_axes) - 1)
    {
      _lp_shape_error (error, "permute", "every axis must be named once", self, NULL);
      return NULL;
    }

  return _lp_run1 (LP_OP_PERMUTE, self, &args, error);
}

/**
 * lp_tensor_transpose:
 * @self: a tensor
 * @axis_a: an axis; -1 is the last
 * @axis_b: another axis
 * @error: return location for an error
 *
 * Exchanges two axes.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_transpose (LpTensor  *self,
                     int        axis_a,
                     int        axis_b,
                     GError   **error)
{
  int axes[LP_MAX_DIMS], a, b;

  if (!_lp_input_ok (self, "transpose", error))
    return NULL;
  a = _lp_axis_resolve (axis_a, self->array.n_dims, error);
  b = a >= 0 ? _lp_axis_resolve (axis_b, self->array.n_dims, error) : -1;
  if (b < 0)
    return NULL;

  for (int i = 0; i < self->array.n_dims; i++)
    axes[i] = i == a ? b : i == b ? a : i;

  return lp_tensor_permute (self, axes, self->array.n_dims, error);
}

/**
 * lp_tensor_expand:
 * @self: a tensor
 * @dims: (array length=n_dims): the new extents; -1 keeps one
 * @n_dims: how many there are
 * @error: return location for an error
 *
 * Repeats axes of extent 1, without copying, and adds axes in front.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_expand (LpTensor      *self,
                  const gint64  *dims,
                  gsize          n_dims,
                  GError       **error)
{
  LpOpArgs args = { { 0 }, { n_dims } };

  if (!_lp_input_ok (self, "expand", error))
    return NULL;
  if (n_dims > LP_MAX_DIMS)
    {
      _lp_shape_error (error, "expand", "there are too many dimensions", self, NULL);
      return NULL;
    }
  for (gsize i = 0; i < n_dims; i++)
    args.ints[1 + i] = dims[i];

  return _lp_run1 (LP_OP_EXPAND, self, &args, error);
}

/**
 * lp_tensor_narrow:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 * @start: the first element
 * @length: how many
 * @error: return location for an error
 *
 * Cuts out a range of an axis.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_narrow (LpTensor  *self,
                  int        axis,
                  gint64     start,
                  gint64     length,
                  GError   **error)
{
  LpOpArgs args = { { 0 }, { 0, start, length } };

  if (!_lp_input_ok (self, "narrow", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run1 (LP_OP_NARROW, self, &args, error) : NULL;
}

/**
 * lp_tensor_squeeze:
 * @self: a tensor
 * @axis: an axis of extent 1; -1 is the last
 * @error: return location for an error
 *
 * Drops an axis of extent 1.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_squeeze (LpTensor  *self,
                   int        axis,
                   GError   **error)
{
  gint64 dims[LP_MAX_DIMS];
  int resolved, n = 0;

  if (!_lp_input_ok (self, "squeeze", error))
    return NULL;
  resolved = _lp_axis_resolve (axis, self->array.n_dims, error);
  if (resolved < 0)
    return NULL;
  if (self->array.dims[resolved] != 1)
    {
      _lp_shape_error (error, "squeeze", "the axis has not extent 1", self, NULL);
      return NULL;
    }

  for (int i = 0; i < self->array.n_dims; i++)
    if (i != resolved)
      dims[n++] = self->array.dims[i];

  return lp_tensor_reshape (self, dims, n, error);
}

/**
 * lp_tensor_unsqueeze:
 * @self: a tensor
 * @axis: where the new axis will be; -1 is after the last
 * @error: return location for an error
 *
 * Inserts an axis of extent 1.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_unsqueeze (LpTensor  *self,
                     int        axis,
                     GError   **error)
{
  gint64 dims[LP_MAX_DIMS + 1];
  int resolved, n = 0;

  if (!_lp_input_ok (self, "unsqueeze", error))
    return NULL;
  resolved = _lp_axis_resolve (axis, self->array.n_dims + 1, error);
  if (resolved < 0)
    return NULL;

  for (int i = 0; i <= self->array.n_dims; i++)
    dims[i] = i == resolved ? 1 : self->array.dims[n++];

  return lp_tensor_reshape (self, dims, self->array.n_dims + 1, error);
}

/**
 * lp_tensor_select:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 * @index: a position on it; negative ones count from the end
 * @error: return location for an error
 *
 * Takes one position of an axis and drops the axis.
 *
 * Returns: (transfer full): a view. Errors: %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_select (LpTensor  *self,
                  int        axis,
                  gint64     index,
                  GError   **error)
{
  g_autoptr (LpTensor) slice = NULL;
  int resolved;

  if (!_lp_input_ok (self, "select", error))
    return NULL;
  resolved = _lp_axis_resolve (axis, self->array.n_dims, error);
  if (resolved < 0)
    return NULL;

  slice = lp_tensor_narrow (self, resolved, index < 0 ? index + self->array.dims[resolved] : index, 1, error);

  return lp_tensor_squeeze (slice, resolved, error);
}
