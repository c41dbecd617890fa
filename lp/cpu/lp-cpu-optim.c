#include <math.h>

#include "lp-cpu-private.h"

/* A fused step walks flat buckets in runs that stay in the first-level cache: decode, update, write weight, master and
 * 16-bit copy, all in one pass over memory. */

typedef struct
{
  const LpFusedStepArgs *args;
  const LpSgdArgs       *sgd;       /* one of the two */
  const LpAdamWArgs     *adamw;
  LpCompute              compute;
  double                 factors[2];   /* one after the other, as if the first had been stored */
} FusedStep;

static void *
at (gpointer base, gsize i, gsize size)
{
  return base != NULL ? (guint8 *) base + i * size : NULL;
}

static guint16
stochastic_f16 (float x, guint32 bits)
{
  guint16 low = _lp_f16_from_f32 (x);
  float a, b;

  if (!isfinite (x) || _lp_f16_to_f32 (low) == x)
    return low;
  if (fabsf (_lp_f16_to_f32 (low)) > fabsf (x))
    low--;
  a = _lp_f16_to_f32 (low);
  b = _lp_f16_to_f32 ((guint16) (low + 1));
  return (double) (bits & 0xffff) * 0x1p-16 < ((double) x - a) / ((double) b - a) ? (guint16) (low + 1) : low;
}

static void
write_stochastic (const FusedStep *self, gsize start, gsize n, const void *values)
{
  const LpFusedStepArgs *args = self->args;
  guint16 *out = at (args->weight, start, 2);
  guint32 bits[LP_CPU_CHUNK];
  float narrow[LP_CPU_CHUNK];
  const float *x = values;

  if (self->compute == LP_COMPUTE_F64)
    {
      _lp_cpu_isa->convert->store[LP_COMPUTE_F64][LP_SCALAR_F32] (values, n, narrow, 1);
      x = narrow;
    }
  _lp_cpu_isa->optim->philox (args->random.seed, args->random.stream, args->random.offset + start / 4, (n + 3) / 4, bits);
  if (args->weight_scalar == LP_SCALAR_BF16)
    _lp_cpu_isa->optim->stochastic_bf16 (x, bits, 0, n, out);
  else
    for (gsize i = 0; i < n; i++)
      out[i] = stochastic_f16 (x[i], bits[i]);
}

static void
write_weight (const FusedStep *self, gsize start, gsize n, const void *values)
{
  const LpFusedStepArgs *args = self->args;
  const gboolean half = args->weight_scalar == LP_SCALAR_BF16 || args->weight_scalar == LP_SCALAR_F16;

  if (args->stochastic && half)
    write_stochastic (self, start, n, values);
  else
    _lp_cpu_isa->convert->store[self->compute][args->weight_scalar] (values, n, at (args->weight, start, _lp_scalar_sizes[args->weight_scalar]), 1);
}

/* Moments in 16 bits: a step changes a mean of squares by less than half an ulp, so rounding to nearest would stop it. */
static void
write_moments (const FusedStep *self, gsize start, gsize n, const float *m, const float *v)
{
  const LpFusedStepArgs *args = self->args;
  const LpRandomPoint *random = &args->moment_random;
  guint32 bits[LP_CPU_CHUNK];

  _lp_cpu_isa->optim->philox (random->seed, random->stream, random->offset + start / 4, (n + 3) / 4, bits);
  _lp_cpu_isa->optim->stochastic_bf16 (m, bits, 0, n, at (args->moment1, start, 2));
  if (args->moment2 != NULL)
    _lp_cpu_isa->optim->stochastic_bf16 (v, bits, 16, n, at (args->moment2, start, 2));
}

static void
update (const FusedStep *self, gsize n, void *w, const void *g, void *m, void *v)
{
  if (self->sgd != NULL)
    _lp_cpu_isa->optim->sgd[self->compute] (self->sgd, self->factors, n, w, g, m);
  else
    _lp_cpu_isa->optim->adamw[self->compute] (self->adamw, self->factors, n, w, g, m, v);
}

