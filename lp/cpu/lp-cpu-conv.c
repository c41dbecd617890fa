#include <string.h>

#include "lp-cpu-encoded-private.h"
#include "lp-cpu-gemm-private.h"

/* Convolution as an implicit matrix product: no column matrix is ever made. Some images at a time are brought to the
 * compute type, channels last and with their padding around them, so that the packers of the gemm gather patches with
 * one table of offsets and no test of bounds. Positions are (n, h, w) of an image; the summed axis of the forward pass
 * is (kh, kw, c). */

/* Bytes of the images prepared at a time, and of the weights. What else there is are the buffers of the gemm: a convolution needs no
 * more than 8 MiB per thread beside its operands. */
#define CHUNK_BYTES (2 << 20)
#define WEIGHT_BYTES (2 << 20)
#define MAX_WIDTH 32

static const LpScalar compute_scalars[] = { LP_SCALAR_F32, LP_SCALAR_F64 };

typedef struct
{
  const guint8 *data;
  gint64        strides[3];    /* n, h, w, in elements; channels are dense */
  gint64        step[2];       /* cells from position to position */
  gint64        rows[2];       /* extents of the positions of patches */
  gint64       *offsets;       /* of each element of a patch from its first cell */
} Patches;

typedef struct
{
  gint64 n, h, w;
} Position;

static Position
position_at (gint64 index, gint64 height, gint64 width)
{
  const gint64 row = index / width;

  return (Position) { row / height, row % height, index - row * width };
}

/* The offsets of the patches at @n positions from @first on. */
static void
locate (const Patches *self, gint64 first, int n, gint64 *offsets)
{
  Position at = position_at (first, self->rows[0], self->rows[1]);
  const gint64 step = self->step[1] * self->strides[2];

  for (int i = 0; i < n;)
    {
      const int run = (int) MIN (n - i, self->rows[1] - at.w);
      gint64 offset = at.n * self->strides[0] + at.h * self->step[0] * self->strides[1] + at.w * step;

      for (int end = i + run; i < end; i++, offset += step)
        offsets[i] = offset;
      at.w = 0;
      if (++at.h == self->rows[0])
        {
          at.h = 0;
          at.n++;
        }
    }
}

#define DEFINE_PACKERS(T, F) \
  static inline __attribute__ ((always_inline)) void \
  F (spread) (const T *data, const gint64 *at, const gint64 *offsets, int n_k, int n_rows, int width, T *dst) \
  { \
    const T *base[MAX_WIDTH]; \
    for (int i = 0; i < n_rows; i++) \
      base[i] = data + at[i]; \
    for (int p = 0; p < n_k; p++, dst += width) \
      for (int i = 0; i < n_rows; i++) \
        dst[i] = base[i][offsets[p]]; \
  } \
  \
  static void \
  F (spread_rows) (const T *data, const gint64 *at, const gint64 *offsets, int n_k, int n_rows, int width, T *dst) \
  { \
    if (n_rows == 6 && width == 6) \
      F (spread) (data, at, offsets, n_k, 6, 6, dst); \
    else if (n_rows == 8 && width == 8) \
      F (spread) (data, at, offsets, n_k, 8, 8, dst); \
    else if (n_rows == 12 && width == 12) \
      F (spread) (data, at, offsets, n_k, 12, 12, dst); \
    else if (n_rows == 16 && width == 16) \
      F (spread) (data, at, offsets, n_k, 16, 16, dst); \
    else \
      F (spread) (data, at, offsets, n_k, n_rows, width, dst); \
  } \
  \
  static void \
  F (gather) (const T *data, const gint64 *offsets, int n_rows, T *dst) \
  { \
    for (int i = 0; i < n_rows; i++) \
      dst[i] = data[offsets[i]]; \
  }

#define NAME_F32(name) name##_f32
#define NAME_F64(name) name##_f64
DEFINE_PACKERS (float, NAME_F32)
DEFINE_PACKERS (double, NAME_F64)

