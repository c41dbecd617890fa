#include <string.h>

#include "lp-cpu-gemm-private.h"

static const LpScalar compute_scalars[] = { LP_SCALAR_F32, LP_SCALAR_F64 };

static const int activation_ops[] = {
  [LP_ACTIVATION_RELU] = LP_UNARY_RELU,
  [LP_ACTIVATION_GELU_TANH] = LP_UNARY_GELU_TANH,
  [LP_ACTIVATION_GELU_ERF] = LP_UNARY_GELU_ERF,
};

static gboolean
writes_directly (const LpCpuProduct *self)
{
  return self->d_scalar == compute_scalars[self->compute] && (self->d_column_stride == 1 || self->n == 1);
}

/* The transposed product, when it is the rows of D that are contiguous. */
static void
transpose_if_better (LpCpuProduct *self)
{
  const LpCpuProduct old = *self;

  if (old.d_column_stride == 1 || old.d_row_stride != 1)
    return;
  self->m = old.n;
  self->n = old.m;
  self->a = old.b;
  self->b = old.a;
  self->d_row_stride = old.d_column_stride;
  self->d_column_stride = old.d_row_stride;
  self->bias_on_rows = !old.bias_on_rows;
}

/* Bias and activation on a finished row (elements n0 to n0 + n of row m). */
static void
finish_row (const LpCpuProduct *self, gint64 m, gint64 n0, gint64 n, guint8 *row)
{
  const gsize size = _lp_cpu_compute_size (self->compute);
  const LpCpuMapLoops *map = _lp_cpu_isa->map;
  const void *in[2] = { row, NULL };

  if (self->bias != NULL && self->bias_on_rows)
    {
      const double value = self->compute == LP_COMPUTE_F32 ? (double) ((const float *) self->bias)[m] : ((const double *) self->bias)[m];

      map->unary[self->compute][LP_UNARY_OFFSET] (in, row, (gsize) n, value);
    }
  else if (self->bias != NULL)
    {
      in[1] = (const guint8 *) self->bias + (gsize) n0 * size;
      map->binary[self->compute][LP_BINARY_ADD] (in, row, (gsize) n, 0);
    }
  if (self->activation != LP_ACTIVATION_NONE)
    map->unary[self->compute][activation_ops[self->activation]] (in, row, (gsize) n, 0);
}

static guint8 *
d_address (const LpCpuProduct *self, gint64 m, gint64 n)
{
  return self->d + (m * self->d_row_stride + n * self->d_column_stride) * (gint64) _lp_scalar_sizes[self->d_scalar];
}

void
_lp_cpu_product_finish (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  if (self->bias == NULL && self->activation == LP_ACTIVATION_NONE)
    return;
  for (gint64 i = 0; i < m; i++)
    finish_row (self, m0 + i, n0, n, d_address (self, m0 + i, n0));
}

void
_lp_cpu_product_combine (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n, guint8 *buffer)
{
  const LpCpuMapLoops *map = _lp_cpu_isa->map;
  const gsize size = _lp_cpu_compute_size (self->compute);
  const void *all[1] = { buffer };
  guint8 *old;

  if (self->alpha != 1)
    map->unary[self->compute][LP_UNARY_SCALE] (all, buffer, (gsize) (m * n), self->alpha);
  if (self->beta == 0)
    return;
  old = _lp_cpu_scratch (LP_SCRATCH_PACK_A, (gsize) n * size);
  for (gint64 i = 0; i < m; i++)
    {
      guint8 *row = buffer + (gsize) (i * n) * size;
      const void *in[2] = { row, old }, *scaled[1] = { old };

      _lp_cpu_isa->convert->load[self->compute][self->d_scalar] (d_address (self, m0 + i, n0), self->d_column_stride, (gsize) n, old);
      map->unary[self->compute][LP_UNARY_SCALE] (scaled, old, (gsize) n, self->beta);
      map->binary[self->compute][LP_BINARY_ADD] (in, row, (gsize) n, 0);
    }
}

