#pragma once

#include <lp/autograd/lp-dispatch-private.h>
#include <lp/core/lp-error.h>
#include <lp/ops/lp-ops.h>

G_BEGIN_DECLS

typedef enum {
  LP_OP_NEG, LP_OP_ABS, LP_OP_SQUARE, LP_OP_RELU, LP_OP_GELU_TANH, LP_OP_GELU_ERF, LP_OP_SILU, LP_OP_TANH, LP_OP_SIGMOID,
  LP_OP_EXP, LP_OP_LOG, LP_OP_SQRT, LP_OP_RSQRT, LP_OP_RECIPROCAL, LP_OP_POW, LP_OP_SCALE, LP_OP_OFFSET, LP_OP_CLAMP_MAX,
  LP_OP_CLAMP_MIN, LP_OP_SIGN, LP_OP_ROUND, LP_OP_FLOOR, LP_OP_CEIL, LP_OP_TRUNC, LP_OP_IS_FINITE,
  LP_OP_ADD, LP_OP_SUB, LP_OP_MUL, LP_OP_DIV, LP_OP_MAXIMUM, LP_OP_MINIMUM,
  LP_OP_EQUAL, LP_OP_NOT_EQUAL, LP_OP_LESS, LP_OP_LESS_EQUAL, LP_OP_GREATER, LP_OP_GREATER_EQUAL,
  LP_OP_WHERE,
  LP_OP_LINEAR, LP_OP_MATMUL, LP_OP_CONV2D, LP_OP_MAX_POOL2D, LP_OP_AVG_POOL2D, LP_OP_BATCH_NORM, LP_OP_DROPOUT,
  LP_OP_SOFTMAX, LP_OP_LOG_SOFTMAX, LP_OP_CROSS_ENTROPY, LP_OP_MSE_LOSS, LP_OP_L1_LOSS, LP_OP_HUBER_LOSS,
  LP_OP_BCE_WITH_LOGITS,
  LP_OP_SUM, LP_OP_MEAN, LP_OP_MAX, LP_OP_MIN, LP_OP_ARGMAX, LP_OP_NORM, LP_OP_CUMSUM,
  LP_OP_RESHAPE, LP_OP_PERMUTE, LP_OP_EXPAND, LP_OP_NARROW,
  LP_OP_CAT, LP_OP_PAD, LP_OP_INDEX_SELECT, LP_OP_GATHER, LP_OP_SCATTER_ADD,
  LP_OP_TO_DTYPE, LP_OP_COPY,
  LP_N_OPS
} LpOpId;

extern const LpOp _lp_ops[LP_N_OPS];

#define LP_DECLARE_OP(name) \
  LpTensor *_lp_##name##_forward (LpOpCall *call, GError **error); \
  gboolean _lp_##name##_backward (LpNode *node, LpTensor *grad_output, LpTensor **grads, GError **error);

LP_DECLARE_OP (unary)
LP_DECLARE_OP (binary)
LP_DECLARE_OP (where)
LP_DECLARE_OP (linear)
LP_DECLARE_OP (matmul)
LP_DECLARE_OP (conv2d)
LP_DECLARE_OP (pool2d)
LP_DECLARE_OP (batch_norm)
LP_DECLARE_OP (dropout)
LP_DECLARE_OP (softmax)
LP_DECLARE_OP (cross_entropy)
LP_DECLARE_OP (loss)
LP_DECLARE_OP (sum)
LP_DECLARE_OP (extremum)
LP_DECLARE_OP (argmax)
LP_DECLARE_OP (norm)
LP_DECLARE_OP (cumsum)
LP_DECLARE_OP (reshape)
LP_DECLARE_OP (permute)
LP_DECLARE_OP (expand)
LP_DECLARE_OP (narrow)
LP_DECLARE_OP (cat)
LP_DECLARE_OP (pad)
LP_DECLARE_OP (index_select)
LP_DECLARE_OP (gather)
LP_DECLARE_OP (scatter_add)
LP_DECLARE_OP (to_dtype)
LP_DECLARE_OP (copy)


/* FALSE for a NULL input, whose error is already set; a critical for what is no tensor. */
gboolean  _lp_input_ok (LpTensor *self, const char *operation, GError **error);

LpTensor *_lp_run1 (LpOpId op, LpTensor *a, const LpOpArgs *args, GError **error);
LpTensor *_lp_run2 (LpOpId op, LpTensor *a, LpTensor *b, const LpOpArgs *args, GError **error);
LpTensor *_lp_run3 (LpOpId op, LpTensor *a, LpTensor *b, LpTensor *c, const LpOpArgs *args, GError **error);

/* A kernel that the device lacks is an error naming operation, dtype and device. */
gboolean  _lp_missing_kernel (const char *operation, LpTensor *tensor, GError **error);

/* Sets LP_ERROR_SHAPE naming the operation and the shapes of @a and, unless NULL, @b. */
void      _lp_shape_error (GError **error, const char *operation, const char *problem, LpTensor *a, LpTensor *b);
gboolean  _lp_check_floating (const char *operation, LpTensor *tensor, GError **error);
gboolean  _lp_check_native (const char *operation, LpTensor *tensor, GError **error);

/* The common dtype of two native ones; a scalar tensor does not widen the other within one kind. */
LpDType  *_lp_promote (LpTensor *a, LpTensor *b);
/* The extents to which both broadcast; FALSE when they don't. */
gboolean  _lp_broadcast_dims (const LpArray *a, const LpArray *b, gint64 *dims, int *n_dims);
/* @array seen with the extents @dims, with stride 0 where it repeats. */
LpArray   _lp_broadcast_array (const LpArray *array, const gint64 *dims, int n_dims);
/* Sums @grad over the axes along which a tensor of @dims was broadcast; takes @grad. */
LpTensor *_lp_sum_to (LpTensor *grad, const gint64 *dims, int n_dims, GError **error);

/* lp_tensor_quantize, with the largest magnitude: not finite as soon as one element is not. */
LpTensor *_lp_tensor_quantize (LpTensor *self, LpDType *dtype, double scale, double *amax, GError **error);
gboolean  _lp_tensor_absmax   (LpTensor *self, double *amax, GError **error);

G_END_DECLS
