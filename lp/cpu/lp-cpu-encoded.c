#include <math.h>
#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>

#include "lp-cpu-encoded-private.h"

/* Reading and writing of encoded tensors. Built-in dtypes write in place and on all threads; those of others go through bytes. */

/* Elements that one thread takes at a time: a multiple of every block size of the built-in dtypes. */
#define PART_ELEMENTS 32768
#define MAX_BLOCK 4096

static gint64 decoded_bytes, decoded_peak;

void
_lp_cpu_count_decoded (gint64 bytes)
{
  const gint64 now = __atomic_add_fetch (&decoded_bytes, bytes, __ATOMIC_RELAXED);
  gint64 peak = __atomic_load_n (&decoded_peak, __ATOMIC_RELAXED);

  while (now > peak && !__atomic_compare_exchange_n (&decoded_peak, &peak, now, FALSE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

gint64
_lp_cpu_take_decoded_peak (void)
{
  return __atomic_exchange_n (&decoded_peak, __atomic_load_n (&decoded_bytes, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

float *
_lp_cpu_panel_new (gint64 n_elements)
{
  _lp_cpu_count_decoded (n_elements * (gint64) sizeof (float));
  return g_aligned_alloc ((gsize) MAX (n_elements, 1), sizeof (float), 64);
}

void
_lp_cpu_panel_free (float *panel, gint64 n_elements)
{
  _lp_cpu_count_decoded (-n_elements * (gint64) sizeof (float));
  g_aligned_free (panel);
}

typedef struct
{
  LpDType            *dtype;
  const LpDTypeCodec *codec;     /* NULL: a dtype of others */
  LpShape            *shape;
  GBytes             *bytes;     /* of dtypes of others */
  guint8             *data;
  gint64              rows, row, n;
  gboolean            single;    /* each element is a block */
} Encoded;

static Encoded
encoded_open (const LpArray *x)
{
  Encoded self = { .dtype = x->dtype, .codec = _lp_dtype_get_codec (x->dtype), .shape = x->stored, .data = x->data,
                   .single = lp_dtype_get_block_size (x->dtype) == 1 };

  _lp_dtype_get_rows (x->stored, &self.rows, &self.row);
  self.n = self.rows * self.row;
  if (self.codec == NULL)
    self.bytes = g_bytes_new_static (x->data, x->stored_size);
  return self;
}

static void
encoded_close (Encoded *self)
{
  g_clear_pointer (&self->bytes, g_bytes_unref);
}

static void
read_own (const Encoded *self, gint64 start, gint64 n, float *y)
{
  const gint64 end = start + n;
  float edge[MAX_BLOCK];

  if (self->single && n > 0)
    {
      self->codec->decode (self->dtype, self->data, self->rows, self->row, start, n, y);
      return;
    }
  while (start < end)
    {
      const gint64 first = _lp_dtype_block_of (self->dtype, self->row, start);
      const gint64 from = _lp_dtype_block_start (self->dtype, self->row, self->n, first);
      gint64 last = _lp_dtype_block_of (self->dtype, self->row, end - 1) + 1, until;

      until = _lp_dtype_block_start (self->dtype, self->row, self->n, last);
      /* whole blocks go where they belong, a cut one through a buffer */
      if (until > end && last > first + 1)
        until = _lp_dtype_block_start (self->dtype, self->row, self->n, --last);
      if (from == start && until <= end)
        self->codec->decode (self->dtype, self->data, self->rows, self->row, first, last - first, y);
      else
        {
          until = MIN (end, _lp_dtype_block_start (self->dtype, self->row, self->n, first + 1));
          self->codec->decode (self->dtype, self->data, self->rows, self->row, first, 1, edge);
          memcpy (y, edge + (start - from), (gsize) (until - start) * sizeof (float));
        }
      y += until - start;
      start = until;
    }
}

static gboolean
read_foreign (const Encoded *self, gint64 start, gint64 n, float *y, GError **error)
{
  const gint64 first = _lp_dtype_block_of (self->dtype, self->row, start);
  const gint64 last = _lp_dtype_block_of (self->dtype, self->row, start + n - 1) + 1;
  const gint64 from = _lp_dtype_block_start (self->dtype, self->row, self->n, first);
  g_autoptr (GBytes) values = lp_dtype_decode (self->dtype, self->bytes, self->shape, -1, first, last - first, error);

  if (values == NULL)
    return FALSE;
  _lp_cpu_count_decoded ((gint64) g_bytes_get_size (values));
  memcpy (y, (const float *) g_bytes_get_data (values, NULL) + (start - from), (gsize) n * sizeof (float));
  _lp_cpu_count_decoded (-(gint64) g_bytes_get_size (values));
  return TRUE;
}

static gboolean
read_part (const Encoded *self, gint64 start, gint64 n, float *y, GError **error)
{
  if (self->codec == NULL)
    return read_foreign (self, start, n, y, error);
  read_own (self, start, n, y);
  return TRUE;
}

static int
decoding_threads (const Encoded *self, gint64 n_parts)
{
  if (n_parts < 2 || omp_in_parallel () || !lp_dtype_get_thread_safe (self->dtype))
    return 1;
  return (int) MIN (omp_get_max_threads (), n_parts);
}

gboolean
_lp_cpu_encoded_read (const LpArray *x, gint64 start, gint64 n, float *y, GError **error)
{
  Encoded self = encoded_open (x);
  const gint64 first_part = start / PART_ELEMENTS, n_parts = n > 0 ? (start + n - 1) / PART_ELEMENTS + 1 - first_part : 0;
  const int threads = decoding_threads (&self, n_parts);
  GError *problem = NULL;

  if (self.codec != NULL && !_lp_dtype_codec_check (self.dtype, error))
    return FALSE;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 p = 0; p < n_parts; p++)
    {
      const gint64 from = MAX (start, (first_part + p) * PART_ELEMENTS), until = MIN (start + n, (first_part + p + 1) * PART_ELEMENTS);
      GError *local = NULL;

      if (__atomic_load_n (&problem, __ATOMIC_RELAXED) != NULL || read_part (&self, from, until - from, y + (from - start), &local))
        continue;
#pragma omp critical (lp_decode)
      if (problem == NULL)
        __atomic_store_n (&problem, g_steal_pointer (&local), __ATOMIC_RELAXED);
      g_clear_error (&local);
    }
  encoded_close (&self);
  if (problem != NULL)
    g_propagate_error (error, problem);
  return problem == NULL;
}

gboolean
_lp_cpu_encoded_is_own (const LpArray *x)
{
  return _lp_dtype_get_codec (x->dtype) != NULL && lp_dtype_get_thread_safe (x->dtype);
}

/* Runs that are asked of memory ahead: they lie too far apart for the hardware to see them coming. */
#define RUNS_AHEAD 8

static void
prefetch_run (const Encoded *self, gint64 bits, gint64 start, gint64 n)
{
  const guint8 *first = self->data + start * bits / 8;

  for (gint64 i = 0; i < n * bits / 8; i += 64)
    __builtin_prefetch (first + i);
}

/* Runs in memory go one behind the other, so that the block has the order of the tensor. */
static LpCpuOperand
decode_block (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k)
{
  const LpArray *x = self->extra;
  const Encoded encoded = encoded_open (x);
  const gint64 bits = lp_dtype_get_bits (x->dtype);
  const gboolean along_k = self->k_stride == 1;
  const int n_runs = along_k ? n_rows : n_k, length = along_k ? n_k : n_rows;
  const gint64 step = along_k ? self->row_stride : self->k_stride;
  const gint64 start = x->offset + (along_k ? row0 * step + k0 : k0 * step + row0);
  float *values = _lp_cpu_scratch (LP_SCRATCH_DECODED, LP_GEMM_DECODED * LP_GEMM_KC * sizeof (float));

  for (int i = 0; i < MIN (RUNS_AHEAD, n_runs); i++)
    prefetch_run (&encoded, bits, start + i * step, length);
  for (int i = 0; i < n_runs; i++)
    {
      if (i + RUNS_AHEAD < n_runs)
        prefetch_run (&encoded, bits, start + (i + RUNS_AHEAD) * step, length);
      read_own (&encoded, start + i * step, length, values + i * length);
    }
  return (LpCpuOperand) {
    .pack = _lp_cpu_isa->gemm->pack_strided,
    .data = (const guint8 *) values,
    .scalar = LP_SCALAR_F32,
    .row_stride = along_k ? length : 1,
    .k_stride = along_k ? 1 : length,
  };
}

LpCpuOperand
_lp_cpu_encoded_operand (const LpArray *x, gint64 row_stride, gint64 k_stride)
{
  return (LpCpuOperand) {
    .decode = decode_block,
    .scalar = LP_SCALAR_ENCODED,
    .row_stride = row_stride,
    .k_stride = k_stride,
    .extra = x,
  };
}

/* Axes of @x from which on its elements lie in one run, and the length of that. */
static int
find_run (const LpArray *x, gint64 *length)
{
  int axis = x->n_dims;

  *length = 1;
  while (axis > 0 && (x->dims[axis - 1] == 1 || x->strides[axis - 1] == *length))
    *length *= x->dims[--axis];
  return axis;
}

/* Where run @i of the axes before @n_outer begins. */
static gint64
run_offset (const LpArray *x, int n_outer, gint64 i)
{
  gint64 offset = x->offset;

  for (int axis = n_outer - 1; axis >= 0; axis--)
    {
      offset += i % x->dims[axis] * x->strides[axis];
      i /= x->dims[axis];
    }
  return offset;
}

static gboolean
is_dense_f32 (const LpArray *y)
{
  gint64 stride = 1;

  for (int i = y->n_dims - 1; i >= 0; i--)
    {
      if (y->dims[i] != 1 && y->strides[i] != stride)
        return FALSE;
      stride *= y->dims[i];
    }
  return y->scalar == LP_SCALAR_F32;
}

void
_lp_cpu_scale_values (float *values, gint64 n, double factor)
{
  const void *in[] = { values };

  if (factor != 1)
    _lp_cpu_isa->map->unary[LP_COMPUTE_F32][LP_UNARY_SCALE] (in, values, (gsize) n, factor);
}

static gboolean
decode_into (const LpArray *x, const LpArray *y, GError **error)
{
  const gint64 n = _lp_cpu_n_elements (x);
  gint64 length;
  const int n_outer = find_run (x, &length);
  const gboolean direct = is_dense_f32 (y);
  const gint64 step = direct ? MAX (length, 1) : MIN (LP_CPU_PANEL_ELEMENTS, MAX (length, 1));
  float *panel = direct ? NULL : _lp_cpu_panel_new (step);
  LpCpuLoop loop;
  gboolean ok = TRUE;

  _lp_cpu_loop_init (&loop, &y, 1, TRUE);
  for (gint64 done = 0; ok && done < n;)
    {
      const gint64 in_run = done % length, count = MIN (step, length - in_run);
      float *values = direct ? (float *) y->data + done : panel;

      ok = _lp_cpu_encoded_read (x, run_offset (x, n_outer, done / length) + in_run, count, values, error);
      if (ok)
        _lp_cpu_scale_values (values, count, _lp_array_get_factor (x));
      for (gint64 i = 0; ok && !direct && i < count; i += LP_CPU_CHUNK)
        _lp_cpu_loop_store (&loop, 0, done + i, (gsize) MIN (LP_CPU_CHUNK, count - i), LP_COMPUTE_F32, panel + i);
      done += count;
    }
  if (panel != NULL)
    _lp_cpu_panel_free (panel, step);
  return ok;
}

/* A contiguous array over a run of float32 values with the shape of @like. */
static LpArray
contiguous_f32 (const LpArray *like, gpointer data)
{
  LpArray array = *like;
  gint64 stride = 1;

  array.data = data;
  array.scalar = LP_SCALAR_F32;
  array.dtype = NULL;
  for (int i = array.n_dims - 1; i >= 0; i--)
    {
      array.strides[i] = stride;
      stride *= array.dims[i];
    }
  return array;
}

/* float64 to float32 so that the next rounding is the only one. */
static void
load_rounded_to_odd (const LpArray *x, float *values)
{
  const gint64 n = _lp_cpu_n_elements (x);
  LpCpuLoop loop;

  _lp_cpu_loop_init (&loop, &x, 1, TRUE);
  for (gint64 i = 0; i < n; i += LP_CPU_CHUNK)
    {
      double buffer[LP_CPU_CHUNK];
      const gsize count = (gsize) MIN (LP_CPU_CHUNK, n - i);
      const double *wide = _lp_cpu_loop_load (&loop, 0, i, count, LP_COMPUTE_F64, buffer);

      for (gsize j = 0; j < count; j++)
        values[i + (gint64) j] = _lp_round_to_odd (wide[j]);
    }
}

static void
encode_own (const Encoded *self, const float *values)
{
  const gint64 n_blocks = _lp_dtype_n_blocks (self->dtype, self->rows, self->row);
  const gint64 step = MAX (1, PART_ELEMENTS / (gint64) lp_dtype_get_block_size (self->dtype));
  const gint64 n_parts = (n_blocks + step - 1) / step;
  const int threads = decoding_threads (self, n_parts);

  if (self->codec->begin != NULL)
    self->codec->begin (self->dtype, values, self->rows, self->row, self->data);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 p = 0; p < n_parts; p++)
    self->codec->encode (self->dtype, values + _lp_dtype_block_start (self->dtype, self->row, self->n, p * step), self->rows, self->row,
                         p * step, MIN (step, n_blocks - p * step), self->data);
}

static gboolean
encode_foreign (const Encoded *self, const float *values, GError **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, (gsize) self->n * sizeof (float));
  g_autoptr (GBytes) encoded = lp_dtype_encode (self->dtype, bytes, self->shape, -1, error);

  if (encoded == NULL)
    return FALSE;
  if (g_bytes_get_size (encoded) != g_bytes_get_size (self->bytes))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.encode returned %" G_GSIZE_FORMAT " bytes, and the tensor was made with %"
                   G_GSIZE_FORMAT, G_OBJECT_TYPE_NAME (self->dtype), g_bytes_get_size (encoded), g_bytes_get_size (self->bytes));
      return FALSE;
    }
  memcpy (self->data, g_bytes_get_data (encoded, NULL), g_bytes_get_size (encoded));
  return TRUE;
}

static gboolean
encode_values (const LpArray *y, const float *values, GError **error)
{
  Encoded self = encoded_open (y);
  gboolean ok;

  if (self.codec == NULL)
    ok = encode_foreign (&self, values, error);
  else if ((ok = _lp_dtype_codec_check (self.dtype, error)) && self.n > 0)
    encode_own (&self, values);
  encoded_close (&self);
  return ok;
}

static gboolean
encode_into (const LpArray *x, const LpArray *y, GError **error)
{
  const LpDTypeCodec *codec = _lp_dtype_get_codec (y->dtype);
  const gsize size = (gsize) MAX (_lp_cpu_n_elements (y), 1) * sizeof (float);
  g_autofree float *values = NULL;
  LpArray run;

  if (y->offset != 0 || _lp_cpu_n_elements (y) != lp_shape_get_n_elements (y->stored))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "A part of a tensor in %s can't be written: encode the whole anew",
                   lp_dtype_get_name (y->dtype));
      return FALSE;
    }
  if (is_dense_f32 (x) && _lp_array_get_factor (y) == 1)
    return encode_values (y, (const float *) x->data, error);

  values = g_try_malloc (size);
  if (values == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_MEMORY, "No memory for %" G_GSIZE_FORMAT " bytes", size);
      return FALSE;
    }
  run = contiguous_f32 (x, values);
  if (x->scalar == LP_SCALAR_F64 && codec != NULL && codec->rounds_once)
    load_rounded_to_odd (x, values);
  else if (!_lp_cpu_copy (x, &run, error))
    return FALSE;
  _lp_cpu_scale_values (values, _lp_cpu_n_elements (y), 1 / _lp_array_get_factor (y));
  return encode_values (y, values, error);
}

