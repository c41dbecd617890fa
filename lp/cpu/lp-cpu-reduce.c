#include <math.h>

#include "lp-cpu-private.h"

/* A reduction is cut into blocks of data, whatever the number of threads, and the blocks' results are put together in
 * order. Partial results are float64. */
#define RUN_BLOCK 16384    /* elements of one block where the reduced axis is contiguous */
#define ROW_BLOCK 512      /* rows of one block, and columns, where a kept axis is */
#define COLUMN_BLOCK 512

typedef struct
{
  LpReduce  op;
  LpCompute compute;
  LpCpuLoop kept, reduced;      /* stream 0 of both is x, stream 1 of kept is y */
  gint64    n_blocks, block;
  double   *partial;
} Reduction;

static double
neutral (LpReduce op)
{
  return op == LP_REDUCE_MAX ? -INFINITY : (op == LP_REDUCE_MIN ? INFINITY : 0);
}

static double
combine (LpReduce op, double a, double b)
{
  if (op == LP_REDUCE_MAX)
    return (b > a || b != b) ? b : a;
  if (op == LP_REDUCE_MIN)
    return (b < a || b != b) ? b : a;
  return a + b;
}

/* Splits x into the axes that are kept and those that are reduced. */
static void
split_axes (const LpArray *x, const LpArray *y, Reduction *self)
{
  LpArray kept = *x, kept_y = *y, reduced = *x;
  const LpArray *arrays[] = { &kept, &kept_y };
  const LpArray *inner = &reduced;

  for (int i = 0; i < x->n_dims; i++)
    if (y->dims[i] == 1)
      {
        kept.dims[i] = 1;
        kept_y.dims[i] = 1;
      }
    else
      reduced.dims[i] = 1;
  _lp_cpu_loop_init (&self->kept, arrays, 2, FALSE);
  _lp_cpu_loop_init (&self->reduced, &inner, 1, FALSE);
}

static gint64
inner_stride (const LpCpuLoop *loop)
{
  return loop->n_elements == 1 ? G_MAXINT64 : ABS (loop->streams[0].strides[loop->n_dims - 1]);
}

static void
move_stream (LpCpuLoop *loop, gint64 offset)
{
  loop->streams[0].data += offset * _lp_scalar_sizes[loop->streams[0].scalar];
}

static void
fold_block (const Reduction *self, gint64 output, gint64 b)
{
  double buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  LpCpuLoop loop = self->reduced;
  const gint64 end = MIN ((b + 1) * self->block, loop.n_elements);
  double result = neutral (self->op);

  move_stream (&loop, _lp_cpu_loop_offset (&self->kept, 0, output));
  for (gint64 i = b * self->block; i < end; i += LP_CPU_CHUNK)
    {
      const gsize n = (gsize) MIN (LP_CPU_CHUNK, end - i);
      const void *run = _lp_cpu_loop_load (&loop, 0, i, n, self->compute, buffer);

      result = combine (self->op, result, _lp_cpu_isa->row->fold[self->compute][self->op] (run, n));
    }
  self->partial[output * self->n_blocks + b] = result;
}

/* Rows that follow one another in memory and are short are taken several at a time. */
static gint64
rows_at_once (const Reduction *self)
{
  const gint64 n = self->kept.n_elements;
  const LpCpuStream *kept = &self->kept.streams[0], *reduced = &self->reduced.streams[0];

  if (self->kept.n_dims > 1 || self->reduced.n_dims > 1 || kept->strides[0] != 1 || reduced->strides[0] != n)
    return 1;
  return MAX (1, COLUMN_BLOCK / n);
}

/* The columns' results over rows @first to @last, @at_once rows being one long one. */
static void
accumulate_long_rows (const Reduction *self, gint64 first, gint64 last, gint64 at_once, double *acc)
{
  double buffer[COLUMN_BLOCK] __attribute__ ((aligned (64)));
  double sums[COLUMN_BLOCK] __attribute__ ((aligned (64)));
  const gint64 n = self->kept.n_elements;
  LpCpuLoop flat = self->reduced;

  flat.dims[0] *= n;
  flat.streams[0].strides[0] = 1;
  for (gint64 j = 0; j < at_once * n; j++)
    sums[j] = neutral (self->op);
  for (gint64 r = first; r < last; r += at_once)
    {
      const gsize count = (gsize) (MIN (at_once, last - r) * n);
      const void *run = _lp_cpu_loop_load (&flat, 0, r * n, count, self->compute, buffer);

      _lp_cpu_isa->row->accumulate[self->compute][self->op] (run, count, sums);
    }
  for (gint64 j = 0; j < at_once * n; j++)
    acc[j % n] = j < n ? sums[j] : combine (self->op, acc[j % n], sums[j]);
}

