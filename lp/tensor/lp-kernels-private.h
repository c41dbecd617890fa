#pragma once

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-random-private.h>

G_BEGIN_DECLS

/* What a kernel sees of a tensor. Strides count elements and may be 0 (broadcast). An encoded
 * array (scalar LP_SCALAR_ENCODED) is described by @dtype, and is accepted by copy (decode and encode)
 * and as the weight of gemm and convolution only. Its data are those of the whole encoded tensor, of
 * shape @stored; it is the part of its elements that begins with number @offset. */
typedef struct
{
  guint8  *data;
  LpDType *dtype;
  LpScalar scalar;
  int      n_dims;
  gint64   dims[LP_MAX_DIMS];
  gint64   strides[LP_MAX_DIMS];
  LpShape *stored;     /* borrowed from the storage */
  gsize    stored_size; /* the bytes there: a dtype of others may give another size every time */
  gint64   offset;
  double   factor;     /* that decoded values are multiplied by; 0 is none */
} LpArray;

static inline double
_lp_array_get_factor (const LpArray *array)
{
  return array->factor != 0 ? array->factor : 1;
}

typedef enum {
  LP_UNARY_NEG, LP_UNARY_ABS, LP_UNARY_SQUARE,
  LP_UNARY_RELU, LP_UNARY_GELU_TANH, LP_UNARY_GELU_ERF, LP_UNARY_SILU, LP_UNARY_TANH, LP_UNARY_SIGMOID,
  LP_UNARY_EXP, LP_UNARY_LOG, LP_UNARY_SQRT, LP_UNARY_RSQRT, LP_UNARY_RECIPROCAL,
  LP_UNARY_POW,        /* x ^ param */
  LP_UNARY_SCALE,      /* x * param */
  LP_UNARY_OFFSET,     /* x + param */
  LP_UNARY_CLAMP_MAX,  /* min (x, param) */
  LP_UNARY_CLAMP_MIN,  /* max (x, param) */
  LP_UNARY_SIGN, LP_UNARY_ROUND, LP_UNARY_FLOOR, LP_UNARY_CEIL, LP_UNARY_TRUNC,  /* ROUND: ties to even */
  LP_UNARY_IS_FINITE,  /* bool result */
  LP_N_UNARY
} LpUnary;

/* The gradient kernels take, beside dy, the input x or the output y: this says which. */
extern const gboolean _lp_unary_needs_output[LP_N_UNARY];

typedef enum {
  LP_BINARY_ADD, LP_BINARY_SUB, LP_BINARY_MUL, LP_BINARY_DIV, LP_BINARY_MAXIMUM, LP_BINARY_MINIMUM,
  LP_BINARY_EQUAL, LP_BINARY_NOT_EQUAL, LP_BINARY_LESS, LP_BINARY_LESS_EQUAL,   /* bool results */
  LP_BINARY_GREATER, LP_BINARY_GREATER_EQUAL,
  LP_N_BINARY
} LpBinary;

/* Element-wise losses l (x, t); HUBER has delta = param. BCE is with logits. */
typedef enum { LP_LOSS_MSE, LP_LOSS_L1, LP_LOSS_HUBER, LP_LOSS_BCE, LP_N_LOSSES } LpLossKind;

typedef enum { LP_REDUCE_SUM, LP_REDUCE_MEAN, LP_REDUCE_MAX, LP_REDUCE_MIN, LP_REDUCE_SUM_SQUARES } LpReduce;

typedef enum { LP_ACTIVATION_NONE, LP_ACTIVATION_RELU, LP_ACTIVATION_GELU_TANH, LP_ACTIVATION_GELU_ERF } LpActivation;

/* D = activation (alpha * A B + beta * D + bias), over a batch.
 * a is [batch..., m, k], b [batch..., k, n], d [batch..., m, n]: three arrays of equal rank 2 or more, any
 * strides (0 in a batch axis broadcasts); bias is [n] or NULL data. Storage dtypes may all differ.
 * Accumulates in float32, or float64 when a or b is f64. */