/* Rows are positions, k runs through the patch. */
static void
pack_patches (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const Patches *patches = self->extra;
  gint64 at[MAX_WIDTH];

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * _lp_cpu_compute_size (compute));
  locate (patches, self->origin + row0, n_rows, at);
  if (compute == LP_COMPUTE_F32)
    spread_rows_f32 ((const float *) patches->data + self->channel, at, patches->offsets + k0, n_k, n_rows, width, dst);
  else
    spread_rows_f64 ((const double *) patches->data + self->channel, at, patches->offsets + k0, n_k, n_rows, width, dst);
}

static gboolean
is_run (const gint64 *offsets, int n)
{
  for (int i = 1; i < n; i++)
    if (offsets[i] != offsets[0] + i)
      return FALSE;
  return TRUE;
}

/* Rows run through the patch, k is a position. */
static void
pack_patches_by_k (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const Patches *patches = self->extra;
  const gsize size = _lp_cpu_compute_size (compute), bytes = (gsize) n_rows * size;
  const guint8 *data = patches->data + self->channel * (gint64) size;
  const gint64 *offsets = patches->offsets + row0;
  const gboolean run = is_run (offsets, n_rows);
  gint64 at[LP_GEMM_KC];
  guint8 *out = dst;

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * size);
  locate (patches, self->origin + k0, n_k, at);
  for (int p = 0; p < n_k; p++, out += (gsize) width * size)
    if (run && bytes == 64)
      memcpy (out, data + (at[p] + offsets[0]) * (gint64) size, 64);
    else if (run)
      memcpy (out, data + (at[p] + offsets[0]) * (gint64) size, bytes);
    else if (compute == LP_COMPUTE_F32)
      gather_f32 ((const float *) data + at[p], offsets, n_rows, (float *) out);
    else
      gather_f64 ((const double *) data + at[p], offsets, n_rows, (double *) out);
}

/* How the prepared image lies around that of the caller: cell b of it is cell (b - before) / spacing, or a zero. */
typedef struct
{
  const LpArray *image;
  LpCompute      compute;
  gint64         extents[2], before[2], spacing[2];
} Frame;

static void
prepare_row (const Frame *self, gint64 n, gint64 h, guint8 *out)
{
  const LpArray *image = self->image;
  const gint64 *s = image->strides, c = image->dims[1], width = image->dims[3], spacing = self->spacing[1];
  const gint64 size = _lp_scalar_sizes[image->scalar], row = h - self->before[0];
  const gsize out_size = _lp_cpu_compute_size (self->compute), cell = (gsize) c * out_size;
  const LpCpuLoad load = _lp_cpu_isa->convert->load[self->compute][image->scalar];
  const guint8 *data = image->data + (n * s[0] + row / self->spacing[0] * s[2]) * size;
  gint64 first, last;

  if (row < 0 || row % self->spacing[0] != 0 || row / self->spacing[0] >= image->dims[2])
    {
      memset (out, 0, (gsize) self->extents[1] * cell);
      return;
    }
  /* the cells of the caller's row that are inside */
  first = self->before[1] < 0 ? (-self->before[1] + spacing - 1) / spacing : 0;
  last = MIN (width - 1, (self->extents[1] - 1 - self->before[1]) / spacing);
  if (spacing > 1 || last < first)
    memset (out, 0, (gsize) self->extents[1] * cell);
  if (last < first)
    return;
  if (spacing == 1)
    {
      const gint64 left = self->before[1] + first, end = self->before[1] + last + 1;

      memset (out, 0, (gsize) left * cell);
      memset (out + (gsize) end * cell, 0, (gsize) (self->extents[1] - end) * cell);
      if (c == 1 || (s[1] == 1 && s[3] == c))
        {
          load (data + first * s[3] * size, c == 1 ? s[3] : 1, (gsize) ((last + 1 - first) * c), out + (gsize) left * cell);
          return;
        }
    }
  for (gint64 w = first; w <= last; w++)
    load (data + w * s[3] * size, s[1], (gsize) c, out + (gsize) (self->before[1] + w * spacing) * cell);
}

