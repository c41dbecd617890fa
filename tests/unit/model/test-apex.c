/* The optimization levels of apex. */

#include <math.h>

#include <lp/lp.h>

static LpPrecisionPlugin *
create (const char *name,
        GVariant   *config)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_precision_registry_create (lp_precision_registry_get_default (), name, config, &error);

  g_assert_no_error (error);

  return plugin;
}

static void
assert_reports (LpPrecisionPlugin *plugin,
                const char        *precision,
                const char        *level)
{
  g_autoptr (LpPrecisionState) state = lp_precision_plugin_dup_state (plugin);

  g_assert_cmpstr (lp_precision_state_get_precision (state), ==, precision);
  g_assert_cmpstr (lp_precision_state_get_amp_backend (state), ==, "apex");
  g_assert_cmpstr (lp_precision_state_get_amp_level (state), ==, level);
}

static const struct
{
  const char *name, *level, *precision, *storage, *compute, *gradient, *master, *norm;
  double      scale;
} rows[] = {
  { "apex-O0", "O0", "32-true", "f32", "f32", "f32", "f32", "f32", 1 },
  { "apex-O1", "O1", "16-mixed", "f32", "f16", "f32", "f32", "f32", 65536 },
  { "apex-O2", "O2", "16-mixed", "f16", "f16", "f32", "f32", "f32", 65536 },
  { "apex-O3", "O3", "16-true", "f16", "f16", "f16", "f16", "f16", 1 },
};

static void
test_levels (void)
{
  g_autoptr (LpPrecisionPlugin) alias = create ("apex", NULL);
  g_autoptr (LpPrecisionPlugin) nothing = g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, NULL);
  g_autoptr (LpPrecisionPlugin) plain = g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, "precision", "16-true", NULL);

  /* from construction on, before anything is initialised */
  assert_reports (alias, "16-mixed", "O2");
  assert_reports (nothing, "16-mixed", "O2");
  assert_reports (plain, "16-true", "O3");

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (rows[i].name, NULL);
      g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);

      assert_reports (plugin, rows[i].precision, rows[i].level);
      g_assert_cmpstr (lp_precision_traits_get_storage (traits), ==, rows[i].storage);
      g_assert_cmpstr (lp_precision_traits_get_compute (traits), ==, rows[i].compute);
      g_assert_cmpstr (lp_precision_traits_get_gradient (traits), ==, rows[i].gradient);
      g_assert_cmpstr (lp_precision_traits_get_master (traits), ==, rows[i].master);
      g_assert_cmpstr (lp_precision_traits_get_reduce (traits), ==, rows[i].gradient);
    }
}

static LpModule *
make_net (void)
{
  LpModule *net = lp_sequential_new ();
  LpModule *layers[] = {
    lp_conv2d_new_full (1, 4, 3, 1, 1, 1, 1, TRUE), lp_batch_norm2d_new (4), lp_relu_new (), lp_flatten_new (),
    lp_linear_new (4 * 4 * 4, 8)
  };

  for (guint i = 0; i < G_N_ELEMENTS (layers); i++)
    lp_sequential_append (LP_SEQUENTIAL (net), layers[i]);

  return net;
}

static const char *
dtype_of (LpModule   *net,
          const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (net);

  return lp_dtype_get_name (lp_tensor_get_dtype (lp_tensor_dict_lookup (state, path)));
}

typedef struct
{
  double       first, last;    /* loss */
  gint64       master_bytes;
  const char  *stored, *norm, *running, *grad;
  double       grad_max;
  LpOptimizer *optimizer;
} Outcome;

