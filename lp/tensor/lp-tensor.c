#include <string.h>

#include <lp/tensor/lp-tensor-private.h>

#include <lp/core/lp-error.h>

/**
 * LpTensor:
 *
 * An n-dimensional array: a view of a run of memory on a device, with a dtype, extents and strides, and, if it requires
 * one, a gradient.
 *
 * Views made by [method@Tensor.reshape], [method@Tensor.narrow], [method@Tensor.permute] and their like share memory.
 * A 4-dimensional tensor `[N, C, H, W]` that comes from a convolution lies channels-last in memory.
 *
 * A tensor may be used from one thread at a time.
 */

G_DEFINE_FINAL_TYPE (LpTensor, lp_tensor, G_TYPE_OBJECT)

static void
lp_tensor_dispose (GObject *object)
{
  LpTensor *self = LP_TENSOR (object);

  if (self->node != NULL)
    self->node_release (g_steal_pointer (&self->node));
  g_clear_object (&self->grad);
  g_clear_object (&self->factor);
  g_clear_object (&self->low);

  G_OBJECT_CLASS (lp_tensor_parent_class)->dispose (object);
}

static void
lp_tensor_finalize (GObject *object)
{
  LpTensor *self = LP_TENSOR (object);

  g_clear_pointer (&self->storage, _lp_storage_unref);
  if (self->array.scalar == LP_SCALAR_ENCODED)
    g_clear_object (&self->array.dtype);

  G_OBJECT_CLASS (lp_tensor_parent_class)->finalize (object);
}

static void
lp_tensor_class_init (LpTensorClass *klass)
{
  G_OBJECT_CLASS (klass)->dispose = lp_tensor_dispose;
  G_OBJECT_CLASS (klass)->finalize = lp_tensor_finalize;
}

static void
lp_tensor_init (LpTensor *self)
{
}

gint64
_lp_array_get_n_elements (const LpArray *self)
{
  gint64 n = 1;

  for (int i = 0; i < self->n_dims; i++)
    n *= self->dims[i];

  return n;
}

gboolean
_lp_array_is_contiguous (const LpArray *self)
{
  gint64 expected = 1;

  for (int i = self->n_dims - 1; i >= 0; i--)
    {
      if (self->dims[i] == 0)
        return TRUE;
      if (self->dims[i] != 1 && self->strides[i] != expected)
        return FALSE;
      expected *= self->dims[i];
    }

  return TRUE;
}

gboolean
_lp_array_is_whole (const LpArray *self)
{
  return self->offset == 0 && _lp_array_is_contiguous (self)
         && _lp_array_get_n_elements (self) == lp_shape_get_n_elements (self->stored);
}

int
_lp_axis_resolve (int      axis,
                  int      n_dims,
                  GError **error)
{
  int resolved = axis < 0 ? axis + n_dims : axis;

  if (resolved >= 0 && resolved < n_dims)
    return resolved;

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "There is no axis %d in a tensor of %d dimensions", axis, n_dims);
  return -1;
}

LpTensor *
_lp_tensor_new_view (LpStorage     *storage,
                     const LpArray *array)
{
  LpTensor *self = g_object_new (LP_TYPE_TENSOR, NULL);

  self->storage = _lp_storage_ref (storage);
  self->array = *array;
  if (array->scalar == LP_SCALAR_ENCODED)
    {
      g_object_ref (array->dtype);
      if (storage->encoded == NULL)
        storage->encoded = lp_shape_new (array->dims, array->n_dims);
      self->array.stored = storage->encoded;
      self->array.stored_size = storage->size;
    }

  return self;
}

static void
set_row_major (LpArray *array)
{
  gint64 stride = 1;

  for (int i = array->n_dims - 1; i >= 0; i--)
    {
      array->strides[i] = stride;
      stride = (gint64) ((guint64) stride * (guint64) MAX (array->dims[i], 1));   /* may wrap: the size is checked apart */
    }
}

gboolean
_lp_dims_multiply (const gint64 *dims,
                   int           n_dims,
                   gint64       *n)
{
  *n = 1;
  for (int i = 0; i < n_dims; i++)
    if (dims[i] < 0 || __builtin_mul_overflow (*n, MAX (dims[i], 1), n))
      return FALSE;

  return TRUE;
}

