#include <lp/ops/lp-ops-private.h>

/* Joining, splitting and choosing. */

static LpArray
part_of (const LpArray *array,
         int            axis,
         gint64         start,
         gint64         length)
{
  LpArray part = *array;

  part.dims[axis] = length;
  part.data += start * array->strides[axis] * _lp_scalar_sizes[array->scalar];

  return part;
}

static gboolean
check_index (const char  *name,
             LpTensor    *index,
             GError     **error)
{
  if (index->array.scalar == LP_SCALAR_I64 || index->array.scalar == LP_SCALAR_I32)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "%s: the index must be i64 or i32, not %s", name,
               lp_dtype_get_name (index->array.dtype));
  return FALSE;
}

/* ints: axis */
LpTensor *
_lp_cat_forward (LpOpCall  *call,
                 GError   **error)
{
  LpTensor *first = call->inputs[0];
  int axis = call->args.ints[0];
  gint64 dims[LP_MAX_DIMS], at = 0;
  g_autoptr (LpTensor) y = NULL;
  LpDType *dtype = first->array.dtype;

  for (int i = 0; i < first->array.n_dims; i++)
    dims[i] = first->array.dims[i];
  dims[axis] = 0;
  for (int i = 0; i < call->n_inputs; i++)
    {
      LpTensor *x = call->inputs[i];
      gboolean fits = x->array.n_dims == first->array.n_dims;

      if (!_lp_check_native ("cat", x, error))
        return NULL;
      for (int d = 0; fits && d < x->array.n_dims; d++)
        fits = d == axis || x->array.dims[d] == dims[d];
      if (!fits)
        {
          _lp_shape_error (error, "cat", "all extents but that of the axis must agree", first, x);
          return NULL;
        }
      dims[axis] += x->array.dims[axis];
      if (x->array.dtype != dtype)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "cat: the tensors are %s and %s: convert them to one dtype",
                       lp_dtype_get_name (dtype), lp_dtype_get_name (x->array.dtype));
          return NULL;
        }
    }

  y = _lp_tensor_new (dims, first->array.n_dims, dtype, first->storage->device, error);
  if (y == NULL)
    return NULL;
  for (int i = 0; i < call->n_inputs; i++)
    {
      gint64 length = call->inputs[i]->array.dims[axis];
      LpArray part = part_of (&y->array, axis, at, length);

      if (!_lp_tensor_get_kernels (y)->copy (&call->inputs[i]->array, &part, error))
        return NULL;
      at += length;
    }

  return g_steal_pointer (&y);
}

gboolean
_lp_cat_backward (LpNode    *node,
                  LpTensor  *dy,
                  LpTensor **grads,
                  GError   **error)
{
  int axis = node->args.ints[0];
  gint64 at = 0;

  for (int i = 0; i < node->n_inputs; i++)
    {
      gint64 length = node->edges[i].value->array.dims[axis];
      LpArray part = part_of (&dy->array, axis, at, length);

      if (_lp_node_needs (node, i))
        grads[i] = _lp_tensor_new_view (dy->storage, &part);
      at += length;
    }

  return TRUE;
}

/* ints: axis, before, after; numbers: value */
LpTensor *
_lp_pad_forward (LpOpCall  *call,
                 GError   **error)
{
  LpTensor *x = call->inputs[0];
  int axis = call->args.ints[0];
  gint64 dims[LP_MAX_DIMS];
  g_autoptr (LpTensor) y = NULL;
  LpArray part;

  if (!_lp_check_native ("pad", x, error))
    return NULL;
  for (int i = 0; i < x->array.n_dims; i++)
    dims[i] = x->array.dims[i];
  dims[axis] += call->args.ints[1] + call->args.ints[2];
  y = lp_tensor_full (dims, x->array.n_dims, call->args.numbers[0], x->array.dtype, x->storage->device, error);
  if (y == NULL)
    return NULL;
  part = part_of (&y->array, axis, call->args.ints[1], x->array.dims[axis]);

  return _lp_tensor_get_kernels (x)->copy (&x->array, &part, error) ? g_steal_pointer (&y) : NULL;
}