static gboolean
is_whole (const LpArray *x)
{
  gint64 length;

  return x->offset == 0 && find_run (x, &length) == 0 && length == lp_shape_get_n_elements (x->stored);
}

gboolean
_lp_cpu_copy_encoded (const LpArray *x, const LpArray *y, GError **error)
{
  g_autofree float *values = NULL;
  LpArray middle;

  if (y->scalar != LP_SCALAR_ENCODED)
    return decode_into (x, y, error);
  if (x->scalar != LP_SCALAR_ENCODED)
    return encode_into (x, y, error);
  if (x->dtype == y->dtype && is_whole (x) && is_whole (y) && _lp_array_get_factor (x) == _lp_array_get_factor (y)
      && x->stored_size == y->stored_size)
    {
      memmove (y->data, x->data, x->stored_size);
      return TRUE;
    }

  values = g_new (float, MAX (_lp_cpu_n_elements (x), 1));
  middle = contiguous_f32 (x, values);
  return decode_into (x, &middle, error) && encode_into (&middle, y, error);
}

/* Elements @start to @start + @n of @x in float32, in @buffer or where they are. */
static const float *
load_values (const LpCpuLoop *loop, gint64 start, gint64 n, float *buffer)
{
  for (gint64 i = 0; i < n; i += LP_CPU_CHUNK)
    {
      const gsize count = (gsize) MIN (LP_CPU_CHUNK, n - i);
      const float *values = _lp_cpu_loop_load (loop, 0, start + i, count, LP_COMPUTE_F32, buffer + i);

      if (values != buffer + i)
        memcpy (buffer + i, values, count * sizeof (float));
    }
  return buffer;
}