static gboolean
get_array_size (const LpArray  *array,
                gsize          *size,
                GError        **error)
{
  gint64 n, bytes;
  gboolean known = _lp_dims_multiply (array->dims, array->n_dims, &n);

  if (known && array->scalar == LP_SCALAR_ENCODED)
    {
      g_autoptr (LpShape) shape = lp_shape_new (array->dims, array->n_dims);

      bytes = lp_dtype_get_encoded_size (array->dtype, shape);
      known = bytes >= 0;
    }
  else if (known)
    known = !__builtin_mul_overflow (n, (gint64) _lp_scalar_sizes[array->scalar], &bytes) && bytes <= G_MAXINT64 / 2;
  if (known)
    {
      *size = _lp_array_get_n_elements (array) > 0 ? (gsize) bytes : 0;
      return TRUE;
    }

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor can't have these extents: one is negative or they are too many");
  return FALSE;
}

static LpTensor *
new_from_array (LpArray   *array,
                LpDevice  *device,
                GError   **error)
{
  LpStorage *storage;
  LpTensor *self;
  gsize size;

  if (!get_array_size (array, &size, error))
    return NULL;

  storage = _lp_storage_new (device != NULL ? device : lp_device_get_default (), size, error);
  if (storage == NULL)
    return NULL;

  array->data = storage->data;
  self = _lp_tensor_new_view (storage, array);
  _lp_storage_unref (storage);

  return self;
}

static gboolean
init_array (LpArray       *array,
            const gint64  *dims,
            int            n_dims,
            LpDType       *dtype,
            GError       **error)
{
  if (n_dims < 0 || n_dims > LP_MAX_DIMS)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor has at most %d dimensions, not %d", LP_MAX_DIMS, n_dims);
      return FALSE;
    }

  memset (array, 0, sizeof *array);
  array->dtype = dtype != NULL ? dtype : lp_default_dtype_get ();
  array->scalar = _lp_dtype_get_scalar (array->dtype);
  array->n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    array->dims[i] = dims[i];

  return TRUE;
}

gboolean
_lp_tensor_compute_size (const gint64  *dims,
                         int            n_dims,
                         LpDType       *dtype,
                         gsize         *size,
                         GError       **error)
{
  LpArray array;

  return init_array (&array, dims, n_dims, dtype, error) && get_array_size (&array, size, error);
}

LpTensor *
_lp_tensor_new (const gint64  *dims,
                int            n_dims,
                LpDType       *dtype,
                LpDevice      *device,
                GError       **error)
{
  LpArray array;

  if (!init_array (&array, dims, n_dims, dtype, error))
    return NULL;
  set_row_major (&array);

  return new_from_array (&array, device, error);
}

LpTensor *
_lp_tensor_new_channels_last (const gint64   dims[4],
                              LpDType       *dtype,
                              LpDevice      *device,
                              GError       **error)
{
  LpArray array;

  if (!init_array (&array, dims, 4, dtype, error))
    return NULL;
  array.strides[1] = 1;
  array.strides[3] = MAX (dims[1], 1);
  array.strides[2] = array.strides[3] * MAX (dims[3], 1);
  array.strides[0] = array.strides[2] * MAX (dims[2], 1);

  return new_from_array (&array, device, error);
}

/* Axes from the outermost in memory to the innermost. */
static void
sort_axes (const LpArray *array,
           int           *order)
{
  for (int i = 0; i < array->n_dims; i++)
    {
      int j = i;

      for (; j > 0 && array->strides[order[j - 1]] < array->strides[i]; j--)
        order[j] = order[j - 1];
      order[j] = i;
    }
}

LpTensor *
_lp_tensor_new_like (LpTensor  *like,
                     LpDType   *dtype,
                     GError   **error)
{
  LpArray array;
  int order[LP_MAX_DIMS];
  gint64 stride = 1;

  if (!init_array (&array, like->array.dims, like->array.n_dims, dtype, error))
    return NULL;

  if (_lp_array_is_contiguous (&like->array) || array.scalar == LP_SCALAR_ENCODED)
    {
      set_row_major (&array);
    }
  else
    {
      sort_axes (&like->array, order);
      for (int i = array.n_dims - 1; i >= 0; i--)
        {
          array.strides[order[i]] = stride;
          stride *= MAX (array.dims[order[i]], 1);
        }
    }

  return new_from_array (&array, like->storage->device, error);
}

LpTensor *
_lp_tensor_detach (LpTensor *self)
{
  return _lp_tensor_new_view (self->storage, &self->array);
}

