#include <string.h>

#include "lp-cpu-gemm-private.h"

/* Convolution as an implicit matrix product: the packers of the gemm gather patches from the image, so no column
 * matrix is ever made. Positions are (n, h, w) of an image; the summed axis of the forward pass is (kh, kw, c). */

typedef struct
{
  const LpConvArgs *args;
  const LpArray    *image;       /* what patches are gathered from */
  gint64            kernel[2];
  gint64            rows[2];     /* extents of the positions of patches */
  gint64            channels;    /* of a patch, in one group */
  gboolean          backward;    /* patches of y around positions of x */
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

/* The cell that kernel cell (kh, kw) sees from @position. */
static gboolean
find_cell (const Patches *self, const Position *position, gint64 kh, gint64 kw, gint64 *offset)
{
  const LpConvArgs *args = self->args;
  const gint64 *strides = self->image->strides;
  gint64 h, w;

  if (self->backward)
    {
      h = position->h + args->padding[0] - kh * args->dilation[0];
      w = position->w + args->padding[1] - kw * args->dilation[1];
      if (h < 0 || w < 0 || h % args->stride[0] != 0 || w % args->stride[1] != 0)
        return FALSE;
      h /= args->stride[0];
      w /= args->stride[1];
    }
  else
    {
      h = position->h * args->stride[0] - args->padding[0] + kh * args->dilation[0];
      w = position->w * args->stride[1] - args->padding[1] + kw * args->dilation[1];
    }
  if (h < 0 || h >= self->image->dims[2] || w < 0 || w >= self->image->dims[3])
    return FALSE;
  *offset = position->n * strides[0] + h * strides[2] + w * strides[3];
  return TRUE;
}

/* Elements @first to @first + @n of the patch at @position, to @dst. */
static void
gather (const Patches *self, LpCompute compute, const LpCpuOperand *operand, const Position *position, gint64 first, int n, guint8 *dst)
{
  const gsize size = _lp_cpu_compute_size (compute);
  const LpCpuLoad load = _lp_cpu_isa->convert->load[compute][operand->scalar];
  gint64 cell = first / self->channels, c = first % self->channels;

  while (n > 0)
    {
      const gsize run = (gsize) MIN (n, self->channels - c);
      gint64 offset;

      if (find_cell (self, position, cell / self->kernel[1], cell % self->kernel[1], &offset))
        load (operand->data + (offset + (operand->channel + c) * self->image->strides[1]) * _lp_scalar_sizes[operand->scalar],
              self->image->strides[1], run, dst);
      else
        memset (dst, 0, run * size);
      dst += run * size;
      n -= (int) run;
      c = 0;
      cell++;
    }
}

static void
spread (LpCompute compute, const void *run, int n, int width, int i, void *dst)
{
  if (compute == LP_COMPUTE_F32)
    for (int p = 0; p < n; p++)
      ((float *) dst)[p * width + i] = ((const float *) run)[p];
  else
    for (int p = 0; p < n; p++)
      ((double *) dst)[p * width + i] = ((const double *) run)[p];
}

/* Rows are positions, k runs through the patch. */
static void
pack_patches (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const Patches *patches = self->extra;
  double run[LP_GEMM_KC];

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * _lp_cpu_compute_size (compute));
  for (int i = 0; i < n_rows; i++)
    {
      const Position position = position_at (self->origin + row0 + i, patches->rows[0], patches->rows[1]);

      gather (patches, compute, self, &position, k0, n_k, (guint8 *) run);
      spread (compute, run, n_k, width, i, dst);
    }
}

/* Rows run through the patch, k is a position. */
static void
pack_patches_by_k (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const Patches *patches = self->extra;
  const gsize size = _lp_cpu_compute_size (compute);

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * size);
  for (int p = 0; p < n_k; p++)
    {
      const Position position = position_at (self->origin + k0 + p, patches->rows[0], patches->rows[1]);

      gather (patches, compute, self, &position, row0, n_rows, (guint8 *) dst + (gsize) (p * width) * size);
    }
}

