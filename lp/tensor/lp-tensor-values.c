#include <lp/tensor/lp-tensor-private.h>

#include <lp/core/lp-error.h>

static LpTensor *
get_own_bytes (LpTensor  *self,
               GError   **error)
{
  g_autoptr (LpTensor) copy = NULL;

  if (self->array.scalar != LP_SCALAR_ENCODED || _lp_array_is_whole (&self->array))
    return _lp_tensor_contiguous (self, error);

  copy = _lp_tensor_new (self->array.dims, self->array.n_dims, self->array.dtype, self->storage->device, error);
  if (copy == NULL || !_lp_tensor_get_kernels (self)->copy (&self->array, &copy->array, error))
    return NULL;

  return g_steal_pointer (&copy);
}

/**
 * lp_tensor_dup_bytes:
 * @self: a tensor
 * @error: return location for an error
 *
 * Gets the elements as they are stored, row-major. Nothing is copied if the tensor lies like that already: the bytes
 * then hold the tensor's memory and show later changes of it. A part of an encoded tensor is encoded anew.
 *
 * Returns: (transfer full): the bytes. Errors: %LP_ERROR_MEMORY
 */
GBytes *
lp_tensor_dup_bytes (LpTensor  *self,
                     GError   **error)
{
  g_autoptr (LpTensor) row_major = NULL;

  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  if (!lp_device_synchronize (self->storage->device, error))
    return NULL;
  row_major = get_own_bytes (self, error);
  if (row_major == NULL)
    return NULL;

  return g_bytes_new_with_free_func (row_major->array.data, lp_tensor_get_n_bytes (row_major),
                                     (GDestroyNotify) _lp_storage_unref, _lp_storage_ref (row_major->storage));
}

static gpointer
dup_values (LpTensor  *self,
            LpDType   *dtype,
            gsize     *n_values,
            GError   **error)
{
  g_autoptr (LpTensor) cast = _lp_tensor_cast (self, dtype, error);
  g_autoptr (LpTensor) row_major = cast != NULL ? _lp_tensor_contiguous (cast, error) : NULL;

  *n_values = 0;
  if (row_major == NULL)
    return NULL;

  *n_values = _lp_array_get_n_elements (&row_major->array);

  return g_memdup2 (row_major->array.data, MAX (*n_values, 1) * 8);
}

/**
 * lp_tensor_dup_doubles:
 * @self: a tensor
 * @n_values: (out): how many there are
 * @error: return location for an error
 *
 * Gets all elements as numbers, row-major.
 *
 * Returns: (transfer full) (array length=n_values): the values. Errors: %LP_ERROR_MEMORY
 */
double *
lp_tensor_dup_doubles (LpTensor  *self,
                       gsize     *n_values,
                       GError   **error)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return dup_values (self, lp_dtype_f64 (), n_values, error);
}

/**
 * lp_tensor_dup_int64s:
 * @self: a tensor
 * @n_values: (out): how many there are
 * @error: return location for an error
 *
 * Gets all elements as integers, row-major; fractions are cut off.
 *
 * Returns: (transfer full) (array length=n_values): the values. Errors: %LP_ERROR_MEMORY
 */
gint64 *
lp_tensor_dup_int64s (LpTensor  *self,
                      gsize     *n_values,
                      GError   **error)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return dup_values (self, lp_dtype_i64 (), n_values, error);
}

static double
read_scalar (const LpArray *array)
{
  switch (array->scalar)
    {
    case LP_SCALAR_F64:
      return *(const double *) array->data;
    case LP_SCALAR_F32:
      return *(const float *) array->data;
    case LP_SCALAR_F16:
      return _lp_f16_to_f32 (*(const guint16 *) array->data);
    case LP_SCALAR_BF16:
      return _lp_bf16_to_f32 (*(const guint16 *) array->data);
    case LP_SCALAR_I64:
      return *(const gint64 *) array->data;
    case LP_SCALAR_I32:
      return *(const gint32 *) array->data;
    case LP_SCALAR_I16:
      return *(const gint16 *) array->data;
    case LP_SCALAR_I8:
      return *(const gint8 *) array->data;
    default:
      return *array->data;
    }
}

/**
 * lp_tensor_get_item:
 * @self: a tensor of one element
 * @error: return location for an error
 *
 * Gets the only element as a number.
 *
 * Returns: the value, or 0 with an error. Errors: %LP_ERROR_SHAPE
 */
double
lp_tensor_get_item (LpTensor  *self,
                    GError   **error)
{
  g_autoptr (LpTensor) decoded = NULL;

  g_return_val_if_fail (LP_IS_TENSOR (self), 0);

  if (_lp_array_get_n_elements (&self->array) != 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor of %" G_GINT64_FORMAT " elements is not one number",
                   _lp_array_get_n_elements (&self->array));
      return 0;
    }
  if (!lp_device_synchronize (self->storage->device, error))
    return 0;
  if (self->array.scalar != LP_SCALAR_ENCODED)
    return read_scalar (&self->array);

  decoded = _lp_tensor_cast (self, lp_dtype_f32 (), error);

  return decoded != NULL ? read_scalar (&decoded->array) : 0;
}

/**
 * lp_tensor_fill:
 * @self: a tensor
 * @value: the value
 * @error: return location for an error
 *
 * Sets all elements, in place.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE for read-only memory
 */
gboolean
lp_tensor_fill (LpTensor  *self,
                double     value,
                GError   **error)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  if (!_lp_tensor_check_writable (self, error))
    return FALSE;

  if (self->array.scalar == LP_SCALAR_ENCODED)
    {
      g_autoptr (LpTensor) values = lp_tensor_full (self->array.dims, self->array.n_dims, value, lp_dtype_f32 (),
                                                    self->storage->device, error);

      return values != NULL && lp_tensor_assign (self, values, error);
    }
  if (!_lp_tensor_get_kernels (self)->fill (&self->array, value, error))
    return FALSE;

  _lp_tensor_changed (self);
  return TRUE;
}

