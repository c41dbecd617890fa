#include <math.h>
#include <string.h>

#include "lp-cpu-private.h"

/* x is seen as positions times channels. Where channels are contiguous, runs are rows of channels; otherwise runs go
 * along the positions of one channel. Sums are float64 over blocks of data of a fixed size. */
#define POSITION_BLOCK 1024
#define MAX_BLOCKS 64

typedef struct
{
  LpCompute compute;
  gint64    n_channels, n_positions;
  gboolean  channels_inner;
  LpCpuLoop positions;            /* the streams are x, then y or dy, then dx */
  gint64    channel_strides[3];
  gint64    block, n_blocks;
} Layout;

static void
init_layout (Layout *self, const LpArray *const *arrays, int n_arrays)
{
  LpArray parts[3];
  const LpArray *pointers[3];

  self->compute = _lp_cpu_float_compute (arrays, n_arrays);
  self->n_channels = arrays[0]->dims[1];
  self->channels_inner = TRUE;
  for (int k = 0; k < n_arrays; k++)
    {
      parts[k] = *arrays[k];
      parts[k].dims[1] = 1;
      pointers[k] = &parts[k];
      self->channel_strides[k] = arrays[k]->strides[1];
      self->channels_inner = self->channels_inner && arrays[k]->strides[1] == 1;
    }
  _lp_cpu_loop_init (&self->positions, pointers, n_arrays, FALSE);
  self->n_positions = self->positions.n_elements;
  if (self->positions.streams[0].strides[self->positions.n_dims - 1] == 1 && self->n_positions > 1)
    self->channels_inner = FALSE;
  self->block = MAX (POSITION_BLOCK, (self->n_positions + MAX_BLOCKS - 1) / MAX_BLOCKS);
  self->n_blocks = (self->n_positions + self->block - 1) / self->block;
}

static const LpScalar compute_scalars[] = { LP_SCALAR_F32, LP_SCALAR_F64 };

static guint8 *
element (const Layout *self, int k, gint64 position, gint64 channel)
{
  const LpCpuStream *stream = &self->positions.streams[k];

  return stream->data + (_lp_cpu_loop_offset (&self->positions, k, position) + channel * self->channel_strides[k])
                            * _lp_scalar_sizes[stream->scalar];
}

/* Channels @c0 to @c0 + @n at one position. */
static const void *
load_channels (const Layout *self, int k, gint64 position, gint64 c0, gint64 n, void *buffer)
{
  const LpScalar scalar = self->positions.streams[k].scalar;
  const guint8 *at = element (self, k, position, c0);

  if (scalar == compute_scalars[self->compute])
    return at;
  _lp_cpu_isa->convert->load[self->compute][scalar] (at, 1, (gsize) n, buffer);
  return buffer;
}

static void
shift_channel (LpCpuLoop *loop, const Layout *self, gint64 channel)
{
  for (int k = 0; k < loop->n_streams; k++)
    loop->streams[k].data += channel * self->channel_strides[k] * _lp_scalar_sizes[loop->streams[k].scalar];
}

/* Sums over the positions of block @b for channels c0 to c0 + n: x itself (mean NULL), (x - mean)^2 (dot NULL), or dy and
 * dy (x - mean). */
typedef struct
{
  const void *mean;
  int         grad;   /* stream of dy, or 0 */
  double     *sum, *dot;
} Sums;

static void
sum_rows (const Layout *self, const Sums *sums, gint64 b, gint64 c0, gint64 n, double *sum, double *dot)
{
  const LpCpuRowLoops *loops = _lp_cpu_isa->row;
  const void *mean = sums->mean != NULL ? (const guint8 *) sums->mean + (gsize) c0 * _lp_cpu_compute_size (self->compute) : NULL;
  double x_buffer[LP_CPU_CHUNK], dy_buffer[LP_CPU_CHUNK];

  for (gint64 p = b * self->block; p < MIN (self->n_positions, (b + 1) * self->block); p++)
    {
      const void *x = load_channels (self, 0, p, c0, n, x_buffer);

      if (sums->grad > 0)
        loops->accumulate_products[self->compute] (load_channels (self, sums->grad, p, c0, n, dy_buffer), x, mean, (gsize) n, sum, dot);
      else if (mean != NULL)
        loops->accumulate_squares[self->compute] (x, mean, (gsize) n, sum);
      else
        loops->accumulate[self->compute][LP_REDUCE_SUM] (x, (gsize) n, sum);
    }
}

