#include <string.h>

#include <lp/ops/lp-ops-private.h>

#include <lp/autograd/lp-matmul-private.h>

/* Operations on images [N, C, H, W]; results lie channels-last in memory. */

static gboolean
check_image (const char  *name,
             LpTensor    *x,
             GError     **error)
{
  if (!_lp_check_floating (name, x, error))
    return FALSE;
  if (x->array.n_dims == 4)
    return TRUE;

  _lp_shape_error (error, name, "the input must be [N, C, H, W]", x, NULL);
  return FALSE;
}

static gint64
output_extent (gint64 extent,
               gint64 kernel,
               int    stride,
               int    padding,
               int    dilation)
{
  gint64 span = extent + 2 * padding - dilation * (kernel - 1) - 1;

  return span < 0 ? 0 : span / stride + 1;
}

typedef struct
{
  LpConvArgs  args;
  LpTensor   *like_x, *like_w;
  LpDType    *dtype;
} ConvProduct;

/* ints: stride, padding, dilation, groups */
static void
init_conv (ConvProduct    *product,
           const LpOpArgs *args,
           LpConvPass      pass)
{
  memset (product, 0, sizeof *product);
  product->args.pass = pass;
  for (int i = 0; i < 2; i++)
    {
      product->args.stride[i] = args->ints[0];
      product->args.padding[i] = args->ints[1];
      product->args.dilation[i] = args->ints[2];
    }
  product->args.groups = args->ints[3];
}

static void
init_output_dims (const LpConvArgs *args,
                  const LpArray    *x,
                  const LpArray    *w,
                  gint64           *dims)
{
  dims[0] = x->dims[0];
  dims[1] = w->dims[0];
  for (int i = 2; i < 4; i++)
    dims[i] = output_extent (x->dims[i], w->dims[i], args->stride[0], args->padding[0], args->dilation[0]);
}

static LpTensor *
conv_product (gpointer   data,
              LpTensor  *left,
              LpTensor  *right,
              LpTensor  *bias,
              GError   **error)
{
  ConvProduct *product = data;
  LpConvArgs args = product->args;
  g_autoptr (LpTensor) result = NULL;
  gint64 dims[4];

  switch (args.pass)
    {
    case LP_CONV_FORWARD:
      args.x = left->array;
      args.w = right->array;
      if (bias != NULL)
        args.bias = bias->array;
      init_output_dims (&args, &args.x, &args.w, dims);
      result = _lp_tensor_new_channels_last (dims, product->dtype, left->storage->device, error);
      if (result != NULL)
        args.y = result->array;
      break;
    case LP_CONV_INPUT_GRAD:
      args.y = left->array;
      args.w = right->array;
      result = _lp_tensor_new_channels_last (product->like_x->array.dims, product->dtype, left->storage->device, error);
      if (result != NULL)
        args.x = result->array;
      break;
    default:
      args.y = left->array;
      args.x = right->array;
      result = _lp_tensor_new (product->like_w->array.dims, 4, product->dtype, left->storage->device, error);
      if (result != NULL)
        args.w = result->array;
    }
  if (result == NULL || !_lp_tensor_get_kernels (left)->conv2d (&args, error))
    return NULL;

  return g_steal_pointer (&result);
}

static gboolean
check_conv (LpTensor        *x,
            LpTensor        *w,
            LpTensor        *b,
            const LpOpArgs  *args,
            GError         **error)
{
  gint64 groups = args->ints[3];

  if (!check_image ("conv2d", x, error)
      || (w->array.scalar != LP_SCALAR_ENCODED && !_lp_check_floating ("conv2d", w, error)))
    return FALSE;
  if (args->ints[0] < 1 || args->ints[1] < 0 || args->ints[2] < 1 || groups < 1)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT,
                           "conv2d: stride, dilation and groups must be at least 1, padding at least 0");
      return FALSE;
    }
  if (w->array.n_dims != 4 || x->array.dims[1] % groups != 0 || w->array.dims[0] % groups != 0
      || w->array.dims[1] != x->array.dims[1] / groups)
    {
      _lp_shape_error (error, "conv2d", "the weight must be [out, in / groups, kh, kw] for an input [N, in, H, W]", x, w);
      return FALSE;
    }
  if (b != NULL && (b->array.n_dims != 1 || b->array.dims[0] != w->array.dims[0]))
    {
      _lp_shape_error (error, "conv2d", "the bias must be [out]", b, w);
      return FALSE;
    }
  for (int i = 2; i < 4; i++)
    if (output_extent (x->array.dims[i], w->array.dims[i], args->ints[0], args->ints[1], args->ints[2]) < 1)
      {
        _lp_shape_error (error, "conv2d", "the kernel is larger than the padded image", x, w);
        return FALSE;
      }

  return TRUE;
}