static double
wider (double a, double b)
{
  return b <= a || isnan (a) ? a : b;
}

/* The largest magnitude of part after part; each is then handed to @use, which may change it. */
static double
for_parts (const LpArray *x, void (* use) (gpointer data, gint64 start, gint64 n, float *values), gpointer data)
{
  const gint64 n = _lp_cpu_n_elements (x), n_parts = (n + PART_ELEMENTS - 1) / PART_ELEMENTS;
  const int threads = n < LP_CPU_PARALLEL_MIN || omp_in_parallel () ? 1 : omp_get_max_threads ();
  double amax = 0;
  LpCpuLoop loop;

  _lp_cpu_loop_init (&loop, &x, 1, TRUE);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 p = 0; p < n_parts; p++)
    {
      float *buffer = _lp_cpu_scratch (LP_SCRATCH_TILE, PART_ELEMENTS * sizeof (float));
      const gint64 start = p * PART_ELEMENTS, count = MIN (PART_ELEMENTS, n - start);
      double own;

      load_values (&loop, start, count, buffer);
      own = _lp_codec_loops->absmax (buffer, (gsize) count);
      if (use != NULL)
        use (data, start, count, buffer);
#pragma omp critical (lp_absmax)
      amax = wider (amax, own);
    }
  return amax;
}

