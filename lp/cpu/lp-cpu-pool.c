#include <string.h>

#include "lp-cpu-private.h"

/* One output position at a time, over a run of channels: contiguous in channels-last memory. */

typedef struct
{
  const LpPoolArgs *args;
  LpCompute         compute;
  gint64            c;
} Pool;

typedef struct
{
  gint64 n, h, w;          /* output position */
  gint64 h0, h1, w0, w1;   /* input cells of its window that exist */
} Window;

static Window
window_at (const Pool *self, gint64 position)
{
  const LpPoolArgs *args = self->args;
  const gint64 oh = args->y.dims[2], ow = args->y.dims[3];
  Window window = { .n = position / (oh * ow), .h = position / ow % oh, .w = position % ow };
  const gint64 top = window.h * args->stride[0] - args->padding[0];
  const gint64 left = window.w * args->stride[1] - args->padding[1];

  window.h0 = MAX (top, 0);
  window.w0 = MAX (left, 0);
  window.h1 = MIN (top + args->kernel[0], args->x.dims[2]);
  window.w1 = MIN (left + args->kernel[1], args->x.dims[3]);
  return window;
}

static guint8 *
cell (const LpArray *array, gint64 n, gint64 h, gint64 w)
{
  return array->data
         + (n * array->strides[0] + h * array->strides[2] + w * array->strides[3]) * _lp_scalar_sizes[array->scalar];
}

static const LpScalar compute_scalars[] = { LP_SCALAR_F32, LP_SCALAR_F64 };

static const void *
load_cell (const Pool *self, const LpArray *array, gint64 n, gint64 h, gint64 w, void *buffer)
{
  const guint8 *at = cell (array, n, h, w);

  if (array->scalar == compute_scalars[self->compute] && array->strides[1] == 1)
    return at;
  _lp_cpu_isa->convert->load[self->compute][array->scalar] (at, array->strides[1], (gsize) self->c, buffer);
  return buffer;
}

static void
store_cell (const Pool *self, const LpArray *array, gint64 n, gint64 h, gint64 w, const void *values)
{
  _lp_cpu_isa->convert->store[self->compute][array->scalar] (values, (gsize) self->c, cell (array, n, h, w), array->strides[1]);
}

/* Scratch of one thread: a run of channels of each kind. */
typedef struct
{
  void   *x, *y;
  gint32 *indices;
} Runs;

static Runs
get_runs (gint64 c)
{
  const gsize size = ((gsize) c * sizeof (double) + 63) / 64 * 64;
  guint8 *base = _lp_cpu_scratch (LP_SCRATCH_ROW, 3 * size);

  return (Runs) { base, base + size, (gint32 *) (base + 2 * size) };
}

static void
max_window (const Pool *self, const Window *w, const Runs *runs)
{
  const LpPoolArgs *args = self->args;
  const gint64 top = w->h * args->stride[0] - args->padding[0], left = w->w * args->stride[1] - args->padding[1];
  const LpArray *y = &args->y;
  const gboolean to_y = y->scalar == compute_scalars[self->compute] && y->strides[1] == 1;
  const gboolean to_indices = args->indices.data != NULL && args->indices.strides[1] == 1;
  void *best = to_y ? cell (y, w->n, w->h, w->w) : runs->y;
  gint32 *indices = to_indices ? (gint32 *) cell (&args->indices, w->n, w->h, w->w) : runs->indices;
  gboolean first = TRUE;

  for (gint64 h = w->h0; h < w->h1; h++)
    for (gint64 v = w->w0; v < w->w1; v++)
      {
        const void *x = load_cell (self, &args->x, w->n, h, v, first ? best : runs->x);
        const gint32 index = (gint32) ((h - top) * args->kernel[1] + (v - left));

        if (first)
          {
            if (x != best)
              memcpy (best, x, (gsize) self->c * _lp_cpu_compute_size (self->compute));
            for (gint64 i = 0; i < self->c; i++)
              indices[i] = index;
          }
        else
          _lp_cpu_isa->row->take_max[self->compute] (x, (gsize) self->c, index, best, indices);
        first = FALSE;
      }
  if (!to_y)
    store_cell (self, y, w->n, w->h, w->w, best);
  if (args->indices.data == NULL || to_indices)
    return;
  for (gint64 i = 0; i < self->c; i++)
    ((gint32 *) cell (&args->indices, w->n, w->h, w->w))[i * args->indices.strides[1]] = indices[i];
}

static void
average_window (const Pool *self, const Window *w, const Runs *runs)
{
  const LpPoolArgs *args = self->args;
  const gint64 count = (w->h1 - w->h0) * (w->w1 - w->w0);
  const void *in[2] = { runs->y, NULL };

  memset (runs->y, 0, (gsize) self->c * _lp_cpu_compute_size (self->compute));
  for (gint64 h = w->h0; h < w->h1; h++)
    for (gint64 v = w->w0; v < w->w1; v++)
      {
        in[1] = load_cell (self, &args->x, w->n, h, v, runs->x);
        _lp_cpu_isa->map->binary[self->compute][LP_BINARY_ADD] (in, runs->y, (gsize) self->c, 0);
      }
  _lp_cpu_isa->map->unary[self->compute][LP_UNARY_SCALE] (in, runs->y, (gsize) self->c, 1.0 / (double) count);
  store_cell (self, &args->y, w->n, w->h, w->w, runs->y);
}

