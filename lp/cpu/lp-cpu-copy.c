#include <string.h>

#include "lp-cpu-encoded-private.h"

/* Values of one dtype move as they are, so that no bit of a NaN changes. */
static void
move_row (guint8 *dst, gint64 dst_stride, const guint8 *src, gint64 src_stride, gint64 n, gsize size)
{
#define MOVE(type) \
  { \
    type *d = (type *) dst; \
    const type *s = (const type *) src; \
    for (gint64 i = 0; i < n; i++) \
      d[i * dst_stride] = s[i * src_stride]; \
  }
  if (dst_stride == 1 && src_stride == 1)
    memmove (dst, src, (gsize) n * size);
  else if (size == 4)
    MOVE (guint32)
  else if (size == 2)
    MOVE (guint16)
  else if (size == 8)
    MOVE (guint64)
  else
    MOVE (guint8)
#undef MOVE
}

static gboolean
copy_same (const LpArray *x, const LpArray *y)
{
  const LpArray *arrays[] = { y, x };
  const gsize size = _lp_scalar_sizes[y->scalar];
  LpCpuLoop loop;
  gint64 row, n_rows, parts, part;

  _lp_cpu_loop_init (&loop, arrays, 2, FALSE);
  row = loop.dims[loop.n_dims - 1];
  if (loop.n_elements == 0)
    return TRUE;
  n_rows = loop.n_elements / row;
  parts = (row + LP_CPU_PARALLEL_MIN - 1) / LP_CPU_PARALLEL_MIN;
  part = (row + parts - 1) / parts;
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 t = 0; t < n_rows * parts; t++)
    {
      const gint64 first = t / parts * row + MIN (row, t % parts * part);
      const gint64 n = MIN (part, row - MIN (row, t % parts * part));

      if (n > 0)
        move_row (loop.streams[0].data + _lp_cpu_loop_offset (&loop, 0, first) * (gint64) size, loop.streams[0].strides[loop.n_dims - 1],
                  loop.streams[1].data + _lp_cpu_loop_offset (&loop, 1, first) * (gint64) size, loop.streams[1].strides[loop.n_dims - 1],
                  n, size);
    }
  return TRUE;
}

static void
convert_chunk (const LpCpuLoop *loop, LpCompute compute, gint64 start, gsize n)
{
  double buffer[LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  void *out = _lp_cpu_loop_direct (loop, 0, start, n, compute);
  const void *values = _lp_cpu_loop_load (loop, 1, start, n, compute, out != NULL ? out : buffer);

  if (out == NULL)
    _lp_cpu_loop_store (loop, 0, start, n, compute, values);
  else if (values != out)
    memcpy (out, values, n * _lp_cpu_compute_size (compute));
}

static gboolean
convert (LpCompute compute, const LpArray *x, const LpArray *y)
{
  const LpArray *arrays[] = { y, x };
  LpCpuLoop loop;
  gint64 n_chunks;

  _lp_cpu_loop_init (&loop, arrays, 2, FALSE);
  n_chunks = (loop.n_elements + LP_CPU_CHUNK - 1) / LP_CPU_CHUNK;
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 c = 0; c < n_chunks; c++)
    convert_chunk (&loop, compute, c * LP_CPU_CHUNK, (gsize) MIN (LP_CPU_CHUNK, loop.n_elements - c * LP_CPU_CHUNK));
  return TRUE;
}

gboolean
_lp_cpu_copy (const LpArray *x, const LpArray *y, GError **error)
{
  LpCompute compute = LP_COMPUTE_F32;

  if (x->scalar == LP_SCALAR_ENCODED || y->scalar == LP_SCALAR_ENCODED)
    return _lp_cpu_copy_encoded (x, y, error);
  if (x->scalar == y->scalar)
    return copy_same (x, y);
  if (_lp_cpu_is_integer (x->scalar))
    compute = LP_COMPUTE_I64;
  else if (x->scalar == LP_SCALAR_F64)
    compute = LP_COMPUTE_F64;
  return convert (compute, x, y);
}