/* Fills in data and strides of @patches; the image itself serves where it can. */
static void
prepare_images (const Frame *self, LpScratch slot, Patches *patches)
{
  const LpArray *image = self->image;
  const gint64 rows = image->dims[0] * self->extents[0], row = self->extents[1] * image->dims[1];
  const gsize size = _lp_cpu_compute_size (self->compute);
  const gboolean framed = self->before[0] != 0 || self->before[1] != 0 || self->spacing[0] != 1 || self->spacing[1] != 1;
  guint8 *out;

  if (!framed && image->scalar == compute_scalars[self->compute] && image->strides[1] == 1
      && self->extents[0] <= image->dims[2] && self->extents[1] <= image->dims[3])
    {
      patches->data = image->data;
      patches->strides[0] = image->strides[0];
      patches->strides[1] = image->strides[2];
      patches->strides[2] = image->strides[3];
      return;
    }
  out = _lp_cpu_scratch (slot, (gsize) (rows * row) * size);
#pragma omp parallel for schedule(static) num_threads(_lp_cpu_threads (rows * row)) if (rows * row >= LP_CPU_PARALLEL_MIN)
  for (gint64 r = 0; r < rows; r++)
    prepare_row (self, r / self->extents[0], r % self->extents[0], out + (gsize) (r * row) * size);
  patches->data = out;
  patches->strides[0] = self->extents[0] * row;
  patches->strides[1] = row;
  patches->strides[2] = image->dims[1];
}

static Frame
frame_for (const LpConvArgs *args, const LpArray *image, LpCompute compute, gboolean backward)
{
  Frame frame = { .image = image, .compute = compute };

  for (int i = 0; i < 2; i++)
    {
      const gint64 reach = (args->w.dims[2 + i] - 1) * args->dilation[i];

      frame.spacing[i] = backward ? args->stride[i] : 1;
      frame.before[i] = backward ? reach - args->padding[i] : args->padding[i];
      frame.extents[i] = reach + (backward ? args->x.dims[2 + i] : (args->y.dims[2 + i] - 1) * args->stride[i] + 1);
    }
  return frame;
}

/* After prepare_images. @channels are those of a group. */
static void
find_offsets (const LpConvArgs *args, gint64 channels, gboolean backward, Patches *patches)
{
  const gint64 kh = args->w.dims[2], kw = args->w.dims[3];
  gint64 *offset = patches->offsets;

  for (gint64 h = 0; h < kh; h++)
    for (gint64 w = 0; w < kw; w++)
      {
        const gint64 at = (backward ? kh - 1 - h : h) * args->dilation[0] * patches->strides[1]
                          + (backward ? kw - 1 - w : w) * args->dilation[1] * patches->strides[2];

        for (gint64 c = 0; c < channels; c++)
          *offset++ = at + c;
      }
}

/* Some images of a batch, and some rows of each. */
typedef struct
{
  gint64 image, n_images, row, n_rows;
} Piece;

static LpArray
narrow (const LpArray *image, const Piece *piece, gboolean rows)
{
  LpArray part = *image;

  part.data += (piece->image * image->strides[0] + (rows ? piece->row * image->strides[2] : 0)) * _lp_scalar_sizes[image->scalar];
  part.dims[0] = piece->n_images;
  if (rows)
    part.dims[2] = piece->n_rows;
  return part;
}

/* Goes on to the next piece of @out: whole images, or a band of rows where one image is too much. The frame is what is prepared for
 * all rows; @step is how far that moves from row to row. Where @out is copied as well, that counts too. */
static gboolean
next_piece (const Frame *whole, gint64 step, const LpArray *out, gboolean copies_out, Piece *piece)
{
  const gint64 size = (gint64) _lp_cpu_compute_size (whole->compute), height = out->dims[2];
  const gint64 row = whole->extents[1] * whole->image->dims[1] * size, out_row = copies_out ? out->dims[3] * out->dims[1] * size : 0;
  const gint64 cells = MAX (CHUNK_BYTES / MAX (row, 1), 1), rows = MAX (CHUNK_BYTES / MAX (out_row, 1), 1);
  const gint64 reach = whole->extents[0] - (height - 1) * step;

  if (piece->n_rows > 0 && piece->row + piece->n_rows < height)
    piece->row += piece->n_rows;
  else
    {
      piece->image += piece->n_images;
      piece->row = 0;
    }
  if (piece->image >= out->dims[0])
    return FALSE;
  piece->n_images = CLAMP (MIN (cells / MAX (whole->extents[0], 1), rows / MAX (height, 1)), 1, out->dims[0] - piece->image);
  piece->n_rows = whole->extents[0] <= cells && height <= rows ? height
                                                               : CLAMP (MIN ((cells - reach) / step + 1, rows), 1, height - piece->row);
  return TRUE;
}