gboolean
_lp_cpu_absmax (const LpArray *x, double *amax, GError **error)
{
  if (!_lp_cpu_check_native ("absmax", &x, 1, error))
    return FALSE;
  *amax = for_parts (x, NULL, NULL);
  return TRUE;
}

typedef struct
{
  Encoded encoded;
  double  scale;
  float  *values;    /* all of them, where they can't be encoded part by part */
} Quantization;

static void
quantize_part (gpointer data, gint64 start, gint64 n, float *values)
{
  Quantization *self = data;
  const Encoded *encoded = &self->encoded;
  const gint64 block = lp_dtype_get_block_size (encoded->dtype);

  _lp_cpu_scale_values (values, n, self->scale);
  if (self->values != NULL)
    memcpy (self->values + start, values, (gsize) n * sizeof (float));
  else
    encoded->codec->encode (encoded->dtype, values, encoded->rows, encoded->row, start / block, (n + block - 1) / block, encoded->data);
}

/* Whether a part of the elements can be encoded by itself. */
static gboolean
encodes_by_parts (const Encoded *self)
{
  return self->codec != NULL && self->codec->begin == NULL && lp_dtype_get_flat (self->dtype)
         && PART_ELEMENTS % lp_dtype_get_block_size (self->dtype) == 0;
}

gboolean
_lp_cpu_quantize (const LpArray *x, double scale, const LpArray *y, double *amax, GError **error)
{
  Quantization self = { .encoded = encoded_open (y), .scale = scale };
  gboolean ok = _lp_cpu_check_native ("quantize", &x, 1, error)
                && (self.encoded.codec == NULL || _lp_dtype_codec_check (y->dtype, error));

  if (ok && !encodes_by_parts (&self.encoded))
    self.values = g_new (float, MAX (self.encoded.n, 1));
  if (ok)
    *amax = for_parts (x, quantize_part, &self);
  if (ok && self.values != NULL)
    ok = encode_values (y, self.values, error);
  g_free (self.values);
  encoded_close (&self.encoded);
  return ok;
}