/* Puts stride 0 where @source is repeated to fill the shape of @self. */
static gboolean
broadcast_to (const LpArray  *source,
              const LpArray  *target,
              LpArray        *result,
              GError        **error)
{
  int shift = target->n_dims - source->n_dims;

  *result = *source;
  result->n_dims = target->n_dims;
  for (int i = 0; i < target->n_dims; i++)
    {
      gint64 dim = i < shift ? 1 : source->dims[i - shift];

      if (shift < 0 || (dim != 1 && dim != target->dims[i]))
        {
          g_autoptr (LpShape) from = lp_shape_new (source->dims, source->n_dims);
          g_autoptr (LpShape) to = lp_shape_new (target->dims, target->n_dims);
          g_autofree char *from_text = lp_shape_to_string (from);
          g_autofree char *to_text = lp_shape_to_string (to);

          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor of shape %s can't be assigned to one of shape %s",
                       from_text, to_text);
          return FALSE;
        }
      result->dims[i] = target->dims[i];
      result->strides[i] = dim == 1 ? 0 : source->strides[i - shift];
    }

  if (shift < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor of %d dimensions can't be assigned to one of %d",
                   source->n_dims, target->n_dims);
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_tensor_assign:
 * @self: a tensor
 * @source: a tensor whose shape is that of @self or broadcasts to it
 * @error: return location for an error
 *
 * Overwrites the elements with those of @source, converted to the dtype of @self. The two must not overlap.
 *
 * Returns: whether it could. Errors: %LP_ERROR_SHAPE, %LP_ERROR_STATE for read-only memory, %LP_ERROR_DEVICE
 */
gboolean
lp_tensor_assign (LpTensor  *self,
                  LpTensor  *source,
                  GError   **error)
{
  g_autoptr (LpTensor) values = NULL;
  g_autoptr (LpTensor) row_major = NULL;
  LpArray array;

  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (source), FALSE);

  if (!_lp_tensor_check_writable (self, error))
    return FALSE;
  if (source->storage->device != self->storage->device)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "A tensor on %s can't be assigned to one on %s: move it first",
                   lp_device_get_name (source->storage->device), lp_device_get_name (self->storage->device));
      return FALSE;
    }

  /* encoded values are never strided */
  if (source->array.scalar == LP_SCALAR_ENCODED && source->array.dtype != self->array.dtype)
    values = _lp_tensor_cast (source, lp_dtype_f32 (), error);
  else
    values = g_object_ref (source);
  if (values == NULL || !broadcast_to (&values->array, &self->array, &array, error))
    return FALSE;

  if (self->array.scalar == LP_SCALAR_ENCODED && !_lp_array_is_contiguous (&array))
    {
      row_major = _lp_tensor_new (array.dims, array.n_dims, array.dtype, self->storage->device, error);
      if (row_major == NULL || !_lp_tensor_get_kernels (self)->copy (&array, &row_major->array, error))
        return FALSE;
      array = row_major->array;
    }
  if (!_lp_tensor_get_kernels (self)->copy (&array, &self->array, error))
    return FALSE;

  _lp_tensor_changed (self);
  return TRUE;
}

static void
append_values (GString       *text,
               const double  *values,
               const LpArray *array,
               int            axis,
               gboolean       integer)
{
  const gint64 edge = 3;
  gint64 n = array->dims[axis], inner = 1;

  for (int i = axis + 1; i < array->n_dims; i++)
    inner *= array->dims[i];

  g_string_append_c (text, '[');
  for (gint64 i = 0; i < n; i++)
    {
      if (i > 0)
        {
          g_string_append (text, axis == array->n_dims - 1 ? ", " : ",\n");
          for (int s = 0; axis < array->n_dims - 1 && s <= axis; s++)
            g_string_append_c (text, ' ');
        }
      if (n > 2 * edge && i == edge)
        {
          g_string_append (text, "…");
          i = n - edge - 1;
          continue;
        }
      if (axis < array->n_dims - 1)
        append_values (text, values + i * inner, array, axis + 1, integer);
      else if (integer)
        g_string_append_printf (text, "%.0f", values[i]);
      else
        g_string_append_printf (text, "%.4g", values[i]);
    }
  g_string_append_c (text, ']');
}

/**
 * lp_tensor_to_string:
 * @self: a tensor
 *
 * Formats a tensor for people: its values, long axes shortened, its shape and dtype.
 *
 * Returns: (transfer full): the text
 */
char *
lp_tensor_to_string (LpTensor *self)
{
  g_autoptr (LpShape) shape = NULL;
  g_autofree char *shape_text = NULL;
  g_autofree double *values = NULL;
  g_autoptr (GString) text = g_string_new ("tensor (");
  gboolean integer;
  gsize n;

  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  shape = lp_tensor_dup_shape (self);
  shape_text = lp_shape_to_string (shape);
  integer = !lp_dtype_is_floating (self->array.dtype);
  values = lp_tensor_dup_doubles (self, &n, NULL);
  if (values == NULL)
    g_string_append (text, "unreadable");
  else if (self->array.n_dims == 0)
    g_string_append_printf (text, integer ? "%.0f" : "%.6g", values[0]);
  else
    append_values (text, values, &self->array, 0, integer);
  g_string_append_printf (text, ", shape %s, dtype %s%s)", shape_text, lp_dtype_get_name (self->array.dtype),
                          self->requires_grad ? ", requires grad" : "");

  return g_strdup (text->str);
}