/* 40 steps in the order of a trainer, with clipping. */
static Outcome
train (LpPrecisionPlugin *plugin)
{
  g_autoptr (LpModule) net = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) optimizers = g_ptr_array_new ();
  g_autoptr (LpTensor) data = NULL;
  g_autoptr (LpTensor) targets = lp_tensor_arange (0, 8, 1, lp_dtype_i64 (), NULL, NULL);
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (LpTensor) grad = NULL;
  g_autofree double *values = NULL;
  g_autoptr (GError) error = NULL;
  Outcome outcome = { 0 };
  LpOptimizer *optimizer;
  gsize n;

  lp_seed_everything (1);
  net = make_net ();
  data = lp_tensor_normal ((gint64[]) { 8, 1, 4, 4 }, 4, 0, 1, lp_dtype_f32 (), NULL, NULL);
  lp_precision_context_set_module (context, net);
  g_assert_true (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
  parameters = lp_module_dup_parameters (net);
  optimizer = lp_adamw_new (parameters, 1e-2);
  g_ptr_array_add (optimizers, optimizer);
  g_assert_true (lp_precision_plugin_convert_optimizer (plugin, optimizer, &error));

  for (int i = 0; i < 40; i++)
    {
      g_autoptr (LpTensor) x = lp_precision_plugin_convert_input (plugin, data, &error);
      g_autoptr (LpTensor) y = NULL;
      g_autoptr (LpTensor) loss = NULL;
      g_autoptr (LpTensor) scaled = NULL;

      g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
      y = lp_module_forward (net, x, &error);
      loss = lp_tensor_cross_entropy (y, targets, &error);
      lp_precision_plugin_pop_scope (plugin);
      g_assert_true (lp_optimizer_zero_grad (optimizer, &error));
      scaled = lp_precision_plugin_scale_loss (plugin, loss, &error);
      g_assert_true (lp_precision_plugin_backward (plugin, scaled, optimizers, &error));
      g_assert_true (lp_precision_plugin_unscale_gradients (plugin, optimizer, &error));
      g_assert_true (lp_precision_plugin_clip_gradients (plugin, optimizer, 1, LP_CLIP_NORM, &error));
      g_assert_cmpint (lp_precision_plugin_optimizer_step (plugin, optimizer, NULL, &error), !=, LP_STEP_FAILED);
      g_assert_true (lp_precision_plugin_end_step (plugin, &error));
      g_assert_no_error (error);
      outcome.last = lp_tensor_get_item (loss, NULL);
      if (i == 0)
        outcome.first = outcome.last;
    }

  outcome.master_bytes = lp_optimizer_get_master_bytes (optimizer);
  outcome.stored = dtype_of (net, "4.weight");
  outcome.norm = dtype_of (net, "1.weight");
  outcome.running = dtype_of (net, "1.running_mean");
  grad = lp_tensor_dup_grad (g_ptr_array_index (parameters, parameters->len - 1));
  outcome.grad = lp_dtype_get_name (lp_tensor_get_dtype (grad));
  values = lp_tensor_dup_doubles (grad, &n, NULL);
  for (gsize i = 0; i < n; i++)
    outcome.grad_max = MAX (outcome.grad_max, fabs (values[i]));
  outcome.optimizer = optimizer;
  g_assert_true (lp_precision_plugin_detach (plugin, &error));

  return outcome;
}

static void
test_training (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (rows[i].name, NULL);
      Outcome outcome = train (plugin);
      gboolean masters = g_str_equal (rows[i].level, "O2");

      g_test_message ("%s: %g to %g", rows[i].name, outcome.first, outcome.last);
      g_assert_cmpfloat (outcome.last, <, 0.2);
      g_assert_cmpstr (outcome.stored, ==, rows[i].storage);
      g_assert_cmpstr (outcome.norm, ==, rows[i].norm);
      g_assert_cmpstr (outcome.running, ==, rows[i].norm);
      g_assert_cmpstr (outcome.grad, ==, rows[i].gradient);
      /* conv 36 + 4, linear 512 + 8; the norm is its own master */
      g_assert_cmpint (outcome.master_bytes, ==, masters ? 4 * 560 : 0);
      /* true values */
      g_assert_cmpfloat (outcome.grad_max, <, 2);
      g_object_unref (outcome.optimizer);
    }
}

static GVariant *
config (const char *name,
        GVariant   *value)
{
  GVariantDict dict = G_VARIANT_DICT_INIT (NULL);

  g_variant_dict_insert_value (&dict, name, value);

  return g_variant_dict_end (&dict);
}

