#include <lp/tensor/lp-tensor-private.h>

#include <lp/core/lp-error.h>

/* The unversioned exchange structure of DLPack, https://dmlc.github.io/dlpack/latest/c_api.html */

enum { DLPACK_CPU = 1 };
enum { DLPACK_INT = 0, DLPACK_UINT = 1, DLPACK_FLOAT = 2, DLPACK_BFLOAT = 4, DLPACK_BOOL = 6 };

typedef struct
{
  void *data;
  struct { gint32 type, id; } device;
  gint32 n_dims;
  struct { guint8 code, bits; guint16 lanes; } dtype;
  gint64 *dims;
  gint64 *strides;   /* elements; NULL for row-major */
  guint64 byte_offset;
} DLTensor;

typedef struct _DLManagedTensor DLManagedTensor;

struct _DLManagedTensor
{
  DLTensor tensor;
  void *context;
  void (* deleter) (DLManagedTensor *self);
};

static const struct { guint8 code, bits; LpScalar scalar; } dlpack_dtypes[] = {
  { DLPACK_FLOAT, 64, LP_SCALAR_F64 }, { DLPACK_FLOAT, 32, LP_SCALAR_F32 }, { DLPACK_FLOAT, 16, LP_SCALAR_F16 },
  { DLPACK_BFLOAT, 16, LP_SCALAR_BF16 }, { DLPACK_INT, 64, LP_SCALAR_I64 }, { DLPACK_INT, 32, LP_SCALAR_I32 },
  { DLPACK_INT, 16, LP_SCALAR_I16 }, { DLPACK_INT, 8, LP_SCALAR_I8 }, { DLPACK_UINT, 8, LP_SCALAR_U8 },
  { DLPACK_BOOL, 8, LP_SCALAR_BOOL },
};

static void
release_managed (gpointer data)
{
  DLManagedTensor *managed = data;

  if (managed->deleter != NULL)
    managed->deleter (managed);
}

static LpScalar
scalar_of (const DLTensor *tensor)
{
  for (gsize i = 0; i < G_N_ELEMENTS (dlpack_dtypes); i++)
    if (dlpack_dtypes[i].code == tensor->dtype.code && dlpack_dtypes[i].bits == tensor->dtype.bits
        && tensor->dtype.lanes == 1)
      return dlpack_dtypes[i].scalar;

  return LP_SCALAR_ENCODED;
}

/**
 * lp_tensor_new_from_dlpack: (constructor)
 * @managed: (not nullable): a `DLManagedTensor`
 * @error: return location for an error
 *
 * Creates a tensor on the memory of another library, without copying. On success the tensor releases @managed; on
 * failure it stays the caller's.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_DEVICE if it is not in host memory, %LP_ERROR_DTYPE,
 *   %LP_ERROR_SHAPE
 */
LpTensor *
lp_tensor_new_from_dlpack (gpointer   managed,
                           GError   **error)
{
  DLManagedTensor *source = managed;
  LpArray array = { NULL, };
  LpStorage *storage;
  LpTensor *self;
  gint64 stride = 1, last = 0;

  g_return_val_if_fail (managed != NULL, NULL);

  if (source->tensor.device.type != DLPACK_CPU)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "Only tensors in host memory can be taken, not of device type %d",
                   source->tensor.device.type);
      return NULL;
    }
  array.scalar = scalar_of (&source->tensor);
  if (array.scalar == LP_SCALAR_ENCODED)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "There is no dtype for DLPack's code %u of %u bits and %u lanes",
                   source->tensor.dtype.code, source->tensor.dtype.bits, source->tensor.dtype.lanes);
      return NULL;
    }
  if (source->tensor.n_dims < 0 || source->tensor.n_dims > LP_MAX_DIMS)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor has at most %d dimensions, not %d", LP_MAX_DIMS,
                   source->tensor.n_dims);
      return NULL;
    }

  array.dtype = _lp_dtype_from_scalar (array.scalar);
  array.n_dims = source->tensor.n_dims;
  array.data = (guint8 *) source->tensor.data + source->tensor.byte_offset;
  for (int i = array.n_dims - 1; i >= 0; i--)
    {
      array.dims[i] = source->tensor.dims[i];
      array.strides[i] = source->tensor.strides != NULL ? source->tensor.strides[i] : stride;
      stride *= array.dims[i];
      last += MAX (array.dims[i] - 1, 0) * array.strides[i];
      if (array.strides[i] < 0)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Axis %d runs backwards: copy the array first", i);
          return NULL;
        }
    }

  storage = _lp_storage_new_wrap (lp_device_get_default (), array.data, (last + 1) * _lp_scalar_sizes[array.scalar], FALSE,
                                  source, release_managed);
  self = _lp_tensor_new_view (storage, &array);
  _lp_storage_unref (storage);

  return self;
}

static void
delete_exported (DLManagedTensor *self)
{
  g_object_unref (self->context);
  g_free (self->tensor.dims);
  g_free (self);
}

/**
 * lp_tensor_to_dlpack:
 * @self: a tensor of a native dtype
 * @error: return location for an error
 *
 * Hands the tensor's memory to another library as a `DLManagedTensor`, without copying. Who takes it calls its deleter.
 *
 * Returns: (transfer full): the structure. Errors: %LP_ERROR_DTYPE
 */
gpointer
lp_tensor_to_dlpack (LpTensor  *self,
                     GError   **error)
{
  DLManagedTensor *managed;
  int n;

  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  if (self->array.scalar == LP_SCALAR_ENCODED)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "DLPack has no code for %s: convert the tensor to f32 first",
                   lp_dtype_get_name (self->array.dtype));
      return NULL;
    }

  n = self->array.n_dims;
  managed = g_new0 (DLManagedTensor, 1);
  managed->tensor.data = self->array.data;
  managed->tensor.device.type = DLPACK_CPU;
  managed->tensor.n_dims = n;
  managed->tensor.dtype.lanes = 1;
  for (gsize i = 0; i < G_N_ELEMENTS (dlpack_dtypes); i++)
    if (dlpack_dtypes[i].scalar == self->array.scalar)
      {
        managed->tensor.dtype.code = dlpack_dtypes[i].code;
        managed->tensor.dtype.bits = dlpack_dtypes[i].bits;
      }
  managed->tensor.dims = g_new (gint64, 2 * MAX (n, 1));
  managed->tensor.strides = managed->tensor.dims + n;
  for (int i = 0; i < n; i++)
    {
      managed->tensor.dims[i] = self->array.dims[i];
      managed->tensor.strides[i] = self->array.strides[i];
    }
  managed->context = g_object_ref (self);
  managed->deleter = delete_exported;

  return managed;
}