static double
value_at (const void *values, LpCompute compute, gint64 i)
{
  return compute == LP_COMPUTE_F32 ? (double) ((const float *) values)[i] : ((const double *) values)[i];
}

static void
sum_runs (const Layout *self, const Sums *sums, gint64 b, gint64 c, double *sum, double *dot)
{
  LpCpuLoop loop = self->positions;
  double x_buffer[LP_CPU_CHUNK], dy_buffer[LP_CPU_CHUNK];
  const double mean = sums->mean != NULL ? value_at (sums->mean, self->compute, c) : 0;
  const gint64 end = MIN (self->n_positions, (b + 1) * self->block);

  shift_channel (&loop, self, c);
  for (gint64 p = b * self->block; p < end; p += LP_CPU_CHUNK)
    {
      const gsize n = (gsize) MIN (LP_CPU_CHUNK, end - p);
      const double *x = _lp_cpu_loop_load (&loop, 0, p, n, LP_COMPUTE_F64, x_buffer);
      const double *dy = sums->grad > 0 ? _lp_cpu_loop_load (&loop, sums->grad, p, n, LP_COMPUTE_F64, dy_buffer) : NULL;
      double s = 0, d = 0;

#pragma omp simd reduction(+ : s, d)
      for (gsize i = 0; i < n; i++)
        {
          const double v = x[i] - mean;

          s += dy != NULL ? dy[i] : (sums->mean != NULL ? v * v : v);
          d += dy != NULL ? dy[i] * v : 0;
        }
      *sum += s;
      *dot += d;
    }
}

/* Fills sums->sum and sums->dot, [channels] each. */
static void
sum_channels (const Layout *self, const Sums *sums)
{
  const gint64 c = self->n_channels;
  const gint64 width = self->channels_inner ? LP_CPU_CHUNK : 1;
  const gint64 parts = (c + width - 1) / width;
  double *partial = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, (gsize) (2 * MAX (self->n_blocks, 1) * c) * sizeof (double));
  double *partial_dot = partial + self->n_blocks * c;
  const gint64 work = c * self->n_positions;

  memset (partial, 0, (gsize) (2 * self->n_blocks * c) * sizeof (double));
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  for (gint64 t = 0; t < self->n_blocks * parts; t++)
    {
      const gint64 b = t / parts, c0 = t % parts * width;

      if (self->channels_inner)
        sum_rows (self, sums, b, c0, MIN (width, c - c0), partial + b * c + c0, partial_dot + b * c + c0);
      else
        sum_runs (self, sums, b, c0, partial + b * c + c0, partial_dot + b * c + c0);
    }
  for (gint64 i = 0; i < c; i++)
    {
      sums->sum[i] = 0;
      if (sums->dot != NULL)
        sums->dot[i] = 0;
      for (gint64 b = 0; b < self->n_blocks; b++)
        {
          sums->sum[i] += partial[b * c + i];
          if (sums->dot != NULL)
            sums->dot[i] += partial_dot[b * c + i];
        }
    }
}

static void
load_vector (const LpArray *array, gint64 n, double missing, double *values)
{
  if (array->data != NULL)
    _lp_cpu_isa->convert->load[LP_COMPUTE_F64][array->scalar] (array->data, array->dims[0] == 1 ? 0 : array->strides[0], (gsize) n, values);
  else
    for (gint64 i = 0; i < n; i++)
      values[i] = missing;
}

static void
store_vector (const LpArray *array, gint64 n, const double *values)
{
  if (array->data != NULL)
    _lp_cpu_isa->convert->store[LP_COMPUTE_F64][array->scalar] (values, (gsize) n, array->data, array->strides[0]);
}

static void
narrow_vector (const Layout *self, const double *values, void *out)
{
  _lp_cpu_isa->convert->store[LP_COMPUTE_F64][compute_scalars[self->compute]] (values, (gsize) self->n_channels, out, 1);
}

/* out = x a + c, or dy a + x b + c when @n_in is 2; the coefficients are [channels]. */
typedef struct
{
  int    n_in;
  double *a, *b, *c;
  void  *na, *nb, *nc;   /* in the compute type */
} Coefficients;

