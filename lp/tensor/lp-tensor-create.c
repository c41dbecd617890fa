#include <math.h>
#include <string.h>

#include <lp/tensor/lp-tensor-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-random-private.h>

/**
 * lp_tensor_empty: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor whose elements are not set.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_empty (const gint64  *dims,
                 gsize          n_dims,
                 LpDType       *dtype,
                 LpDevice      *device,
                 GError       **error)
{
  return _lp_tensor_new (dims, (int) MIN (n_dims, LP_MAX_DIMS + 1), dtype, device, error);
}

/**
 * lp_tensor_full: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @value: the value
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor with all elements alike.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_full (const gint64  *dims,
                gsize          n_dims,
                double         value,
                LpDType       *dtype,
                LpDevice      *device,
                GError       **error)
{
  g_autoptr (LpTensor) self = lp_tensor_empty (dims, n_dims, dtype, device, error);

  if (self == NULL || !lp_tensor_fill (self, value, error))
    return NULL;

  return g_steal_pointer (&self);
}

/**
 * lp_tensor_zeros: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor of zeros.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_zeros (const gint64  *dims,
                 gsize          n_dims,
                 LpDType       *dtype,
                 LpDevice      *device,
                 GError       **error)
{
  return lp_tensor_full (dims, n_dims, 0, dtype, device, error);
}

/**
 * lp_tensor_ones: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor of ones.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_ones (const gint64  *dims,
                gsize          n_dims,
                LpDType       *dtype,
                LpDevice      *device,
                GError       **error)
{
  return lp_tensor_full (dims, n_dims, 1, dtype, device, error);
}

/**
 * lp_tensor_scalar: (constructor)
 * @value: the value
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor of shape `[]`.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_scalar (double     value,
                  LpDType   *dtype,
                  LpDevice  *device,
                  GError   **error)
{
  return lp_tensor_full (NULL, 0, value, dtype, device, error);
}

/**
 * lp_tensor_arange: (constructor)
 * @start: the first value
 * @end: the bound, not reached
 * @step: the distance of neighbours, not 0
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor `[start, start + step, …]`, of shape `[n]`.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_ARGUMENT, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_arange (double     start,
                  double     end,
                  double     step,
                  LpDType   *dtype,
                  LpDevice  *device,
                  GError   **error)
{
  g_autofree double *values = NULL;
  double count = ceil ((end - start) / step);
  gint64 n;

  if (!isfinite (count) || count > 0x1p40)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There is no range from %g to %g in steps of %g", start, end, step);
      return NULL;
    }

  n = (gint64) MAX (count, 0);
  values = g_try_new (double, MAX (n, 1));
  if (values == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_MEMORY, "There is no memory for %" G_GINT64_FORMAT " values", n);
      return NULL;
    }
  for (gint64 i = 0; i < n; i++)
    values[i] = start + i * step;

  return lp_tensor_new_from_doubles (values, n, &n, 1, dtype, error);
}

static LpTensor *
new_random (const gint64  *dims,
            gsize          n_dims,
            double         a,
            double         b,
            gboolean       normal,
            LpDType       *dtype,
            LpDevice      *device,
            GError       **error)
{
  g_autoptr (LpTensor) self = lp_tensor_empty (dims, n_dims, dtype, device, error);
  const LpKernelTable *kernels;
  LpRandomPoint point;

  if (self == NULL)
    return NULL;
  if (!lp_dtype_is_floating (self->array.dtype) || !lp_dtype_is_native (self->array.dtype))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "Random numbers are f64, f32, f16 or bf16, not %s",
                   lp_dtype_get_name (self->array.dtype));
      return NULL;
    }

  kernels = _lp_tensor_get_kernels (self);
  point = _lp_generator_take (lp_generator_get_default (), (_lp_array_get_n_elements (&self->array) + 3) / 4);
  if (!(normal ? kernels->normal : kernels->uniform) (&self->array, a, b, point, error))
    return NULL;

  return g_steal_pointer (&self);
}

/**
 * lp_tensor_uniform: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @low: the lower bound
 * @high: the upper bound, not reached
 * @dtype: (nullable): a native floating dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor of uniform random numbers from the thread's default generator.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_uniform (const gint64  *dims,
                   gsize          n_dims,
                   double         low,
                   double         high,
                   LpDType       *dtype,
                   LpDevice      *device,
                   GError       **error)
{
  return new_random (dims, n_dims, low, high, FALSE, dtype, device, error);
}

/**
 * lp_tensor_normal: (constructor)
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @mean: the mean
 * @std: the standard deviation
 * @dtype: (nullable): a native floating dtype, or %NULL for the default
 * @device: (nullable): the device, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor of normal random numbers from the thread's default generator.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_normal (const gint64  *dims,
                  gsize          n_dims,
                  double         mean,
                  double         std,
                  LpDType       *dtype,
                  LpDevice      *device,
                  GError       **error)
{
  return new_random (dims, n_dims, mean, std, TRUE, dtype, device, error);
}

/* A tensor of @dtype from host values of a native one that fill @dims. */
static LpTensor *
new_from_values (gconstpointer   values,
                 gsize           n_values,
                 LpDType        *values_dtype,
                 const gint64   *dims,
                 gsize           n_dims,
                 LpDType        *dtype,
                 GError        **error)
{
  g_autoptr (LpTensor) raw = lp_tensor_empty (dims, n_dims, values_dtype, NULL, error);

  if (raw == NULL)
    return NULL;
  if (_lp_array_get_n_elements (&raw->array) != (gint64) n_values)
    {
      g_autoptr (LpShape) shape = lp_shape_new (dims, n_dims);
      g_autofree char *text = lp_shape_to_string (shape);

      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "%" G_GSIZE_FORMAT " values do not fill the shape %s", n_values, text);
      return NULL;
    }

  if (n_values > 0)
    memcpy (raw->array.data, values, n_values * _lp_scalar_sizes[raw->array.scalar]);

  return _lp_tensor_cast (raw, dtype != NULL ? dtype : lp_default_dtype_get (), error);
}