/* The frame of a piece. */
static Frame
frame_of (const Frame *whole, gint64 step, const LpArray *out, const Piece *piece, const LpArray *image)
{
  Frame frame = *whole;

  frame.image = image;
  frame.before[0] -= piece->row * step;
  frame.extents[0] -= (out->dims[2] - piece->n_rows) * step;
  return frame;
}

/* Positions of an image whose memory has one stride: all, those of an image or those of a row. */
static gint64
linear_positions (const LpArray *image)
{
  const gint64 *dims = image->dims, *strides = image->strides;

  if (strides[2] != dims[3] * strides[3] && dims[2] > 1)
    return dims[3];
  if (strides[0] != dims[2] * dims[3] * strides[3] && dims[0] > 1)
    return dims[2] * dims[3];
  return dims[0] * dims[2] * dims[3];
}

/* The weights of each group as a matrix in the compute type: (kh, kw, summed channel) by the other channel. */
static guint8 *
prepare_weights (const LpConvArgs *args, LpCompute compute, gboolean backward)
{
  const LpArray *w = &args->w;
  const gint64 per_group = w->dims[0] / args->groups, c = w->dims[1], kh = w->dims[2], kw = w->dims[3];
  const gint64 n = backward ? c : per_group, summed = backward ? per_group : c;
  const gint64 n_stride = w->strides[backward ? 1 : 0], k_stride = w->strides[backward ? 0 : 1];
  const gsize row = (gsize) n * _lp_cpu_compute_size (compute);
  const LpCpuLoad load = _lp_cpu_isa->convert->load[compute][w->scalar];
  guint8 *matrix = _lp_cpu_scratch (LP_SCRATCH_WEIGHTS, (gsize) (args->groups * kh * kw * summed) * row), *out = matrix;

  for (gint64 g = 0; g < args->groups; g++)
    for (gint64 cell = 0; cell < kh * kw; cell++)
      for (gint64 k = 0; k < summed; k++, out += row)
        load (w->data + (g * per_group * w->strides[0] + cell / kw * w->strides[2] + cell % kw * w->strides[3] + k * k_stride)
                        * _lp_scalar_sizes[w->scalar],
              n_stride, (gsize) n, out);
  return matrix;
}

typedef struct
{
  const LpArray *out;        /* images that are written */
  gint64         run;        /* their positions per product */
  int            groups;
  gint64         in_channels, out_channels;   /* of a group */
} ImagePass;

static void
prepare_image (LpCpuProduct *product, gint64 i, gconstpointer data)
{
  const ImagePass *pass = data;
  const gint64 group = i % pass->groups, origin = i / pass->groups * pass->run;
  const LpArray *out = pass->out;
  const Position at = position_at (origin, out->dims[2], out->dims[3]);
  const gsize size = _lp_cpu_compute_size (product->compute);

  product->a.origin = origin;
  product->a.channel = group * pass->in_channels;
  product->b.data += (gsize) (group * product->k * product->n) * size;
  product->d += (at.n * out->strides[0] + at.h * out->strides[2] + at.w * out->strides[3] + group * pass->out_channels * out->strides[1])
                * _lp_scalar_sizes[out->scalar];
  if (product->bias != NULL)
    product->bias = (const guint8 *) product->bias + (gsize) (group * pass->out_channels) * size;
}