static void
apply_rows (const Layout *self, const Coefficients *k, gint64 first, gint64 last)
{
  const gsize size = _lp_cpu_compute_size (self->compute);
  const LpScalar scalar = self->positions.streams[k->n_in].scalar;
  const gboolean direct = scalar == compute_scalars[self->compute];
  double x_buffer[LP_CPU_CHUNK], dy_buffer[LP_CPU_CHUNK], out_buffer[LP_CPU_CHUNK];

  for (gint64 p = first; p < last; p++)
    for (gint64 c = 0; c < self->n_channels; c += LP_CPU_CHUNK)
      {
        const gint64 n = MIN (LP_CPU_CHUNK, self->n_channels - c);
        const gsize at = (gsize) c * size;
        const void *x = load_channels (self, 0, p, c, n, x_buffer);
        guint8 *to = element (self, k->n_in, p, c);
        void *out = direct ? (void *) to : out_buffer;

        if (k->n_in == 1)
          _lp_cpu_isa->row->affine[self->compute] (x, (guint8 *) k->na + at, (guint8 *) k->nc + at, (gsize) n, out);
        else
          _lp_cpu_isa->row->affine2[self->compute] (x, load_channels (self, 1, p, c, n, dy_buffer), (guint8 *) k->na + at,
                                                    (guint8 *) k->nb + at, (guint8 *) k->nc + at, (gsize) n, out);
        if (!direct)
          _lp_cpu_isa->convert->store[self->compute][scalar] (out, (gsize) n, to, 1);
      }
}

static void
apply_runs (const Layout *self, const Coefficients *k, gint64 c)
{
  LpCpuLoop loop = self->positions;
  double x_buffer[LP_CPU_CHUNK], dy_buffer[LP_CPU_CHUNK];
  const double a = k->a[c], b = k->n_in == 2 ? k->b[c] : 0, shift = k->c[c];

  shift_channel (&loop, self, c);
  for (gint64 p = 0; p < self->n_positions; p += LP_CPU_CHUNK)
    {
      const gsize n = (gsize) MIN (LP_CPU_CHUNK, self->n_positions - p);
      const double *x = _lp_cpu_loop_load (&loop, 0, p, n, LP_COMPUTE_F64, x_buffer);
      const double *dy = k->n_in == 2 ? _lp_cpu_loop_load (&loop, 1, p, n, LP_COMPUTE_F64, dy_buffer) : x;
      double out[LP_CPU_CHUNK];

#pragma omp simd
      for (gsize i = 0; i < n; i++)
        out[i] = dy[i] * a + x[i] * b + shift;
      _lp_cpu_loop_store (&loop, k->n_in, p, n, LP_COMPUTE_F64, out);
    }
}

static void
apply (const Layout *self, const Coefficients *k)
{
  const gint64 n_rows = self->channels_inner ? (self->n_positions + 63) / 64 : self->n_channels;
  const gint64 work = self->n_channels * self->n_positions;

#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  for (gint64 i = 0; i < n_rows; i++)
    if (self->channels_inner)
      apply_rows (self, k, i * 64, MIN (self->n_positions, (i + 1) * 64));
    else
      apply_runs (self, k, i);
}

static void
update_running (const LpArray *running, gint64 n, double momentum, double scale, const double *fresh)
{
  g_autofree double *values = NULL;

  if (running->data == NULL)
    return;
  values = g_new (double, n);
  load_vector (running, n, 0, values);
  for (gint64 i = 0; i < n; i++)
    values[i] = (1 - momentum) * values[i] + momentum * scale * fresh[i];
  store_vector (running, n, values);
}

/* Leaves mean and biased variance in @mean and @var. */
static void
find_statistics (const LpBatchNormArgs *args, const Layout *layout, double *mean, double *var, void *narrow)
{
  const gint64 c = layout->n_channels;
  const double n = (double) layout->n_positions;

  if (!args->training)
    {
      load_vector (&args->running_mean, c, 0, mean);
      load_vector (&args->running_var, c, 1, var);
      return;
    }
  sum_channels (layout, &(Sums) { .sum = mean });
  for (gint64 i = 0; i < c; i++)
    mean[i] /= n;
  narrow_vector (layout, mean, narrow);
  sum_channels (layout, &(Sums) { .mean = narrow, .sum = var });
  for (gint64 i = 0; i < c; i++)
    {
      const double off = mean[i] - value_at (narrow, layout->compute, i);

      var[i] = MAX (var[i] / n - off * off, 0);
    }
  update_running (&args->running_mean, c, args->momentum, 1, mean);
  update_running (&args->running_var, c, args->momentum, n > 1 ? n / (n - 1) : 1, var);
}

