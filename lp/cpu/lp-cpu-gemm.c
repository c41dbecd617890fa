#include <string.h>

#include "lp-cpu-gemm-private.h"

/* Elements of an encoded operand decoded at a time: 4 MiB of float32. */
#define PANEL_ELEMENTS (1 << 20)

/* Offsets, in elements, of batch @i in an array whose last two axes are the matrix. */
static gint64
batch_offset (const LpArray *array, const gint64 *batch_dims, int n_batch_dims, gint64 i)
{
  gint64 offset = 0;

  for (int axis = n_batch_dims - 1; axis >= 0; axis--)
    {
      const gint64 index = i % batch_dims[axis];

      i /= batch_dims[axis];
      if (array->dims[axis] != 1)
        offset += index * array->strides[axis];
    }
  return offset;
}

static void
prepare_batch (LpCpuProduct *product, gint64 i, gconstpointer data)
{
  const LpGemmArgs *args = data;
  const int n = args->d.n_dims - 2;

  product->a.data += batch_offset (&args->a, args->d.dims, n, i) * _lp_scalar_sizes[args->a.scalar];
  product->b.data += batch_offset (&args->b, args->d.dims, n, i) * _lp_scalar_sizes[args->b.scalar];
  product->d += batch_offset (&args->d, args->d.dims, n, i) * _lp_scalar_sizes[args->d.scalar];
}

static LpCpuOperand
strided_operand (const LpArray *array, gint64 row_stride, gint64 k_stride)
{
  return (LpCpuOperand) {
    .pack = _lp_cpu_isa->gemm->pack_strided,
    .data = array->data,
    .scalar = array->scalar,
    .row_stride = row_stride,
    .k_stride = k_stride,
  };
}

static LpCpuProduct
describe (const LpGemmArgs *args)
{
  const LpArray *a = &args->a, *b = &args->b, *d = &args->d;
  const int m = d->n_dims - 2, n = d->n_dims - 1;

  return (LpCpuProduct) {
    .compute = a->scalar == LP_SCALAR_F64 || b->scalar == LP_SCALAR_F64 ? LP_COMPUTE_F64 : LP_COMPUTE_F32,
    .m = d->dims[m],
    .n = d->dims[n],
    .k = a->dims[a->n_dims - 1],
    .a = strided_operand (a, a->strides[m], a->strides[n]),
    .b = strided_operand (b, b->strides[n], b->strides[m]),
    .d = d->data,
    .d_scalar = d->scalar,
    .d_row_stride = d->strides[m],
    .d_column_stride = d->strides[n],
    .alpha = args->alpha,
    .beta = args->beta,
    .activation = args->activation,
  };
}

static void
load_bias (const LpGemmArgs *args, LpCpuProduct *product)
{
  const LpArray *bias = &args->bias;
  void *buffer;

  if (bias->data == NULL)
    return;
  buffer = _lp_cpu_scratch (LP_SCRATCH_ROW, (gsize) product->n * _lp_cpu_compute_size (product->compute));
  _lp_cpu_isa->convert->load[product->compute][bias->scalar] (bias->data, bias->dims[0] == 1 ? 0 : bias->strides[0],
                                                             (gsize) product->n, buffer);
  product->bias = buffer;
}

static gboolean
run_native (const LpGemmArgs *args)
{
  LpCpuProduct product = describe (args);
  gint64 n_batch = 1;

  for (int i = 0; i < args->d.n_dims - 2; i++)
    n_batch *= args->d.dims[i];
  if (n_batch == 0 || product.m == 0 || product.n == 0)
    return TRUE;
  load_bias (args, &product);
  if (n_batch == 1 && (_lp_cpu_onednn_gemm (&product) || _lp_cpu_gemv (&product)))
    return TRUE;
  _lp_cpu_product_run (&product, n_batch, prepare_batch, args);
  return TRUE;
}

/* What run_encoded does to one operand: decodes some of its stored rows, each @length long, into @panel. */
static gboolean
decode_rows (const LpArray *array, LpShape *stored, GBytes *data, gint64 first, gint64 n_rows, gint64 length, float *panel, GError **error)
{
  const gint64 block = lp_dtype_get_block_size (array->dtype);
  const gint64 first_block = first * length / block;
  g_autoptr (GBytes) values = lp_dtype_decode (array->dtype, data, stored, -1, array->first_block + first_block,
                                               ((first + n_rows) * length + block - 1) / block - first_block, error);

  if (values == NULL)
    return FALSE;
  memcpy (panel, g_bytes_get_data (values, NULL), (gsize) (n_rows * length) * sizeof (float));
  return TRUE;
}

/* Replaces an encoded operand by slabs in float32. The slabs cut the axis that is not summed when that axis is the
 * outer one in memory; otherwise k, and D is summed up in float32. */
static gboolean
run_encoded (const LpGemmArgs *args, gboolean is_a, GError **error);

static LpArray
narrow (const LpArray *array, int axis, gint64 start, gint64 n)
{
  LpArray part = *array;

  part.data += start * array->strides[axis] * _lp_scalar_sizes[array->scalar];
  part.dims[axis] = n;
  return part;
}