/* Forward, or the gradient of the input, which is a convolution of the output's gradient. */
static void
run_image_pass (const LpConvArgs *args, LpCompute compute)
{
  const gboolean backward = args->pass == LP_CONV_INPUT_GRAD;
  const LpArray *out = backward ? &args->x : &args->y, *in = backward ? &args->y : &args->x;
  const gint64 cells = args->w.dims[2] * args->w.dims[3], step = backward ? 1 : args->stride[0];
  const Frame whole = frame_for (args, in, compute, backward);
  Piece piece = { 0 };
  ImagePass pass = { .groups = args->groups, .in_channels = in->dims[1] / args->groups, .out_channels = out->dims[1] / args->groups };
  Patches patches = { .step = { backward ? 1 : args->stride[0], backward ? 1 : args->stride[1] }, .rows = { out->dims[2], out->dims[3] } };
  LpCpuProduct product = { .compute = compute, .alpha = 1, .n = pass.out_channels, .k = cells * pass.in_channels };

  patches.offsets = g_new (gint64, MAX (product.k, 1));
  product.a = (LpCpuOperand) { .pack = pack_patches, .scalar = compute_scalars[compute], .extra = &patches };
  product.b = (LpCpuOperand) { .pack = _lp_cpu_isa->gemm->pack_strided, .data = prepare_weights (args, compute, backward),
                               .scalar = compute_scalars[compute], .row_stride = 1, .k_stride = pass.out_channels };
  product.d_scalar = out->scalar;
  product.d_row_stride = out->strides[3];
  product.d_column_stride = out->strides[1];
  if (!backward && args->bias.data != NULL)
    {
      void *bias = _lp_cpu_scratch (LP_SCRATCH_ROW, (gsize) out->dims[1] * _lp_cpu_compute_size (compute));

      _lp_cpu_isa->convert->load[compute][args->bias.scalar] (args->bias.data, args->bias.strides[0], (gsize) out->dims[1], bias);
      product.bias = bias;
    }
  while (next_piece (&whole, step, out, FALSE, &piece))
    {
      const LpArray in_part = narrow (in, &piece, FALSE), out_part = narrow (out, &piece, TRUE);
      const Frame frame = frame_of (&whole, step, out, &piece, &in_part);

      patches.rows[0] = piece.n_rows;
      prepare_images (&frame, LP_SCRATCH_IMAGE, &patches);
      find_offsets (args, pass.in_channels, backward, &patches);
      pass.out = &out_part;
      pass.run = linear_positions (&out_part);
      product.a.data = patches.data;
      product.d = out_part.data;
      product.m = pass.run;
      _lp_cpu_product_run (&product, out_part.dims[0] * out_part.dims[2] * out_part.dims[3] / pass.run * args->groups, prepare_image, &pass);
    }
  g_free (patches.offsets);
}

typedef struct
{
  gint64 channels, out_channels;
  gsize  size, result_size;
} WeightPass;

static void
prepare_weight (LpCpuProduct *product, gint64 group, gconstpointer data)
{
  const WeightPass *pass = data;

  product->a.data += (gsize) (group * pass->out_channels) * pass->size;
  product->b.channel = group * pass->channels;
  product->d += (gsize) group * pass->result_size;
}

static gboolean
run_weight_pass (const LpConvArgs *args, LpCompute compute, GError **error)
{
  const LpArray *x = &args->x, *y = &args->y;
  const gint64 kh = args->w.dims[2], kw = args->w.dims[3], c = args->w.dims[1], oc = args->w.dims[0];
  const gsize size = _lp_cpu_compute_size (compute);
  guint8 *result = g_aligned_alloc0 ((gsize) (oc * c * kh * kw), size, 64);
  WeightPass pass = { .channels = c, .out_channels = oc / args->groups, .size = size,
                      .result_size = (gsize) (oc / args->groups * c * kh * kw) * size };
  Patches patches = { .step = { args->stride[0], args->stride[1] }, .rows = { y->dims[2], y->dims[3] } };
  LpCpuProduct product = { .compute = compute, .alpha = 1, .m = pass.out_channels, .n = kh * kw * c };
  const Frame whole = frame_for (args, x, compute, FALSE);
  const Frame y_whole = { .compute = compute, .extents = { y->dims[2], y->dims[3] }, .spacing = { 1, 1 } };
  Piece piece = { 0 };
  /* the result is [oc, kh, kw, c] */
  LpArray dense = { .data = result, .scalar = compute_scalars[compute], .n_dims = 4,
                    .dims = { oc, c, kh, kw }, .strides = { kh * kw * c, 1, kw * c, c } };
  gboolean ok;

  patches.offsets = g_new (gint64, MAX (product.n, 1));
  product.a = (LpCpuOperand) { .pack = _lp_cpu_isa->gemm->pack_strided, .scalar = dense.scalar, .row_stride = 1 };
  product.b = (LpCpuOperand) { .pack = pack_patches_by_k, .scalar = dense.scalar, .extra = &patches };
  product.d = result;
  product.d_scalar = dense.scalar;
  product.d_row_stride = product.n;
  product.d_column_stride = 1;
  while (next_piece (&whole, args->stride[0], y, TRUE, &piece))
    {
      const LpArray x_part = narrow (x, &piece, FALSE), y_part = narrow (y, &piece, TRUE);
      const Frame frame = frame_of (&whole, args->stride[0], y, &piece, &x_part);
      Frame y_frame = y_whole;
      Patches flat = { 0 };

      y_frame.image = &y_part;
      y_frame.extents[0] = piece.n_rows;
      patches.rows[0] = piece.n_rows;
      prepare_images (&frame, LP_SCRATCH_IMAGE, &patches);
      find_offsets (args, c, FALSE, &patches);
      product.k = y_part.dims[0] * y_part.dims[2] * y_part.dims[3];
      if (y_part.scalar == dense.scalar && y_part.strides[1] == 1 && linear_positions (&y_part) == product.k)
        {
          product.a.data = y_part.data;
          product.a.k_stride = y_part.strides[3];
        }
      else
        {
          prepare_images (&y_frame, LP_SCRATCH_IMAGE_GRAD, &flat);
          product.a.data = flat.data;
          product.a.k_stride = oc;
        }
      product.beta = piece.image == 0 && piece.row == 0 ? 0 : 1;
      _lp_cpu_product_run (&product, args->groups, prepare_weight, &pass);
    }
  ok = _lp_cpu_copy (&dense, &args->w, error);
  g_aligned_free (result);
  g_free (patches.offsets);
  return ok;
}