gboolean
_lp_cpu_pool2d (const LpPoolArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->x, &args->y };
  const gint64 n_positions = args->y.dims[0] * args->y.dims[2] * args->y.dims[3];
  const gint64 work = n_positions * args->x.dims[1] * args->kernel[0] * args->kernel[1];
  Pool pool = { args, LP_COMPUTE_F32, args->x.dims[1] };

  if (!_lp_cpu_check_native ("pool2d", arrays, 2, error))
    return FALSE;
  pool.compute = _lp_cpu_float_compute (arrays, 2);
#pragma omp parallel num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  {
    const Runs runs = get_runs (pool.c);

#pragma omp for schedule(static)
    for (gint64 i = 0; i < n_positions; i++)
      {
        const Window window = window_at (&pool, i);

        if (args->max)
          max_window (&pool, &window, &runs);
        else
          average_window (&pool, &window, &runs);
      }
  }
  return TRUE;
}

/* dx of one image, summed up in the compute type: [h, w, c]. */
static void
grad_window (const Pool *self, const Window *w, const Runs *runs, guint8 *image)
{
  const LpPoolArgs *args = self->args;
  const gint64 top = w->h * args->stride[0] - args->padding[0], left = w->w * args->stride[1] - args->padding[1];
  const gsize size = _lp_cpu_compute_size (self->compute);
  const gint64 width = args->x.dims[3];
  const void *dy = load_cell (self, &args->y, w->n, w->h, w->w, runs->y);

  if (args->max)
    {
      const gint32 *indices = (const gint32 *) cell (&args->indices, w->n, w->h, w->w);

      if (args->indices.strides[1] == 1)
        {
          for (gint64 h = w->h0; h < w->h1; h++)
            for (gint64 v = w->w0; v < w->w1; v++)
              _lp_cpu_isa->row->add_chosen[self->compute] (dy, indices, (gsize) self->c, (gint32) ((h - top) * args->kernel[1] + (v - left)),
                                                           image + (gsize) ((h * width + v) * self->c) * size);
          return;
        }
      for (gint64 c = 0; c < self->c; c++)
        {
          const gint32 index = indices[c * args->indices.strides[1]];
          const gint64 at = ((top + index / args->kernel[1]) * width + left + index % args->kernel[1]) * self->c + c;

          if (self->compute == LP_COMPUTE_F32)
            ((float *) image)[at] += ((const float *) dy)[c];
          else
            ((double *) image)[at] += ((const double *) dy)[c];
        }
      return;
    }
  {
    const void *scaled[1] = { dy };
    const gint64 count = (w->h1 - w->h0) * (w->w1 - w->w0);

    _lp_cpu_isa->map->unary[self->compute][LP_UNARY_SCALE] (scaled, runs->x, (gsize) self->c, 1.0 / (double) count);
  }
  for (gint64 h = w->h0; h < w->h1; h++)
    for (gint64 v = w->w0; v < w->w1; v++)
      {
        guint8 *to = image + (gsize) ((h * width + v) * self->c) * size;
        const void *in[] = { to, runs->x };

        _lp_cpu_isa->map->binary[self->compute][LP_BINARY_ADD] (in, to, (gsize) self->c, 0);
      }
}

static void
grad_image (const Pool *self, gint64 n)
{
  const LpPoolArgs *args = self->args;
  const gint64 height = args->x.dims[2], width = args->x.dims[3];
  const gint64 per_image = args->y.dims[2] * args->y.dims[3];
  const gsize size = _lp_cpu_compute_size (self->compute);
  const gboolean direct = args->x.scalar == compute_scalars[self->compute] && args->x.strides[1] == 1
                          && args->x.strides[3] == self->c && args->x.strides[2] == width * self->c;
  const gsize image_size = (gsize) (height * width * self->c) * size;
  guint8 *image = direct ? cell (&args->x, n, 0, 0) : _lp_cpu_scratch (LP_SCRATCH_TILE, image_size);
  const Runs runs = get_runs (self->c);

  memset (image, 0, image_size);
  for (gint64 i = 0; i < per_image; i++)
    {
      const Window window = window_at (self, n * per_image + i);

      grad_window (self, &window, &runs, image);
    }
  if (direct)
    return;
  for (gint64 h = 0; h < height; h++)
    for (gint64 w = 0; w < width; w++)
      store_cell (self, &args->x, n, h, w, image + (gsize) ((h * width + w) * self->c) * size);
}

gboolean
_lp_cpu_pool2d_grad (const LpPoolArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->x, &args->y };
  const gint64 work = _lp_cpu_n_elements (&args->x);
  Pool pool = { args, LP_COMPUTE_F32, args->x.dims[1] };

  if (!_lp_cpu_check_native ("pool2d_grad", arrays, 2, error))
    return FALSE;
  pool.compute = _lp_cpu_float_compute (arrays, 2);
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (work)) if (work >= LP_CPU_PARALLEL_MIN)
  for (gint64 n = 0; n < args->x.dims[0]; n++)
    grad_image (&pool, n);
  return TRUE;
}
