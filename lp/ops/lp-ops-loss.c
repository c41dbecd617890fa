#include <lp/ops/lp-ops-private.h>

/* Softmax and losses. */

/* ints: axis, log */
LpTensor *
_lp_softmax_forward (LpOpCall  *call,
                     GError   **error)
{
  LpTensor *x = call->inputs[0];
  g_autoptr (LpTensor) y = NULL;

  if (!_lp_check_floating (call->op->name, x, error))
    return NULL;
  y = _lp_tensor_new_like (x, x->array.dtype, error);
  if (y == NULL || !_lp_tensor_get_kernels (x)->softmax (&x->array, call->args.ints[0], call->args.ints[1], &y->array, error))
    return NULL;

  return g_steal_pointer (&y);
}

gboolean
_lp_softmax_backward (LpNode    *node,
                      LpTensor  *dy,
                      LpTensor **grads,
                      GError   **error)
{
  LpTensor *y = node->saved[LP_MAX_SAVED - 1];
  LpTensor *dx = grads[0] = _lp_tensor_new_like (y, dy->array.dtype, error);

  return dx != NULL && _lp_tensor_get_kernels (dy)->softmax_grad (&y->array, &dy->array, node->args.ints[0],
                                                                  node->args.ints[1], &dx->array, error);
}

/* How many rows count: those whose target is not @ignored. */
static double
count_targets (LpTensor  *targets,
               gint64     ignored,
               GError   **error)
{
  g_autoptr (LpTensor) hit = lp_tensor_scalar (ignored, targets->array.dtype, targets->storage->device, error);
  g_autoptr (LpTensor) counts = hit != NULL ? lp_tensor_not_equal (targets, hit, error) : NULL;
  g_autoptr (LpTensor) sum = counts != NULL ? lp_tensor_sum (counts, NULL, 0, FALSE, error) : NULL;

  return sum != NULL ? lp_tensor_get_item (sum, error) : -1;
}

/* The mean or sum of a tensor of losses. */
static LpTensor *
reduce_losses (LpTensor     *losses,
               LpReduction   reduction,
               double        count,
               GError      **error)
{
  const LpKernelTable *kernels = _lp_tensor_get_kernels (losses);
  g_autoptr (LpTensor) loss = NULL;
  LpArray ones;

  if (reduction == LP_REDUCTION_NONE)
    return g_object_ref (losses);

  loss = _lp_tensor_new (NULL, 0, losses->array.dtype, losses->storage->device, error);
  if (loss == NULL)
    return NULL;
  ones = loss->array;
  ones.n_dims = losses->array.n_dims;
  for (int i = 0; i < ones.n_dims; i++)
    {
      ones.dims[i] = 1;
      ones.strides[i] = 1;
    }
  if (!kernels->reduce (LP_REDUCE_SUM, &losses->array, &ones, error))
    return NULL;
  if (reduction == LP_REDUCTION_MEAN && !kernels->unary (LP_UNARY_SCALE, 1.0 / count, &loss->array, &loss->array, error))
    return NULL;

  return g_steal_pointer (&loss);
}