/* Axes of extent 1 get the stride that they would have in dense channels-last memory. */
static void
settle_strides (LpArray *image)
{
  const gint64 *d = image->dims;
  gint64 *s = image->strides;

  if (d[1] == 1)
    s[1] = 1;
  if (d[3] == 1)
    s[3] = d[2] > 1 ? s[2] : (d[0] > 1 ? s[0] : d[1]);
  if (d[2] == 1)
    s[2] = s[3] * d[3];
  if (d[0] == 1)
    s[0] = s[2] * d[2];
}

static gboolean
run (const LpConvArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->x, &args->w, &args->y };
  LpCompute compute;

  compute = _lp_cpu_float_compute (arrays, 3);
  if (args->pass == LP_CONV_WEIGHT_GRAD)
    return run_weight_pass (args, compute, error);
  run_image_pass (args, compute);
  return TRUE;
}

static LpArray
narrow_channels (const LpArray *image, int axis, gint64 first, gint64 n)
{
  LpArray part = *image;

  part.data += first * image->strides[axis] * _lp_scalar_sizes[image->scalar];
  part.dims[axis] = n;
  return part;
}

/* Some filters of a weight, and some channels of each. */
typedef struct
{
  gint64 filter, n_filters, channel, n_channels;
} FilterPart;

/* In float32, dense. */
static gboolean
decode_filters (const LpArray *w, const FilterPart *part, float *panel, GError **error)
{
  const gint64 cells = w->dims[2] * w->dims[3], row = part->n_channels * cells, start = w->offset + part->channel * cells;

  if (part->n_channels == w->dims[1])
    return _lp_cpu_encoded_read (w, start + part->filter * w->strides[0], part->n_filters * row, panel, error);
  for (gint64 i = 0; i < part->n_filters; i++)
    if (!_lp_cpu_encoded_read (w, start + (part->filter + i) * w->strides[0], row, panel + i * row, error))
      return FALSE;
  return TRUE;
}

/* The part of the weight: decoded into @panel, or, without one, where it is. */
static gboolean
take_filters (const LpArray *w, const FilterPart *part, float *panel, LpArray *taken, GError **error)
{
  const gint64 kh = w->dims[2], kw = w->dims[3];

  if (panel == NULL)
    {
      const LpArray filters = narrow_channels (w, 0, part->filter, part->n_filters);

      *taken = narrow_channels (&filters, 1, part->channel, part->n_channels);
      return TRUE;
    }
  if (!decode_filters (w, part, panel, error))
    return FALSE;
  _lp_cpu_scale_values (panel, part->n_filters * part->n_channels * kh * kw, _lp_array_get_factor (w));
  *taken = (LpArray) { .data = (guint8 *) panel, .scalar = LP_SCALAR_F32, .n_dims = 4, .dims = { part->n_filters, part->n_channels, kh, kw },
                       .strides = { part->n_channels * kh * kw, kh * kw, kw, 1 } };
  return TRUE;
}