LpTensor *
_lp_conv2d_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0], *w = call->inputs[1], *b = call->n_inputs > 2 ? call->inputs[2] : NULL;
  LpOperandInfo left = { x, LP_OPERAND_INPUT, 1, "input" };
  LpOperandInfo right = { w, LP_OPERAND_WEIGHT, 1, "weight", call->originals[1] };
  LpBias bias = { b, 1 };
  ConvProduct product;
  gint64 dims[4];

  if (!check_conv (x, w, b, &call->args, error))
    return NULL;

  init_conv (&product, &call->args, LP_CONV_FORWARD);
  product.dtype = w->array.scalar == LP_SCALAR_ENCODED ? x->array.dtype : _lp_promote (x, w);
  init_output_dims (&product.args, &x->array, &w->array, dims);

  return _lp_compute_scope_product (call->scope, call->site, LP_GEMM_FORWARD, &left, &right, b != NULL ? &bias : NULL, conv_product,
                                    &product, dims, 4, error);
}

static LpTensor *
channel_sums (LpTensor  *dy,
              LpDType   *dtype,
              GError   **error)
{
  gint64 dims[4] = { 1, dy->array.dims[1], 1, 1 };
  g_autoptr (LpTensor) sums = _lp_tensor_new (dims, 4, dtype, dy->storage->device, error);
  LpArray array;

  if (sums == NULL || !_lp_tensor_get_kernels (dy)->reduce (LP_REDUCE_SUM, &dy->array, &sums->array, error))
    return NULL;
  array = sums->array;
  array.n_dims = 1;
  array.dims[0] = dims[1];
  array.strides[0] = 1;

  return _lp_tensor_new_view (sums->storage, &array);
}

gboolean
_lp_conv2d_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpTensor *x = node->edges[0].value, *w = node->edges[1].value;
  LpOperandInfo left = { dy, LP_OPERAND_GRAD_OUTPUT, 1, "grad-output" };
  ConvProduct product;

  if (_lp_node_needs (node, 0))
    {
      LpOperandInfo right = { w, LP_OPERAND_WEIGHT, 0, "weight", node->edges[1].leaf };

      init_conv (&product, &node->args, LP_CONV_INPUT_GRAD);
      product.like_x = x;
      product.dtype = node->edges[0].dtype;
      grads[0] = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_INPUT_GRAD, &left, &right, NULL, conv_product, &product,
                                            x->array.dims, x->array.n_dims, error);
      if (grads[0] == NULL)
        return FALSE;
    }
  if (_lp_node_needs (node, 1))
    {
      LpOperandInfo right = { x, LP_OPERAND_INPUT, 0, "input" };

      left.axis = 0;
      init_conv (&product, &node->args, LP_CONV_WEIGHT_GRAD);
      product.like_w = w;
      product.dtype = node->edges[1].dtype;
      grads[1] = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_WEIGHT_GRAD, &left, &right, NULL, conv_product, &product,
                                            w->array.dims, w->array.n_dims, error);
      if (grads[1] == NULL)
        return FALSE;
    }
  if (node->n_inputs > 2 && _lp_node_needs (node, 2))
    {
      grads[2] = channel_sums (dy, node->edges[2].dtype, error);
      if (grads[2] == NULL)
        return FALSE;
    }

  return TRUE;
}

/* ints: max, kernel h, kernel w, stride h, stride w, padding. The indices of max are saved[0]. */
static LpPoolArgs
pool_args (const LpOpArgs *args)
{
  LpPoolArgs pool = { .max = args->ints[0] };

  for (int i = 0; i < 2; i++)
    {
      pool.kernel[i] = args->ints[1 + i];
      pool.stride[i] = args->ints[3 + i];
      pool.padding[i] = args->ints[5];
    }

  return pool;
}

