#include <string.h>

#include "lp-cpu-encoded-private.h"
#include "lp-cpu-gemm-private.h"

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

static gboolean run (const LpGemmArgs *args, gint64 panel_elements, GError **error);

static LpArray
narrow (const LpArray *array, int axis, gint64 start, gint64 n)
{
  LpArray part = *array;

  if (array->scalar == LP_SCALAR_ENCODED)
    part.offset += start * array->strides[axis];
  else
    part.data += start * array->strides[axis] * _lp_scalar_sizes[array->scalar];
  part.dims[axis] = n;
  return part;
}

/* Part of an encoded operand: @outer and @inner are its axes from the one that is outer in memory. */
typedef struct
{
  gboolean is_a;
  int      outer, inner;
  gint64   start[2], n[2];
} Slab;

static gboolean
decode_slab (const LpArray *operand, const Slab *slab, float *panel, GError **error)
{
  const gint64 step = operand->strides[slab->outer];
  const gint64 start = operand->offset + slab->start[0] * step + slab->start[1];

  if (step == slab->n[1] || slab->n[0] == 1)
    return _lp_cpu_encoded_read (operand, start, slab->n[0] * slab->n[1], panel, error);
  for (gint64 i = 0; i < slab->n[0]; i++)
    if (!_lp_cpu_encoded_read (operand, start + i * step, slab->n[1], panel + i * slab->n[1], error))
      return FALSE;
  return TRUE;
}

/* The product of a decoded slab with what belongs to it. Slabs along the summed axis are added up in D. */
static gboolean
run_slab (const LpGemmArgs *args, const Slab *slab, const float *panel, gint64 panel_elements, GError **error)
{
  LpGemmArgs part = *args;
  LpArray *operand = slab->is_a ? &part.a : &part.b;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const int k_axis = slab->is_a ? columns : rows, free_axis = slab->is_a ? rows : columns;
  const int k = slab->outer == k_axis ? 0 : 1;
  const gint64 k_end = slab->start[k] + slab->n[k];

  operand->data = (guint8 *) panel;
  operand->scalar = LP_SCALAR_F32;
  operand->dims[slab->outer] = slab->n[0];
  operand->dims[slab->inner] = slab->n[1];
  operand->strides[slab->outer] = slab->n[1];
  operand->strides[slab->inner] = 1;
  if (slab->is_a)
    part.b = narrow (&args->b, rows, slab->start[k], slab->n[k]);
  else
    part.a = narrow (&args->a, columns, slab->start[k], slab->n[k]);
  part.d = narrow (&args->d, free_axis, slab->start[1 - k], slab->n[1 - k]);
  part.beta = slab->start[k] == 0 ? args->beta : 1;
  if (k_end < (slab->is_a ? args->a : args->b).dims[k_axis])
    {
      part.bias.data = NULL;
      part.activation = LP_ACTIVATION_NONE;
    }
  else if (!slab->is_a && args->bias.data != NULL && args->bias.dims[0] != 1)
    part.bias = narrow (&args->bias, 0, slab->start[1 - k], slab->n[1 - k]);
  return run (&part, panel_elements, error);
}

static gboolean
check_matrix (const LpArray *operand, int inner, GError **error)
{
  gboolean fine = operand->dims[inner] == 1 || operand->strides[inner] == 1;

  for (int i = 0; i < operand->n_dims - 2; i++)
    fine &= operand->dims[i] == 1 || operand->strides[i] == 0;
  if (!fine)
    g_set_error_literal (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "A batch of encoded matrices must be decoded before gemm");
  return fine;
}

/* Replaces an encoded operand by slabs in float32, panel by panel. */
static gboolean
run_encoded (const LpGemmArgs *args, gboolean is_a, gint64 panel_elements, GError **error)
{
  const LpArray *operand = is_a ? &args->a : &args->b;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const gboolean transposed = operand->strides[rows] < operand->strides[columns];
  Slab slab = { .is_a = is_a, .outer = transposed ? columns : rows, .inner = transposed ? rows : columns };
  const gint64 outer = operand->dims[slab.outer], length = operand->dims[slab.inner];
  const gint64 inner_step = CLAMP (length, 1, panel_elements), outer_step = CLAMP (panel_elements / inner_step, 1, MAX (outer, 1));
  const gint64 panel_size = outer_step * inner_step;
  gboolean ok = TRUE;
  float *panel;

  if (!check_matrix (operand, slab.inner, error))
    return FALSE;
  panel = _lp_cpu_panel_new (panel_size);
  for (slab.start[0] = 0; ok && slab.start[0] < MAX (outer, 1); slab.start[0] += outer_step)
    for (slab.start[1] = 0; ok && slab.start[1] < MAX (length, 1); slab.start[1] += inner_step)
      {
        slab.n[0] = MIN (outer_step, outer - slab.start[0]);
        slab.n[1] = MIN (inner_step, length - slab.start[1]);
        ok = decode_slab (operand, &slab, panel, error) && run_slab (args, &slab, panel, panel_elements, error);
      }
  _lp_cpu_panel_free (panel, panel_size);
  return ok;
}

static gboolean
run (const LpGemmArgs *args, gint64 panel_elements, GError **error)
{
  if (args->a.scalar == LP_SCALAR_ENCODED)
    return run_encoded (args, TRUE, panel_elements, error);
  if (args->b.scalar == LP_SCALAR_ENCODED)
    return run_encoded (args, FALSE, panel_elements, error);
  return run_native (args);
}

/* Two encoded operands share what may be decoded at a time. */
static gboolean
run_whole (const LpGemmArgs *args, GError **error)
{
  const gboolean both = args->a.scalar == LP_SCALAR_ENCODED && args->b.scalar == LP_SCALAR_ENCODED;

  return run (args, LP_CPU_PANEL_ELEMENTS / (both ? 2 : 1), error);
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
  ok = (args->beta == 0 || _lp_cpu_copy (&args->d, &wide.d, error)) && run_whole (&wide, error) && _lp_cpu_copy (&wide.d, &args->d, error);
  g_aligned_free (values);
  return ok;
}

gboolean
_lp_cpu_gemm (const LpGemmArgs *args, GError **error)
{
  const LpArray *results[] = { &args->d, &args->bias };

  if (!_lp_cpu_check_native ("gemm", results, 2, error))
    return FALSE;
  return needs_wide_result (args) ? run_wide (args, error) : run_whole (args, error);
}