gboolean
_lp_cpu_batch_norm (const LpBatchNormArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->x, &args->y };
  const gint64 c = args->x.dims[1];
  Layout layout;
  Coefficients k = { .n_in = 1 };
  double *v;

  if (!_lp_cpu_check_native ("batch_norm", arrays, 2, error))
    return FALSE;
  if (_lp_cpu_n_elements (&args->x) == 0)
    return TRUE;
  init_layout (&layout, arrays, 2);
  v = _lp_cpu_scratch (LP_SCRATCH_ROW, (gsize) (8 * c) * sizeof (double));
  find_statistics (args, &layout, v, v + c, v + 2 * c);
  for (gint64 i = 0; i < c; i++)
    v[c + i] = 1 / sqrt (v[c + i] + args->eps);
  store_vector (&args->mean, c, v);
  store_vector (&args->rstd, c, v + c);
  k.a = v + 3 * c;
  k.c = v + 4 * c;
  load_vector (&args->weight, c, 1, k.a);
  load_vector (&args->bias, c, 0, k.c);
  for (gint64 i = 0; i < c; i++)
    {
      k.a[i] *= v[c + i];
      k.c[i] -= v[i] * k.a[i];
    }
  k.na = v + 5 * c;
  k.nc = v + 6 * c;
  narrow_vector (&layout, k.a, k.na);
  narrow_vector (&layout, k.c, k.nc);
  apply (&layout, &k);
  return TRUE;
}

gboolean
_lp_cpu_batch_norm_grad (const LpBatchNormGradArgs *args, GError **error)
{
  const gboolean has_dx = args->dx.data != NULL;
  const LpArray *arrays[] = { &args->x, &args->dy, &args->dx };
  const gint64 c = args->x.dims[1];
  Layout layout;
  Coefficients k = { .n_in = 2 };
  double *v, *mean, *rstd, *sum, *dot;

  if (!_lp_cpu_check_native ("batch_norm_grad", arrays, 3, error))
    return FALSE;
  if (_lp_cpu_n_elements (&args->x) == 0)
    return TRUE;
  init_layout (&layout, arrays, has_dx ? 3 : 2);
  v = _lp_cpu_scratch (LP_SCRATCH_ROW, (gsize) (12 * c) * sizeof (double));
  mean = v;
  rstd = v + c;
  sum = v + 2 * c;
  dot = v + 3 * c;
  load_vector (&args->mean, c, 0, mean);
  load_vector (&args->rstd, c, 1, rstd);
  narrow_vector (&layout, mean, v + 4 * c);
  sum_channels (&layout, &(Sums) { .mean = v + 4 * c, .grad = 1, .sum = sum, .dot = dot });
  for (gint64 i = 0; i < c; i++)
    dot[i] *= rstd[i];
  store_vector (&args->dweight, c, dot);
  store_vector (&args->dbias, c, sum);
  if (!has_dx)
    return TRUE;
  k.a = v + 5 * c;
  k.b = v + 6 * c;
  k.c = v + 7 * c;
  load_vector (&args->weight, c, 1, k.a);
  for (gint64 i = 0; i < c; i++)
    {
      const double share = args->training ? 1 / (double) layout.n_positions : 0;

      k.a[i] *= rstd[i];
      k.b[i] = -k.a[i] * rstd[i] * dot[i] * share;
      k.c[i] = -k.a[i] * sum[i] * share - k.b[i] * mean[i];
    }
  k.na = v + 8 * c;
  k.nb = v + 9 * c;
  k.nc = v + 10 * c;
  narrow_vector (&layout, k.a, k.na);
  narrow_vector (&layout, k.b, k.nb);
  narrow_vector (&layout, k.c, k.nc);
  apply (&layout, &k);
  return TRUE;
}