LpTensor *
_lp_pool2d_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0];
  LpPoolArgs pool = pool_args (&call->args);
  g_autoptr (LpTensor) y = NULL;
  gint64 dims[4];

  if (!check_image (call->op->name, x, error))
    return NULL;
  dims[0] = x->array.dims[0];
  dims[1] = x->array.dims[1];
  for (int i = 0; i < 2; i++)
    {
      if (pool.kernel[i] < 1 || pool.stride[i] < 1 || pool.padding[i] < 0 || pool.padding[i] > pool.kernel[i] / 2)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                       "%s: kernel and stride must be at least 1, padding from 0 to half the kernel", call->op->name);
          return NULL;
        }
      dims[2 + i] = output_extent (x->array.dims[2 + i], pool.kernel[i], pool.stride[i], pool.padding[i], 1);
      if (dims[2 + i] < 1)
        {
          _lp_shape_error (error, call->op->name, "the window is larger than the padded image", x, NULL);
          return NULL;
        }
    }

  y = _lp_tensor_new_channels_last (dims, x->array.dtype, x->storage->device, error);
  if (y == NULL)
    return NULL;
  if (pool.max)
    {
      call->saved[0] = _lp_tensor_new_channels_last (dims, lp_dtype_i32 (), x->storage->device, error);
      if (call->saved[0] == NULL)
        return NULL;
      pool.indices = call->saved[0]->array;
    }
  pool.x = x->array;
  pool.y = y->array;

  return _lp_tensor_get_kernels (x)->pool2d (&pool, error) ? g_steal_pointer (&y) : NULL;
}

gboolean
_lp_pool2d_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpPoolArgs pool = pool_args (&node->args);
  LpTensor *dx = grads[0] = _lp_tensor_new_channels_last (node->edges[0].value->array.dims, dy->array.dtype,
                                                          dy->storage->device, error);

  if (dx == NULL)
    return FALSE;
  pool.x = dx->array;
  pool.y = dy->array;
  if (node->saved[0] != NULL)
    pool.indices = node->saved[0]->array;

  return _lp_tensor_get_kernels (dy)->pool2d_grad (&pool, error);
}

/* Statistics are kept in float32, or float64 for f64. */
static LpDType *
statistics_dtype (LpTensor *x)
{
  return x->array.scalar == LP_SCALAR_F64 ? x->array.dtype : lp_dtype_f32 ();
}

static gboolean
check_channels (LpTensor **inputs,
                int        n_inputs,
                GError   **error)
{
  LpTensor *x = inputs[0];

  if (!_lp_check_floating ("batch_norm", x, error))
    return FALSE;
  if (x->array.n_dims < 2)
    {
      _lp_shape_error (error, "batch_norm", "the input must be [N, C, ...]", x, NULL);
      return FALSE;
    }
  for (int i = 1; i < n_inputs; i++)
    if (inputs[i] != NULL && (inputs[i]->array.n_dims != 1 || inputs[i]->array.dims[0] != x->array.dims[1]
                              || inputs[i]->array.scalar == LP_SCALAR_ENCODED))
      {
        _lp_shape_error (error, "batch_norm", "weight, bias and statistics must be [C]", x, inputs[i]);
        return FALSE;
      }

  return TRUE;
}

/* inputs: x, weight, bias, running mean, running variance, the last four maybe NULL; numbers: momentum, eps;
 * ints: training. saved: mean, rstd. */
LpTensor *
_lp_batch_norm_forward (LpOpCall  *call,
                        GError   **error)
{
  LpTensor *x = call->inputs[0];
  LpDType *dtype = statistics_dtype (x);
  LpBatchNormArgs args = { .training = call->args.ints[0], .momentum = call->args.numbers[0], .eps = call->args.numbers[1] };
  LpArray *arrays[] = { NULL, &args.weight, &args.bias, &args.running_mean, &args.running_var };
  LpTensor *cast[5] = { NULL, };
  g_autoptr (LpTensor) y = NULL;
  gboolean done = FALSE;

  if (!check_channels (call->inputs, call->n_inputs, error))
    return NULL;
  if (!args.training && (call->inputs[3] == NULL || call->inputs[4] == NULL))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "batch_norm: without training, running statistics are needed");
      return NULL;
    }
  if (args.training && _lp_array_get_n_elements (&x->array) / MAX (x->array.dims[1], 1) < 2)
    {
      _lp_shape_error (error, "batch_norm", "training needs more than one value per channel", x, NULL);
      return NULL;
    }

  for (int i = 0; i < 2; i++)
    {
      call->saved[i] = _lp_tensor_new (&x->array.dims[1], 1, dtype, x->storage->device, error);
      if (call->saved[i] == NULL)
        return NULL;
    }
  y = _lp_tensor_new_like (x, x->array.dtype, error);
  if (y == NULL)
    return NULL;
  args.x = x->array;
  args.y = y->array;
  args.mean = call->saved[0]->array;
  args.rstd = call->saved[1]->array;

  for (int i = 1; i < 5; i++)
    {
      if (call->inputs[i] == NULL)
        continue;
      cast[i] = _lp_tensor_cast (call->inputs[i], dtype, error);
      if (cast[i] == NULL)
        goto out;
      *arrays[i] = cast[i]->array;
    }

  done = _lp_tensor_get_kernels (x)->batch_norm (&args, error);
  for (int i = 3; done && args.training && i < 5; i++)
    if (cast[i] != NULL && cast[i] != call->inputs[i])
      done = lp_tensor_assign (call->inputs[i], cast[i], error);
    else if (cast[i] != NULL)
      _lp_tensor_changed (cast[i]);

