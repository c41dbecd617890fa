#include "lp-cpu-private.h"

/* Axis @a lies outside axis @b: larger strides first, array 0 deciding, the others breaking ties. */
static gboolean
lies_outside (const LpCpuLoop *self, int a, int b)
{
  for (int k = 0; k < self->n_streams; k++)
    {
      const gint64 sa = ABS (self->streams[k].strides[a]), sb = ABS (self->streams[k].strides[b]);

      if (sa != sb)
        return sa > sb;
    }
  return FALSE;
}

static void
swap_axes (LpCpuLoop *self, int a, int b)
{
  const gint64 dim = self->dims[a];

  self->dims[a] = self->dims[b];
  self->dims[b] = dim;
  for (int k = 0; k < self->n_streams; k++)
    {
      gint64 *strides = self->streams[k].strides;
      const gint64 stride = strides[a];

      strides[a] = strides[b];
      strides[b] = stride;
    }
}

static void
sort_axes (LpCpuLoop *self)
{
  for (int i = 1; i < self->n_dims; i++)
    for (int j = i; j > 0 && lies_outside (self, j, j - 1); j--)
      swap_axes (self, j, j - 1);
}

static gboolean
can_merge (const LpCpuLoop *self, int outer, int inner)
{
  for (int k = 0; k < self->n_streams; k++)
    if (self->streams[k].strides[outer] != self->streams[k].strides[inner] * self->dims[inner])
      return FALSE;
  return TRUE;
}

static void
merge_axes (LpCpuLoop *self)
{
  int last = 0;

  for (int i = 1; i < self->n_dims; i++)
    {
      if (can_merge (self, last, i))
        self->dims[last] *= self->dims[i];
      else
        self->dims[++last] = self->dims[i];
      for (int k = 0; k < self->n_streams; k++)
        self->streams[k].strides[last] = self->streams[k].strides[i];
    }
  self->n_dims = last + 1;
}

void
_lp_cpu_loop_init (LpCpuLoop *self, const LpArray *const *arrays, int n_arrays, gboolean keep_order)
{
  const LpArray *first = arrays[0];

  self->n_streams = n_arrays;
  self->n_dims = 0;
  self->n_elements = 1;
  for (int k = 0; k < n_arrays; k++)
    {
      self->streams[k].data = arrays[k]->data;
      self->streams[k].scalar = arrays[k]->scalar;
    }
  for (int i = 0; i < first->n_dims; i++)
    {
      self->n_elements *= first->dims[i];
      if (first->dims[i] == 1)
        continue;
      self->dims[self->n_dims] = first->dims[i];
      for (int k = 0; k < n_arrays; k++)
        {
          const int axis = i + arrays[k]->n_dims - first->n_dims;
          const gboolean broadcast = axis < 0 || (arrays[k]->dims[axis] == 1 && first->dims[i] != 1);

          self->streams[k].strides[self->n_dims] = broadcast ? 0 : arrays[k]->strides[axis];
        }
      self->n_dims++;
    }
  if (self->n_dims == 0)
    {
      self->n_dims = 1;
      self->dims[0] = 1;
      for (int k = 0; k < n_arrays; k++)
        self->streams[k].strides[0] = 1;
      return;
    }
  if (!keep_order)
    sort_axes (self);
  merge_axes (self);
}

/* Where a linear position lies: the index along the last axis, and the offset of its row. */
static gint64
locate (const LpCpuLoop *self, int k, gint64 start, gint64 *index)
{
  const gint64 *strides = self->streams[k].strides;
  gint64 offset = 0;

  for (int i = self->n_dims - 1; i >= 0; i--)
    {
      const gint64 quotient = i > 0 ? start / self->dims[i] : 0;

      index[i] = start - quotient * self->dims[i];
      offset += index[i] * strides[i];
      start = quotient;
    }
  return offset;
}

gint64
_lp_cpu_loop_offset (const LpCpuLoop *self, int k, gint64 start)
{
  gint64 index[LP_MAX_DIMS];

  return self->n_dims == 1 ? start * self->streams[k].strides[0] : locate (self, k, start, index);
}

/* Steps to the start of the next row. */
static gint64
next_row (const LpCpuLoop *self, int k, gint64 offset, gint64 *index)
{
  const gint64 *strides = self->streams[k].strides;

  for (int i = self->n_dims - 2; i >= 0; i--)
    {
      offset += strides[i];
      if (++index[i] < self->dims[i])
        return offset;
      offset -= strides[i] * self->dims[i];
      index[i] = 0;
    }
  return offset;
}

static const LpScalar compute_scalars[LP_N_COMPUTES] = { LP_SCALAR_F32, LP_SCALAR_F64, LP_SCALAR_I64 };

void *
_lp_cpu_loop_direct (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute)
{
  const LpCpuStream *stream = &self->streams[k];
  const int last = self->n_dims - 1;

  if (stream->scalar != compute_scalars[compute] || stream->strides[last] != 1)
    return NULL;
  if (last == 0)
    return stream->data + start * _lp_scalar_sizes[stream->scalar];
  if (start % self->dims[last] + (gint64) n > self->dims[last])
    return NULL;
  return stream->data + _lp_cpu_loop_offset (self, k, start) * _lp_scalar_sizes[stream->scalar];
}

