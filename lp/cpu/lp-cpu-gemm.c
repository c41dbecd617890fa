#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-float-dtype.h>

#include "lp-cpu-encoded-private.h"
#include "lp-cpu-gemm-private.h"

/* Columns of an encoded operand that are decoded at once, at least: those of a block. */
#define MIN_COLUMNS 64
/* Values in float32 that are on their way to bf16 on one thread. */
#define STAGED_ELEMENTS 32768
/* Terms that are summed at a time where both operands are decoded to bf16: panels are then nearly square, and each is packed for many
 * rows of the other. */
#define SQUARE_TERMS 1024

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

static gint64
count_batches (const LpGemmArgs *args)
{
  gint64 n = 1;

  for (int i = 0; i < args->d.n_dims - 2; i++)
    n *= args->d.dims[i];
  return n;
}

/* Batches of bf16 matrices. What the library takes depends on shapes alone, so the first one tells of all. */
static gboolean
run_bf16_batches (const LpGemmArgs *args, const LpCpuProduct *product, gint64 n_batch)
{
  const int threads = n_batch > omp_get_max_threads () && !omp_in_parallel () ? omp_get_max_threads () : 1;
  LpCpuProduct first = *product;

  if (product->a.scalar != LP_SCALAR_BF16)
    return FALSE;
  prepare_batch (&first, 0, args);
  if (!_lp_cpu_onednn_gemm (&first))
    return FALSE;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 i = 1; i < n_batch; i++)
    {
      LpCpuProduct part = *product;

      prepare_batch (&part, i, args);
      _lp_cpu_onednn_gemm (&part);
    }
  return TRUE;
}

static gboolean
run_native (const LpGemmArgs *args)
{
  LpCpuProduct product = describe (args);
  const gint64 n_batch = count_batches (args);

  if (n_batch == 0 || product.m == 0 || product.n == 0)
    return TRUE;
  load_bias (args, &product);
  if (n_batch == 1 && (_lp_cpu_onednn_gemm (&product) || _lp_cpu_gemv (&product)))
    return TRUE;
  if (n_batch > 1 && run_bf16_batches (args, &product, n_batch))
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
  LpScalar scalar;      /* that it is decoded to */
  int      outer, inner;
  gint64   steps[2], start[2], n[2];
} Slab;

/* Elements of one run of a slab, from @first on. What goes to bf16 is decoded to float32 in scratch memory. */
static gboolean
decode_run (const LpArray *operand, const Slab *slab, gint64 start, gint64 first, gint64 n, guint8 *panel, GError **error)
{
  float *values = (float *) panel + first;

  if (slab->scalar == LP_SCALAR_F32)
    return _lp_cpu_encoded_read (operand, start, n, values, error);
  values = _lp_cpu_scratch (LP_SCRATCH_DECODED, STAGED_ELEMENTS * sizeof (float));
  if (!_lp_cpu_encoded_read (operand, start, n, values, error))
    return FALSE;
  _lp_cpu_isa->convert->store[LP_COMPUTE_F32][slab->scalar] (values, (gsize) n, (guint16 *) panel + first, 1);
  return TRUE;
}

static gboolean
decode_slab (const LpArray *operand, const Slab *slab, guint8 *panel, GError **error)
{
  const gint64 step = operand->strides[slab->outer], start = operand->offset + slab->start[0] * step + slab->start[1];
  const gboolean one = step == slab->n[1] || slab->n[0] == 1;
  const gint64 n_runs = one ? 1 : slab->n[0], length = one ? slab->n[0] * slab->n[1] : slab->n[1];
  const gint64 n_parts = (length + STAGED_ELEMENTS - 1) / STAGED_ELEMENTS;
  const int threads = lp_dtype_get_thread_safe (operand->dtype) && !omp_in_parallel () ? omp_get_max_threads () : 1;
  GError *problem = NULL;

#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 i = 0; i < n_runs * n_parts; i++)
    {
      const gint64 run = i / n_parts, first = i % n_parts * STAGED_ELEMENTS;
      GError *local = NULL;

      if (__atomic_load_n (&problem, __ATOMIC_RELAXED) != NULL
          || decode_run (operand, slab, start + run * step + first, run * length + first, MIN (STAGED_ELEMENTS, length - first), panel, &local))
        continue;
#pragma omp critical (lp_decode_slab)
      if (problem == NULL)
        __atomic_store_n (&problem, g_steal_pointer (&local), __ATOMIC_RELAXED);
      g_clear_error (&local);
    }
  if (problem != NULL)
    g_propagate_error (error, problem);
  return problem == NULL;
}