out:
  for (int i = 1; i < 5; i++)
    g_clear_object (&cast[i]);

  return done ? g_steal_pointer (&y) : NULL;
}

gboolean
_lp_batch_norm_backward (LpNode    *node,
                         LpTensor  *dy,
                         LpTensor **grads,
                         GError   **error)
{
  LpTensor *x = node->edges[0].value;
  LpDType *dtype = statistics_dtype (x);
  LpBatchNormGradArgs args = { .training = node->args.ints[0] };
  g_autoptr (LpTensor) weight = NULL;
  LpArray *results[] = { &args.dx, &args.dweight, &args.dbias };

  args.x = x->array;
  args.dy = dy->array;
  args.mean = node->saved[0]->array;
  args.rstd = node->saved[1]->array;
  if (node->edges[1].value != NULL)
    {
      weight = _lp_tensor_cast (node->edges[1].value, dtype, error);
      if (weight == NULL)
        return FALSE;
      args.weight = weight->array;
    }
  for (int i = 0; i < 3; i++)
    {
      if (!_lp_node_needs (node, i))
        continue;
      grads[i] = i == 0 ? _lp_tensor_new_like (x, dy->array.dtype, error)
                        : _lp_tensor_new (&x->array.dims[1], 1, dtype, x->storage->device, error);
      if (grads[i] == NULL)
        return FALSE;
      *results[i] = grads[i]->array;
    }

  return _lp_tensor_get_kernels (dy)->batch_norm_grad (&args, error);
}

/* numbers: p; ints: seed, stream, offset of the random numbers, which the gradient draws again */
static gboolean
apply_dropout (LpTensor        *x,
               const LpOpArgs  *args,
               LpTensor       **y,
               GError         **error)
{
  LpRandomPoint point = { args->ints[0], args->ints[1], args->ints[2] };

  *y = _lp_tensor_new_like (x, x->array.dtype, error);

  return *y != NULL && _lp_tensor_get_kernels (x)->dropout (&x->array, args->numbers[0], point, &(*y)->array, error);
}

