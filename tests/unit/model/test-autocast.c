/* Which dtype operations compute in under a mixed precision. */

#include <lp/lp.h>

typedef LpTensor *(* Unary) (LpTensor *self, GError **error);

/* The classes that autocast has for CUDA: an operation given f16 computes in f32 or stays; one given f32 stays or goes down. */
static void
test_classes (void)
{
  const struct { const char *name; Unary call; gboolean wide; } rows[] = {
    { "exp", lp_tensor_exp, TRUE }, { "log", lp_tensor_log, TRUE }, { "rsqrt", lp_tensor_rsqrt, TRUE },
    { "reciprocal", lp_tensor_reciprocal, TRUE }, { "relu", lp_tensor_relu, FALSE },
    { "silu", lp_tensor_silu, FALSE }, { "tanh", lp_tensor_tanh, FALSE }, { "sigmoid", lp_tensor_sigmoid, FALSE },
    { "abs", lp_tensor_abs, FALSE }, { "neg", lp_tensor_neg, FALSE }, { "sqrt", lp_tensor_sqrt, FALSE },
  };
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", NULL, NULL);
  g_autoptr (LpTensor) wide = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) low = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, lp_dtype_f16 (), NULL, NULL);
  g_autoptr (LpTensor) f64 = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, lp_dtype_f64 (), NULL, NULL);
  LpTensor *pair[] = { wide, low };
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpTensor) of_low = rows[i].call (low, &error);
      g_autoptr (LpTensor) of_wide = rows[i].call (wide, &error);
      g_autoptr (LpTensor) of_f64 = rows[i].call (f64, &error);

      g_assert_no_error (error);
      g_test_message ("%s", rows[i].name);
      g_assert_true (lp_tensor_get_dtype (of_low) == (rows[i].wide ? lp_dtype_f32 () : lp_dtype_f16 ()));
      g_assert_true (lp_tensor_get_dtype (of_wide) == lp_dtype_f32 ());
      g_assert_true (lp_tensor_get_dtype (of_f64) == lp_dtype_f64 ());
    }
  {
    g_autoptr (LpTensor) product = lp_tensor_matmul (wide, wide, &error);
    g_autoptr (LpTensor) linear = lp_tensor_linear (wide, wide, NULL, &error);
    g_autoptr (LpTensor) softmax = lp_tensor_softmax (low, 1, &error);
    g_autoptr (LpTensor) sum = lp_tensor_sum (low, NULL, 0, FALSE, &error);
    g_autoptr (LpTensor) loss = lp_tensor_mse_loss (low, low, LP_REDUCTION_MEAN, &error);
    g_autoptr (LpTensor) joined = lp_tensor_cat (pair, 2, 0, &error);
    g_autoptr (LpTensor) added = lp_tensor_add (low, wide, &error);
    g_autoptr (LpTensor) wider = lp_tensor_matmul (f64, f64, &error);

    g_assert_no_error (error);
    g_assert_true (lp_tensor_get_dtype (product) == lp_dtype_f16 ());
    g_assert_true (lp_tensor_get_dtype (linear) == lp_dtype_f16 ());
    g_assert_true (lp_tensor_get_dtype (softmax) == lp_dtype_f32 ());
    g_assert_true (lp_tensor_get_dtype (sum) == lp_dtype_f32 ());
    g_assert_true (lp_tensor_get_dtype (loss) == lp_dtype_f32 ());
    g_assert_true (lp_tensor_get_dtype (joined) == lp_dtype_f32 ());
    g_assert_true (lp_tensor_get_dtype (added) == lp_dtype_f32 ());
    g_assert_true (lp_tensor_get_dtype (wider) == lp_dtype_f64 ());
  }
  lp_precision_plugin_pop_scope (plugin);
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

  g_test_add_func ("/autocast/classes", test_classes);
  g_test_add_func ("/autocast/own-policy", test_own_policy);
  g_test_add_func ("/autocast/no-grad-region", test_no_grad_region);

  return g_test_run ();
}