gboolean
_lp_pad_backward (LpNode    *node,
                  LpTensor  *dy,
                  LpTensor **grads,
                  GError   **error)
{
  int axis = node->args.ints[0];
  LpArray part = part_of (&dy->array, axis, node->args.ints[1], node->edges[0].value->array.dims[axis]);

  grads[0] = _lp_tensor_new_view (dy->storage, &part);
  return TRUE;
}

/* ints: axis */
LpTensor *
_lp_index_select_forward (LpOpCall  *call,
                          GError   **error)
{
  LpTensor *x = call->inputs[0], *index = call->inputs[1];
  int axis = call->args.ints[0];
  gint64 dims[LP_MAX_DIMS];
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_native ("index_select", x, error) || !check_index ("index_select", index, error))
    return NULL;
  if (index->array.n_dims != 1)
    {
      _lp_shape_error (error, "index_select", "the index must be [n]", x, index);
      return NULL;
    }
  for (int i = 0; i < x->array.n_dims; i++)
    dims[i] = x->array.dims[i];
  dims[axis] = index->array.dims[0];
  y = _lp_tensor_new (dims, x->array.n_dims, x->array.dtype, x->storage->device, error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->index_select (&x->array, axis, &index->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

static LpTensor *
zeros_like_input (LpNode    *node,
                  LpTensor  *dy,
                  GError   **error)
{
  LpArray *x = &node->edges[0].value->array;

  return lp_tensor_zeros (x->dims, x->n_dims, dy->array.dtype, dy->storage->device, error);
}

gboolean
_lp_index_select_backward (LpNode    *node,
                           LpTensor  *dy,
                           LpTensor **grads,
                           GError   **error)
{
  LpTensor *dx = grads[0] = zeros_like_input (node, dy, error);

  return dx != NULL && _lp_tensor_get_kernels (dy)->index_add (&dx->array, node->args.ints[0], &node->edges[1].value->array,
                                                               &dy->array, error);
}

/* Every extent of the index but that of the axis fits that of the tensor. */
static gboolean
check_gather (const char  *name,
              LpTensor    *x,
              LpTensor    *index,
              int          axis,
              GError     **error)
{
  gboolean fits = x->array.n_dims == index->array.n_dims;

  if (!_lp_check_native (name, x, error) || !check_index (name, index, error))
    return FALSE;
  for (int i = 0; fits && i < x->array.n_dims; i++)
    fits = i == axis || index->array.dims[i] == x->array.dims[i];
  if (fits)
    return TRUE;

  _lp_shape_error (error, name, "the index must have the extents of the tensor but for the axis", x, index);
  return FALSE;
}

LpTensor *
_lp_gather_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0], *index = call->inputs[1];
  int axis = call->args.ints[0];
  g_autoptr (LpTensor) y = NULL;

  if (!check_gather ("gather", x, index, axis, error))
    return NULL;
  y = _lp_tensor_new (index->array.dims, index->array.n_dims, x->array.dtype, x->storage->device, error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->gather (&x->array, axis, &index->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_gather_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpTensor *dx = grads[0] = zeros_like_input (node, dy, error);

  return dx != NULL && _lp_tensor_get_kernels (dy)->scatter_add (&dx->array, node->args.ints[0], &node->edges[1].value->array,
                                                                 &dy->array, error);
}

LpTensor *
_lp_scatter_add_forward (LpOpCall  *call,
                         GError   **error)
{
  LpTensor *x = call->inputs[0], *index = call->inputs[1], *source = call->inputs[2];
  int axis = call->args.ints[0];
  gboolean fits = index->array.n_dims == source->array.n_dims;
  g_autoptr (LpTensor) y = NULL;

  if (!check_gather ("scatter_add", x, index, axis, error))
    return NULL;
  for (int i = 0; fits && i < index->array.n_dims; i++)
    fits = index->array.dims[i] == source->array.dims[i];
  if (!fits)
    {
      _lp_shape_error (error, "scatter_add", "index and source must have one shape", index, source);
      return NULL;
    }
  if (source->array.dtype != x->array.dtype)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "scatter_add: the tensors are %s and %s: convert them to one dtype",
                   lp_dtype_get_name (x->array.dtype), lp_dtype_get_name (source->array.dtype));
      return NULL;
    }

  y = _lp_tensor_new (x->array.dims, x->array.n_dims, x->array.dtype, x->storage->device, error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->copy (&x->array, &y->array, error)
      || !_lp_tensor_get_kernels (x)->scatter_add (&y->array, axis, &index->array, &source->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_scatter_add_backward (LpNode    *node,
                          LpTensor  *dy,
                          LpTensor **grads,
                          GError   **error)
{
  LpTensor *index = node->edges[1].value;

  if (_lp_node_needs (node, 0))
    grads[0] = g_object_ref (dy);
  if (!_lp_node_needs (node, 2))
    return TRUE;

  grads[2] = _lp_tensor_new (index->array.dims, index->array.n_dims, dy->array.dtype, dy->storage->device, error);

  return grads[2] != NULL && _lp_tensor_get_kernels (dy)->gather (&dy->array, node->args.ints[0], &index->array,
                                                                  &grads[2]->array, error);
}

/* ints: the dtype's address; the result keeps the dtype alive */
LpTensor *
_lp_to_dtype_forward (LpOpCall  *call,
                      GError   **error)
{
  return _lp_tensor_cast (call->inputs[0], (LpDType *) (gsize) call->args.ints[0], error);
}

/* The engine converts gradients to the dtype of where they go; through an encoding they pass straight. */
gboolean
_lp_to_dtype_backward (LpNode    *node,
                       LpTensor  *dy,
                       LpTensor **grads,
                       GError   **error)
{
  grads[0] = g_object_ref (dy);
  return TRUE;
}

/* ints: row-major */
LpTensor *
_lp_copy_forward (LpOpCall  *call,
                  GError   **error)
{
  LpTensor *x = call->inputs[0];
  g_autoptr (LpTensor) y = NULL;

  if (call->args.ints[0])
    y = _lp_tensor_new (x->array.dims, x->array.n_dims, x->array.dtype, x->storage->device, error);
  else
    y = _lp_tensor_new_like (x, x->array.dtype, error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->copy (&x->array, &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_copy_backward (LpNode    *node,
                   LpTensor  *dy,
                   LpTensor **grads,
                   GError   **error)
{
  grads[0] = g_object_ref (dy);
  return TRUE;
}

/**
 * lp_tensor_cat:
 * @tensors: (array length=n_tensors): tensors that agree but for the extent of @axis
 * @n_tensors: how many there are
 * @axis: the axis; -1 is the last
 * @error: return location for an error
 *
 * Joins tensors along an axis.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_cat (LpTensor **tensors,
               gsize      n_tensors,
               int        axis,
               GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (n_tensors == 0)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "cat: there are no tensors to join");
      return NULL;
    }
  for (gsize i = 0; i < n_tensors; i++)
    if (!_lp_input_ok (tensors[i], "cat", error))
      return NULL;
  args.ints[0] = _lp_axis_resolve (axis, tensors[0]->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_dispatch (&_lp_ops[LP_OP_CAT], tensors, n_tensors, &args, error) : NULL;
}

/**
 * lp_tensor_stack:
 * @tensors: (array length=n_tensors): tensors of one shape
 * @n_tensors: how many there are
 * @axis: where the new axis will be; -1 is after the last
 * @error: return location for an error
 *
 * Joins tensors along a new axis.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_stack (LpTensor **tensors,
                 gsize      n_tensors,
                 int        axis,
                 GError   **error)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func (g_object_unref);
  int resolved;

  if (n_tensors == 0)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "stack: there are no tensors to join");
      return NULL;
    }
  if (!_lp_input_ok (tensors[0], "stack", error))
    return NULL;
  resolved = _lp_axis_resolve (axis, tensors[0]->array.n_dims + 1, error);
  if (resolved < 0)
    return NULL;
  for (gsize i = 0; i < n_tensors; i++)
    {
      LpTensor *row = lp_tensor_unsqueeze (tensors[i], resolved, error);

      if (row == NULL)
        return NULL;
      g_ptr_array_add (rows, row);
    }

  return lp_tensor_cat ((LpTensor **) rows->pdata, rows->len, resolved, error);
}

/**
 * lp_tensor_split:
 * @self: a tensor
 * @size: the extent of each part, at least 1; the last may be shorter
 * @axis: the axis; -1 is the last
 * @error: return location for an error
 *
 * Cuts a tensor into parts along an axis.
 *
 * Returns: (transfer container) (element-type LpTensor): the parts, which are views. Errors: %LP_ERROR_SHAPE, %LP_ERROR_ARGUMENT
 */
GPtrArray *
lp_tensor_split (LpTensor  *self,
                 gint64     size,
                 int        axis,
                 GError   **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_object_unref);
  int resolved;

  if (!_lp_input_ok (self, "split", error))
    return NULL;
  resolved = _lp_axis_resolve (axis, self->array.n_dims, error);
  if (resolved < 0)
    return NULL;
  if (size < 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "split: parts must have at least 1 element, not %" G_GINT64_FORMAT, size);
      return NULL;
    }

  for (gint64 at = 0; at < self->array.dims[resolved]; at += size)
    {
      LpTensor *part = lp_tensor_narrow (self, resolved, at, MIN (size, self->array.dims[resolved] - at), error);

      if (part == NULL)
        return NULL;
      g_ptr_array_add (parts, part);
    }

  return g_steal_pointer (&parts);
}

/**
 * lp_tensor_pad:
 * @self: a tensor
 * @axis: the axis; -1 is the last
 * @before: how many elements to add in front
 * @after: how many elements to add behind
 * @value: their value
 * @error: return location for an error
 *
 * Lengthens an axis.
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_SHAPE, %LP_ERROR_ARGUMENT, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_pad (LpTensor  *self,
               int        axis,
               gint64     before,
               gint64     after,
               double     value,
               GError   **error)
{
  LpOpArgs args = { { value }, { 0, before, after } };

  if (!_lp_input_ok (self, "pad", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);
  if (args.ints[0] < 0)
    return NULL;
  if (before < 0 || after < 0)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "pad: the numbers of elements to add can't be negative");
      return NULL;
    }

  return _lp_run1 (LP_OP_PAD, self, &args, error);
}

/**
 * lp_tensor_index_select:
 * @self: a tensor
 * @axis: the axis; -1 is the last
 * @index: positions on the axis, `[n]`, i64 or i32
 * @error: return location for an error
 *
 * Takes the named positions of an axis, in the order of the index; a position may be named more than once.
 *
 * Returns: (transfer full): the result, with extent n on the axis. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE,
 *   %LP_ERROR_ARGUMENT for a position that does not exist
 */
LpTensor *
lp_tensor_index_select (LpTensor  *self,
                        int        axis,
                        LpTensor  *index,
                        GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (!_lp_input_ok (self, "index_select", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run2 (LP_OP_INDEX_SELECT, self, index, &args, error) : NULL;
}

/**
 * lp_tensor_gather:
 * @self: a tensor
 * @axis: the axis; -1 is the last
 * @index: positions on the axis, i64 or i32, of the extents of @self but for the axis
 * @error: return location for an error
 *
 * Takes, for each element of the index, the element at that position of the axis.
 *
 * Returns: (transfer full): a tensor of the shape of @index. Errors: as for [method@Tensor.index_select]
 */
LpTensor *
lp_tensor_gather (LpTensor  *self,
                  int        axis,
                  LpTensor  *index,
                  GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (!_lp_input_ok (self, "gather", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run2 (LP_OP_GATHER, self, index, &args, error) : NULL;
}

/**
 * lp_tensor_scatter_add:
 * @self: a tensor
 * @axis: the axis; -1 is the last
 * @index: positions on the axis, i64 or i32, of the extents of @self but for the axis
 * @source: what to add, of the shape of @index
 * @error: return location for an error
 *
 * Adds each element of @source to the element of @self at that position of the axis.
 *
 * Returns: (transfer full): a new tensor of the shape of @self. Errors: as for [method@Tensor.index_select]
 */
LpTensor *
lp_tensor_scatter_add (LpTensor  *self,
                       int        axis,
                       LpTensor  *index,
                       LpTensor  *source,
                       GError   **error)
{
  LpOpArgs args = { { 0 }, { 0 } };

  if (!_lp_input_ok (self, "scatter_add", error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run3 (LP_OP_SCATTER_ADD, self, index, source, &args, error) : NULL;
}

/**
 * lp_tensor_to_dtype:
 * @self: a tensor
 * @dtype: a dtype
 * @error: return location for an error
 *
 * Converts the elements: to the nearest value, ties to even. Gradients pass straight through, also through an encoding.
 *
 * Returns: (transfer full): the result: @self itself if it has that dtype. Errors: %LP_ERROR_MEMORY, and what a dtype's
 *   encoder reports
 */
LpTensor *
lp_tensor_to_dtype (LpTensor  *self,
                    LpDType   *dtype,
                    GError   **error)
{
  LpOpArgs args = { { 0 }, { (gint64) (gsize) dtype } };

  if (!_lp_input_ok (self, "to_dtype", error))
    return NULL;
  g_return_val_if_fail (LP_IS_DTYPE (dtype), NULL);
  if (self->array.dtype == dtype)
    return g_object_ref (self);

  return _lp_run1 (LP_OP_TO_DTYPE, self, &args, error);
}

/**
 * lp_tensor_copy:
 * @self: a tensor
 * @error: return location for an error
 *
 * Copies the elements to memory of their own.
 *
 * Returns: (transfer full): the copy. Errors: %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_copy (LpTensor  *self,
                GError   **error)
{
  return _lp_run1 (LP_OP_COPY, self, NULL, error);
}

/**
 * lp_tensor_contiguous:
 * @self: a tensor
 * @error: return location for an error
 *
 * Gives a tensor that lies row-major in memory.
 *
 * Returns: (transfer full): the tensor: @self itself if it does. Errors: %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_contiguous (LpTensor  *self,
                      GError   **error)
{
  LpOpArgs args = { { 0 }, { TRUE } };

  if (!_lp_input_ok (self, "contiguous", error))
    return NULL;
  if (_lp_array_is_contiguous (&self->array))
    return g_object_ref (self);

  return _lp_run1 (LP_OP_COPY, self, &args, error);
}

/**
 * lp_tensor_to_device:
 * @self: a tensor
 * @device: a device
 * @error: return location for an error
 *
 * Moves the elements to a device.
 *
 * Returns: (transfer full): the result: @self itself if it is there. Errors: %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_to_device (LpTensor  *self,
                     LpDevice  *device,
                     GError   **error)
{
  if (!_lp_input_ok (self, "to_device", error))
    return NULL;
  g_return_val_if_fail (LP_IS_DEVICE (device), NULL);
  if (self->storage->device == device)
    return g_object_ref (self);

  g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "There is no way to copy from %s to %s",
               lp_device_get_name (self->storage->device), lp_device_get_name (device));
  return NULL;
}