LpTensor *
_lp_dropout_forward (LpOpCall  *call,
                     GError   **error)
{
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_floating ("dropout", call->inputs[0], error) || !apply_dropout (call->inputs[0], &call->args, &y, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_dropout_backward (LpNode    *node,
                      LpTensor  *dy,
                      LpTensor **grads,
                      GError   **error)
{
  return apply_dropout (dy, &node->args, &grads[0], error);
}

/**
 * lp_tensor_conv2d:
 * @self: images, `[N, in, H, W]`
 * @weight: filters, `[out, in / groups, kh, kw]`
 * @bias: (nullable): the bias, `[out]`
 * @stride: the step of the filter in both directions, at least 1
 * @padding: zeros added on each side
 * @dilation: the distance of the filter's elements, at least 1
 * @groups: into how many groups channels are split
 * @error: return location for an error
 *
 * Cross-correlates images with filters.
 *
 * Returns: (transfer full): `[N, out, OH, OW]`, channels-last in memory. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE,
 *   %LP_ERROR_ARGUMENT, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_conv2d (LpTensor  *self,
                  LpTensor  *weight,
                  LpTensor  *bias,
                  int        stride,
                  int        padding,
                  int        dilation,
                  int        groups,
                  GError   **error)
{
  LpOpArgs args = { { 0 }, { stride, padding, dilation, groups } };

  return bias != NULL ? _lp_run3 (LP_OP_CONV2D, self, weight, bias, &args, error)
                      : _lp_run2 (LP_OP_CONV2D, self, weight, &args, error);
}

/**
 * lp_tensor_max_pool2d:
 * @self: images, `[N, C, H, W]`
 * @kernel: the extent of the square window
 * @stride: the step of the window; 0 means @kernel
 * @padding: minus infinity added on each side, at most half of @kernel
 * @error: return location for an error
 *
 * Takes the largest element of each window.
 *
 * Returns: (transfer full): `[N, C, OH, OW]`. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT
 */
LpTensor *
lp_tensor_max_pool2d (LpTensor  *self,
                      int        kernel,
                      int        stride,
                      int        padding,
                      GError   **error)
{
  int step = stride == 0 ? kernel : stride;
  LpOpArgs args = { { 0 }, { TRUE, kernel, kernel, step, step, padding } };

  return _lp_run1 (LP_OP_MAX_POOL2D, self, &args, error);
}

/**
 * lp_tensor_avg_pool2d:
 * @self: images, `[N, C, H, W]`
 * @kernel: the extent of the square window
 * @stride: the step of the window; 0 means @kernel
 * @padding: cells added on each side, which don't count, at most half of @kernel
 * @error: return location for an error
 *
 * Averages each window.
 *
 * Returns: (transfer full): `[N, C, OH, OW]`. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT
 */
LpTensor *
lp_tensor_avg_pool2d (LpTensor  *self,
                      int        kernel,
                      int        stride,
                      int        padding,
                      GError   **error)
{
  int step = stride == 0 ? kernel : stride;
  LpOpArgs args = { { 0 }, { FALSE, kernel, kernel, step, step, padding } };

  return _lp_run1 (LP_OP_AVG_POOL2D, self, &args, error);
}

/**
 * lp_tensor_global_avg_pool2d:
 * @self: images, `[N, C, H, W]`
 * @error: return location for an error
 *
 * Averages each channel of each image.
 *
 * Returns: (transfer full): `[N, C, 1, 1]`. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_global_avg_pool2d (LpTensor  *self,
                             GError   **error)
{
  LpOpArgs args = { { 0 }, { FALSE } };

  if (!_lp_input_ok (self, "global_avg_pool2d", error) || !check_image ("global_avg_pool2d", self, error))
    return NULL;
  for (int i = 0; i < 2; i++)
    args.ints[1 + i] = args.ints[3 + i] = self->array.dims[2 + i];

  return _lp_run1 (LP_OP_AVG_POOL2D, self, &args, error);
}

/**
 * lp_tensor_batch_norm:
 * @self: `[N, C, ...]`
 * @weight: (nullable): the scale, `[C]`
 * @bias: (nullable): the shift, `[C]`
 * @running_mean: (nullable): `[C]`, updated when training
 * @running_var: (nullable): `[C]`, updated when training
 * @training: whether to use the statistics of the batch
 * @momentum: the weight of the batch in the running statistics
 * @eps: added to the variance
 * @error: return location for an error
 *
 * Normalizes each channel. S. Ioffe, C. Szegedy, arXiv:1502.03167. Statistics are computed in float32 or wider.
 *
 * Returns: (transfer full): a tensor of the shape of @self. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT
 */
LpTensor *
lp_tensor_batch_norm (LpTensor  *self,
                      LpTensor  *weight,
                      LpTensor  *bias,
                      LpTensor  *running_mean,
                      LpTensor  *running_var,
                      gboolean   training,
                      double     momentum,
                      double     eps,
                      GError   **error)
{
  LpTensor *inputs[] = { self, weight, bias, running_mean, running_var };
  LpOpArgs args = { { momentum, eps }, { training } };

  if (!_lp_input_ok (self, "batch_norm", error))
    return NULL;

  return _lp_dispatch (&_lp_ops[LP_OP_BATCH_NORM], inputs, 5, &args, error);
}

/**
 * lp_tensor_dropout:
 * @self: a tensor of any shape
 * @p: the probability of dropping an element, from 0 on, below 1
 * @training: whether to drop at all
 * @error: return location for an error
 *
 * Sets random elements to 0 and divides the others by 1 - @p. N. Srivastava et al., JMLR 15 (2014). The choice comes from
 * the thread's default generator.
 *
 * Returns: (transfer full): a tensor of the same shape: @self itself if nothing is dropped. Errors: %LP_ERROR_ARGUMENT,
 *   %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_dropout (LpTensor  *self,
                   double     p,
                   gboolean   training,
                   GError   **error)
{
  LpOpArgs args = { { p }, { 0 } };
  LpRandomPoint point;

  if (!_lp_input_ok (self, "dropout", error))
    return NULL;
  if (!(p >= 0 && p < 1))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "dropout: the probability must be at least 0 and below 1, not %g", p);
      return NULL;
    }
  if (!training || p == 0)
    return g_object_ref (self);

  point = _lp_generator_take (lp_generator_get_default (), (_lp_array_get_n_elements (&self->array) + 3) / 4);
  args.ints[0] = point.seed;
  args.ints[1] = point.stream;
  args.ints[2] = point.offset;

  return _lp_run1 (LP_OP_DROPOUT, self, &args, error);
}