void
_lp_cpu_product_store (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n, guint8 *buffer)
{
  const gsize size = _lp_cpu_compute_size (self->compute);

  if (self->d_column_stride == 1 && self->d_row_stride == n && self->bias == NULL && self->activation == LP_ACTIVATION_NONE)
    {
      _lp_cpu_isa->convert->store[self->compute][self->d_scalar] (buffer, (gsize) (m * n),
                                                                  d_address (self, m0, n0), 1);
      return;
    }
  for (gint64 i = 0; i < m; i++)
    {
      guint8 *row = buffer + (gsize) (i * n) * size;

      finish_row (self, m0 + i, n0, n, row);
      _lp_cpu_isa->convert->store[self->compute][self->d_scalar] (row, (gsize) n, d_address (self, m0 + i, n0),
                                                                  self->d_column_stride);
    }
}

static gsize
pack_size (const LpCpuProduct *self, gint64 rows)
{
  const int nr = _lp_cpu_isa->gemm->nr[self->compute];

  return (gsize) (rows + nr) * LP_GEMM_KC * _lp_cpu_compute_size (self->compute);
}

static void
compute_tile (const LpCpuProduct *self, const LpCpuTile *tile)
{
  _lp_cpu_isa->gemm->tile[self->compute] (&self->a, &self->b, tile, _lp_cpu_scratch (LP_SCRATCH_PACK_A, pack_size (self, LP_GEMM_MC)),
                                          _lp_cpu_scratch (LP_SCRATCH_PACK_B, pack_size (self, LP_GEMM_NC)));
}

static void
tile_direct (const LpCpuProduct *self, LpCpuTile *tile)
{
  tile->d = d_address (self, tile->m0, tile->n0);
  tile->ldd = self->d_row_stride;
  compute_tile (self, tile);
  _lp_cpu_product_finish (self, tile->m0, tile->m, tile->n0, tile->n);
}

static void
tile_buffered (const LpCpuProduct *self, LpCpuTile *tile)
{
  const gsize size = _lp_cpu_compute_size (self->compute);
  guint8 *buffer = _lp_cpu_scratch (LP_SCRATCH_TILE, (gsize) (tile->m * tile->n) * size);

  tile->d = buffer;
  tile->ldd = tile->n;
  if (self->beta != 0)
    for (gint64 i = 0; i < tile->m; i++)
      _lp_cpu_isa->convert->load[self->compute][self->d_scalar] (d_address (self, tile->m0 + i, tile->n0), self->d_column_stride,
                                                                 (gsize) tile->n, buffer + (gsize) (i * tile->n) * size);
  compute_tile (self, tile);
  _lp_cpu_product_store (self, tile->m0, tile->m, tile->n0, tile->n, buffer);
}

static void
run_tile (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  LpCpuTile tile = { .m0 = m0, .m = m, .n0 = n0, .n = n, .k = self->k, .alpha = self->alpha, .beta = self->beta };

  if (m <= 0 || n <= 0)
    return;
  if (writes_directly (self))
    tile_direct (self, &tile);
  else
    tile_buffered (self, &tile);
}

static gint64
round_up (gint64 value, gint64 unit)
{
  return (value + unit - 1) / unit * unit;
}

/* Extents of the tiles that threads take. An element is summed in the same order in any tiling. */
static void
choose_tiles (const LpCpuProduct *self, gint64 n_batch, int threads, gint64 *mt, gint64 *nt)
{
  const int mr = _lp_cpu_isa->gemm->mr[self->compute], nr = _lp_cpu_isa->gemm->nr[self->compute];

  *mt = self->m;
  *nt = self->n;
  if (threads > 1 && n_batch < 2 * threads)
    {
      if (self->n >= self->m && self->n >= threads * nr)
        *nt = round_up ((self->n + threads - 1) / threads, nr);
      else
        *mt = round_up ((self->m + threads - 1) / threads, mr);
    }
  if (!writes_directly (self))
    {
      *mt = MIN (*mt, 2 * LP_GEMM_MC);
      *nt = MIN (*nt, LP_GEMM_NC);
    }
  *mt = MAX (*mt, 1);
  *nt = MAX (*nt, 1);
}

#define SPLIT_K_PARTS 8
#define SPLIT_K_MIN 2048
#define SPLIT_K_MAX_OUTPUT 65536

/* A small result over a long sum is cut along k, by shape alone. */
static int
count_parts (const LpCpuProduct *self)
{
  if (self->m * self->n > SPLIT_K_MAX_OUTPUT || self->k < SPLIT_K_MIN)
    return 1;
  return (int) MIN (SPLIT_K_PARTS, self->k / (SPLIT_K_MIN / 2));
}

