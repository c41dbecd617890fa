/* Which dtype operations compute in under a mixed precision. */

#include <math.h>

#include <lp/lp.h>

#include <lp/ops/lp-ops-private.h>

/* The classes of PyTorch's autocast for CUDA, which hold on all devices. One call per operation of the table: an operation in float32 is
 * widened, one in 16 bits is narrowed, one that promotes takes the widest of its inputs, and the others leave them alone. */

#define CALL(name, expression) \
  static LpTensor * \
  call_##name (LpTensor *x, GError **error) \
  { \
    return expression; \
  }

static LpTensor *
make (LpDType       *dtype,
      const gint64  *dims,
      gsize          n_dims)
{
  /* more digits than 16 bits have */
  return lp_tensor_full (dims, n_dims, 0.7001, dtype, NULL, NULL);
}

/* An index of [2, 2] for gather and its kind, or of [2]. */
static LpTensor *
make_index (gsize n_dims)
{
  return lp_tensor_zeros ((gint64[]) { 2, 2 }, n_dims, lp_dtype_i64 (), NULL, NULL);
}

static LpTensor *
call_cross_entropy (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) targets = make_index (1);

  return lp_tensor_cross_entropy (x, targets, error);
}

static LpTensor *
call_index_select (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) index = make_index (1);

  return lp_tensor_index_select (x, 0, index, error);
}

static LpTensor *
call_gather (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) index = make_index (2);

  return lp_tensor_gather (x, 0, index, error);
}

static LpTensor *
call_scatter_add (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) index = make_index (2);

  return lp_tensor_scatter_add (x, 0, index, x, error);
}

static LpTensor *
call_where (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) condition = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, lp_dtype_bool (), NULL, NULL);

  return lp_tensor_where (condition, x, x, error);
}

/* Images [1, 1, 2, 2]; the numbers of norms are float32, as they are stored. */
static LpTensor *
dup_image (LpTensor *x)
{
  return make (lp_tensor_get_dtype (x), (gint64[]) { 1, 1, 2, 2 }, 4);
}

static LpTensor *
call_conv2d (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) image = dup_image (x);

  return lp_tensor_conv2d (image, image, NULL, 1, 0, 1, 1, error);
}

static LpTensor *
call_max_pool2d (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) image = dup_image (x);

  return lp_tensor_max_pool2d (image, 2, 2, 0, error);
}

static LpTensor *
call_avg_pool2d (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) image = dup_image (x);

  return lp_tensor_avg_pool2d (image, 2, 2, 0, error);
}

static LpTensor *
call_batch_norm (LpTensor *x, GError **error)
{
  g_autoptr (LpTensor) image = dup_image (x);
  g_autoptr (LpTensor) one = make (lp_dtype_f32 (), (gint64[]) { 1 }, 1);
  g_autoptr (LpTensor) mean = lp_tensor_copy (one, NULL);
  g_autoptr (LpTensor) variance = lp_tensor_copy (one, NULL);

  return lp_tensor_batch_norm (image, one, one, mean, variance, FALSE, 0.1, 1e-5, error);
}

static const int swapped[] = { 1, 0 };
static const gint64 flat[] = { 4 }, wider[] = { 2, 2, 2 };

