#include <string.h>

#include "lp-cpu-private.h"

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

/* A contiguous array over a run of float32 values with the shape of @like. */
static LpArray
contiguous_f32 (const LpArray *like, gpointer data)
{
  LpArray array = *like;
  gint64 stride = 1;

  array.data = data;
  array.scalar = LP_SCALAR_F32;
  array.dtype = NULL;
  for (int i = array.n_dims - 1; i >= 0; i--)
    {
      array.strides[i] = stride;
      stride *= array.dims[i];
    }
  return array;
}

/* Blocks decoded at a time: 4 MiB of float32. */
static gint64
blocks_per_panel (LpDType *dtype)
{
  return MAX (1, (1 << 20) / (gint64) lp_dtype_get_block_size (dtype));
}

static gboolean
decode_into (const LpArray *x, const LpArray *y, GError **error)
{
  const gint64 block = lp_dtype_get_block_size (x->dtype);
  const gint64 n = _lp_cpu_n_elements (x);
  const gint64 n_blocks = (n + block - 1) / block;
  const gint64 step = blocks_per_panel (x->dtype);
  g_autoptr (LpShape) shape = lp_shape_new (x->dims, (gsize) x->n_dims);
  g_autoptr (GBytes) data = g_bytes_new_static (x->data, (gsize) lp_dtype_get_encoded_size (x->dtype, shape));
  LpCpuLoop loop;

  _lp_cpu_loop_init (&loop, &y, 1, TRUE);
  for (gint64 b = 0; b < n_blocks; b += step)
    {
      g_autoptr (GBytes) values = lp_dtype_decode (x->dtype, data, shape, -1, x->first_block + b, MIN (step, n_blocks - b), error);
      const float *f;

      if (values == NULL)
        return FALSE;
      f = g_bytes_get_data (values, NULL);
      for (gint64 i = b * block; i < MIN (n, (b + step) * block); i += LP_CPU_CHUNK)
        {
          const gsize count = (gsize) MIN (LP_CPU_CHUNK, MIN (n, (b + step) * block) - i);

          _lp_cpu_loop_store (&loop, 0, i, count, LP_COMPUTE_F32, f + (i - b * block));
        }
    }
  return TRUE;
}

static gboolean
encode_into (const LpArray *x, const LpArray *y, GError **error)
{
  const gsize size = (gsize) _lp_cpu_n_elements (x) * sizeof (float);
  float *values = g_try_malloc (MAX (size, 1));
  g_autoptr (LpShape) shape = lp_shape_new (y->dims, (gsize) y->n_dims);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) encoded = NULL;
  LpArray run;

  if (values == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_MEMORY, "No memory for %" G_GSIZE_FORMAT " bytes", size);
      return FALSE;
    }
  bytes = g_bytes_new_take (values, size);
  run = contiguous_f32 (x, values);
  if (!_lp_cpu_copy (x, &run, error))
    return FALSE;
  encoded = lp_dtype_encode (y->dtype, bytes, shape, -1, error);
  if (encoded == NULL)
    return FALSE;
  memcpy (y->data, g_bytes_get_data (encoded, NULL), g_bytes_get_size (encoded));
  return TRUE;
}

static gboolean
copy_encoded (const LpArray *x, const LpArray *y, GError **error)
{
  g_autoptr (LpShape) shape = NULL;

  if (y->scalar != LP_SCALAR_ENCODED)
    return decode_into (x, y, error);
  if (x->scalar != LP_SCALAR_ENCODED)
    return encode_into (x, y, error);
  if (x->dtype == y->dtype && x->first_block == 0 && y->first_block == 0)
    {
      shape = lp_shape_new (x->dims, (gsize) x->n_dims);
      memmove (y->data, x->data, (gsize) lp_dtype_get_encoded_size (x->dtype, shape));
      return TRUE;
    }
  {
    g_autofree float *values = g_new (float, MAX (_lp_cpu_n_elements (x), 1));
    const LpArray middle = contiguous_f32 (x, values);

    return decode_into (x, &middle, error) && encode_into (&middle, y, error);
  }
}

gboolean
_lp_cpu_copy (const LpArray *x, const LpArray *y, GError **error)
{
  LpCompute compute = LP_COMPUTE_F32;

  if (x->scalar == LP_SCALAR_ENCODED || y->scalar == LP_SCALAR_ENCODED)
    return copy_encoded (x, y, error);
  if (x->scalar == y->scalar)
    return copy_same (x, y);
  if (_lp_cpu_is_integer (x->scalar))
    compute = LP_COMPUTE_I64;
  else if (x->scalar == LP_SCALAR_F64)
    compute = LP_COMPUTE_F64;
  return _lp_cpu_map_run (_lp_cpu_isa->map->copy[compute], compute, &x, 1, y, 0);
}
