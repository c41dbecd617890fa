#include <string.h>

#include "lp-cpu-private.h"

static gint64
read_index (const guint8 *data, LpScalar scalar, gint64 offset)
{
  return scalar == LP_SCALAR_I64 ? ((const gint64 *) data)[offset] : ((const gint32 *) data)[offset];
}

static gboolean
check_index (const LpArray *index, gint64 extent, GError **error)
{
  LpCpuLoop loop;

  if (index->scalar != LP_SCALAR_I64 && index->scalar != LP_SCALAR_I32)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_DTYPE, "An index must be i64 or i32");
      return FALSE;
    }
  _lp_cpu_loop_init (&loop, &index, 1, TRUE);
  for (gint64 i = 0; i < loop.n_elements; i++)
    {
      const gint64 value = read_index (index->data, index->scalar, _lp_cpu_loop_offset (&loop, 0, i));

      if (value >= 0 && value < extent)
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                   "Index %" G_GINT64_FORMAT " at position %" G_GINT64_FORMAT " is outside an axis of %" G_GINT64_FORMAT, value, i, extent);
      return FALSE;
    }
  return TRUE;
}

static LpCompute
sum_compute (const LpArray *x, const LpArray *y)
{
  const LpArray *arrays[] = { x, y };

  if (_lp_cpu_is_integer (x->scalar) && _lp_cpu_is_integer (y->scalar))
    return LP_COMPUTE_I64;
  return _lp_cpu_float_compute (arrays, 2);
}

/* The slice at @position of @axis, as an array with extent 1 there. */
static LpArray
slice (const LpArray *array, int axis, gint64 position)
{
  LpArray part = *array;

  part.data += position * array->strides[axis] * _lp_scalar_sizes[array->scalar];
  part.dims[axis] = 1;
  return part;
}

gboolean
_lp_cpu_index_select (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { x, y };
  const gsize size = _lp_scalar_sizes[x->scalar];
  LpArray from, to;
  gint64 n;
  gboolean dense;

  if (!_lp_cpu_check_native ("index_select", arrays, 2, error) || !check_index (index, x->dims[axis], error))
    return FALSE;
  if (_lp_cpu_n_elements (y) == 0)
    return TRUE;
  from = slice (x, axis, 0);
  to = slice (y, axis, 0);
  n = _lp_cpu_n_elements (&to);
  {
    const LpArray *slices[] = { &to, &from };
    LpCpuLoop loop;

    _lp_cpu_loop_init (&loop, slices, 2, FALSE);
    dense = x->scalar == y->scalar && loop.n_dims == 1 && loop.streams[0].strides[0] == 1 && loop.streams[1].strides[0] == 1;
  }
  for (gint64 i = 0; i < y->dims[axis]; i++)
    {
      const gint64 at = read_index (index->data, index->scalar, i * index->strides[0]);

      from = slice (x, axis, at);
      to = slice (y, axis, i);
      if (dense)
        memcpy (to.data, from.data, (gsize) n * size);
      else if (!_lp_cpu_copy (&from, &to, error))
        return FALSE;
    }
  return TRUE;
}

gboolean
_lp_cpu_index_add (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error)
{
  const LpArray *arrays[] = { x, y };
  LpCompute compute;

  if (!_lp_cpu_check_native ("index_add", arrays, 2, error) || !check_index (index, y->dims[axis], error))
    return FALSE;
  compute = sum_compute (x, y);
  for (gint64 i = 0; i < x->dims[axis]; i++)
    {
      const gint64 at = read_index (index->data, index->scalar, i * index->strides[0]);
      const LpArray from = slice (x, axis, i), to = slice (y, axis, at);
      const LpArray *inputs[] = { &to, &from };

      _lp_cpu_map_run (_lp_cpu_isa->map->binary[compute][LP_BINARY_ADD], compute, inputs, 2, &to, 0);
    }
  return TRUE;
}

/* Walks the elements of index's shape; the indexed array's own stride along the axis is left out. */
static void
init_walk (LpCpuLoop *loop, const LpArray *index, const LpArray *same, const LpArray *indexed, int axis)
{
  LpArray flat = *indexed;
  const LpArray *arrays[] = { index, same, &flat };

  flat.strides[axis] = 0;
  for (int i = 0; i < index->n_dims; i++)
    flat.dims[i] = index->dims[i];
  _lp_cpu_loop_init (loop, arrays, 3, TRUE);
}

gboolean
_lp_cpu_gather (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { x, y };
  const LpCompute compute = sum_compute (x, y);
  const gint64 x_size = _lp_scalar_sizes[x->scalar], y_size = _lp_scalar_sizes[y->scalar];
  LpCpuLoop loop;

  if (!_lp_cpu_check_native ("gather", arrays, 2, error) || !check_index (index, x->dims[axis], error))
    return FALSE;
  init_walk (&loop, index, y, x, axis);
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 i = 0; i < loop.n_elements; i++)
    {
      const gint64 at = read_index (index->data, index->scalar, _lp_cpu_loop_offset (&loop, 0, i));
      const gint64 from = _lp_cpu_loop_offset (&loop, 2, i) + at * x->strides[axis];
      guint64 value;

      _lp_cpu_isa->convert->load[compute][x->scalar] (x->data + from * x_size, 1, 1, &value);
      _lp_cpu_isa->convert->store[compute][y->scalar] (&value, 1, y->data + _lp_cpu_loop_offset (&loop, 1, i) * y_size, 1);
    }
  return TRUE;
}

/* On one thread: two elements may go to the same place, and their order is part of the result. */
gboolean
_lp_cpu_scatter_add (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error)
{
  const LpArray *arrays[] = { x, y };
  const LpCompute compute = sum_compute (x, y);
  const LpCpuMap add = _lp_cpu_isa->map->binary[compute][LP_BINARY_ADD];
  const gint64 x_size = _lp_scalar_sizes[x->scalar], y_size = _lp_scalar_sizes[y->scalar];
  LpCpuLoop loop;

  if (!_lp_cpu_check_native ("scatter_add", arrays, 2, error) || !check_index (index, y->dims[axis], error))
    return FALSE;
  init_walk (&loop, index, x, y, axis);
  for (gint64 i = 0; i < loop.n_elements; i++)
    {
      const gint64 at = read_index (index->data, index->scalar, _lp_cpu_loop_offset (&loop, 0, i));
      guint8 *to = y->data + (_lp_cpu_loop_offset (&loop, 2, i) + at * y->strides[axis]) * y_size;
      guint64 values[2];
      const void *in[] = { &values[0], &values[1] };

      _lp_cpu_isa->convert->load[compute][y->scalar] (to, 1, 1, &values[0]);
      _lp_cpu_isa->convert->load[compute][x->scalar] (x->data + _lp_cpu_loop_offset (&loop, 1, i) * x_size, 1, 1, &values[1]);
      add (in, &values[0], 1, 0);
      _lp_cpu_isa->convert->store[compute][y->scalar] (&values[0], 1, to, 1);
    }
  return TRUE;
}