gboolean
_lp_tensor_is_dense (LpTensor *self)
{
  const LpArray *a = &self->array;
  int order[LP_MAX_DIMS];
  gint64 stride = 1;

  if (_lp_array_is_contiguous (a))
    return TRUE;

  sort_axes (a, order);
  for (int i = a->n_dims - 1; i >= 0; i--)
    {
      if (a->dims[order[i]] == 1)
        continue;
      if (a->strides[order[i]] != stride)
        return FALSE;
      stride *= a->dims[order[i]];
    }

  return TRUE;
}

LpTensor *
_lp_tensor_contiguous (LpTensor  *self,
                       GError   **error)
{
  g_autoptr (LpTensor) result = NULL;

  if (_lp_array_is_contiguous (&self->array))
    return g_object_ref (self);

  result = _lp_tensor_new (self->array.dims, self->array.n_dims, self->array.dtype, self->storage->device, error);
  if (result == NULL || !_lp_tensor_get_kernels (self)->copy (&self->array, &result->array, error))
    return NULL;

  return g_steal_pointer (&result);
}

LpTensor *
_lp_tensor_cast (LpTensor  *self,
                 LpDType   *dtype,
                 GError   **error)
{
  g_autoptr (LpTensor) result = NULL;
  g_autoptr (LpTensor) source = NULL;

  if (self->array.dtype == dtype)
    return g_object_ref (self);

  /* codecs see row-major values */
  if (lp_dtype_is_native (dtype))
    source = g_object_ref (self);
  else
    source = _lp_tensor_contiguous (self, error);
  if (source == NULL)
    return NULL;

  result = _lp_tensor_new_like (source, dtype, error);
  if (result == NULL || !_lp_tensor_get_kernels (self)->copy (&source->array, &result->array, error))
    return NULL;

  return g_steal_pointer (&result);
}

void
_lp_tensor_changed (LpTensor *self)
{
  g_atomic_int_inc (&self->storage->version);
}

gboolean
_lp_tensor_check_writable (LpTensor  *self,
                           GError   **error)
{
  if (!self->storage->read_only)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The tensor's memory is read-only: copy the tensor before changing it");
  return FALSE;
}

/**
 * lp_tensor_dup_shape:
 * @self: a tensor
 *
 * Gets the extents.
 *
 * Returns: (transfer full): the shape
 */
LpShape *
lp_tensor_dup_shape (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return lp_shape_new (self->array.dims, self->array.n_dims);
}

/**
 * lp_tensor_get_n_dims:
 * @self: a tensor
 *
 * Gets the number of dimensions.
 *
 * Returns: how many there are: 0 for a scalar
 */
guint
lp_tensor_get_n_dims (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  return self->array.n_dims;
}

/**
 * lp_tensor_get_dim:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 *
 * Gets one extent.
 *
 * Returns: the extent, or -1 if there is no such axis
 */
gint64
lp_tensor_get_dim (LpTensor *self,
                   gint      axis)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), -1);

  axis = _lp_axis_resolve (axis, self->array.n_dims, NULL);

  return axis < 0 ? -1 : self->array.dims[axis];
}

/**
 * lp_tensor_get_stride:
 * @self: a tensor
 * @axis: an axis; -1 is the last
 *
 * Gets how many elements lie between neighbours along an axis.
 *
 * Returns: the stride in elements; 0 for an axis that was expanded, or that does not exist
 */
gint64
lp_tensor_get_stride (LpTensor *self,
                      gint      axis)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  axis = _lp_axis_resolve (axis, self->array.n_dims, NULL);

  return axis < 0 ? 0 : self->array.strides[axis];
}

/**
 * lp_tensor_get_n_elements:
 * @self: a tensor
 *
 * Gets the product of the extents.
 *
 * Returns: the number of elements
 */
gint64
lp_tensor_get_n_elements (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  return _lp_array_get_n_elements (&self->array);
}

/**
 * lp_tensor_get_n_bytes:
 * @self: a tensor
 *
 * Gets the bytes that the elements take as they are stored.
 *
 * Returns: the bytes
 */
gint64
lp_tensor_get_n_bytes (LpTensor *self)
{
  gsize size = 0;

  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  get_array_size (&self->array, &size, NULL);

  return size;
}

/**
 * lp_tensor_get_dtype:
 * @self: a tensor
 *
 * Gets how the elements are stored.
 *
 * Returns: (transfer none): the dtype
 */
LpDType *
lp_tensor_get_dtype (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return self->array.dtype;
}

/**
 * lp_tensor_get_device:
 * @self: a tensor
 *
 * Gets where the tensor lives.
 *
 * Returns: (transfer none): the device
 */