static void
test_overrides (void)
{
  g_autoptr (LpPrecisionPlugin) bare = create ("apex-O2", config ("master-weights", g_variant_new_string ("off")));
  g_autoptr (LpPrecisionPlugin) norms = create ("apex-O2", config ("keep-batchnorm-fp32", g_variant_new_string ("off")));
  g_autoptr (LpPrecisionPlugin) fixed = create ("apex-O2", config ("loss-scale", g_variant_new_string ("128")));
  g_autoptr (LpPrecisionPlugin) masters = create ("apex-O3", config ("master-weights", g_variant_new_string ("on")));
  g_autoptr (LpPrecisionPlugin) dynamic = create ("apex-O3", config ("loss-scale", g_variant_new_string ("dynamic")));
  g_autoptr (LpTensor) loss = lp_tensor_scalar (3, NULL, NULL, NULL);
  g_autoptr (LpTensor) scaled = NULL;
  Outcome outcome;

  outcome = train (bare);
  g_assert_cmpint (outcome.master_bytes, ==, 0);
  g_assert_cmpstr (outcome.grad, ==, "f16");
  g_assert_cmpfloat (outcome.grad_max, <, 2);
  g_assert_cmpfloat (outcome.last, <, 0.5);
  g_object_unref (outcome.optimizer);

  outcome = train (norms);
  g_assert_cmpstr (outcome.norm, ==, "f16");
  g_object_unref (outcome.optimizer);

  g_assert_null (lp_apex_mixed_precision_plugin_get_scaler (LP_APEX_MIXED_PRECISION_PLUGIN (fixed)));
  scaled = lp_precision_plugin_scale_loss (fixed, loss, NULL);
  g_assert_cmpfloat (lp_tensor_get_item (scaled, NULL), ==, 384);
  outcome = train (fixed);
  g_assert_cmpfloat (outcome.last, <, 0.2);
  g_assert_cmpfloat (outcome.grad_max, <, 2);
  g_object_unref (outcome.optimizer);

  outcome = train (masters);
  g_assert_cmpint (outcome.master_bytes, ==, 4 * 568);
  g_object_unref (outcome.optimizer);

  g_assert_nonnull (lp_apex_mixed_precision_plugin_get_scaler (LP_APEX_MIXED_PRECISION_PLUGIN (dynamic)));
  outcome = train (dynamic);
  g_assert_cmpfloat (outcome.grad_max, <, 2);
  g_object_unref (outcome.optimizer);
}

/* What goes into a step and what comes out of it; weights that were in another dtype. */
static void
test_conversions (void)
{
  static const struct { const char *name, *input; } levels[] = {
    { "apex-O0", "f32" }, { "apex-O1", "f32" }, { "apex-O2", "f16" }, { "apex-O3", "f16" },
  };
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, NULL, NULL, NULL);
  g_autoptr (LpTensor) low = lp_tensor_to_dtype (x, lp_dtype_f16 (), NULL);
  g_autoptr (LpPrecisionPlugin) full = create ("apex-O0", NULL);
  g_autoptr (LpModule) layer = lp_linear_new (2, 2);

  for (guint i = 0; i < G_N_ELEMENTS (levels); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (levels[i].name, NULL);
      g_autoptr (LpTensor) input = lp_precision_plugin_convert_input (plugin, x, NULL);
      g_autoptr (LpTensor) output = lp_precision_plugin_convert_output (plugin, low, NULL);

      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (input)), ==, levels[i].input);
      g_assert_true (lp_tensor_get_dtype (output) == lp_dtype_f32 ());
    }

  g_assert_true (lp_module_to_dtype (layer, lp_dtype_f16 (), NULL));
  g_assert_true (lp_precision_plugin_convert_module (full, layer, NULL));
  g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (layer))) == lp_dtype_f32 ());
}

