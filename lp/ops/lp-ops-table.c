#include <lp/ops/lp-ops-private.h>

G_DEFINE_ENUM_TYPE (LpReduction, lp_reduction,
                    G_DEFINE_ENUM_VALUE (LP_REDUCTION_NONE, "none"),
                    G_DEFINE_ENUM_VALUE (LP_REDUCTION_MEAN, "mean"),
                    G_DEFINE_ENUM_VALUE (LP_REDUCTION_SUM, "sum"))

#define LOW LP_AUTOCAST_LOW_PRECISION
#define F32 LP_AUTOCAST_FLOAT32
#define PROMOTE LP_AUTOCAST_PROMOTE
#define PASS LP_AUTOCAST_PASSTHROUGH

/* What backward reads, beside the gradient: inputs by bit, the output. */
#define IN0 1
#define IN1 2
#define NONE 0

/* The operations. The autocast classes are PyTorch's for CUDA, on every device. */
const LpOp _lp_ops[LP_N_OPS] = {
  /*                       name                  class    forward                   backward                   keeps      output */
  [LP_OP_NEG]           = { "neg",               PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_ABS]           = { "abs",               PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_SQUARE]        = { "square",            F32,     _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_RELU]          = { "relu",              PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_GELU_TANH]     = { "gelu_tanh",         PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_GELU_ERF]      = { "gelu",              PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_SILU]          = { "silu",              PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_TANH]          = { "tanh",              PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_SIGMOID]       = { "sigmoid",           PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_EXP]           = { "exp",               F32,     _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_LOG]           = { "log",               F32,     _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_SQRT]          = { "sqrt",              PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_RSQRT]         = { "rsqrt",             F32,     _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_RECIPROCAL]    = { "reciprocal",        F32,     _lp_unary_forward,        _lp_unary_backward,        NONE,      TRUE },
  [LP_OP_POW]           = { "pow",               F32,     _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_SCALE]         = { "scale",             PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_OFFSET]        = { "offset",            PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_CLAMP_MAX]     = { "clamp_max",         PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_CLAMP_MIN]     = { "clamp_min",         PASS,    _lp_unary_forward,        _lp_unary_backward,        IN0,       FALSE },
  [LP_OP_SIGN]          = { "sign",              PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_ROUND]         = { "round",             PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_FLOOR]         = { "floor",             PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_CEIL]          = { "ceil",              PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_TRUNC]         = { "trunc",             PASS,    _lp_unary_forward,        _lp_unary_backward,        NONE,      FALSE },
  [LP_OP_IS_FINITE]     = { "is_finite",         PASS,    _lp_unary_forward,        NULL },
  [LP_OP_ADD]           = { "add",               PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_SUB]           = { "sub",               PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_MUL]           = { "mul",               PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_DIV]           = { "div",               PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_MAXIMUM]       = { "maximum",           PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_MINIMUM]       = { "minimum",           PASS,    _lp_binary_forward,       _lp_binary_backward,       IN0 | IN1, FALSE },
  [LP_OP_EQUAL]         = { "equal",             PASS,    _lp_binary_forward,       NULL },
  [LP_OP_NOT_EQUAL]     = { "not_equal",         PASS,    _lp_binary_forward,       NULL },
  [LP_OP_LESS]          = { "less",              PASS,    _lp_binary_forward,       NULL },
  [LP_OP_LESS_EQUAL]    = { "less_equal",        PASS,    _lp_binary_forward,       NULL },
  [LP_OP_GREATER]       = { "greater",           PASS,    _lp_binary_forward,       NULL },
  [LP_OP_GREATER_EQUAL] = { "greater_equal",     PASS,    _lp_binary_forward,       NULL },
  [LP_OP_WHERE]         = { "where",             PASS,    _lp_where_forward,        _lp_where_backward,        7,         FALSE },
  [LP_OP_LINEAR]        = { "linear",            LOW,     _lp_linear_forward,       _lp_linear_backward,       7,         FALSE },
  [LP_OP_MATMUL]        = { "matmul",            LOW,     _lp_matmul_forward,       _lp_matmul_backward,       IN0 | IN1, FALSE },
  [LP_OP_CONV2D]        = { "conv2d",            LOW,     _lp_conv2d_forward,       _lp_conv2d_backward,       7,         FALSE },
  [LP_OP_MAX_POOL2D]    = { "max_pool2d",        PASS,    _lp_pool2d_forward,       _lp_pool2d_backward,       IN0,       FALSE },
  [LP_OP_AVG_POOL2D]    = { "avg_pool2d",        PASS,    _lp_pool2d_forward,       _lp_pool2d_backward,       IN0,       FALSE },
  [LP_OP_BATCH_NORM]    = { "batch_norm",        PASS,    _lp_batch_norm_forward,   _lp_batch_norm_backward,   7,         FALSE },
  [LP_OP_DROPOUT]       = { "dropout",           PASS,    _lp_dropout_forward,      _lp_dropout_backward,      NONE,      FALSE },
  [LP_OP_SOFTMAX]       = { "softmax",           F32,     _lp_softmax_forward,      _lp_softmax_backward,      NONE,      TRUE },
  [LP_OP_LOG_SOFTMAX]   = { "log_softmax",       F32,     _lp_softmax_forward,      _lp_softmax_backward,      NONE,      TRUE },
  [LP_OP_CROSS_ENTROPY] = { "cross_entropy",     F32,     _lp_cross_entropy_forward, _lp_cross_entropy_backward, NONE,    FALSE },
  [LP_OP_MSE_LOSS]      = { "mse_loss",          F32,     _lp_loss_forward,         _lp_loss_backward,         IN0 | IN1, FALSE },
  [LP_OP_L1_LOSS]       = { "l1_loss",           F32,     _lp_loss_forward,         _lp_loss_backward,         IN0 | IN1, FALSE },
  [LP_OP_HUBER_LOSS]    = { "huber_loss",        F32,     _lp_loss_forward,         _lp_loss_backward,         IN0 | IN1, FALSE },
  [LP_OP_BCE_WITH_LOGITS] = { "bce_with_logits", F32,     _lp_loss_forward,         _lp_loss_backward,         IN0 | IN1, FALSE },
  [LP_OP_SUM]           = { "sum",               F32,     _lp_sum_forward,          _lp_sum_backward,          IN0,       FALSE },
  [LP_OP_MEAN]          = { "mean",              F32,     _lp_sum_forward,          _lp_sum_backward,          IN0,       FALSE },
  [LP_OP_MAX]           = { "max",               PASS,    _lp_extremum_forward,     _lp_extremum_backward,     IN0,       TRUE },
  [LP_OP_MIN]           = { "min",               PASS,    _lp_extremum_forward,     _lp_extremum_backward,     IN0,       TRUE },
  [LP_OP_ARGMAX]        = { "argmax",            PASS,    _lp_argmax_forward,       NULL },
  [LP_OP_NORM]          = { "norm",              F32,     _lp_norm_forward,         _lp_norm_backward,         IN0,       TRUE },
  [LP_OP_CUMSUM]        = { "cumsum",            F32,     _lp_cumsum_forward,       _lp_cumsum_backward,       NONE,      FALSE },
  [LP_OP_RESHAPE]       = { "reshape",           PASS,    _lp_reshape_forward,      _lp_reshape_backward,      NONE,      FALSE },
  [LP_OP_PERMUTE]       = { "permute",           PASS,    _lp_permute_forward,      _lp_permute_backward,      NONE,      FALSE },
  [LP_OP_EXPAND]        = { "expand",            PASS,    _lp_expand_forward,       _lp_expand_backward,       IN0,       FALSE },
  [LP_OP_NARROW]        = { "narrow",            PASS,    _lp_narrow_forward,       _lp_narrow_backward,       IN0,       FALSE },
  [LP_OP_CAT]           = { "cat",               PROMOTE, _lp_cat_forward,          _lp_cat_backward,          -1,        FALSE },
  [LP_OP_PAD]           = { "pad",               PASS,    _lp_pad_forward,          _lp_pad_backward,          IN0,       FALSE },
  [LP_OP_INDEX_SELECT]  = { "index_select",      PASS,    _lp_index_select_forward, _lp_index_select_backward, IN0 | IN1, FALSE },
  [LP_OP_GATHER]        = { "gather",            PASS,    _lp_gather_forward,       _lp_gather_backward,       IN0 | IN1, FALSE },
  [LP_OP_SCATTER_ADD]   = { "scatter_add",       PROMOTE, _lp_scatter_add_forward,  _lp_scatter_add_backward,  IN1,       FALSE },
  [LP_OP_TO_DTYPE]      = { "to_dtype",          PASS,    _lp_to_dtype_forward,     _lp_to_dtype_backward,     NONE,      FALSE },
  [LP_OP_COPY]          = { "copy",              PASS,    _lp_copy_forward,         _lp_copy_backward,         NONE,      FALSE },
};