static void
sum_parts_of_row (const LpCpuProduct *self, int n_parts, guint8 *partials, gint64 m)
{
  const gsize size = _lp_cpu_compute_size (self->compute);
  const gsize part_size = (gsize) (self->m * self->n) * size;
  guint8 *row = partials + (gsize) (m * self->n) * size;
  const void *in[2] = { row, NULL };

  for (int p = 1; p < n_parts; p++)
    {
      in[1] = row + (gsize) p * part_size;
      _lp_cpu_isa->map->binary[self->compute][LP_BINARY_ADD] (in, row, (gsize) self->n, 0);
    }
  if (self->beta != 0)
    {
      guint8 *old = row + part_size;  /* part 1 has been used up */
      const void *scaled[1] = { old };

      _lp_cpu_isa->convert->load[self->compute][self->d_scalar] (d_address (self, m, 0), self->d_column_stride, (gsize) self->n, old);
      _lp_cpu_isa->map->unary[self->compute][LP_UNARY_SCALE] (scaled, old, (gsize) self->n, self->beta);
      in[1] = old;
      _lp_cpu_isa->map->binary[self->compute][LP_BINARY_ADD] (in, row, (gsize) self->n, 0);
    }
  finish_row (self, m, 0, self->n, row);
  _lp_cpu_isa->convert->store[self->compute][self->d_scalar] (row, (gsize) self->n, d_address (self, m, 0), self->d_column_stride);
}

static void
run_split (const LpCpuProduct *self, int n_parts, int threads)
{
  const gsize part_size = (gsize) (self->m * self->n) * _lp_cpu_compute_size (self->compute);
  guint8 *partials = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, part_size * (gsize) n_parts);
  const gint64 step = round_up ((self->k + n_parts - 1) / n_parts, 8);

#pragma omp parallel num_threads(threads) if (threads > 1)
  {
#pragma omp for schedule(static, 1)
    for (int p = 0; p < n_parts; p++)
      {
        const gint64 k0 = MIN (self->k, p * step);
        LpCpuTile tile = { .m = self->m, .n = self->n, .k0 = k0, .k = MIN (step, self->k - k0), .alpha = self->alpha,
                           .d = partials + (gsize) p * part_size, .ldd = self->n };

        if (tile.k > 0)
          compute_tile (self, &tile);
        else
          memset (tile.d, 0, part_size);
      }
#pragma omp for schedule(static)
    for (gint64 m = 0; m < self->m; m++)
      sum_parts_of_row (self, n_parts, partials, m);
  }
}

void
_lp_cpu_product_run (const LpCpuProduct *self, gint64 n_batch, void (* prepare) (LpCpuProduct *product, gint64 i, gconstpointer data),
                     gconstpointer data)
{
  const gint64 work = self->m * self->n * MAX (self->k, 1) * n_batch;
  const int threads = work < (1 << 20) || omp_in_parallel () ? 1 : omp_get_max_threads ();
  LpCpuProduct shape = *self;
  gint64 mt, nt, tiles_m, tiles_n;
  int n_parts;

  transpose_if_better (&shape);
  n_parts = count_parts (&shape);
  if (n_parts > 1)
    {
      for (gint64 i = 0; i < n_batch; i++)
        {
          LpCpuProduct product = *self;

          if (prepare != NULL)
            prepare (&product, i, data);
          transpose_if_better (&product);
          run_split (&product, n_parts, threads);
        }
      return;
    }
  choose_tiles (&shape, n_batch, threads, &mt, &nt);
  tiles_m = (shape.m + mt - 1) / mt;
  tiles_n = (shape.n + nt - 1) / nt;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (gint64 t = 0; t < n_batch * tiles_m * tiles_n; t++)
    {
      const gint64 im = t / tiles_n % tiles_m, in = t % tiles_n;
      LpCpuProduct product = *self;

      if (prepare != NULL)
        prepare (&product, t / (tiles_m * tiles_n), data);
      transpose_if_better (&product);
      run_tile (&product, im * mt, MIN (mt, shape.m - im * mt), in * nt, MIN (nt, shape.n - in * nt));
    }
}