typedef struct
{
  LpArray      a, b, d;
  LpArray      bias;
  double       alpha, beta;
  LpActivation activation;
} LpGemmArgs;

typedef enum { LP_CONV_FORWARD, LP_CONV_INPUT_GRAD, LP_CONV_WEIGHT_GRAD } LpConvPass;

/* x [n, c, h, w] (strides NHWC in steady state, any accepted), w [oc, c / groups, kh, kw],
 * y [n, oc, oh, ow], bias [oc] or NULL data (forward only). The pass says which one is written. */
typedef struct
{
  LpConvPass pass;
  LpArray    x, w, y, bias;
  int        stride[2], padding[2], dilation[2];
  int        groups;
} LpConvArgs;

/* Pooling windows over x [n, c, h, w] to y [n, c, oh, ow]. For max, indices is an i32 array of y's
 * shape holding the offset in the window (kh * kernel[1] + kw). Average counts padded cells not. */
typedef struct
{
  gboolean max;
  LpArray  x, y, indices;
  int      kernel[2], stride[2], padding[2];
} LpPoolArgs;

/* Over x [n, c, ...]: statistics per channel c. weight, bias, mean, var, running_* are [c] float32
 * (float64 when x is f64), NULL data where absent. training: writes mean and rstd, and updates the running
 * ones with momentum (unbiased variance); else reads running_mean and running_var. */
typedef struct
{
  gboolean training;
  LpArray  x, y, weight, bias, mean, rstd, running_mean, running_var;
  double   momentum, eps;
} LpBatchNormArgs;

/* dx from dy, x, mean, rstd, weight; dweight and dbias [c]; any of the three may have NULL data. */
typedef struct
{
  gboolean training;
  LpArray  x, dy, dx, weight, mean, rstd, dweight, dbias;
} LpBatchNormGradArgs;

/* logits [n, classes], targets [n] i64 or i32, losses [n] float32 (f64 for f64 logits); grad [n, classes] or NULL data gets
 * softmax - target distribution, not yet divided by n. Rows whose target is ignore_index give 0. */
typedef struct
{
  LpArray logits, targets, losses, grad;
  double  label_smoothing;
  gint64  ignore_index;
} LpCrossEntropyArgs;

/* One flat, contiguous bucket of n parameters. Pointers that a bucket does not have are NULL.
 * weight: stored weights (weight_scalar); master: float32 (float64 for f64 weights) or NULL when weight is it.
 * weight16: second copy in 16 bits (weight16_scalar) that is refreshed in the same pass.
 * moments: as wide as masters, or bf16, which are rounded by chance: of the word per element at moment_random the lower half is for
 * moment1, the upper one for moment2.
 * The gradient is multiplied by *grad_scale, then by *clip (either may be NULL); nothing is written when *found_inf != 0. */
typedef struct
{
  gsize        n;
  gpointer     weight;
  LpScalar     weight_scalar;
  gpointer     master;
  gpointer     grad;
  LpScalar     grad_scalar;
  gpointer     moment1, moment2;
  LpScalar     moment_scalar;
  guint16     *weight16;
  LpScalar     weight16_scalar;
  const float *grad_scale, *clip, *found_inf;
  gboolean     stochastic;
  LpRandomPoint random, moment_random;
  double       lr, weight_decay;
} LpFusedStepArgs;

typedef struct
{
  LpFusedStepArgs common;
  double momentum, dampening;
  gboolean nesterov, first;
} LpSgdArgs;

typedef struct
{
  LpFusedStepArgs common;
  double beta1, beta2, eps;
  gint64 step;          /* 1 for the first */
} LpAdamWArgs;

/* One pass over n gradients: g *= *scale (if not NULL and not 1; with @keep the products are not stored), *found_inf = 1 on Inf or NaN (of the scaled ones; it
 * is not reset), and the sum of squares, accumulated in float64, is added to *sum_squares (if not NULL). */