gboolean
_lp_input_ok (LpTensor    *self,
              const char  *operation,
              GError     **error)
{
  if (G_LIKELY (self != NULL && LP_IS_TENSOR (self)))
    return TRUE;

  /* an operation before this one failed: its error stays */
  if (self == NULL && error != NULL && *error != NULL)
    return FALSE;
  if (self == NULL && error == NULL)
    return FALSE;

  g_critical ("lp_tensor_%s: the input is no tensor", operation);
  return FALSE;
}

static LpTensor *
run (LpOpId           op,
     LpTensor       **inputs,
     int              n_inputs,
     const LpOpArgs  *args,
     GError         **error)
{
  for (int i = 0; i < n_inputs; i++)
    if (!_lp_input_ok (inputs[i], _lp_ops[op].name, error))
      return NULL;

  return _lp_dispatch (&_lp_ops[op], inputs, n_inputs, args, error);
}

LpTensor *
_lp_run1 (LpOpId           op,
          LpTensor        *a,
          const LpOpArgs  *args,
          GError         **error)
{
  return run (op, &a, 1, args, error);
}

LpTensor *
_lp_run2 (LpOpId           op,
          LpTensor        *a,
          LpTensor        *b,
          const LpOpArgs  *args,
          GError         **error)
{
  LpTensor *inputs[] = { a, b };

  return run (op, inputs, 2, args, error);
}

