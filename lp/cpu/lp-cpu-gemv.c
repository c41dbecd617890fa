#include <string.h>

#include "lp-cpu-gemm-private.h"

/* Products with one row, as training with a batch of 1 has: each weight is read once, so nothing is packed. */

#define COLUMNS 256

static const LpScalar compute_scalars[] = { LP_SCALAR_F32, LP_SCALAR_F64 };

typedef struct
{
  const LpCpuProduct *product;
  const guint8       *x;      /* the row of A in the compute type */
} Row;

static inline double
element (const Row *row, gint64 k)
{
  return row->product->compute == LP_COMPUTE_F32 ? (double) ((const float *) row->x)[k] : ((const double *) row->x)[k];
}

static const void *
load_run (const LpCpuProduct *p, gint64 n, gint64 k, gint64 stride, gint64 count, void *buffer)
{
  const guint8 *src = p->b.data + (n * p->b.row_stride + k * p->b.k_stride) * _lp_scalar_sizes[p->b.scalar];

  if (p->b.scalar == compute_scalars[p->compute] && stride == 1)
    return src;
  _lp_cpu_isa->convert->load[p->compute][p->b.scalar] (src, stride, (gsize) count, buffer);
  return buffer;
}

/* B is contiguous along k: a scalar product per column. */
static void
columns_by_dot (const Row *row, gint64 n0, gint64 n, double *y)
{
  const LpCpuProduct *p = row->product;
  const gsize size = _lp_cpu_compute_size (p->compute);
  double buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));

  for (gint64 j = 0; j < n; j++)
    {
      double sum = 0;

      for (gint64 k = 0; k < p->k; k += LP_CPU_CHUNK)
        {
          const gint64 count = MIN (LP_CPU_CHUNK, p->k - k);
          const void *b = load_run (p, n0 + j, k, p->b.k_stride, count, buffer);

          sum += _lp_cpu_isa->gemm->dot[p->compute] (row->x + (gsize) k * size, b, (gsize) count);
        }
      y[j] = sum;
    }
}

/* B is contiguous along n: four rows of it at a time are added up. */
static void
columns_by_axpy (const Row *row, gint64 n0, gint64 n, double *y)
{
  const LpCpuProduct *p = row->product;
  double buffers[4][COLUMNS] __attribute__ ((aligned (64)));
  double sums[COLUMNS] __attribute__ ((aligned (64))) = { 0 };

  for (gint64 k = 0; k < p->k; k += 4)
    {
      double factors[4] = { 0 };
      const void *rows[4];

      for (int i = 0; i < 4; i++)
        {
          const gint64 at = MIN (k + i, p->k - 1);

          factors[i] = k + i < p->k ? element (row, at) : 0;
          rows[i] = k + i < p->k ? load_run (p, n0, at, p->b.row_stride, n, buffers[i]) : rows[0];
        }
      /* a missing row must not turn Inf into NaN */
      if (k + 4 > p->k)
        {
          memset (buffers[3], 0, sizeof buffers[3]);
          for (gint64 i = p->k - k; i < 4; i++)
            rows[i] = buffers[3];
        }
      _lp_cpu_isa->gemm->axpy4[p->compute] (factors, rows, (gsize) n, sums);
    }
  for (gint64 j = n - 1; j >= 0; j--)
    y[j] = p->compute == LP_COMPUTE_F32 ? (double) ((float *) sums)[j] : sums[j];
}

static void
finish_columns (const LpCpuProduct *p, gint64 n0, gint64 n, double *y)
{
  static const int ops[] = { [LP_ACTIVATION_RELU] = LP_UNARY_RELU, [LP_ACTIVATION_GELU_TANH] = LP_UNARY_GELU_TANH,
                             [LP_ACTIVATION_GELU_ERF] = LP_UNARY_GELU_ERF };
  guint8 *d = p->d + n0 * p->d_column_stride * (gint64) _lp_scalar_sizes[p->d_scalar];
  double values[COLUMNS];
  const void *in[1] = { values };

  for (gint64 j = 0; j < n; j++)
    y[j] *= p->alpha;
  if (p->beta != 0)
    {
      double old[COLUMNS];

      _lp_cpu_isa->convert->load[LP_COMPUTE_F64][p->d_scalar] (d, p->d_column_stride, (gsize) n, old);
      for (gint64 j = 0; j < n; j++)
        y[j] += p->beta * old[j];
    }
  if (p->bias != NULL)
    for (gint64 j = 0; j < n; j++)
      {
        const gint64 at = p->bias_on_rows ? 0 : n0 + j;

        y[j] += p->compute == LP_COMPUTE_F32 ? (double) ((const float *) p->bias)[at] : ((const double *) p->bias)[at];
      }
  _lp_cpu_isa->convert->store[LP_COMPUTE_F64][p->compute == LP_COMPUTE_F32 ? LP_SCALAR_F32 : LP_SCALAR_F64] (y, (gsize) n, values, 1);
  if (p->activation != LP_ACTIVATION_NONE)
    _lp_cpu_isa->map->unary[p->compute][ops[p->activation]] (in, values, (gsize) n, 0);
  _lp_cpu_isa->convert->store[p->compute][p->d_scalar] (values, (gsize) n, d, p->d_column_stride);
}

gboolean
_lp_cpu_gemv (const LpCpuProduct *args)
{
  LpCpuProduct p = *args;
  const gsize size = _lp_cpu_compute_size (p.compute);
  gboolean by_dot;
  void *x;
  Row row;

  if (p.n == 1 && p.m != 1)
    {
      p.m = 1;
      p.n = args->m;
      p.a = args->b;
      p.b = args->a;
      p.d_column_stride = args->d_row_stride;
      p.bias_on_rows = !args->bias_on_rows;
    }
  if (p.m != 1 || p.k == 0 || (p.b.k_stride != 1 && p.b.row_stride != 1))
    return FALSE;
  by_dot = p.b.k_stride == 1;
  x = _lp_cpu_scratch (LP_SCRATCH_TILE, (gsize) p.k * size);
  _lp_cpu_isa->convert->load[p.compute][p.a.scalar] (p.a.data, p.a.k_stride, (gsize) p.k, x);
  row = (Row) { &p, x };
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (p.n * p.k / 4)) if (p.n * p.k >= 4 * LP_CPU_PARALLEL_MIN)
  for (gint64 n = 0; n < p.n; n += COLUMNS)
    {
      const gint64 count = MIN (COLUMNS, p.n - n);
      double y[COLUMNS];

      if (by_dot)
        columns_by_dot (&row, n, count, y);
      else
        columns_by_axpy (&row, n, count, y);
      finish_columns (&p, n, count, y);
    }
  return TRUE;
}