LpDevice *
lp_tensor_get_device (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return self->storage->device;
}

/**
 * lp_tensor_get_address:
 * @self: a tensor
 *
 * Gets the address of the first element, for exchange without copying. It is good while the tensor lives. Who writes
 * there calls [method@Tensor.mark_changed] afterwards.
 *
 * Returns: the address
 */
guint64
lp_tensor_get_address (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  return (guint64) (gsize) self->array.data;
}

/**
 * lp_tensor_get_read_only:
 * @self: a tensor
 *
 * Gets whether the memory must not be written: it is a mapped file or belongs to a [struct@GLib.Bytes].
 *
 * Returns: whether it must not
 */
gboolean
lp_tensor_get_read_only (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  return self->storage->read_only;
}

/**
 * lp_tensor_mark_changed:
 * @self: a tensor
 *
 * Says that the memory was written from outside, so that copies in other dtypes are made anew.
 */
void
lp_tensor_mark_changed (LpTensor *self)
{
  g_return_if_fail (LP_IS_TENSOR (self));

  _lp_tensor_changed (self);
}

/**
 * lp_tensor_is_contiguous:
 * @self: a tensor
 *
 * Gets whether the elements lie row-major without gaps.
 *
 * Returns: whether they do
 */
gboolean
lp_tensor_is_contiguous (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  return _lp_array_is_contiguous (&self->array);
}

/**
 * lp_tensor_is_leaf:
 * @self: a tensor
 *
 * Gets whether the tensor is no recorded result of an operation. Gradients are kept in leaves.
 *
 * Returns: whether it is a leaf
 */
gboolean
lp_tensor_is_leaf (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  return self->node == NULL;
}

/**
 * lp_tensor_get_version:
 * @self: a tensor
 *
 * Gets how often the memory was changed in place.
 *
 * Returns: the count
 */
guint
lp_tensor_get_version (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  return g_atomic_int_get (&self->storage->version);
}

/**
 * lp_tensor_get_requires_grad:
 * @self: a tensor
 *
 * Gets whether operations on the tensor are recorded.
 *
 * Returns: whether they are
 */
gboolean
lp_tensor_get_requires_grad (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  return self->requires_grad;
}

/**
 * lp_tensor_set_requires_grad:
 * @self: a leaf
 * @requires_grad: whether to record operations on it
 *
 * Sets whether backward leaves a gradient in the tensor. Integers have none: for them it stays off.
 */
void
lp_tensor_set_requires_grad (LpTensor *self,
                             gboolean  requires_grad)
{
  g_return_if_fail (LP_IS_TENSOR (self));
  g_return_if_fail (self->node == NULL);

  self->requires_grad = requires_grad && lp_dtype_is_floating (self->array.dtype);
}

gboolean
_lp_tensor_settle (LpTensor  *self,
                   GError   **error)
{
  g_autoptr (LpTensor) factor = g_steal_pointer (&self->factor);
  LpArray array;

  if (factor == NULL)
    return TRUE;

  array = self->array;
  array.data = factor->array.data;
  array.dtype = factor->array.dtype;
  array.scalar = factor->array.scalar;
  memset (array.strides, 0, sizeof array.strides);

  return _lp_tensor_get_kernels (self)->binary (LP_BINARY_MUL, &self->array, &array, &self->array, error);
}

/**
 * lp_tensor_dup_grad:
 * @self: a leaf
 *
 * Gets the gradient that backward has summed up.
 *
 * Returns: (transfer full) (nullable): the gradient, of the shape of @self
 */
LpTensor *
lp_tensor_dup_grad (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  if (self->grad == NULL || !_lp_tensor_settle (self->grad, NULL))
    return NULL;

  self->grad->is_shown = TRUE;

  return g_object_ref (self->grad);
}

/**
 * lp_tensor_set_grad:
 * @self: a leaf
 * @grad: (nullable): a tensor of the shape of @self, or %NULL for none
 *
 * Sets the gradient. Backward adds to it in place.
 */
void
lp_tensor_set_grad (LpTensor *self,
                    LpTensor *grad)
{
  g_return_if_fail (LP_IS_TENSOR (self));
  g_return_if_fail (grad == NULL || LP_IS_TENSOR (grad));
  g_return_if_fail (grad == NULL || _lp_array_get_n_elements (&grad->array) == _lp_array_get_n_elements (&self->array));

  g_set_object (&self->grad, grad);
}