LpTensor *
_lp_run3 (LpOpId           op,
          LpTensor        *a,
          LpTensor        *b,
          LpTensor        *c,
          const LpOpArgs  *args,
          GError         **error)
{
  LpTensor *inputs[] = { a, b, c };

  return run (op, inputs, 3, args, error);
}

gboolean
_lp_missing_kernel (const char  *operation,
                    LpTensor    *tensor,
                    GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "The device %s has no kernel for %s of %s",
               lp_device_get_name (tensor->storage->device), operation, lp_dtype_get_name (tensor->array.dtype));
  return FALSE;
}

void
_lp_shape_error (GError     **error,
                 const char  *operation,
                 const char  *problem,
                 LpTensor    *a,
                 LpTensor    *b)
{
  g_autoptr (LpShape) a_shape = lp_tensor_dup_shape (a);
  g_autofree char *a_text = lp_shape_to_string (a_shape);
  g_autoptr (LpShape) b_shape = b != NULL ? lp_tensor_dup_shape (b) : NULL;
  g_autofree char *b_text = b != NULL ? lp_shape_to_string (b_shape) : NULL;

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "%s: %s (got %s%s%s)", operation, problem, a_text, b != NULL ? " and " : "",
               b != NULL ? b_text : "");
}

gboolean
_lp_check_floating (const char  *operation,
                    LpTensor    *tensor,
                    GError     **error)
{
  if (tensor->array.scalar >= LP_SCALAR_F64 && tensor->array.scalar <= LP_SCALAR_BF16)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "%s needs f64, f32, f16 or bf16, not %s: convert it with to_dtype", operation,
               lp_dtype_get_name (tensor->array.dtype));
  return FALSE;
}