/* numbers: label smoothing, out: the count of rows; ints: ignored target, reduction. saved[0]: the gradient. */
LpTensor *
_lp_cross_entropy_forward (LpOpCall  *call,
                           GError   **error)
{
  LpTensor *x = call->inputs[0], *t = call->inputs[1];
  LpCrossEntropyArgs args = { .label_smoothing = call->args.numbers[0], .ignore_index = call->args.ints[0] };
  LpReduction reduction = call->args.ints[1];
  g_autoptr (LpTensor) losses = NULL;

  if (!_lp_check_floating ("cross_entropy", x, error))
    return NULL;
  if (x->array.n_dims != 2 || t->array.n_dims != 1 || t->array.dims[0] != x->array.dims[0])
    {
      _lp_shape_error (error, "cross_entropy", "logits must be [N, classes] and targets [N]", x, t);
      return NULL;
    }
  if (t->array.scalar != LP_SCALAR_I64 && t->array.scalar != LP_SCALAR_I32)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "cross_entropy: targets must be i64 or i32 class numbers, not %s",
                   lp_dtype_get_name (t->array.dtype));
      return NULL;
    }

  losses = _lp_tensor_new (x->array.dims, 1, x->array.scalar == LP_SCALAR_F64 ? x->array.dtype : lp_dtype_f32 (),
                           x->storage->device, error);
  if (losses == NULL)
    return NULL;
  args.logits = x->array;
  args.targets = t->array;
  args.losses = losses->array;
  if (call->recording)
    {
      call->saved[0] = _lp_tensor_new_like (x, x->array.dtype, error);
      if (call->saved[0] == NULL)
        return NULL;
      args.grad = call->saved[0]->array;
    }
  if (!_lp_tensor_get_kernels (x)->cross_entropy (&args, error))
    return NULL;

  call->args.numbers[1] = 1;
  if (reduction == LP_REDUCTION_MEAN)
    {
      call->args.numbers[1] = count_targets (t, args.ignore_index, error);
      if (call->args.numbers[1] < 0)
        return NULL;
    }

  return reduce_losses (losses, reduction, call->args.numbers[1], error);
}

gboolean
_lp_cross_entropy_backward (LpNode    *node,
                            LpTensor  *dy,
                            LpTensor **grads,
                            GError   **error)
{
  const LpKernelTable *kernels = _lp_tensor_get_kernels (dy);
  LpTensor *grad = grads[0] = g_steal_pointer (&node->saved[0]);
  g_autoptr (LpTensor) factor = _lp_tensor_new_like (dy, dy->array.dtype, error);
  LpArray spread;

  if (factor == NULL || !kernels->unary (LP_UNARY_SCALE, 1.0 / node->args.numbers[1], &dy->array, &factor->array, error))
    return FALSE;
  spread = _lp_broadcast_array (&factor->array, grad->array.dims, 2);
  if (dy->array.n_dims == 1)
    {
      spread.strides[0] = factor->array.strides[0];
      spread.strides[1] = 0;
    }

  return kernels->binary (LP_BINARY_MUL, &grad->array, &spread, &grad->array, error);
}

/* numbers: the parameter; ints: LpLossKind, reduction */
LpTensor *
_lp_loss_forward (LpOpCall  *call,
                  GError   **error)
{
  LpTensor *x = call->inputs[0], *t = call->inputs[1];
  g_autoptr (LpTensor) losses = NULL;
  gboolean same = x->array.n_dims == t->array.n_dims;

  if (!_lp_check_floating (call->op->name, x, error) || !_lp_check_native (call->op->name, t, error))
    return NULL;
  for (int i = 0; same && i < x->array.n_dims; i++)
    same = x->array.dims[i] == t->array.dims[i];
  if (!same)
    {
      _lp_shape_error (error, call->op->name, "predictions and targets must have one shape", x, t);
      return NULL;
    }

  losses = _lp_tensor_new_like (x, x->array.scalar == LP_SCALAR_F64 ? x->array.dtype : lp_dtype_f32 (), error);
  if (losses == NULL || !_lp_tensor_get_kernels (x)->loss (call->args.ints[0], call->args.numbers[0], &x->array, &t->array,
                                                           &losses->array, error))
    return NULL;

  return reduce_losses (losses, call->args.ints[1], _lp_array_get_n_elements (&x->array), error);
}

/* The gradient of the targets: minus that of the predictions, but for BCE, whose loss has the term -x t. */
static LpTensor *
target_gradient (LpNode         *node,
                 const LpArray  *dl,
                 const LpArray  *dx,
                 GError        **error)
{
  LpTensor *x = node->edges[0].value;
  const LpKernelTable *kernels = _lp_tensor_get_kernels (x);
  g_autoptr (LpTensor) dt = _lp_tensor_new_like (x, node->edges[1].dtype, error);
  gboolean bce = node->args.ints[0] == LP_LOSS_BCE;

  if (dt == NULL || (bce && !kernels->binary (LP_BINARY_MUL, &x->array, dl, &dt->array, error)))
    return NULL;
  if (!kernels->unary (LP_UNARY_NEG, 0, bce ? &dt->array : dx, &dt->array, error))
    return NULL;

  return g_steal_pointer (&dt);
}