CALL (gelu_tanh, lp_tensor_gelu (x, TRUE, error))
CALL (gelu, lp_tensor_gelu (x, FALSE, error))
CALL (pow, lp_tensor_pow (x, 3, error))
CALL (scale, lp_tensor_scale (x, 2, error))
CALL (offset, lp_tensor_offset (x, 2, error))
CALL (clamp_max, lp_tensor_clamp (x, -INFINITY, 0.5, error))
CALL (clamp_min, lp_tensor_clamp (x, 0.5, INFINITY, error))
CALL (add, lp_tensor_add (x, x, error))
CALL (sub, lp_tensor_sub (x, x, error))
CALL (mul, lp_tensor_mul (x, x, error))
CALL (div, lp_tensor_div (x, x, error))
CALL (maximum, lp_tensor_maximum (x, x, error))
CALL (minimum, lp_tensor_minimum (x, x, error))
CALL (linear, lp_tensor_linear (x, x, NULL, error))
CALL (matmul, lp_tensor_matmul (x, x, error))
CALL (dropout, lp_tensor_dropout (x, 0.5, TRUE, error))
CALL (softmax, lp_tensor_softmax (x, 1, error))
CALL (log_softmax, lp_tensor_log_softmax (x, 1, error))
CALL (mse_loss, lp_tensor_mse_loss (x, x, LP_REDUCTION_MEAN, error))
CALL (l1_loss, lp_tensor_l1_loss (x, x, LP_REDUCTION_MEAN, error))
CALL (huber_loss, lp_tensor_huber_loss (x, x, 1, LP_REDUCTION_MEAN, error))
CALL (bce_with_logits, lp_tensor_bce_with_logits (x, x, LP_REDUCTION_MEAN, error))
CALL (sum, lp_tensor_sum (x, NULL, 0, FALSE, error))
CALL (mean, lp_tensor_mean (x, NULL, 0, FALSE, error))
CALL (max, lp_tensor_max (x, NULL, 0, FALSE, error))
CALL (min, lp_tensor_min (x, NULL, 0, FALSE, error))
CALL (cumsum, lp_tensor_cumsum (x, 0, error))
CALL (reshape, lp_tensor_reshape (x, flat, 1, error))
CALL (permute, lp_tensor_permute (x, swapped, 2, error))
CALL (expand, lp_tensor_expand (x, wider, 3, error))
CALL (narrow, lp_tensor_narrow (x, 0, 0, 1, error))
CALL (cat, lp_tensor_cat ((LpTensor *[]) { x, x }, 2, 0, error))
CALL (pad, lp_tensor_pad (x, 0, 1, 1, 0, error))

typedef LpTensor *(* Call) (LpTensor *x, GError **error);

typedef struct
{
  const char     *name;
  LpAutocastClass class;
  Call            call;     /* NULL: the result says nothing of what was computed in */
} Row;

#define LOW LP_AUTOCAST_LOW_PRECISION
#define F32 LP_AUTOCAST_FLOAT32
#define PROMOTE LP_AUTOCAST_PROMOTE
#define PASS LP_AUTOCAST_PASSTHROUGH