const void *
_lp_cpu_loop_load (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute, void *buffer)
{
  const LpCpuStream *stream = &self->streams[k];
  const LpCpuLoad load = _lp_cpu_isa->convert->load[compute][stream->scalar];
  const gint64 size = _lp_scalar_sizes[stream->scalar];
  const int last = self->n_dims - 1;
  const gint64 stride = stream->strides[last];
  const gsize out_size = _lp_cpu_compute_size (compute);
  const void *direct = _lp_cpu_loop_direct (self, k, start, n, compute);
  gint64 index[LP_MAX_DIMS];
  gint64 offset;
  guint8 *out = buffer;

  if (direct != NULL)
    return direct;
  if (last == 0)
    {
      load (stream->data + start * stride * size, stride, n, buffer);
      return buffer;
    }
  offset = locate (self, k, start, index);
  while (n > 0)
    {
      const gsize run = MIN (n, (gsize) (self->dims[last] - index[last]));

      load (stream->data + offset * size, stride, run, out);
      out += run * out_size;
      n -= run;
      offset = next_row (self, k, offset - index[last] * stride, index);
      index[last] = 0;
    }
  return buffer;
}

void
_lp_cpu_loop_store (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute, const void *values)
{
  const LpCpuStream *stream = &self->streams[k];
  const LpCpuStore store = _lp_cpu_isa->convert->store[compute][stream->scalar];
  const gint64 size = _lp_scalar_sizes[stream->scalar];
  const int last = self->n_dims - 1;
  const gint64 stride = stream->strides[last];
  const gsize in_size = _lp_cpu_compute_size (compute);
  const guint8 *in = values;
  gint64 index[LP_MAX_DIMS];
  gint64 offset;

  if (last == 0)
    {
      store (values, n, stream->data + start * stride * size, stride);
      return;
    }
  offset = locate (self, k, start, index);
  while (n > 0)
    {
      const gsize run = MIN (n, (gsize) (self->dims[last] - index[last]));

      store (in, run, stream->data + offset * size, stride);
      in += run * in_size;
      n -= run;
      offset = next_row (self, k, offset - index[last] * stride, index);
      index[last] = 0;
    }
}

gboolean
_lp_cpu_is_integer (LpScalar scalar)
{
  return scalar >= LP_SCALAR_I64;
}

LpCompute
_lp_cpu_float_compute (const LpArray *const *arrays, int n)
{
  for (int i = 0; i < n; i++)
    if (arrays[i]->scalar == LP_SCALAR_F64 && arrays[i]->data != NULL)
      return LP_COMPUTE_F64;
  return LP_COMPUTE_F32;
}

gboolean
_lp_cpu_check_native (const char *op, const LpArray *const *arrays, int n, GError **error)
{
  for (int i = 0; i < n; i++)
    if (arrays[i]->scalar == LP_SCALAR_ENCODED && arrays[i]->data != NULL)
      {
        g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "The operation %s has no kernel for dtype %s on device cpu; convert it first",
                     op, arrays[i]->dtype != NULL ? lp_dtype_get_name (arrays[i]->dtype) : "unknown");
        return FALSE;
      }
  return TRUE;
}

int
_lp_cpu_threads (gint64 work)
{
  return work < LP_CPU_PARALLEL_MIN || omp_in_parallel () ? 1 : omp_get_max_threads ();
}

static void
map_chunk (LpCpuMap map, LpCompute compute, const LpCpuLoop *loop, gint64 start, gsize n, double param)
{
  double buffers[LP_CPU_LOOP_MAX][LP_CPU_CHUNK] __attribute__ ((aligned (64)));
  const void *in[LP_CPU_LOOP_MAX - 1] = { NULL };
  void *out = _lp_cpu_loop_direct (loop, 0, start, n, compute);

  for (int k = 1; k < loop->n_streams; k++)
    in[k - 1] = _lp_cpu_loop_load (loop, k, start, n, compute, buffers[k]);
  map (in, out != NULL ? out : buffers[0], n, param);
  if (out == NULL)
    _lp_cpu_loop_store (loop, 0, start, n, compute, buffers[0]);
}

gboolean
_lp_cpu_map_run (LpCpuMap map, LpCompute compute, const LpArray *const *inputs, int n_inputs, const LpArray *y, double param)
{
  const LpArray *arrays[LP_CPU_LOOP_MAX] = { y };
  LpCpuLoop loop;
  gint64 n_chunks;

  for (int i = 0; i < n_inputs; i++)
    arrays[i + 1] = inputs[i];
  _lp_cpu_loop_init (&loop, arrays, n_inputs + 1, FALSE);
  n_chunks = (loop.n_elements + LP_CPU_CHUNK - 1) / LP_CPU_CHUNK;
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (loop.n_elements)) if (loop.n_elements >= LP_CPU_PARALLEL_MIN)
  for (gint64 c = 0; c < n_chunks; c++)
    map_chunk (map, compute, &loop, c * LP_CPU_CHUNK, (gsize) MIN (LP_CPU_CHUNK, loop.n_elements - c * LP_CPU_CHUNK), param);
  return TRUE;
}
