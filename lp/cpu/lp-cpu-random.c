#include <math.h>

#include "lp-cpu-private.h"

/* Element i, in row-major order of the logical shape, takes lane i % 4 of block i / 4: how the work is cut and how the
 * memory lies don't matter. */

typedef struct
{
  LpRandomPoint random;
  double        a, b;
} Draw;

typedef void (* DrawFunc) (const Draw *draw, const guint32 *bits, gsize n, double *values);

static void
draw_uniform (const Draw *draw, const guint32 *bits, gsize n, double *values)
{
  for (gsize i = 0; i < n; i++)
    values[i] = draw->a + (draw->b - draw->a) * ((bits[i] >> 8) * 0x1p-24);
}

/* G. Box and M. Muller, "A note on the generation of random normal deviates", 1958: lanes 0 and 1 make a pair, and 2 and 3. */
static void
draw_normal (const Draw *draw, const guint32 *bits, gsize n, double *values)
{
  for (gsize i = 0; i < n; i += 2)
    {
      const double radius = sqrt (-2 * log (((double) bits[i] + 1) * 0x1p-32));
      double sine, cosine;

      sincos (2 * G_PI * 0x1p-32 * (double) bits[i + 1], &sine, &cosine);
      values[i] = draw->a + draw->b * radius * cosine;
      values[i + 1] = draw->a + draw->b * radius * sine;
    }
}

static void
draw_bits (const LpRandomPoint *random, gint64 start, gsize n, guint32 *bits)
{
  _lp_cpu_isa->optim->philox (random->seed, random->stream, random->offset + (guint64) start / 4, (n + 3) / 4, bits);
}

static gboolean
draw_array (const LpArray *y, DrawFunc func, const Draw *draw, GError **error)
{
  LpCpuLoop loop;

  if (!_lp_cpu_check_native ("random", &y, 1, error))
    return FALSE;
  _lp_cpu_loop_init (&loop, &y, 1, TRUE);
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 start = 0; start < loop.n_elements; start += LP_CPU_CHUNK)
    {
      const gsize n = (gsize) MIN (LP_CPU_CHUNK, loop.n_elements - start);
      guint32 bits[LP_CPU_CHUNK];
      double values[LP_CPU_CHUNK];

      draw_bits (&draw->random, start, n, bits);
      func (draw, bits, (n + 3) & ~(gsize) 3, values);
      _lp_cpu_loop_store (&loop, 0, start, n, LP_COMPUTE_F64, values);
    }
  return TRUE;
}

gboolean
_lp_cpu_uniform (const LpArray *y, double low, double high, LpRandomPoint random, GError **error)
{
  const Draw draw = { random, low, high };

  return draw_array (y, draw_uniform, &draw, error);
}

gboolean
_lp_cpu_normal (const LpArray *y, double mean, double std, LpRandomPoint random, GError **error)
{
  const Draw draw = { random, mean, std };

  return draw_array (y, draw_normal, &draw, error);
}

gboolean
_lp_cpu_dropout (const LpArray *x, double p, LpRandomPoint random, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { y, x };
  const guint32 limit = (guint32) ceil (p * 0x1p24);
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  LpCompute compute;
  LpCpuLoop loop;

  if (!_lp_cpu_check_native ("dropout", arrays, 2, error))
    return FALSE;
  compute = _lp_cpu_float_compute (arrays, 2);
  _lp_cpu_loop_init (&loop, arrays, 2, TRUE);
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 start = 0; start < loop.n_elements; start += LP_CPU_CHUNK)
    {
      const gsize n = (gsize) MIN (LP_CPU_CHUNK, loop.n_elements - start);
      guint32 bits[LP_CPU_CHUNK];
      double in[LP_CPU_CHUNK], out[LP_CPU_CHUNK];
      const void *values = _lp_cpu_loop_load (&loop, 1, start, n, compute, in);
      void *direct = _lp_cpu_loop_direct (&loop, 0, start, n, compute);
      void *target = direct != NULL ? direct : out;

      draw_bits (&random, start, n, bits);
      _lp_cpu_isa->optim->drop[compute] (values, bits, n, limit, scale, target);
      if (direct == NULL)
        _lp_cpu_loop_store (&loop, 0, start, n, compute, out);
    }
  return TRUE;
}