static const Row rows[] = {
  { "linear", LOW, call_linear }, { "matmul", LOW, call_matmul }, { "conv2d", LOW, call_conv2d },
  { "square", F32, lp_tensor_square }, { "exp", F32, lp_tensor_exp }, { "log", F32, lp_tensor_log }, { "rsqrt", F32, lp_tensor_rsqrt },
  { "reciprocal", F32, lp_tensor_reciprocal }, { "pow", F32, call_pow }, { "softmax", F32, call_softmax },
  { "log_softmax", F32, call_log_softmax }, { "cross_entropy", F32, call_cross_entropy }, { "mse_loss", F32, call_mse_loss },
  { "l1_loss", F32, call_l1_loss }, { "huber_loss", F32, call_huber_loss }, { "bce_with_logits", F32, call_bce_with_logits },
  { "sum", F32, call_sum }, { "mean", F32, call_mean }, { "norm", F32, lp_tensor_norm }, { "cumsum", F32, call_cumsum },
  { "cat", PROMOTE, call_cat }, { "scatter_add", PROMOTE, call_scatter_add },
  { "sign", PASS, lp_tensor_sign }, { "round", PASS, lp_tensor_round }, { "floor", PASS, lp_tensor_floor }, { "ceil", PASS, lp_tensor_ceil },
  { "trunc", PASS, lp_tensor_trunc }, { "neg", PASS, lp_tensor_neg }, { "abs", PASS, lp_tensor_abs }, { "relu", PASS, lp_tensor_relu }, { "gelu_tanh", PASS, call_gelu_tanh },
  { "gelu", PASS, call_gelu }, { "silu", PASS, lp_tensor_silu }, { "tanh", PASS, lp_tensor_tanh }, { "sigmoid", PASS, lp_tensor_sigmoid },
  { "sqrt", PASS, lp_tensor_sqrt }, { "scale", PASS, call_scale }, { "offset", PASS, call_offset }, { "clamp_max", PASS, call_clamp_max },
  { "clamp_min", PASS, call_clamp_min }, { "add", PASS, call_add }, { "sub", PASS, call_sub }, { "mul", PASS, call_mul },
  { "div", PASS, call_div }, { "maximum", PASS, call_maximum }, { "minimum", PASS, call_minimum }, { "where", PASS, call_where },
  { "max_pool2d", PASS, call_max_pool2d }, { "avg_pool2d", PASS, call_avg_pool2d }, { "batch_norm", PASS, call_batch_norm },
  { "dropout", PASS, call_dropout }, { "max", PASS, call_max }, { "min", PASS, call_min }, { "reshape", PASS, call_reshape },
  { "permute", PASS, call_permute }, { "expand", PASS, call_expand }, { "narrow", PASS, call_narrow }, { "pad", PASS, call_pad },
  { "index_select", PASS, call_index_select }, { "gather", PASS, call_gather }, { "copy", PASS, lp_tensor_copy },
  /* truth values, integers, and what is asked for by name */
  { "is_finite", PASS, NULL }, { "equal", PASS, NULL }, { "not_equal", PASS, NULL }, { "less", PASS, NULL }, { "less_equal", PASS, NULL },
  { "greater", PASS, NULL }, { "greater_equal", PASS, NULL }, { "argmax", PASS, NULL }, { "to_dtype", PASS, NULL },
};

static const Row *
find_row (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    if (g_str_equal (rows[i].name, name))
      return &rows[i];

  g_error ("The operation %s has no row here", name);
}

/* @row of @input in @computed, and nothing else, gives @output, bit for bit. */
static void
check_values (const Row *row,
              LpTensor  *input,
              LpDType   *computed,
              LpTensor  *output)
{
  g_autoptr (LpComputeScope) plain = lp_compute_scope_new (NULL, NULL);
  g_autoptr (LpTensor) cast = lp_tensor_to_dtype (input, computed, NULL);
  g_autoptr (LpTensor) expected = NULL;
  g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (output, NULL);
  g_autoptr (GBytes) expected_bytes = NULL;

  lp_compute_scope_push (plain);
  expected = row->call (cast, NULL);
  lp_compute_scope_pop ();
  expected_bytes = lp_tensor_dup_bytes (expected, NULL);
  g_assert_true (g_bytes_equal (bytes, expected_bytes));
}

static void
check_call (const Row *row,
            LpTensor  *input,
            LpDType   *computed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) output = row->call (input, &error);

  g_assert_no_error (error);
  g_test_message ("%s of %s", row->name, lp_dtype_get_name (lp_tensor_get_dtype (input)));
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (output)), ==, lp_dtype_get_name (computed));
  if (!g_str_equal (row->name, "dropout"))
    check_values (row, input, computed, output);
}

static void
test_classes (gconstpointer name)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new (name, NULL, NULL);
  LpDType *narrow = g_str_equal (name, "16-mixed") ? lp_dtype_f16 () : lp_dtype_bf16 ();
  const gint64 dims[] = { 2, 2 };
  g_autoptr (LpTensor) wide = make (lp_dtype_f32 (), dims, 2);
  g_autoptr (LpTensor) low = make (narrow, dims, 2);
  g_autoptr (LpTensor) f64 = make (lp_dtype_f64 (), dims, 2);

  g_assert_true (lp_precision_plugin_push_scope (plugin, NULL));
  for (guint i = 0; i < LP_N_OPS; i++)
    {
      const Row *row = find_row (_lp_ops[i].name);

      g_assert_cmpint (_lp_ops[i].autocast, ==, row->class);
      if (row->call == NULL)
        continue;
      check_call (row, low, row->class == F32 ? lp_dtype_f32 () : narrow);
      check_call (row, wide, row->class == LOW ? narrow : lp_dtype_f32 ());
      /* never touched; batch norm has its numbers in f32 here */
      if (!g_str_equal (row->name, "batch_norm"))
        check_call (row, f64, lp_dtype_f64 ());
    }
  lp_precision_plugin_pop_scope (plugin);
}