gboolean
_lp_loss_backward (LpNode    *node,
                   LpTensor  *dy,
                   LpTensor **grads,
                   GError   **error)
{
  LpTensor *x = node->edges[0].value, *t = node->edges[1].value;
  const LpKernelTable *kernels = _lp_tensor_get_kernels (dy);
  double count = node->args.ints[1] == LP_REDUCTION_MEAN ? _lp_array_get_n_elements (&x->array) : 1;
  g_autoptr (LpTensor) scaled = _lp_tensor_new_like (dy, dy->array.dtype, error);
  g_autoptr (LpTensor) dx = NULL;
  LpArray dl;

  if (scaled == NULL || !kernels->unary (LP_UNARY_SCALE, 1.0 / count, &dy->array, &scaled->array, error))
    return FALSE;
  dl = _lp_broadcast_array (&scaled->array, x->array.dims, x->array.n_dims);
  dx = _lp_tensor_new_like (x, dy->array.dtype, error);
  if (dx == NULL || !kernels->loss_grad (node->args.ints[0], node->args.numbers[0], &x->array, &t->array, &dl, &dx->array, error))
    return FALSE;

  if (_lp_node_needs (node, 1))
    {
      grads[1] = target_gradient (node, &dl, &dx->array, error);
      if (grads[1] == NULL)
        return FALSE;
    }
  grads[0] = g_steal_pointer (&dx);

  return TRUE;
}

static LpTensor *
run_softmax (LpOpId     id,
             LpTensor  *self,
             int        axis,
             GError   **error)
{
  LpOpArgs args = { { 0 }, { 0, id == LP_OP_LOG_SOFTMAX } };

  if (!_lp_input_ok (self, _lp_ops[id].name, error))
    return NULL;
  args.ints[0] = _lp_axis_resolve (axis, self->array.n_dims, error);

  return args.ints[0] >= 0 ? _lp_run1 (id, self, &args, error) : NULL;
}

static LpTensor *
run_loss (LpOpId        id,
          LpLossKind    kind,
          double        param,
          LpTensor     *self,
          LpTensor     *target,
          LpReduction   reduction,
          GError      **error)
{
  LpOpArgs args = { { param }, { kind, reduction } };

  return _lp_run2 (id, self, target, &args, error);
}

/**
 * lp_tensor_softmax:
 * @self: a tensor
 * @axis: the axis whose elements sum to 1; -1 is the last
 * @error: return location for an error
 *
 * exp (x) / sum (exp (x)) along an axis.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_softmax (LpTensor  *self,
                   int        axis,
                   GError   **error)
{
  return run_softmax (LP_OP_SOFTMAX, self, axis, error);
}

/**
 * lp_tensor_log_softmax:
 * @self: a tensor
 * @axis: the axis; -1 is the last
 * @error: return location for an error
 *
 * The logarithm of [method@Tensor.softmax], without its loss of digits.
 *
 * Returns: (transfer full): a tensor of the same shape. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_log_softmax (LpTensor  *self,
                       int        axis,
                       GError   **error)
{
  return run_softmax (LP_OP_LOG_SOFTMAX, self, axis, error);
}

/**
 * lp_tensor_cross_entropy_full:
 * @self: logits, `[N, classes]`
 * @targets: class numbers, `[N]`, i64 or i32
 * @label_smoothing: how much of each target is spread over all classes, from 0 to 1
 * @ignore_index: rows with this target don't count
 * @reduction: how the rows' losses are reduced
 * @error: return location for an error
 *
 * The negative log-likelihood of the targets under the softmax of the logits, in one pass with its gradient.
 *
 * Returns: (transfer full): the loss, `[]` or `[N]`, in float32 or wider. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE,
 *   %LP_ERROR_ARGUMENT for a target that is no class
 */