gboolean
_lp_check_native (const char  *operation,
                  LpTensor    *tensor,
                  GError     **error)
{
  if (tensor->array.scalar != LP_SCALAR_ENCODED)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "%s can't work on %s, which is stored in blocks: convert it with to_dtype",
               operation, lp_dtype_get_name (tensor->array.dtype));
  return FALSE;
}

LpDType *
_lp_promote (LpTensor *a,
             LpTensor *b)
{
  LpScalar x = a->array.scalar, y = b->array.scalar;
  gboolean x_float = x <= LP_SCALAR_BF16, y_float = y <= LP_SCALAR_BF16;

  if (x == y)
    return a->array.dtype;
  if (x_float != y_float)
    return x_float ? a->array.dtype : b->array.dtype;
  if ((a->array.n_dims == 0) != (b->array.n_dims == 0))
    return a->array.n_dims == 0 ? b->array.dtype : a->array.dtype;
  if (x_float && x >= LP_SCALAR_F16 && y >= LP_SCALAR_F16)
    return lp_dtype_f32 ();
  if ((x == LP_SCALAR_I8 && y == LP_SCALAR_U8) || (x == LP_SCALAR_U8 && y == LP_SCALAR_I8))
    return lp_dtype_i16 ();

  /* the scalars are listed from wide to narrow */
  return x < y ? a->array.dtype : b->array.dtype;
}

gboolean
_lp_broadcast_dims (const LpArray *a,
                    const LpArray *b,
                    gint64        *dims,
                    int           *n_dims)
{
  *n_dims = MAX (a->n_dims, b->n_dims);
  for (int i = 1; i <= *n_dims; i++)
    {
      gint64 x = i <= a->n_dims ? a->dims[a->n_dims - i] : 1;
      gint64 y = i <= b->n_dims ? b->dims[b->n_dims - i] : 1;

      if (x != y && x != 1 && y != 1)
        return FALSE;
      dims[*n_dims - i] = x == 1 ? y : x;
    }

  return TRUE;
}

LpArray
_lp_broadcast_array (const LpArray *array,
                     const gint64  *dims,
                     int            n_dims)
{
  LpArray result = *array;
  int shift = n_dims - array->n_dims;

  result.n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    {
      gboolean repeats = i < shift || (array->dims[i - shift] == 1 && dims[i] != 1);

      result.dims[i] = dims[i];
      result.strides[i] = repeats ? 0 : array->strides[i - shift];
    }

  return result;
}

LpTensor *
_lp_sum_to (LpTensor      *grad,
            const gint64  *dims,
            int            n_dims,
            GError       **error)
{
  g_autoptr (LpTensor) taken = grad;
  g_autoptr (LpTensor) sum = NULL;
  gint64 kept[LP_MAX_DIMS];
  LpArray array;
  int shift = grad->array.n_dims - n_dims;
  gboolean same = shift == 0;

  for (int i = 0; i < grad->array.n_dims; i++)
    {
      kept[i] = i < shift ? 1 : dims[i - shift];
      same = same && kept[i] == grad->array.dims[i];
    }
  if (same)
    return g_steal_pointer (&taken);

  sum = _lp_tensor_new (kept, grad->array.n_dims, grad->array.dtype, grad->storage->device, error);
  if (sum == NULL || !_lp_tensor_get_kernels (sum)->reduce (LP_REDUCE_SUM, &grad->array, &sum->array, error))
    return NULL;
  if (shift == 0)
    return g_steal_pointer (&sum);

  array = sum->array;
  array.n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    {
      array.dims[i] = sum->array.dims[i + shift];
      array.strides[i] = sum->array.strides[i + shift];
    }

  return _lp_tensor_new_view (sum->storage, &array);
}