/* The widest of the inputs, where they differ; f16 and bf16 have nothing in common but f32. */
static void
test_promotion (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", NULL, NULL);
  const gint64 dims[] = { 2, 2 };
  g_autoptr (LpTensor) f32 = make (lp_dtype_f32 (), dims, 2);
  g_autoptr (LpTensor) f16 = make (lp_dtype_f16 (), dims, 2);
  g_autoptr (LpTensor) bf16 = make (lp_dtype_bf16 (), dims, 2);
  g_autoptr (LpTensor) index = make_index (2);
  LpTensor *pairs[][2] = { { f32, f16 }, { f16, f32 }, { f16, bf16 }, { bf16, f32 } };

  g_assert_true (lp_precision_plugin_push_scope (plugin, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensor) joined = lp_tensor_cat (pairs[i], 2, 0, &error);
      g_autoptr (LpTensor) scattered = lp_tensor_scatter_add (pairs[i][0], 0, index, pairs[i][1], &error);
      g_autoptr (LpTensor) added = lp_tensor_add (pairs[i][0], pairs[i][1], &error);

      g_assert_no_error (error);
      g_assert_true (lp_tensor_get_dtype (joined) == lp_dtype_f32 ());
      g_assert_true (lp_tensor_get_dtype (scattered) == lp_dtype_f32 ());
      g_assert_true (lp_tensor_get_dtype (added) == lp_dtype_f32 ());
    }
  lp_precision_plugin_pop_scope (plugin);
}

/* What differs only beyond 16 bits differs; an explicit dtype wins. */
static void
test_left_alone (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("bf16-mixed", NULL, NULL);
  const double values[] = { 1, 1.0001 };
  g_autoptr (LpTensor) x = lp_tensor_new_from_doubles (values, 2, (gint64[]) { 2 }, 1, NULL, NULL);
  g_autoptr (LpTensor) one = lp_tensor_ones ((gint64[]) { 2 }, 1, NULL, NULL, NULL);
  g_autoptr (LpTensor) huge = lp_tensor_full ((gint64[]) { 2 }, 1, 3.4e38, NULL, NULL, NULL);
  const struct { LpTensor *(* call) (LpTensor *, LpTensor *, GError **); double expected; } comparisons[] = {
    { lp_tensor_equal, 0 }, { lp_tensor_not_equal, 1 }, { lp_tensor_less, 0 }, { lp_tensor_less_equal, 0 },
    { lp_tensor_greater, 1 }, { lp_tensor_greater_equal, 1 },
  };
  g_autoptr (LpTensor) largest = NULL;
  g_autoptr (LpTensor) finite = NULL;
  g_autoptr (LpTensor) asked = NULL;

  g_assert_true (lp_precision_plugin_push_scope (plugin, NULL));
  for (guint i = 0; i < G_N_ELEMENTS (comparisons); i++)
    {
      g_autoptr (LpTensor) result = comparisons[i].call (x, one, NULL);
      g_autoptr (LpTensor) second = lp_tensor_select (result, 0, 1, NULL);

      g_assert_cmpfloat (lp_tensor_get_item (second, NULL), ==, comparisons[i].expected);
    }
  largest = lp_tensor_argmax (x, 0, NULL);
  finite = lp_tensor_is_finite (huge, NULL);
  asked = lp_tensor_to_dtype (x, lp_dtype_f16 (), NULL);
  lp_precision_plugin_pop_scope (plugin);

  g_assert_cmpfloat (lp_tensor_get_item (largest, NULL), ==, 1);
  {
    g_autoptr (LpTensor) first = lp_tensor_select (finite, 0, 0, NULL);

    g_assert_cmpfloat (lp_tensor_get_item (first, NULL), ==, 1);
  }
  g_assert_true (lp_tensor_get_dtype (asked) == lp_dtype_f16 ());
}