/* A loss scale that never changes: multiplied in float32, and away from the gradients again. */
static void
test_static_scale (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = create ("apex-O2", config ("loss-scale", g_variant_new_string ("1024")));
  g_autoptr (LpTensor) parameter = lp_tensor_ones ((gint64[]) { 1 }, 1, NULL, NULL, NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (GPtrArray) optimizers = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpTensor) half = lp_tensor_scalar (100, lp_dtype_f16 (), NULL, NULL);
  g_autoptr (LpTensor) wide = lp_precision_plugin_scale_loss (plugin, half, NULL);
  g_autoptr (LpTensor) loss = NULL, scaled = NULL, grad = NULL;

  /* beyond float16 */
  g_assert_cmpfloat (lp_tensor_get_item (wide, NULL), ==, 102400);

  lp_tensor_set_requires_grad (parameter, TRUE);
  g_ptr_array_add (parameters, parameter);
  optimizer = lp_sgd_new (parameters, 0.5);
  g_ptr_array_add (optimizers, optimizer);
  loss = lp_tensor_sum (parameter, NULL, 0, FALSE, NULL);
  scaled = lp_precision_plugin_scale_loss (plugin, loss, NULL);
  g_assert_true (lp_precision_plugin_backward (plugin, scaled, optimizers, NULL));
  g_assert_true (lp_precision_plugin_unscale_gradients (plugin, optimizer, NULL));
  grad = lp_tensor_dup_grad (parameter);
  g_assert_cmpfloat (lp_tensor_get_item (grad, NULL), ==, 1);
  g_assert_cmpint (lp_precision_plugin_optimizer_step (plugin, optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
  g_assert_cmpfloat (lp_tensor_get_item (parameter, NULL), ==, 0.5);
}

static void
test_scaler (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (128, 2, 0.5, 10, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) given = g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, "scaler", scaler, NULL);
  g_autoptr (LpPrecisionPlugin) pure =
    g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, "amp-level", "O3", "scaler", scaler, NULL);
  g_autoptr (LpPrecisionPlugin) own = create ("apex-O1", NULL);
  g_autoptr (LpTensor) loss = lp_tensor_scalar (3, NULL, NULL, NULL);
  g_autoptr (LpTensor) scaled = NULL;
  g_autoptr (LpState) state = NULL;
  g_autoptr (GVariant) scale = NULL;
  LpGradScaler *made;

  g_assert_true (lp_apex_mixed_precision_plugin_get_scaler (LP_APEX_MIXED_PRECISION_PLUGIN (given)) == scaler);
  state = lp_precision_plugin_save_state (given, NULL);
  scale = lp_state_dup_value (state, "scale");
  g_assert_cmpfloat (g_variant_get_double (scale), ==, 128);

  /* also where the level has none */
  g_assert_true (lp_apex_mixed_precision_plugin_get_scaler (LP_APEX_MIXED_PRECISION_PLUGIN (pure)) == scaler);
  scaled = lp_precision_plugin_scale_loss (pure, loss, NULL);
  g_assert_cmpfloat (lp_tensor_get_item (scaled, NULL), ==, 384);

  made = lp_apex_mixed_precision_plugin_get_scaler (LP_APEX_MIXED_PRECISION_PLUGIN (own));
  g_assert_cmpfloat (lp_grad_scaler_get_scale (made), ==, 65536);
  g_assert_cmpfloat (lp_grad_scaler_get_max_scale (made), ==, 0x1p24);
  g_assert_cmpint (lp_grad_scaler_get_growth_interval (made), ==, 2000);
}

static void
assert_refused (int         code,
                const char *mentions,
                const char *first_property,
                ...)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GObject) plugin = NULL;
  va_list arguments;

  va_start (arguments, first_property);
  plugin = g_initable_new_valist (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, first_property, arguments, NULL, &error);
  va_end (arguments);
  g_assert_null (plugin);
  g_assert_error (error, LP_PRECISION_ERROR, code);
  g_assert_nonnull (strstr (error->message, mentions));
}

