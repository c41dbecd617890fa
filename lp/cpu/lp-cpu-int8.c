#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-rowwise-dtype-private.h>

#include "lp-cpu-gemm-private.h"

/* Products of rows of 8-bit integers, each with one scale: exact sums in 32 bits, which are scaled once. */

/* Terms of a sum that 32 bits hold for certain. */
#define MAX_TERMS (G_MAXINT32 / (128 * 128))
#define KC 512
#define MAX_TILE_M 512

/* Rows of one operand. */
typedef struct
{
  const gint8 *q;
  const guint8 *scales;
  gint64       stride, scale_step;    /* in elements; in rows of what is stored */
} Rows;

/* Whether the sums run along rows of what is stored, so that a scale is common to all of their terms. */
static gboolean
open_rows (const LpArray *x, int free_axis, int k_axis, Rows *self)
{
  const gint64 step = x->dims[free_axis] > 1 ? x->strides[free_axis] : 0, k = x->dims[k_axis];
  gint64 rows, row;

  if (x->scalar != LP_SCALAR_ENCODED || !LP_IS_ROWWISE_DTYPE (x->dtype) || x->n_dims != 2 || k == 0 || k > MAX_TERMS)
    return FALSE;
  _lp_dtype_get_rows (x->stored, &rows, &row);
  if ((k > 1 && x->strides[k_axis] != 1) || step % row != 0 || x->offset % row + k > row)
    return FALSE;
  self->q = (const gint8 *) x->data + x->offset;
  self->stride = step;
  self->scale_step = step / row;
  self->scales = x->data + _lp_rowwise_scales_offset (rows * row) + x->offset / row * (gint64) sizeof (float);
  return TRUE;
}

static void
read_scales (const Rows *self, gint64 first, gint64 n, float *scales)
{
  for (gint64 i = 0; i < n; i++)
    memcpy (scales + i, self->scales + (first + i) * self->scale_step * (gint64) sizeof (float), sizeof (float));
}

static void
sum_tile (const Rows *a, const Rows *b, gint64 m0, int m, gint64 n0, int n, gint64 k, gint32 *sums)
{
  const LpCpuInt8Loops *loops = _lp_cpu_isa->int8;
  gint16 *pack_a, *pack_b;

  if (_lp_cpu_onednn_sum_int8 (a->q + m0 * a->stride, a->stride, b->q + n0 * b->stride, b->stride, m, n, k, sums))
    return;
  pack_a = _lp_cpu_scratch (LP_SCRATCH_PACK_A, (gsize) (LP_GEMM_MC + loops->mr) * KC * sizeof (gint16));
  pack_b = _lp_cpu_scratch (LP_SCRATCH_PACK_B, (gsize) (LP_GEMM_NC + loops->nr) * KC * sizeof (gint16));
  for (gint64 k0 = 0; k0 < k; k0 += KC)
    {
      const int kc = (int) MIN (KC, k - k0);

      loops->pack (b->q + n0 * b->stride + k0, b->stride, n, kc, loops->nr, pack_b);
      for (int i = 0; i < m; i += LP_GEMM_MC)
        {
          const int mc = MIN (LP_GEMM_MC, m - i);

          loops->pack (a->q + (m0 + i) * a->stride + k0, a->stride, mc, kc, loops->mr, pack_a);
          loops->block (pack_a, pack_b, mc, n, (kc + 1) / 2, k0 > 0, sums + (gint64) i * n, n);
        }
    }
}

static void
run_tile (const LpCpuProduct *self, const Rows *a, const Rows *b, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  gint32 *sums = _lp_cpu_scratch (LP_SCRATCH_TILE, (gsize) (m * n) * sizeof (gint32));
  float a_scales[MAX_TILE_M], b_scales[LP_GEMM_NC];

  sum_tile (a, b, m0, (int) m, n0, (int) n, self->k, sums);
  read_scales (a, m0, m, a_scales);
  read_scales (b, n0, n, b_scales);
  for (gint64 i = 0; i < m; i++)
    _lp_cpu_isa->int8->scale (sums + i * n, (gsize) n, (double) a_scales[i], b_scales, (float *) (sums + i * n));
  _lp_cpu_product_combine (self, m0, m, n0, n, (guint8 *) sums);
  _lp_cpu_product_store (self, m0, m, n0, n, (guint8 *) sums);
}

static gint64
choose_extent (gint64 extent, gint64 most, gint64 unit)
{
  const gint64 n_tiles = (extent + most - 1) / most;

  return MIN (most, ((extent + n_tiles - 1) / n_tiles + unit - 1) / unit * unit);
}

gboolean
_lp_cpu_int8_gemm (const LpGemmArgs *args, const LpCpuProduct *product)
{
  const gint64 mt = choose_extent (product->m, MAX_TILE_M, _lp_cpu_isa->int8->mr);
  const gint64 nt = choose_extent (product->n, LP_GEMM_NC, _lp_cpu_isa->int8->nr);
  const gint64 tiles_m = (product->m + mt - 1) / mt, tiles_n = (product->n + nt - 1) / nt;
  const gint64 work = product->m * product->n * product->k;
  Rows a, b;

  if (args->d.n_dims != 2 || product->compute != LP_COMPUTE_F32 || !open_rows (&args->a, 0, 1, &a) || !open_rows (&args->b, 1, 0, &b))
    return FALSE;
#pragma omp parallel for schedule(static) if (work >= (1 << 20) && !omp_in_parallel ())
  for (gint64 t = 0; t < tiles_m * tiles_n; t++)
    {
      const gint64 m0 = t % tiles_m * mt, n0 = t / tiles_m * nt;

      run_tile (product, &a, &b, m0, MIN (mt, product->m - m0), n0, MIN (nt, product->n - n0));
    }
  return TRUE;
}