typedef struct
{
  gsize        n;
  gpointer     grad;
  LpScalar     scalar;
  const float *scale;
  gboolean     keep;
  float       *found_inf;
  double      *sum_squares;
} LpGradStatsArgs;

/* A device's kernels: synchronous, or ordered on the device's stream. Callers have checked shapes;
 * element-wise kernels take any strides and any mix of native dtypes unless said otherwise. Each returns FALSE with an error. */
typedef struct
{
  gboolean (* fill)          (const LpArray *y, double value, GError **error);
  gboolean (* copy)          (const LpArray *x, const LpArray *y, GError **error);  /* converts, encodes, decodes */
  /* the largest magnitude; not finite as soon as one element is not */
  gboolean (* absmax)        (const LpArray *x, double *amax, GError **error);
  /* y, encoded, of x * scale in float32; and the largest magnitude of x, as absmax gives it */
  gboolean (* quantize)      (const LpArray *x, double scale, const LpArray *y, double *amax, GError **error);
  gboolean (* unary)         (LpUnary op, double param, const LpArray *x, const LpArray *y, GError **error);
  gboolean (* unary_grad)    (LpUnary op, double param, const LpArray *x_or_y, const LpArray *dy, const LpArray *dx, GError **error);
  gboolean (* binary)        (LpBinary op, const LpArray *a, const LpArray *b, const LpArray *y, GError **error);
  gboolean (* where)         (const LpArray *condition, const LpArray *a, const LpArray *b, const LpArray *y, GError **error);
  gboolean (* loss)          (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *l, GError **error);
  gboolean (* loss_grad)     (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *dl, const LpArray *dx, GError **error);
  /* y has x's rank; reduced axes have extent 1 in y */
  gboolean (* reduce)        (LpReduce op, const LpArray *x, const LpArray *y, GError **error);
  gboolean (* argmax)        (const LpArray *x, int axis, const LpArray *y, GError **error);  /* y: i64, extent 1 at axis */
  gboolean (* cumsum)        (const LpArray *x, int axis, gboolean reverse, const LpArray *y, GError **error);
  gboolean (* softmax)       (const LpArray *x, int axis, gboolean log, const LpArray *y, GError **error);
  gboolean (* softmax_grad)  (const LpArray *y, const LpArray *dy, int axis, gboolean log, const LpArray *dx, GError **error);
  gboolean (* cross_entropy) (const LpCrossEntropyArgs *args, GError **error);
  gboolean (* dropout)       (const LpArray *x, double p, LpRandomPoint random, const LpArray *y, GError **error);
  gboolean (* uniform)       (const LpArray *y, double low, double high, LpRandomPoint random, GError **error);
  gboolean (* normal)        (const LpArray *y, double mean, double std, LpRandomPoint random, GError **error);
  gboolean (* gemm)          (const LpGemmArgs *args, GError **error);
  gboolean (* conv2d)        (const LpConvArgs *args, GError **error);
  gboolean (* pool2d)        (const LpPoolArgs *args, GError **error);
  gboolean (* pool2d_grad)   (const LpPoolArgs *args, GError **error);  /* x is dx (written), y is dy */
  gboolean (* batch_norm)    (const LpBatchNormArgs *args, GError **error);
  gboolean (* batch_norm_grad) (const LpBatchNormGradArgs *args, GError **error);
  /* index [m] i64/i32: y[..., i, ...] = x[..., index[i], ...]; out of range is LP_ERROR_ARGUMENT */
  gboolean (* index_select)  (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error);
  gboolean (* index_add)     (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error);
  /* index has the rank of x: y[i][j] = x[index[i][j]][j] for axis 0, and so on; scatter_add: y[index[i][j]][j] += x[i][j] */
  gboolean (* gather)        (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error);
  gboolean (* scatter_add)   (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error);
  gboolean (* grad_stats)    (const LpGradStatsArgs *args, GError **error);
  gboolean (* sgd)           (const LpSgdArgs *args, GError **error);
  gboolean (* adamw)         (const LpAdamWArgs *args, GError **error);
} LpKernelTable;

G_END_DECLS