static void
accumulate_block (const Reduction *self, gint64 column, gint64 b)
{
  double buffer[COLUMN_BLOCK] __attribute__ ((aligned (64)));
  const gint64 n = MIN (COLUMN_BLOCK, self->kept.n_elements - column);
  const gint64 end = MIN ((b + 1) * self->block, self->reduced.n_elements);
  double *acc = self->partial + b * self->kept.n_elements + column;
  const gint64 at_once = rows_at_once (self);
  LpCpuLoop loop = self->kept;

  if (at_once > 1)
    {
      accumulate_long_rows (self, b * self->block, end, at_once, acc);
      return;
    }
  for (gint64 j = 0; j < n; j++)
    acc[j] = neutral (self->op);
  for (gint64 r = b * self->block; r < end; r++)
    {
      const void *run;

      loop.streams[0].data = self->kept.streams[0].data;
      move_stream (&loop, _lp_cpu_loop_offset (&self->reduced, 0, r));
      run = _lp_cpu_loop_load (&loop, 0, column, (gsize) n, self->compute, buffer);
      _lp_cpu_isa->row->accumulate[self->compute][self->op] (run, (gsize) n, acc);
    }
}

static void
finish (const Reduction *self, double *values)
{
  const double scale = self->op == LP_REDUCE_MEAN ? 1.0 / (double) self->reduced.n_elements : 1.0;
  const gint64 n = self->kept.n_elements;

  if (scale != 1)
    for (gint64 i = 0; i < n; i++)
      values[i] *= scale;
  for (gint64 i = 0; i < n; i += LP_CPU_CHUNK)
    _lp_cpu_loop_store (&self->kept, 1, i, (gsize) MIN (LP_CPU_CHUNK, n - i), LP_COMPUTE_F64, values + i);
}

static void
reduce_runs (Reduction *self, gint64 work)
{
  const gint64 n = self->kept.n_elements;

  self->block = RUN_BLOCK;
  self->n_blocks = MAX (1, (self->reduced.n_elements + RUN_BLOCK - 1) / RUN_BLOCK);
  self->partial = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, (gsize) (n * self->n_blocks) * sizeof (double));
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  for (gint64 t = 0; t < n * self->n_blocks; t++)
    fold_block (self, t / self->n_blocks, t % self->n_blocks);
  for (gint64 i = 0; i < n && self->n_blocks > 1; i++)
    {
      double result = self->partial[i * self->n_blocks];

      for (gint64 b = 1; b < self->n_blocks; b++)
        result = combine (self->op, result, self->partial[i * self->n_blocks + b]);
      self->partial[i] = result;
    }
  finish (self, self->partial);
}

static void
reduce_columns (Reduction *self, gint64 work)
{
  const gint64 n = self->kept.n_elements;
  const gint64 columns = (n + COLUMN_BLOCK - 1) / COLUMN_BLOCK;

  /* at most 64 blocks: their partial sums are as long as the result */
  self->block = MAX (ROW_BLOCK, (self->reduced.n_elements + 63) / 64);
  self->n_blocks = (self->reduced.n_elements + self->block - 1) / self->block;
  self->partial = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, (gsize) (n * self->n_blocks) * sizeof (double));
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  for (gint64 t = 0; t < columns * self->n_blocks; t++)
    accumulate_block (self, t % columns * COLUMN_BLOCK, t / columns);
  for (gint64 b = 1; b < self->n_blocks; b++)
    for (gint64 i = 0; i < n; i++)
      self->partial[i] = combine (self->op, self->partial[i], self->partial[b * n + i]);
  finish (self, self->partial);
}

gboolean
_lp_cpu_reduce (LpReduce op, const LpArray *x, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { x, y };
  const gint64 work = _lp_cpu_n_elements (x);
  Reduction self = { .op = op };

  if (!_lp_cpu_check_native ("reduce", arrays, 2, error))
    return FALSE;
  self.compute = _lp_cpu_float_compute (arrays, 2);
  if (_lp_cpu_is_integer (x->scalar))
    self.compute = LP_COMPUTE_F64;
  if (_lp_cpu_n_elements (y) == 0)
    return TRUE;
  split_axes (x, y, &self);
  if (work > 0 && inner_stride (&self.kept) < inner_stride (&self.reduced))
    reduce_columns (&self, work);
  else
    reduce_runs (&self, work);
  return TRUE;
}