/* Rows are channels of y, k is a position. */
static void
pack_positions (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const LpArray *y = self->extra;
  const gsize size = _lp_cpu_compute_size (compute);
  const LpCpuLoad load = _lp_cpu_isa->convert->load[compute][self->scalar];

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * size);
  for (int p = 0; p < n_k; p++)
    {
      const Position at = position_at (self->origin + k0 + p, y->dims[2], y->dims[3]);
      const gint64 offset = at.n * y->strides[0] + at.h * y->strides[2] + at.w * y->strides[3] + (self->channel + row0) * y->strides[1];

      load (self->data + offset * _lp_scalar_sizes[self->scalar], y->strides[1], (gsize) n_rows, (guint8 *) dst + (gsize) (p * width) * size);
    }
}

/* Weights: rows are one channel axis, k is (kh, kw, other channel). @row_stride and @k_stride are those of the channels. */
static void
pack_weights (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  const Patches *patches = self->extra;
  const LpArray *w = &patches->args->w;
  const gsize size = _lp_cpu_compute_size (compute);
  const LpCpuLoad load = _lp_cpu_isa->convert->load[compute][self->scalar];

  if (n_rows < width)
    memset (dst, 0, (gsize) (width * n_k) * size);
  for (int p = 0; p < n_k; p++)
    {
      const gint64 cell = (k0 + p) / patches->channels, c = (k0 + p) % patches->channels;
      const gint64 offset = cell / patches->kernel[1] * w->strides[2] + cell % patches->kernel[1] * w->strides[3]
                            + c * self->k_stride + row0 * self->row_stride;

      load (self->data + offset * _lp_scalar_sizes[self->scalar], self->row_stride, (gsize) n_rows, (guint8 *) dst + (gsize) (p * width) * size);
    }
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

typedef struct
{
  Patches        patches;
  const LpArray *out;        /* image that is written */
  gint64         run;        /* its positions per product */
  int            groups;
  gint64         out_channels;
  gint64         weight_step;   /* of w's first axis, from group to group */
  LpScalar       w_scalar;
} ImagePass;

static void
prepare_image (LpCpuProduct *product, gint64 i, gconstpointer data)
{
  const ImagePass *pass = data;
  const gint64 group = i % pass->groups, origin = i / pass->groups * pass->run;
  const LpArray *out = pass->out;
  const Position at = position_at (origin, out->dims[2], out->dims[3]);

  product->a.origin = origin;
  product->a.channel = group * pass->patches.channels;
  product->b.data += group * pass->weight_step * _lp_scalar_sizes[pass->w_scalar];
  product->d += (at.n * out->strides[0] + at.h * out->strides[2] + at.w * out->strides[3] + group * pass->out_channels * out->strides[1])
                * _lp_scalar_sizes[out->scalar];
  if (product->bias != NULL)
    product->bias = (const guint8 *) product->bias + (gsize) (group * pass->out_channels) * _lp_cpu_compute_size (product->compute);
}

/* Forward, or the gradient of the input, which is a convolution of the output's gradient. */
static void
run_image_pass (const LpConvArgs *args, LpCompute compute)
{
  const gboolean backward = args->pass == LP_CONV_INPUT_GRAD;
  const LpArray *out = backward ? &args->x : &args->y, *in = backward ? &args->y : &args->x;
  ImagePass pass = { .out = out, .groups = args->groups, .w_scalar = args->w.scalar };
  LpCpuProduct product = { .compute = compute, .alpha = 1 };

  pass.patches = (Patches) { .args = args, .image = in, .kernel = { args->w.dims[2], args->w.dims[3] },
                             .rows = { out->dims[2], out->dims[3] }, .channels = in->dims[1] / args->groups, .backward = backward };
  pass.run = linear_positions (out);
  pass.out_channels = out->dims[1] / args->groups;
  pass.weight_step = args->y.dims[1] / args->groups * args->w.strides[0];
  product.m = pass.run;
  product.n = pass.out_channels;
  product.k = pass.patches.kernel[0] * pass.patches.kernel[1] * pass.patches.channels;
  product.a = (LpCpuOperand) { .pack = pack_patches, .data = in->data, .scalar = in->scalar, .extra = &pass.patches };
  product.b = (LpCpuOperand) { .pack = pack_weights, .data = args->w.data, .scalar = args->w.scalar, .extra = &pass.patches,
                               .row_stride = args->w.strides[backward ? 1 : 0], .k_stride = args->w.strides[backward ? 0 : 1] };
  product.d = out->data;
  product.d_scalar = out->scalar;
  product.d_row_stride = out->strides[3];
  product.d_column_stride = out->strides[1];
  if (!backward && args->bias.data != NULL)
    {
      void *bias = _lp_cpu_scratch (LP_SCRATCH_ROW, (gsize) out->dims[1] * _lp_cpu_compute_size (compute));

      _lp_cpu_isa->convert->load[compute][args->bias.scalar] (args->bias.data, args->bias.strides[0], (gsize) out->dims[1], bias);
      product.bias = bias;
    }
  _lp_cpu_product_run (&product, out->dims[0] * out->dims[2] * out->dims[3] / pass.run * args->groups, prepare_image, &pass);
}

typedef struct
{
  Patches patches;
  gint64  out_channels;
  gsize   result_size;
} WeightPass;

static void
prepare_weight (LpCpuProduct *product, gint64 group, gconstpointer data)
{
  const WeightPass *pass = data;

  product->a.channel = group * pass->out_channels;
  product->b.channel = group * pass->patches.channels;
  product->d += (gsize) group * pass->result_size;
}

static gboolean
run_weight_pass (const LpConvArgs *args, LpCompute compute, GError **error)
{
  const LpArray *x = &args->x, *y = &args->y;
  const gint64 kh = args->w.dims[2], kw = args->w.dims[3], c = args->w.dims[1], oc = args->w.dims[0];
  const gsize size = _lp_cpu_compute_size (compute);
  guint8 *result = g_aligned_alloc ((gsize) (oc * c * kh * kw), size, 64);
  WeightPass pass = { .out_channels = oc / args->groups, .result_size = (gsize) (oc / args->groups * c * kh * kw) * size };
  LpCpuProduct product = { .compute = compute, .alpha = 1 };
  /* the result is [oc, kh, kw, c] */
  LpArray dense = { .data = result, .scalar = compute == LP_COMPUTE_F64 ? LP_SCALAR_F64 : LP_SCALAR_F32, .n_dims = 4,
                    .dims = { oc, c, kh, kw }, .strides = { kh * kw * c, 1, kw * c, c } };
  gboolean ok;

  pass.patches = (Patches) { .args = args, .image = x, .kernel = { kh, kw }, .rows = { y->dims[2], y->dims[3] }, .channels = c };
  product.m = pass.out_channels;
  product.n = kh * kw * c;
  product.k = y->dims[0] * y->dims[2] * y->dims[3];
  product.a = (LpCpuOperand) { .pack = pack_positions, .data = y->data, .scalar = y->scalar, .extra = y };
  product.b = (LpCpuOperand) { .pack = pack_patches_by_k, .data = x->data, .scalar = x->scalar, .extra = &pass.patches };
  product.d = result;
  product.d_scalar = dense.scalar;
  product.d_row_stride = product.n;
  product.d_column_stride = 1;
  _lp_cpu_product_run (&product, args->groups, prepare_weight, &pass);
  ok = _lp_cpu_copy (&dense, &args->w, error);
  g_aligned_free (result);
  return ok;
}

gboolean
_lp_cpu_conv2d (const LpConvArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->x, &args->w, &args->y, &args->bias };
  const LpArray *written[] = { [LP_CONV_FORWARD] = &args->y, [LP_CONV_INPUT_GRAD] = &args->x, [LP_CONV_WEIGHT_GRAD] = &args->w };
  LpCompute compute;

  if (!_lp_cpu_check_native ("conv2d", arrays, 4, error))
    return FALSE;
  if (_lp_cpu_n_elements (written[args->pass]) == 0 || _lp_cpu_onednn_conv2d (args))
    return TRUE;
  compute = _lp_cpu_float_compute (arrays, 3);
  if (args->pass == LP_CONV_WEIGHT_GRAD)
    return run_weight_pass (args, compute, error);
  run_image_pass (args, compute);
  return TRUE;
}