static void
update_narrow (const FusedStep *self, gsize start, gsize n, void *w, const void *g)
{
  const LpFusedStepArgs *args = self->args;
  float m[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  float v[LP_CPU_CHUNK] __attribute__ ((aligned (64)));

  _lp_cpu_isa->convert->load[LP_COMPUTE_F32][args->moment_scalar] (at (args->moment1, start, 2), 1, n, m);
  if (args->moment2 != NULL)
    _lp_cpu_isa->convert->load[LP_COMPUTE_F32][args->moment_scalar] (at (args->moment2, start, 2), 1, n, v);
  update (self, n, w, g, m, v);
  write_moments (self, start, n, m, v);
}

static void
step_run (const FusedStep *self, gsize start, gsize n)
{
  const LpFusedStepArgs *args = self->args;
  const LpCpuConvertLoops *convert = _lp_cpu_isa->convert;
  const LpScalar wide = self->compute == LP_COMPUTE_F64 ? LP_SCALAR_F64 : LP_SCALAR_F32;
  const gsize size = _lp_cpu_compute_size (self->compute);
  double w_buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  double g_buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  const void *g = at (args->grad, start, _lp_scalar_sizes[args->grad_scalar]);
  void *w = at (args->master, start, size);

  if (w == NULL)
    w = at (args->weight, start, _lp_scalar_sizes[args->weight_scalar]);
  if (args->master == NULL && args->weight_scalar != wide)
    {
      convert->load[self->compute][args->weight_scalar] (w, 1, n, w_buffer);
      w = w_buffer;
    }
  if (args->grad_scalar != wide)
    {
      convert->load[self->compute][args->grad_scalar] (g, 1, n, g_buffer);
      g = g_buffer;
    }
  if (args->moment1 != NULL && args->moment_scalar != wide)
    update_narrow (self, start, n, w, g);
  else
    update (self, n, w, g, at (args->moment1, start, size), at (args->moment2, start, size));
  if (args->master != NULL || args->weight_scalar != wide)
    write_weight (self, start, n, w);
  if (args->weight16 != NULL)
    convert->store[self->compute][args->weight16_scalar] (w, n, args->weight16 + start, 1);
}

static gboolean
is_float (LpScalar scalar)
{
  return scalar >= LP_SCALAR_F64 && scalar <= LP_SCALAR_BF16;
}

static gboolean
takes_moments (LpCompute compute, LpScalar scalar)
{
  return compute == LP_COMPUTE_F64 ? scalar == LP_SCALAR_F64 : scalar == LP_SCALAR_F32 || scalar == LP_SCALAR_BF16;
}

static gboolean
run_fused (FusedStep *self, GError **error)
{
  const LpFusedStepArgs *args = self->args;

  if (!is_float (args->weight_scalar) || !is_float (args->grad_scalar))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_DTYPE, "A fused optimizer step needs weights and gradients in f64, f32, f16 or bf16");
      return FALSE;
    }
  self->compute = args->weight_scalar == LP_SCALAR_F64 ? LP_COMPUTE_F64 : LP_COMPUTE_F32;
  if (args->moment1 != NULL && !takes_moments (self->compute, args->moment_scalar))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_DTYPE,
                           "A fused optimizer step needs moments in f32 or bf16; for weights in f64, in f64");
      return FALSE;
    }
  if (args->found_inf != NULL && *args->found_inf != 0)
    return TRUE;
  self->factors[0] = args->grad_scale != NULL ? (double) *args->grad_scale : 1;
  self->factors[1] = args->clip != NULL ? (double) *args->clip : 1;
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads ((gint64) args->n)) if (args->n >= LP_CPU_PARALLEL_MIN)
  for (gsize start = 0; start < args->n; start += LP_CPU_CHUNK)
    step_run (self, start, MIN (LP_CPU_CHUNK, args->n - start));
  return TRUE;
}

gboolean
_lp_cpu_sgd (const LpSgdArgs *args, GError **error)
{
  FusedStep step = { .args = &args->common, .sgd = args };

  return run_fused (&step, error);
}

gboolean
_lp_cpu_adamw (const LpAdamWArgs *args, GError **error)
{
  FusedStep step = { .args = &args->common, .adamw = args };

  return run_fused (&step, error);
}

static double
stats_run (const LpGradStatsArgs *args, double scale, gsize start, gsize n)
{
  const LpCompute compute = args->scalar == LP_SCALAR_F64 ? LP_COMPUTE_F64 : LP_COMPUTE_F32;
  guint8 *g = at (args->grad, start, _lp_scalar_sizes[args->scalar]);
  float buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  double sum;

  if (args->scalar == LP_SCALAR_F64 || args->scalar == LP_SCALAR_F32)
    return _lp_cpu_isa->optim->grad_stats[compute] (g, n, scale, args->keep);
  _lp_cpu_isa->convert->load[compute][args->scalar] (g, 1, n, buffer);
  if (scale == 1 || args->keep)
    return _lp_cpu_isa->optim->grad_stats[compute] (buffer, n, scale, TRUE);
  for (gsize i = 0; i < n; i++)
    buffer[i] *= (float) scale;
  /* what overflows in 16 bits counts as not finite */
  _lp_cpu_isa->convert->store[compute][args->scalar] (buffer, n, g, 1);
  _lp_cpu_isa->convert->load[compute][args->scalar] (g, 1, n, buffer);
  sum = _lp_cpu_isa->optim->grad_stats[compute] (buffer, n, 1, FALSE);
  return sum;
}

/* A sum of squares of finite f64 values may overflow: then each value is asked. */
static gboolean
all_finite_f64 (const LpGradStatsArgs *args, gsize start, gsize n)
{
  const double *g = (const double *) args->grad + start;

  if (args->scalar != LP_SCALAR_F64)
    return FALSE;
  for (gsize i = 0; i < n; i++)
    if (!isfinite (g[i]))
      return FALSE;
  return TRUE;
}

gboolean
_lp_cpu_grad_stats (const LpGradStatsArgs *args, GError **error)
{
  const double scale = args->scale != NULL ? (double) *args->scale : 1;
  const gsize block = 16 * LP_CPU_CHUNK;
  const gsize n_blocks = (args->n + block - 1) / block;
  double *sums, total = 0;
  gboolean bad = FALSE;

  if (!is_float (args->scalar))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_DTYPE, "Gradients must be f64, f32, f16 or bf16");
      return FALSE;
    }
  sums = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, MAX (n_blocks, 1) * sizeof (double));
#pragma omp parallel for schedule(static) reduction(|| : bad) num_threads(_lp_cpu_threads ((gint64) args->n)) if (args->n >= LP_CPU_PARALLEL_MIN)
  for (gsize b = 0; b < n_blocks; b++)
    {
      double sum = 0;

      for (gsize start = b * block; start < MIN (args->n, (b + 1) * block); start += LP_CPU_CHUNK)
        {
          const gsize n = MIN (LP_CPU_CHUNK, args->n - start);
          const double part = stats_run (args, scale, start, n);

          bad = bad || (!isfinite (part) && !all_finite_f64 (args, start, n));
          sum += part;
        }
      sums[b] = sum;
    }
  for (gsize b = 0; b < n_blocks; b++)
    total += sums[b];
  if (bad && args->found_inf != NULL)
    *args->found_inf = 1;
  if (args->sum_squares != NULL)
    *args->sum_squares += total;
  return TRUE;
}
