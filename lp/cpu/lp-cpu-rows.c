#include "lp-cpu-rows-private.h"

static const LpScalar compute_scalars[LP_N_COMPUTES] = { LP_SCALAR_F32, LP_SCALAR_F64, LP_SCALAR_I64 };

void
_lp_cpu_rows_init (LpCpuRows *self, const LpArray *const *arrays, int n_arrays, int axis, LpCompute compute)
{
  LpArray outer[LP_CPU_LOOP_MAX];
  const LpArray *pointers[LP_CPU_LOOP_MAX];

  self->length = arrays[0]->dims[axis];
  self->compute = compute;
  for (int k = 0; k < n_arrays; k++)
    {
      outer[k] = *arrays[k];
      outer[k].dims[axis] = 1;
      pointers[k] = &outer[k];
      self->strides[k] = arrays[k]->strides[axis];
    }
  _lp_cpu_loop_init (&self->outer, pointers, n_arrays, FALSE);
}

static guint8 *
rows_at (const LpCpuRows *self, int k, gint64 row)
{
  const LpCpuStream *stream = &self->outer.streams[k];

  return stream->data + _lp_cpu_loop_offset (&self->outer, k, row) * _lp_scalar_sizes[stream->scalar];
}

static gboolean
is_direct (const LpCpuRows *self, int k)
{
  return self->outer.streams[k].scalar == compute_scalars[self->compute] && self->strides[k] == 1;
}

const void *
_lp_cpu_rows_load (const LpCpuRows *self, int k, gint64 row, void *buffer)
{
  const guint8 *at = rows_at (self, k, row);

  if (is_direct (self, k))
    return at;
  _lp_cpu_isa->convert->load[self->compute][self->outer.streams[k].scalar] (at, self->strides[k], (gsize) self->length, buffer);
  return buffer;
}

void *
_lp_cpu_rows_open (const LpCpuRows *self, int k, gint64 row, void *buffer)
{
  return is_direct (self, k) ? rows_at (self, k, row) : buffer;
}

void
_lp_cpu_rows_close (const LpCpuRows *self, int k, gint64 row, const void *values)
{
  if (!is_direct (self, k))
    _lp_cpu_isa->convert->store[self->compute][self->outer.streams[k].scalar] (values, (gsize) self->length,
                                                                               rows_at (self, k, row), self->strides[k]);
}

void
_lp_cpu_rows_run (const LpCpuRows *self, LpCpuRowFunc func, gpointer data)
{
  const gint64 work = self->outer.n_elements * self->length;
  const gsize room = ((gsize) self->length * sizeof (double) + 63) / 64 * 64;

#pragma omp parallel num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  {
    guint8 *base = _lp_cpu_scratch (LP_SCRATCH_ROW, room * LP_CPU_LOOP_MAX);
    guint8 *scratch[LP_CPU_LOOP_MAX];

    for (int k = 0; k < LP_CPU_LOOP_MAX; k++)
      scratch[k] = base + (gsize) k * room;
#pragma omp for schedule(static)
    for (gint64 i = 0; i < self->outer.n_elements; i++)
      func (self, i, scratch, data);
  }
}