/* The filters of a part with the channels that belong to them; @group is NULL for all groups at once. */
static gboolean
run_part (const LpConvArgs *args, const FilterPart *part, const gint64 *group, float *panel, GError **error)
{
  const gint64 channels = args->w.dims[1];
  LpConvArgs some = *args;

  if (!take_filters (&args->w, part, panel, &some.w, error))
    return FALSE;
  if (group != NULL)
    {
      some.groups = 1;
      some.x = narrow_channels (&args->x, 1, *group * channels + part->channel, part->n_channels);
      some.y = narrow_channels (&args->y, 1, part->filter, part->n_filters);
      if (args->bias.data != NULL && args->bias.dims[0] != 1)
        some.bias = narrow_channels (&args->bias, 0, part->filter, part->n_filters);
    }
  if (panel != NULL && _lp_cpu_onednn_conv2d (&some))
    return TRUE;
  return run (&some, error);
}

/* A panel of the weight at a time: some filters, or, for the gradient of the input, some channels of all filters of a group. Each
 * element of the result comes from one panel. */
static gboolean
run_panels (const LpConvArgs *args, gint64 panel_elements, GError **error)
{
  const gint64 channels = args->w.dims[1], cells = args->w.dims[2] * args->w.dims[3], filters = args->w.dims[0] / args->groups;
  const gboolean backward = args->pass == LP_CONV_INPUT_GRAD, encoded = args->w.scalar == LP_SCALAR_ENCODED;
  const gint64 all = args->w.dims[0] * channels * cells, unit = (backward ? filters : channels) * cells;
  const gint64 extent = backward ? channels : filters, step = CLAMP (panel_elements / MAX (unit, 1), 1, MAX (extent, 1));
  const gint64 size = all <= panel_elements ? all : step * unit;
  float *panel = encoded ? _lp_cpu_panel_new (size) : NULL;
  gboolean ok = TRUE;

  if (size == all)
    ok = run_part (args, &(FilterPart) { 0, args->w.dims[0], 0, channels }, NULL, panel, error);
  else
    for (gint64 i = 0; ok && i < args->groups * extent; i = (i / extent) * extent + MIN (extent, i % extent + step))
      {
        const gint64 group = i / extent, first = i % extent, n = MIN (step, extent - first);
        const FilterPart part = { group * filters + (backward ? 0 : first), backward ? filters : n, backward ? first : 0, backward ? n : channels };

        ok = run_part (args, &part, &group, panel, error);
      }
  if (panel != NULL)
    _lp_cpu_panel_free (panel, size);
  return ok;
}

gboolean
_lp_cpu_conv2d (const LpConvArgs *given, GError **error)
{
  LpConvArgs settled = *given;
  const LpConvArgs *args = &settled;
  const gboolean encoded = args->w.scalar == LP_SCALAR_ENCODED && args->pass != LP_CONV_WEIGHT_GRAD;
  const LpArray *arrays[] = { &args->x, &args->y, &args->bias, &args->w }, *computed[] = { &args->x, &args->y, &args->w };
  LpCompute compute;
  const LpArray *written[] = { [LP_CONV_FORWARD] = &args->y, [LP_CONV_INPUT_GRAD] = &args->x, [LP_CONV_WEIGHT_GRAD] = &args->w };

  if (!_lp_cpu_check_native ("conv2d", arrays, encoded ? 3 : 4, error))
    return FALSE;
  settle_strides (&settled.x);
  settle_strides (&settled.y);
  if (_lp_cpu_n_elements (written[args->pass]) == 0)
    return TRUE;
  if (!encoded && _lp_cpu_onednn_conv2d (args))
    return TRUE;
  compute = _lp_cpu_float_compute (computed, encoded ? 2 : 3);
  return run_panels (args, WEIGHT_BYTES / (gint64) _lp_cpu_compute_size (compute), error);
}