static gboolean
run (const LpGemmArgs *args, GError **error)
{
  if (args->a.scalar == LP_SCALAR_ENCODED)
    return run_encoded (args, TRUE, error);
  if (args->b.scalar == LP_SCALAR_ENCODED)
    return run_encoded (args, FALSE, error);
  return run_native (args);
}

/* The slab of D and of the other operand that goes with rows @start to @start + @n of the encoded one. */
static gboolean
run_slab (const LpGemmArgs *args, gboolean is_a, gboolean cuts_k, gint64 start, gint64 n, float *panel, GError **error)
{
  LpGemmArgs slab = *args;
  LpArray *operand = is_a ? &slab.a : &slab.b;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const int outer = (is_a == cuts_k) ? columns : rows;
  const int inner = outer == rows ? columns : rows;

  operand->data = (guint8 *) panel;
  operand->scalar = LP_SCALAR_F32;
  operand->dims[outer] = n;
  operand->strides[outer] = operand->dims[inner];
  operand->strides[inner] = 1;
  if (cuts_k)
    {
      if (is_a)
        slab.b = narrow (&args->b, rows, start, n);
      else
        slab.a = narrow (&args->a, columns, start, n);
      slab.beta = start == 0 ? args->beta : 1;
      if (start + n < (is_a ? args->a.dims[columns] : args->b.dims[rows]))
        {
          slab.bias.data = NULL;
          slab.activation = LP_ACTIVATION_NONE;
        }
      return run (&slab, error);
    }
  slab.d = narrow (&args->d, is_a ? rows : columns, start, n);
  if (!is_a && args->bias.data != NULL)
    slab.bias = narrow (&args->bias, 0, start, n);
  return run (&slab, error);
}

static gboolean
run_encoded (const LpGemmArgs *args, gboolean is_a, GError **error)
{
  const LpArray *operand = is_a ? &args->a : &args->b;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const gboolean transposed = operand->strides[rows] < operand->strides[columns];
  const gint64 outer = operand->dims[transposed ? columns : rows];
  const gint64 length = operand->dims[transposed ? rows : columns];
  const gboolean cuts_k = is_a == transposed;
  const gint64 step = length % (gint64) lp_dtype_get_block_size (operand->dtype) != 0 ? outer : CLAMP (PANEL_ELEMENTS / MAX (length, 1), 1, outer);
  const gint64 dims[] = { outer, length };
  g_autoptr (LpShape) stored = lp_shape_new (dims, 2);
  g_autoptr (GBytes) data = NULL;
  float *panel;

  for (int i = 0; i < rows; i++)
    if (operand->dims[i] != 1 && operand->strides[i] != 0)
      {
        g_set_error_literal (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "A batch of encoded matrices must be decoded before gemm");
        return FALSE;
      }
  data = g_bytes_new_static (operand->data, (gsize) lp_dtype_get_encoded_size (operand->dtype, stored));
  panel = g_aligned_alloc ((gsize) (step * length), sizeof (float), 64);
  for (gint64 start = 0; start < outer; start += step)
    {
      const gint64 n = MIN (step, outer - start);

      if (!decode_rows (operand, stored, data, start, n, length, panel, error)
          || !run_slab (args, is_a, cuts_k, start, n, panel, error))
        {
          g_aligned_free (panel);
          return FALSE;
        }
    }
  g_aligned_free (panel);
  return TRUE;
}

/* Partial sums over slabs of k must not be rounded to 16 bits in between. */
static gboolean
needs_wide_result (const LpGemmArgs *args)
{
  const LpScalar d = args->d.scalar;

  return (args->a.scalar == LP_SCALAR_ENCODED || args->b.scalar == LP_SCALAR_ENCODED) && d != LP_SCALAR_F32 && d != LP_SCALAR_F64;
}

static gboolean
run_wide (const LpGemmArgs *args, GError **error)
{
  const gint64 n = _lp_cpu_n_elements (&args->d);
  float *values = g_aligned_alloc ((gsize) MAX (n, 1), sizeof (float), 64);
  LpGemmArgs wide = *args;
  gint64 stride = 1;
  gboolean ok;

  wide.d.data = (guint8 *) values;
  wide.d.scalar = LP_SCALAR_F32;
  wide.d.dtype = NULL;
  for (int i = wide.d.n_dims - 1; i >= 0; i--)
    {
      wide.d.strides[i] = stride;
      stride *= wide.d.dims[i];
    }
  ok = (args->beta == 0 || _lp_cpu_copy (&args->d, &wide.d, error)) && run (&wide, error) && _lp_cpu_copy (&wide.d, &args->d, error);
  g_aligned_free (values);
  return ok;
}

gboolean
_lp_cpu_gemm (const LpGemmArgs *args, GError **error)
{
  const LpArray *results[] = { &args->d, &args->bias };

  if (!_lp_cpu_check_native ("gemm", results, 2, error))
    return FALSE;
  return needs_wide_result (args) ? run_wide (args, error) : run (args, error);
}