/* The product of a decoded slab with what belongs to it. Slabs along the summed axis are added up in D. */
static gboolean
run_slab (const LpGemmArgs *args, const Slab *slab, const guint8 *panel, gint64 panel_elements, GError **error)
{
  LpGemmArgs part = *args;
  LpArray *operand = slab->is_a ? &part.a : &part.b;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const int k_axis = slab->is_a ? columns : rows, free_axis = slab->is_a ? rows : columns;
  const int k = slab->outer == k_axis ? 0 : 1;
  const gint64 k_end = slab->start[k] + slab->n[k];

  operand->data = (guint8 *) panel;
  operand->scalar = slab->scalar;
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

/* Where there is arithmetic for bf16, what goes with bf16 is decoded to it; so are two operands in formats of so few bits that
 * bf16 holds them exactly. Everything else is decoded to float32. */
static LpScalar
decoded_scalar (const LpArray *operand, const LpArray *other)
{
  const gboolean exact = LP_IS_FLOAT_DTYPE (operand->dtype) && other->scalar == LP_SCALAR_ENCODED && LP_IS_FLOAT_DTYPE (other->dtype);

  return (exact || other->scalar == LP_SCALAR_BF16) && _lp_cpu_onednn_has_bf16 () ? LP_SCALAR_BF16 : LP_SCALAR_F32;
}

/* @most at a time, or somewhat less where that makes the last part like the others. */
static gint64
even_step (gint64 extent, gint64 most)
{
  const gint64 n_parts = (extent + most - 1) / most;

  return n_parts > 1 ? MIN (most, ((extent + n_parts - 1) / n_parts + MIN_COLUMNS - 1) / MIN_COLUMNS * MIN_COLUMNS) : extent;
}

/* Slabs of whole rows; or, where rows are summed over, of whole columns if that leaves enough of each row, so that sums stay whole. */
static void
choose_steps (const LpArray *operand, Slab *self, gboolean sums_outer, gint64 n_elements)
{
  const gint64 outer = MAX (operand->dims[self->outer], 1), length = MAX (operand->dims[self->inner], 1);
  const gint64 columns = n_elements / outer / MIN_COLUMNS * MIN_COLUMNS;

  if (sums_outer && outer * length > n_elements && columns > 0)
    {
      self->steps[0] = outer;
      self->steps[1] = even_step (length, columns);
      return;
    }
  self->steps[1] = MIN (length, n_elements);
  self->steps[0] = even_step (outer, CLAMP (n_elements / self->steps[1], 1, outer));
}

static Slab
plan_slab (const LpGemmArgs *args, gboolean is_a, gint64 panel_elements)
{
  const LpArray *operand = is_a ? &args->a : &args->b, *other = is_a ? &args->b : &args->a;
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const gboolean transposed = operand->strides[rows] < operand->strides[columns];
  const int k = transposed == is_a ? 0 : 1;
  Slab self = { .is_a = is_a, .outer = transposed ? columns : rows, .inner = transposed ? rows : columns };
  const gint64 extents[2] = { operand->dims[self.outer], operand->dims[self.inner] };
  gint64 n_elements = panel_elements;

  self.scalar = decoded_scalar (operand, other);
  if (self.scalar == LP_SCALAR_BF16)
    n_elements = 2 * (panel_elements - 2 * STAGED_ELEMENTS);
  choose_steps (operand, &self, k == 0, n_elements);
  if (self.scalar == LP_SCALAR_BF16 && other->scalar == LP_SCALAR_ENCODED && extents[k] > SQUARE_TERMS)
    {
      self.steps[k] = SQUARE_TERMS;
      self.steps[1 - k] = even_step (MAX (extents[1 - k], 1), n_elements / SQUARE_TERMS / MIN_COLUMNS * MIN_COLUMNS);
    }
  return self;
}

/* Replaces an encoded operand by decoded slabs, panel by panel. */
static gboolean
run_encoded (const LpGemmArgs *args, gboolean is_a, gint64 panel_elements, GError **error)
{
  const LpArray *operand = is_a ? &args->a : &args->b;
  Slab slab = plan_slab (args, is_a, panel_elements);
  const gint64 outer = operand->dims[slab.outer], length = operand->dims[slab.inner];
  const gint64 n_elements = slab.steps[0] * slab.steps[1];
  const gint64 n_floats = slab.scalar == LP_SCALAR_F32 ? n_elements : (n_elements + 1) / 2 + omp_get_max_threads () * STAGED_ELEMENTS;
  gboolean ok = TRUE;
  float *panel;

  if (!check_matrix (operand, slab.inner, error))
    return FALSE;
  panel = _lp_cpu_panel_new (n_floats);
  for (slab.start[0] = 0; ok && slab.start[0] < MAX (outer, 1); slab.start[0] += slab.steps[0])
    for (slab.start[1] = 0; ok && slab.start[1] < MAX (length, 1); slab.start[1] += slab.steps[1])
      {
        slab.n[0] = MIN (slab.steps[0], outer - slab.start[0]);
        slab.n[1] = MIN (slab.steps[1], length - slab.start[1]);
        ok = decode_slab (operand, &slab, (guint8 *) panel, error) && run_slab (args, &slab, (const guint8 *) panel, panel_elements, error);
      }
  _lp_cpu_panel_free (panel, n_floats);
  return ok;
}

static gboolean
has_encoded (const LpGemmArgs *args)
{
  return args->a.scalar == LP_SCALAR_ENCODED || args->b.scalar == LP_SCALAR_ENCODED;
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

/* From so many rows and columns on, the packed gemm is worth its packing. */
#define MIN_PACKED 32

/* The packed gemm reads an operand a few times at most, and decodes it as it packs it. Not for dtypes of others, nor where there is
 * arithmetic for bf16. */
static gboolean
decodes_as_it_packs (const LpGemmArgs *args)
{
  const LpArray *operands[] = { &args->a, &args->b };

  for (int i = 0; i < 2; i++)
    if (operands[i]->scalar == LP_SCALAR_ENCODED
        && (!_lp_cpu_encoded_is_own (operands[i]) || decoded_scalar (operands[i], operands[1 - i]) != LP_SCALAR_F32))
      return FALSE;
  return MIN (args->d.dims[args->d.n_dims - 2], args->d.dims[args->d.n_dims - 1]) >= MIN_PACKED;
}

/* Runs lie along the axis of the smaller stride. */
static gboolean
use_encoded (const LpArray *operand, gboolean is_a, LpCpuOperand *self, GError **error)
{
  const int rows = operand->n_dims - 2, columns = operand->n_dims - 1;
  const gboolean transposed = operand->strides[rows] < operand->strides[columns], along_k = transposed != is_a;

  if (operand->scalar != LP_SCALAR_ENCODED)
    return TRUE;
  if (!check_matrix (operand, transposed ? rows : columns, error) || !_lp_dtype_codec_check (operand->dtype, error))
    return FALSE;
  *self = _lp_cpu_encoded_operand (operand, along_k ? self->row_stride : 1, along_k ? 1 : self->k_stride);
  return TRUE;
}

static gboolean
run_int8 (const LpGemmArgs *args)
{
  LpCpuProduct product = describe (args);

  if (product.m == 0 || product.n == 0)
    return FALSE;
  load_bias (args, &product);
  return _lp_cpu_int8_gemm (args, &product);
}

static gboolean
run_packed (const LpGemmArgs *args, GError **error)
{
  LpCpuProduct product = describe (args);
  const gint64 bytes = omp_get_max_threads () * (gint64) (LP_GEMM_DECODED * LP_GEMM_KC * sizeof (float));

  if (!use_encoded (&args->a, TRUE, &product.a, error) || !use_encoded (&args->b, FALSE, &product.b, error))
    return FALSE;
  load_bias (args, &product);
  _lp_cpu_count_decoded (bytes);
  _lp_cpu_product_run (&product, count_batches (args), prepare_batch, args);
  _lp_cpu_count_decoded (-bytes);
  return TRUE;
}

/* Two encoded operands share what may be decoded at a time. */
static gint64
panel_elements_for (const LpGemmArgs *args)
{
  const gboolean both = args->a.scalar == LP_SCALAR_ENCODED && args->b.scalar == LP_SCALAR_ENCODED;

  return LP_CPU_PANEL_ELEMENTS / (both ? 2 : 1);
}

static gboolean
run_whole (const LpGemmArgs *args, GError **error)
{
  return run (args, panel_elements_for (args), error);
}

static gboolean
sums_parts (const LpGemmArgs *args, gboolean is_a, gint64 panel_elements)
{
  const LpArray *operand = is_a ? &args->a : &args->b;
  const int k_axis = operand->n_dims - (is_a ? 1 : 2);
  Slab slab;

  if (operand->scalar != LP_SCALAR_ENCODED)
    return FALSE;
  slab = plan_slab (args, is_a, panel_elements);
  return slab.steps[slab.outer == k_axis ? 0 : 1] < operand->dims[k_axis];
}

/* Partial sums over slabs of k must not be rounded to 16 bits in between. */
static gboolean
needs_wide_result (const LpGemmArgs *args)
{
  const LpScalar d = args->d.scalar;

  return d != LP_SCALAR_F32 && d != LP_SCALAR_F64
         && (sums_parts (args, TRUE, panel_elements_for (args)) || sums_parts (args, FALSE, panel_elements_for (args)));
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
  LpGemmArgs scaled = *args;

  if (!_lp_cpu_check_native ("gemm", results, 2, error))
    return FALSE;
  scaled.alpha *= _lp_array_get_factor (&args->a) * _lp_array_get_factor (&args->b);
  if (has_encoded (args) && run_int8 (&scaled))
    return TRUE;
  if (has_encoded (args) && decodes_as_it_packs (args))
    return run_packed (&scaled, error);
  return needs_wide_result (&scaled) ? run_wide (&scaled, error) : run_whole (&scaled, error);
}