/* A mixed precision of somebody's own that moves operations to other classes. */
typedef struct { LpMixedPrecisionPlugin parent_instance; } TestMixed;
typedef struct { LpMixedPrecisionPluginClass parent_class; } TestMixedClass;

static GType test_mixed_get_type (void);

G_DEFINE_TYPE (TestMixed, test_mixed, LP_TYPE_MIXED_PRECISION_PLUGIN)

static LpCastPolicy *
test_mixed_get_cast_policy (LpPrecisionPlugin  *plugin,
                            GError            **error)
{
  LpCastPolicy *policy = LP_PRECISION_PLUGIN_CLASS (test_mixed_parent_class)->get_cast_policy (plugin, error);

  lp_cast_policy_set_class (policy, "linear", LP_AUTOCAST_FLOAT32);
  lp_cast_policy_set_class (policy, "softmax", LP_AUTOCAST_LOW_PRECISION);

  return policy;
}

static void
test_mixed_class_init (TestMixedClass *klass)
{
  LP_PRECISION_PLUGIN_CLASS (klass)->get_cast_policy = test_mixed_get_cast_policy;
}

static void
test_mixed_init (TestMixed *self)
{
}

static void
test_own_policy (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_object_new (test_mixed_get_type (), "precision", "bf16-mixed", NULL);
  g_autoptr (LpPrecisionPlugin) plain = lp_mixed_precision_plugin_new ("bf16-mixed", NULL, NULL);
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, lp_dtype_f32 (), NULL, NULL);
  LpPrecisionPlugin *const plugins[] = { plugin, plain };

  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) linear = NULL;
      g_autoptr (LpTensor) softmax = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (lp_precision_plugin_push_scope (plugins[i], &error));
      linear = lp_tensor_linear (x, x, NULL, &error);
      softmax = lp_tensor_softmax (x, 1, &error);
      lp_precision_plugin_pop_scope (plugins[i]);
      g_assert_no_error (error);
      g_assert_true (lp_tensor_get_dtype (linear) == (i == 0 ? lp_dtype_f32 () : lp_dtype_bf16 ()));
      g_assert_true (lp_tensor_get_dtype (softmax) == (i == 0 ? lp_dtype_bf16 () : lp_dtype_f32 ()));
    }
}

/* What a region without gradients cast first is no obstacle to a gradient afterwards. */
static void
test_no_grad_region (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", NULL, NULL);
  g_autoptr (LpModule) layer = lp_linear_new (2, 2);
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 2 }, 2, NULL, NULL, NULL);
  g_autoptr (LpTensor) unrecorded = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) grad = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  lp_grad_mode_push (FALSE);
  unrecorded = lp_module_forward (layer, x, &error);
  lp_grad_mode_pop ();
  y = lp_module_forward (layer, x, &error);
  loss = lp_tensor_sum (y, NULL, 0, FALSE, &error);
  lp_precision_plugin_pop_scope (plugin);
  g_assert_true (lp_tensor_backward (loss, NULL, &error));
  g_assert_no_error (error);
  grad = lp_tensor_dup_grad (lp_linear_get_weight (LP_LINEAR (layer)));
  g_assert_nonnull (grad);
  g_assert_true (lp_tensor_get_dtype (grad) == lp_dtype_f32 ());
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/autocast/classes/16-mixed", "16-mixed", test_classes);
  g_test_add_data_func ("/autocast/classes/bf16-mixed", "bf16-mixed", test_classes);
  g_test_add_func ("/autocast/promotion", test_promotion);
  g_test_add_func ("/autocast/left-alone", test_left_alone);
  g_test_add_func ("/autocast/own-policy", test_own_policy);
  g_test_add_func ("/autocast/no-grad-region", test_no_grad_region);

  return g_test_run ();
}