static void
test_refusals (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (GError) error = NULL;

  assert_refused (LP_PRECISION_ERROR_BAD_LEVEL, "O4", "amp-level", "O4", NULL);
  assert_refused (LP_PRECISION_ERROR_BAD_LEVEL, "o2", "amp-level", "o2", NULL);
  assert_refused (LP_PRECISION_ERROR_UNSUPPORTED, "bf16-mixed", "precision", "bf16-mixed", NULL);
  assert_refused (LP_PRECISION_ERROR_UNSUPPORTED, "bf16-true", "precision", "bf16-true", "amp-level", "O2", NULL);
  assert_refused (LP_PRECISION_ERROR_UNSUPPORTED, "native", "amp-backend", "native", NULL);
  assert_refused (LP_PRECISION_ERROR_UNSUPPORTED, "16-true", "precision", "16-true", "amp-level", "O2", NULL);
  assert_refused (LP_PRECISION_ERROR_UNSUPPORTED, "64-true", "precision", "64-true", NULL);
  assert_refused (LP_PRECISION_ERROR_CONFLICT, "master-weights", "amp-level", "O1", "master-weights",
                  LP_APEX_OVERRIDE_ON, NULL);
  assert_refused (LP_PRECISION_ERROR_CONFLICT, "keep-batchnorm-fp32", "amp-level", "O1", "keep-batchnorm-fp32",
                  LP_APEX_OVERRIDE_OFF, NULL);
  assert_refused (LP_PRECISION_ERROR_BAD_SCALER, "often", "loss-scale", "often", NULL);
  assert_refused (LP_PRECISION_ERROR_BAD_SCALER, "-1", "loss-scale", "-1", NULL);
  assert_refused (LP_PRECISION_ERROR_CONFLICT, "scaler", "loss-scale", "128", "scaler", scaler, NULL);

  /* the same faults, by name */
  g_assert_null (lp_precision_registry_create (lp_precision_registry_get_default (), "apex-O2",
                                               config ("amp-level", g_variant_new_string ("O9")), &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_LEVEL);
  g_clear_error (&error);
  g_assert_null (lp_precision_registry_create (lp_precision_registry_get_default (), "16-mixed",
                                               config ("amp-level", g_variant_new_string ("O2")), &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_LEVEL);
  g_clear_error (&error);
  g_assert_null (lp_apex_mixed_precision_plugin_new ("O5", &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_LEVEL);
}

typedef struct { LpStepClosure parent_instance; } TestClosure;
typedef struct { LpStepClosureClass parent_class; } TestClosureClass;

static GType test_closure_get_type (void);

G_DEFINE_TYPE (TestClosure, test_closure, LP_TYPE_STEP_CLOSURE)

static void
test_closure_class_init (TestClosureClass *klass)
{
}

static void
test_closure_init (TestClosure *self)
{
}

/* As LBFGS steps. */
static void
test_closures (void)
{
  const char *const names[] = { "apex-O1", "apex-O2", "16-mixed" };
  g_autoptr (LpTensor) parameter = lp_tensor_ones ((gint64[]) { 1 }, 1, NULL, NULL, NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpStepClosure) closure = g_object_new (test_closure_get_type (), NULL);
  g_autoptr (LpOptimizer) optimizer = NULL;

  g_ptr_array_add (parameters, parameter);
  optimizer = lp_sgd_new (parameters, 1);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (names[i], NULL);
      g_autoptr (GError) error = NULL;

      g_assert_cmpint (lp_precision_plugin_optimizer_step (plugin, optimizer, closure, &error), ==, LP_STEP_FAILED);
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/apex/levels", test_levels);
  g_test_add_func ("/apex/training", test_training);
  g_test_add_func ("/apex/overrides", test_overrides);
  g_test_add_func ("/apex/conversions", test_conversions);
  g_test_add_func ("/apex/static-scale", test_static_scale);
  g_test_add_func ("/apex/scaler", test_scaler);
  g_test_add_func ("/apex/refusals", test_refusals);
  g_test_add_func ("/apex/closures", test_closures);

  return g_test_run ();
}