LpTensor *
lp_tensor_cross_entropy_full (LpTensor     *self,
                              LpTensor     *targets,
                              double        label_smoothing,
                              gint64        ignore_index,
                              LpReduction   reduction,
                              GError      **error)
{
  LpOpArgs args = { { label_smoothing }, { ignore_index, reduction } };

  if (!(label_smoothing >= 0 && label_smoothing <= 1))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "cross_entropy: label smoothing must be from 0 to 1, not %g",
                   label_smoothing);
      return NULL;
    }

  return _lp_run2 (LP_OP_CROSS_ENTROPY, self, targets, &args, error);
}

/**
 * lp_tensor_cross_entropy:
 * @self: logits, `[N, classes]`
 * @targets: class numbers, `[N]`, i64 or i32; rows of -100 don't count
 * @error: return location for an error
 *
 * The mean of [method@Tensor.cross_entropy_full] without smoothing.
 *
 * Returns: (transfer full): the loss, `[]`. Errors: as for [method@Tensor.cross_entropy_full]
 */
LpTensor *
lp_tensor_cross_entropy (LpTensor  *self,
                         LpTensor  *targets,
                         GError   **error)
{
  if (!_lp_input_ok (self, "cross_entropy", error))
    return NULL;

  return lp_tensor_cross_entropy_full (self, targets, 0, -100, LP_REDUCTION_MEAN, error);
}

/**
 * lp_tensor_mse_loss:
 * @self: predictions
 * @target: targets, of the same shape
 * @reduction: how the elements' losses are reduced
 * @error: return location for an error
 *
 * The squared difference.
 *
 * Returns: (transfer full): the loss. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_mse_loss (LpTensor     *self,
                    LpTensor     *target,
                    LpReduction   reduction,
                    GError      **error)
{
  return run_loss (LP_OP_MSE_LOSS, LP_LOSS_MSE, 0, self, target, reduction, error);
}

/**
 * lp_tensor_l1_loss:
 * @self: predictions
 * @target: targets, of the same shape
 * @reduction: how the elements' losses are reduced
 * @error: return location for an error
 *
 * The absolute difference.
 *
 * Returns: (transfer full): the loss. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_l1_loss (LpTensor     *self,
                   LpTensor     *target,
                   LpReduction   reduction,
                   GError      **error)
{
  return run_loss (LP_OP_L1_LOSS, LP_LOSS_L1, 0, self, target, reduction, error);
}

/**
 * lp_tensor_huber_loss:
 * @self: predictions
 * @target: targets, of the same shape
 * @delta: where the loss turns from quadratic to linear, above 0
 * @reduction: how the elements' losses are reduced
 * @error: return location for an error
 *
 * Half the squared difference near 0, linear beyond @delta. P. J. Huber, Ann. Math. Statist. 35 (1964).
 *
 * Returns: (transfer full): the loss. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT
 */
LpTensor *
lp_tensor_huber_loss (LpTensor     *self,
                      LpTensor     *target,
                      double        delta,
                      LpReduction   reduction,
                      GError      **error)
{
  if (!(delta > 0))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "huber_loss: delta must be above 0, not %g", delta);
      return NULL;
    }

  return run_loss (LP_OP_HUBER_LOSS, LP_LOSS_HUBER, delta, self, target, reduction, error);
}

/**
 * lp_tensor_bce_with_logits:
 * @self: logits
 * @target: probabilities, of the same shape
 * @reduction: how the elements' losses are reduced
 * @error: return location for an error
 *
 * The binary cross entropy of the sigmoid of the logits, without its overflow.
 *
 * Returns: (transfer full): the loss. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE
 */
LpTensor *
lp_tensor_bce_with_logits (LpTensor     *self,
                           LpTensor     *target,
                           LpReduction   reduction,
                           GError      **error)
{
  return run_loss (LP_OP_BCE_WITH_LOGITS, LP_LOSS_BCE, 0, self, target, reduction, error);
}