/**
 * lp_tensor_new_from_doubles: (constructor)
 * @values: (array length=n_values): values in row-major order
 * @n_values: how many there are
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor from numbers, on the default device.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_new_from_doubles (const double  *values,
                            gsize          n_values,
                            const gint64  *dims,
                            gsize          n_dims,
                            LpDType       *dtype,
                            GError       **error)
{
  return new_from_values (values, n_values, lp_dtype_f64 (), dims, n_dims, dtype, error);
}

/**
 * lp_tensor_new_from_int64s: (constructor)
 * @values: (array length=n_values): values in row-major order
 * @n_values: how many there are
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for i64
 * @error: return location for an error
 *
 * Creates a tensor from integers, on the default device.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_new_from_int64s (const gint64  *values,
                           gsize          n_values,
                           const gint64  *dims,
                           gsize          n_dims,
                           LpDType       *dtype,
                           GError       **error)
{
  return new_from_values (values, n_values, lp_dtype_i64 (), dims, n_dims, dtype != NULL ? dtype : lp_dtype_i64 (), error);
}

/**
 * lp_tensor_new_from_bytes: (constructor)
 * @bytes: the elements as @dtype stores them, row-major, little-endian
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are
 * @dtype: (nullable): the dtype, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a tensor on the memory of @bytes, without copying. The tensor is read-only. If the bytes are not aligned for
 * the dtype, they are copied.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SHAPE, %LP_ERROR_MEMORY
 */
LpTensor *
lp_tensor_new_from_bytes (GBytes        *bytes,
                          const gint64  *dims,
                          gsize          n_dims,
                          LpDType       *dtype,
                          GError       **error)
{
  g_autoptr (LpTensor) self = NULL;
  gconstpointer data;
  gsize size, expected;
  LpStorage *storage;
  LpArray array;

  g_return_val_if_fail (bytes != NULL, NULL);

  /* before anything is allocated: the extents may be a lie */
  data = g_bytes_get_data (bytes, &size);
  if (!_lp_tensor_compute_size (dims, (int) MIN (n_dims, LP_MAX_DIMS + 1), dtype, &expected, error))
    return NULL;
  if (expected != size)
    {
      g_autoptr (LpShape) shape = lp_shape_new (dims, n_dims);
      g_autofree char *text = lp_shape_to_string (shape);

      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
                   "A tensor of shape %s and dtype %s takes %" G_GSIZE_FORMAT " bytes, not %" G_GSIZE_FORMAT, text,
                   lp_dtype_get_name (dtype != NULL ? dtype : lp_default_dtype_get ()), expected, size);
      return NULL;
    }

  self = lp_tensor_empty (dims, n_dims, dtype, NULL, error);
  if (self == NULL)
    return NULL;
  if ((gsize) data % MAX (_lp_scalar_sizes[self->array.scalar], 1) != 0 || size == 0)
    {
      if (size > 0)
        memcpy (self->array.data, data, size);
      return g_steal_pointer (&self);
    }

  storage = _lp_storage_new_wrap (self->storage->device, (gpointer) data, size, TRUE, g_bytes_ref (bytes),
                                  (GDestroyNotify) g_bytes_unref);
  array = self->array;
  array.data = storage->data;
  g_clear_object (&self);
  self = _lp_tensor_new_view (storage, &array);
  _lp_storage_unref (storage);

  return g_steal_pointer (&self);
}
