#include <math.h>
#include <string.h>

#include <lp/lp.h>

/* A plugin as a program writes it: it misbehaves on demand. */

typedef enum {
  BEHAVE,
  RETURN_NOTHING,
  RETURN_WITH_ERROR,
  FAIL_WITH_ERROR,
  WRONG_SHAPE,
  WRONG_DTYPE
} Manner;

typedef struct
{
  LpPrecisionPlugin parent_instance;
  Manner            manner;
  guint             n_quantized;
} TestPlugin;

typedef struct
{
  LpPrecisionPluginClass parent_class;
} TestPluginClass;

static GType test_plugin_get_type (void);

G_DEFINE_TYPE (TestPlugin, test_plugin, LP_TYPE_PRECISION_PLUGIN)

static void
maybe_fail (TestPlugin  *self,
            GError     **error)
{
  if (self->manner == RETURN_WITH_ERROR || self->manner == FAIL_WITH_ERROR)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "mine");
}

static gboolean
answer (LpPrecisionPlugin  *plugin,
        GError            **error)
{
  TestPlugin *self = (TestPlugin *) plugin;

  maybe_fail (self, error);

  return self->manner == BEHAVE || self->manner == RETURN_WITH_ERROR;
}

static LpTensor *
convert (LpPrecisionPlugin  *plugin,
         LpTensor           *tensor,
         GError            **error)
{
  TestPlugin *self = (TestPlugin *) plugin;

  maybe_fail (self, error);
  if (self->manner == RETURN_NOTHING || self->manner == FAIL_WITH_ERROR)
    return NULL;
  if (self->manner == WRONG_SHAPE)
    return lp_tensor_zeros ((gint64[]) { 7 }, 1, NULL, NULL, NULL);
  if (self->manner == WRONG_DTYPE)
    return lp_tensor_to_dtype (tensor, lp_dtype_i32 (), NULL);

  return g_object_ref (tensor);
}

static LpTensor *
quantize (LpPrecisionPlugin  *plugin,
          LpOperand          *operand,
          GError            **error)
{
  ((TestPlugin *) plugin)->n_quantized++;

  return convert (plugin, lp_operand_get_tensor (operand), error);
}

static gboolean
convert_module (LpPrecisionPlugin *plugin, LpModule *module, GError **error)
{
  return answer (plugin, error);
}

static gboolean
backward (LpPrecisionPlugin *plugin, LpTensor *loss, GPtrArray *optimizers, GError **error)
{
  return answer (plugin, error);
}

static gboolean
unscale (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, GError **error)
{
  return answer (plugin, error);
}

static gboolean
clip (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, double value, LpClipAlgorithm algorithm, GError **error)
{
  return answer (plugin, error);
}

static LpStepResult
optimizer_step (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, LpStepClosure *closure, GError **error)
{
  TestPlugin *self = (TestPlugin *) plugin;

  if (self->manner == WRONG_DTYPE)
    return 17;

  return answer (plugin, error) ? LP_STEP_APPLIED : LP_STEP_FAILED;
}

static gboolean
attach (LpPrecisionPlugin *plugin, LpPrecisionContext *context, GError **error)
{
  return answer (plugin, error);
}

static LpState *
save_state (LpPrecisionPlugin *plugin, GError **error)
{
  LpState *state = lp_state_new ();

  if (!answer (plugin, error))
    g_clear_object (&state);
  else
    lp_state_set_value (state, "count", g_variant_new_int64 (3));

  return state;
}

static gboolean
load_state (LpPrecisionPlugin *plugin, LpState *state, GError **error)
{
  return answer (plugin, error);
}

static LpPrecisionTraits *
dup_traits (LpPrecisionPlugin *plugin, GError **error)
{
  return answer (plugin, error) ? lp_precision_traits_new ("f32", "f32", "f32", "f32", "f32") : NULL;
}

static void
test_plugin_class_init (TestPluginClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  plugin_class->dup_traits = dup_traits;
  plugin_class->begin_init = answer;
  plugin_class->end_init = answer;
  plugin_class->convert_module = convert_module;
  plugin_class->convert_input = convert;
  plugin_class->convert_output = convert;
  plugin_class->quantize_operand = quantize;
  plugin_class->scale_loss = convert;
  plugin_class->backward = backward;
  plugin_class->unscale_gradients = unscale;
  plugin_class->clip_gradients = clip;
  plugin_class->optimizer_step = optimizer_step;
  plugin_class->end_step = answer;
  plugin_class->save_state = save_state;
  plugin_class->load_state = load_state;
  plugin_class->attach = attach;
  plugin_class->detach = answer;
}

static void
test_plugin_init (TestPlugin *self)
{
}

static LpPrecisionPlugin *
new_plugin (void)
{
  return g_object_new (test_plugin_get_type (), "precision", "test", NULL);
}

static LpPrecisionPlugin *
create (const char *name)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_precision_registry_create (lp_precision_registry_get_default (), name, NULL, &error);

  g_assert_no_error (error);

  return plugin;
}

static void
assert_reports (LpPrecisionPlugin *plugin,
                const char        *precision,
                const char        *amp_backend)
{
  g_autofree char *actual = lp_precision_plugin_dup_precision (plugin);
  g_autofree char *backend = lp_precision_plugin_dup_amp_backend (plugin);
  g_autofree char *level = lp_precision_plugin_dup_amp_level (plugin);

  g_assert_cmpstr (actual, ==, precision);
  g_assert_cmpstr (backend, ==, amp_backend);
  g_assert_null (level);
}

static void
test_names (void)
{
  const struct
  {
    const char *name, *precision, *backend, *storage, *compute;
  } rows[] = {
    { "32-true", "32-true", NULL, "f32", "f32" },
    { "32", "32-true", NULL, "f32", "f32" },
    { "64-true", "64-true", NULL, "f64", "f64" },
    { "64", "64-true", NULL, "f64", "f64" },
    { "16-true", "16-true", NULL, "f16", "f16" },
    { "bf16-true", "bf16-true", NULL, "bf16", "bf16" },
    { "16-mixed", "16-mixed", "native", "f32", "f16" },
    { "16", "16-mixed", "native", "f32", "f16" },
    { "bf16-mixed", "bf16-mixed", "native", "f32", "bf16" },
    { "bf16", "bf16-mixed", "native", "f32", "bf16" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (rows[i].name);
      g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);

      assert_reports (plugin, rows[i].precision, rows[i].backend);
      g_assert_cmpstr (lp_precision_traits_get_storage (traits), ==, rows[i].storage);
      g_assert_cmpstr (lp_precision_traits_get_compute (traits), ==, rows[i].compute);
    }
}

static void
assert_refused (GType       type,
                const char *precision,
                const char *backend,
                const char *level,
                int         code)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (g_initable_new (type, NULL, &error, "precision", precision, "amp-backend", backend, "amp-level", level,
                                 NULL));
  g_assert_error (error, LP_PRECISION_ERROR, code);
}

static void
test_refusals (void)
{
  const char *const wrong[] = { "16", "bf16", "32", "16-Mixed", "", "invalid" };
  const GType types[] = {
    LP_TYPE_FULL_PRECISION_PLUGIN, LP_TYPE_DOUBLE_PRECISION_PLUGIN, LP_TYPE_HALF_PRECISION_PLUGIN,
    LP_TYPE_MIXED_PRECISION_PLUGIN
  };
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (LpPrecisionPlugin) plugin = NULL;
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    for (guint j = 0; j < G_N_ELEMENTS (wrong); j++)
      assert_refused (types[i], wrong[j], NULL, NULL,
                      wrong[j][0] != '\0' ? LP_PRECISION_ERROR_UNSUPPORTED : LP_PRECISION_ERROR_UNKNOWN);

  assert_refused (LP_TYPE_FULL_PRECISION_PLUGIN, "32-true", "native", NULL, LP_PRECISION_ERROR_UNSUPPORTED);
  assert_refused (LP_TYPE_MIXED_PRECISION_PLUGIN, "16-mixed", "apex", NULL, LP_PRECISION_ERROR_UNSUPPORTED);
  assert_refused (LP_TYPE_MIXED_PRECISION_PLUGIN, "16-mixed", "native", "O2", LP_PRECISION_ERROR_BAD_LEVEL);
  assert_refused (LP_TYPE_HALF_PRECISION_PLUGIN, "16-true", NULL, "O3", LP_PRECISION_ERROR_BAD_LEVEL);
  assert_refused (test_plugin_get_type (), NULL, NULL, NULL, LP_PRECISION_ERROR_UNKNOWN);
  assert_refused (test_plugin_get_type (), "test", NULL, "O1", LP_PRECISION_ERROR_BAD_LEVEL);

  g_assert_null (lp_mixed_precision_plugin_new ("bf16-mixed", scaler, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);

  /* not initialised: the first function says it */
  plugin = g_object_new (LP_TYPE_HALF_PRECISION_PLUGIN, "precision", "8-true", NULL);
  g_assert_null (lp_precision_plugin_dup_traits (plugin, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "LpHalfPrecisionPlugin"));
  g_assert_nonnull (strstr (error->message, "8-true"));
}

static void
test_unknown (void)
{
  LpPrecisionRegistry *registry = lp_precision_registry_get_default ();
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_precision_registry_create (registry, "16-mixd", NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN);
  g_assert_nonnull (strstr (error->message, "did you mean “16-mixed”"));
  g_assert_nonnull (strstr (error->message, "“64-true”"));
}

static void
test_scaler_identity (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (128, 2, 0.5, 10, TRUE, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) given = lp_mixed_precision_plugin_new ("16-mixed", scaler, &error);
  g_autoptr (LpPrecisionPlugin) own = lp_mixed_precision_plugin_new ("16-mixed", NULL, &error);
  g_autoptr (LpPrecisionPlugin) none = lp_mixed_precision_plugin_new ("bf16-mixed", NULL, &error);

  g_assert_no_error (error);
  g_assert_true (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (given)) == scaler);
  {
    g_autoptr (LpState) state = lp_precision_plugin_save_state (given, &error);
    g_autoptr (GVariant) scale = lp_state_dup_value (state, "scale");

    g_assert_cmpfloat (g_variant_get_double (scale), ==, 128);
    lp_state_set_value (state, "scale", g_variant_new_double (32));
    g_assert_true (lp_precision_plugin_load_state (given, state, &error));
    g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 32);
  }
  g_assert_nonnull (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (own)));
  g_assert_null (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (none)));
}

static void
note (GObject    *object,
      GParamSpec *pspec,
      gpointer    user_data)
{
  g_string_append_printf (user_data, "%s ", pspec->name);
}

static void
test_update_state (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = create ("16-mixed"), unbound = g_object_new (test_plugin_get_type (), "precision", "test", NULL);
  g_autoptr (LpPrecisionState) before = lp_precision_plugin_dup_state (plugin);
  g_autoptr (LpPrecisionState) after = NULL;
  g_autoptr (LpCastPolicy) policy = NULL;
  g_autoptr (GString) notes = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_precision_plugin_update_state (unbound, "other", NULL, NULL, &error));
  g_assert_false (lp_precision_plugin_update_state (unbound, "", NULL, NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN);
  g_clear_error (&error);

  g_signal_connect (plugin, "notify", G_CALLBACK (note), notes);
  g_assert_false (lp_precision_plugin_update_state (plugin, "8-mixed", "native", NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  g_assert_false (lp_precision_plugin_update_state (plugin, "bf16-mixed", NULL, NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "is native"));
  g_clear_error (&error);
  assert_reports (plugin, "16-mixed", "native");
  g_assert_cmpstr (notes->str, ==, "");

  /* a plugin that goes on in bf16 */
  g_assert_true (lp_precision_plugin_update_state (plugin, "bf16-mixed", "native", NULL, &error));
  assert_reports (plugin, "bf16-mixed", "native");
  g_assert_cmpstr (notes->str, ==, "precision ");
  after = lp_precision_plugin_dup_state (plugin);
  g_assert_cmpstr (lp_precision_state_get_precision (before), ==, "16-mixed");
  g_assert_false (lp_precision_state_equal (before, after));
  policy = lp_precision_plugin_get_cast_policy (plugin, NULL);
  g_assert_true (lp_cast_policy_get_low_dtype (policy) == lp_dtype_bf16 ());
  g_assert_null (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (plugin)));
}

static void
test_attach (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = create ("64-true");
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (GError) error = NULL;

  lp_precision_context_set_device (context, lp_device_get_default ());
  g_assert_true (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_true (lp_precision_plugin_is_attached (plugin));
  g_assert_false (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT);
  g_clear_error (&error);

  /* detach leaves no trace */
  g_assert_true (lp_precision_plugin_begin_init (plugin, &error));
  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  g_assert_true (lp_default_dtype_get () == lp_dtype_f64 ());
  g_assert_true (lp_precision_plugin_detach (plugin, &error));
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
  g_assert_false (lp_precision_plugin_is_attached (plugin));
  g_assert_true (lp_precision_plugin_detach (plugin, &error));
  g_assert_true (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_true (lp_precision_plugin_detach (plugin, &error));
  g_assert_no_error (error);
}

static void
test_init_scope (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = create ("bf16-true");
  g_autoptr (LpPrecisionPlugin) bad = new_plugin ();
  g_autoptr (LpModule) layer = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_precision_plugin_begin_init (plugin, &error));
  layer = lp_linear_new (2, 2);
  g_assert_true (lp_precision_plugin_end_init (plugin, &error));
  g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (layer))) == lp_dtype_bf16 ());
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());

  g_assert_false (lp_precision_plugin_end_init (plugin, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  g_clear_error (&error);

  ((TestPlugin *) bad)->manner = FAIL_WITH_ERROR;
  g_assert_false (lp_precision_plugin_begin_init (bad, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_FAILED);
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
}

static void
test_convert (void)
{
  const struct
  {
    const char *name, *weight, *input;
  } rows[] = {
    { "32-true", "f32", "f32" }, { "64-true", "f64", "f64" }, { "16-true", "f16", "f16" },
    { "bf16-true", "bf16", "bf16" }, { "16-mixed", "f32", "f32" }, { "bf16-mixed", "f32", "f32" }
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (rows[i].name);
      g_autoptr (LpModule) layer = lp_linear_new (2, 2);
      g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 2 }, 2, lp_dtype_f32 (), NULL, NULL);
      g_autoptr (LpTensor) ids = lp_tensor_ones ((gint64[]) { 1, 2 }, 2, lp_dtype_i64 (), NULL, NULL);
      g_autoptr (LpTensor) input = NULL;
      g_autoptr (LpTensor) output = NULL;
      g_autoptr (LpTensor) same = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (lp_precision_plugin_convert_module (plugin, layer, &error));
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (layer)))), ==,
                       rows[i].weight);
      input = lp_precision_plugin_convert_input (plugin, x, &error);
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (input)), ==, rows[i].input);
      output = lp_precision_plugin_convert_output (plugin, input, &error);
      g_assert_true (lp_tensor_get_dtype (output) == lp_dtype_f32 ());
      same = lp_precision_plugin_convert_input (plugin, ids, &error);
      g_assert_true (same == ids);
      g_assert_no_error (error);
    }
}

static void
test_scope (void)
{
  const char *const names[][2] = { { "16-mixed", "f16" }, { "bf16-mixed", "bf16" }, { "32-true", "f32" } };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create (names[i][0]);
      g_autoptr (LpModule) layer = lp_linear_new (2, 2);
      g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 2 }, 2, NULL, NULL, NULL);
      g_autoptr (LpComputeScope) scope = NULL;
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensor) inside = NULL;
      g_autoptr (LpTensor) outside = NULL;

      g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
      inside = lp_module_forward (layer, x, &error);
      lp_precision_plugin_pop_scope (plugin);
      outside = lp_module_forward (layer, x, &error);
      scope = lp_compute_scope_dup_current ();
      g_assert_no_error (error);
      g_assert_null (scope);
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (inside)), ==, names[i][1]);
      g_assert_true (lp_tensor_get_dtype (outside) == lp_dtype_f32 ());
    }
}

static void
test_quantizer (void)
{
  LpPrecisionPlugin *plugin = new_plugin ();
  TestPlugin *self = (TestPlugin *) plugin;
  g_autoptr (LpModule) layer = lp_linear_new (2, 2);
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 2 }, 2, NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;
  LpTensor *y;

  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  y = lp_module_forward (layer, x, &error);
  g_assert_no_error (error);
  g_object_unref (y);
  g_assert_cmpuint (self->n_quantized, ==, 2);

  self->manner = WRONG_SHAPE;
  g_assert_null (lp_module_forward (layer, x, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "TestPlugin.quantize_operand"));
  g_clear_error (&error);
  self->manner = FAIL_WITH_ERROR;
  g_assert_null (lp_module_forward (layer, x, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_FAILED);
  lp_precision_plugin_pop_scope (plugin);

  g_assert_finalize_object (plugin);
}

typedef struct
{
  LpOptimizer *optimizer;
  LpModule    *module;
  LpTensor    *loss;
  GPtrArray   *optimizers;
} Run;

static gboolean
call (LpPrecisionPlugin  *plugin,
      Run                *run,
      guint               which,
      GError            **error)
{
  g_autoptr (LpPrecisionContext) context = NULL;
  g_autoptr (GObject) object = NULL;
  g_autoptr (LpState) state = NULL;

  switch (which)
    {
    case 0:
      return lp_precision_plugin_begin_init (plugin, error);
    case 1:
      return lp_precision_plugin_convert_module (plugin, run->module, error);
    case 2:
      return lp_precision_plugin_backward (plugin, run->loss, run->optimizers, error);
    case 3:
      return lp_precision_plugin_unscale_gradients (plugin, run->optimizer, error);
    case 4:
      return lp_precision_plugin_clip_gradients (plugin, run->optimizer, 1, LP_CLIP_NORM, error);
    case 5:
      return lp_precision_plugin_optimizer_step (plugin, run->optimizer, NULL, error) != LP_STEP_FAILED;
    case 6:
      return lp_precision_plugin_end_step (plugin, error);
    case 7:
      state = lp_state_new ();
      lp_state_set_value (state, "plugin-id", g_variant_new_string ("TestPlugin"));
      return lp_precision_plugin_load_state (plugin, state, error);
    case 8:
      context = lp_precision_context_new ();
      return lp_precision_plugin_attach (plugin, context, error);
    case 9:
      object = (GObject *) lp_precision_plugin_convert_input (plugin, run->loss, error);
      return object != NULL;
    case 10:
      object = (GObject *) lp_precision_plugin_convert_output (plugin, run->loss, error);
      return object != NULL;
    case 11:
      object = (GObject *) lp_precision_plugin_scale_loss (plugin, run->loss, error);
      return object != NULL;
    case 12:
      object = (GObject *) lp_precision_plugin_save_state (plugin, error);
      return object != NULL;
    case 13:
      object = (GObject *) lp_precision_plugin_dup_traits (plugin, error);
      return object != NULL;
    default:
      g_assert_not_reached ();
    }
}

/* Every invoker turns every kind of nonsense into an error that names the class. */
static void
test_misbehaviour (void)
{
  g_autoptr (LpTensor) parameter = lp_tensor_ones ((gint64[]) { 1 }, 1, NULL, NULL, NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (GPtrArray) optimizers = g_ptr_array_new ();
  g_autoptr (LpModule) module = lp_relu_new ();
  g_autoptr (LpTensor) loss = lp_tensor_scalar (1, NULL, NULL, NULL);
  g_autoptr (LpOptimizer) optimizer = NULL;
  Run run = { NULL, module, loss, optimizers };

  g_ptr_array_add (parameters, parameter);
  run.optimizer = optimizer = lp_sgd_new (parameters, 1);

  for (guint which = 0; which < 14; which++)
    for (Manner manner = BEHAVE; manner <= WRONG_DTYPE; manner++)
      {
        LpPrecisionPlugin *plugin = new_plugin ();
        GError *error = NULL;
        gboolean is_tensor = which >= 9 && which <= 11;

        ((TestPlugin *) plugin)->manner = manner;
        if (manner == BEHAVE)
          {
            g_assert_true (call (plugin, &run, which, &error));
            g_assert_no_error (error);
          }
        else
          {
            g_assert_false (call (plugin, &run, which, &error));
            if (manner == FAIL_WITH_ERROR)
              g_assert_error (error, G_IO_ERROR, G_IO_ERROR_FAILED);
            else
              g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
            if (manner != FAIL_WITH_ERROR && (is_tensor || manner < WRONG_SHAPE))
              g_assert_nonnull (strstr (error->message, "TestPlugin."));
            g_clear_error (&error);
            g_assert_false (lp_precision_plugin_is_attached (plugin));
          }
        g_object_unref (plugin);
      }
}

static void
test_saved_state (void)
{
  g_autoptr (LpPrecisionPlugin) mixed = create ("16-mixed");
  g_autoptr (LpPrecisionPlugin) other = create ("16-mixed");
  g_autoptr (LpPrecisionPlugin) full = create ("32-true");
  g_autoptr (LpState) state = NULL;
  g_autoptr (LpState) empty = NULL;
  g_autoptr (GVariant) id = NULL, version = NULL;
  g_autoptr (GError) error = NULL;
  LpGradScaler *scaler = lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (mixed));

  empty = lp_precision_plugin_save_state (full, &error);
  g_assert_true (lp_state_is_empty (empty));

  g_assert_true (lp_grad_scaler_set_scale (scaler, 42, NULL));
  state = lp_precision_plugin_save_state (mixed, &error);
  id = lp_state_dup_value (state, "plugin-id");
  g_assert_cmpstr (g_variant_get_string (id, NULL), ==, "mixed");
  version = lp_state_dup_value (state, "plugin-version");
  g_assert_cmpint (g_variant_get_int64 (version), ==, lp_precision_plugin_get_state_version (mixed));
  g_assert_true (lp_precision_plugin_load_state (other, state, &error));
  g_assert_no_error (error);
  scaler = lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (other));
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 42);

  /* a former name */
  lp_state_set_value (state, "plugin-id", g_variant_new_string ("MixedPrecisionPlugin"));
  lp_state_set_value (state, "scale", g_variant_new_double (21));
  g_assert_true (lp_precision_plugin_load_state (other, state, &error));
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 21);

  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*MixedPrecisionPlugin*passed over*");
  g_assert_true (lp_precision_plugin_load_state (full, state, &error));
  g_test_assert_expected_messages ();
  g_assert_true (lp_precision_plugin_load_state (other, empty, &error));

  /* a relative's that has another shape after all, and one of nobody */
  {
    g_autoptr (LpState) relative = lp_state_new ();
    g_autoptr (LpState) nobody = lp_state_new ();

    lp_state_set_value (relative, "plugin-id", g_variant_new_string ("native_amp_scaling_state"));
    lp_state_set_value (nobody, "scale", g_variant_new_double (3));
    g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*native_amp_scaling_state*passed over*");
    g_assert_true (lp_precision_plugin_load_state (other, relative, &error));
    g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*doesn't say*passed over*");
    g_assert_true (lp_precision_plugin_load_state (other, nobody, &error));
    g_test_assert_expected_messages ();
    g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 21);
    lp_state_set_value (relative, "plugin-id", g_variant_new_string ("mixed"));
    g_assert_false (lp_precision_plugin_load_state (other, relative, &error));
    g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
    g_clear_error (&error);
  }

  {
    static const char *const versions[] = { "int64 -1", "'1'", "0.5", "nan", "inf", "true", "@ax []" };

    for (gsize i = 0; i < G_N_ELEMENTS (versions); i++)
      {
        lp_state_set_value (state, "plugin-version", g_variant_new_parsed (versions[i]));
        g_assert_false (lp_precision_plugin_load_state (other, state, &error));
        g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
        g_test_message ("%s", error->message);
        g_assert_true (strstr (error->message, "“plugin-version”") != NULL || strstr (error->message, "version inf") != NULL);
        g_clear_error (&error);
      }
  }
  lp_state_set_value (state, "plugin-version", g_variant_new_int64 (9));
  g_assert_false (lp_precision_plugin_load_state (other, state, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
}

static void
test_f16_weights (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = create ("16-mixed");
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (LpModule) layer = lp_linear_new (2, 2);
  g_autoptr (GError) error = NULL;

  lp_precision_context_set_module (context, layer);
  g_assert_true (lp_precision_plugin_validate (plugin, context, &error));
  g_assert_true (lp_module_to_dtype (layer, lp_dtype_f16 (), NULL));
  g_assert_false (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "“weight”"));
  g_assert_false (lp_precision_plugin_is_attached (plugin));
}

/* A whole step under every precision, in the order that a trainer has. */
static double
train (const char *name)
{
  g_autoptr (LpPrecisionPlugin) plugin = create (name);
  g_autoptr (LpModule) net = lp_sequential_new ();
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) optimizers = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpTensor) data = NULL;
  g_autoptr (LpTensor) targets = lp_tensor_arange (0, 8, 1, lp_dtype_i64 (), NULL, NULL);
  g_autoptr (GError) error = NULL;
  double last = 0;

  lp_seed_everything (1);
  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (16, 32));
  lp_sequential_append (LP_SEQUENTIAL (net), lp_relu_new ());
  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (32, 8));
  data = lp_tensor_normal ((gint64[]) { 8, 16 }, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
  g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
  parameters = lp_module_dup_parameters (net);
  optimizer = lp_adamw_new (parameters, 1e-2);
  g_ptr_array_add (optimizers, optimizer);

  for (int i = 0; i < 60; i++)
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
      last = lp_tensor_get_item (loss, NULL);
    }

  return last;
}

static void
test_training (void)
{
  const char *const names[] = { "32-true", "64-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      double loss = train (names[i]);

      g_test_message ("%s: %g", names[i], loss);
      g_assert_cmpfloat (loss, <, 0.2);
      g_assert_cmpfloat (loss, >=, 0);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/precision/names", test_names);
  g_test_add_func ("/precision/refusals", test_refusals);
  g_test_add_func ("/precision/unknown", test_unknown);
  g_test_add_func ("/precision/scaler-identity", test_scaler_identity);
  g_test_add_func ("/precision/update-state", test_update_state);
  g_test_add_func ("/precision/attach", test_attach);
  g_test_add_func ("/precision/init-scope", test_init_scope);
  g_test_add_func ("/precision/convert", test_convert);
  g_test_add_func ("/precision/scope", test_scope);
  g_test_add_func ("/precision/quantizer", test_quantizer);
  g_test_add_func ("/precision/misbehaviour", test_misbehaviour);
  g_test_add_func ("/precision/saved-state", test_saved_state);
  g_test_add_func ("/precision/f16-weights", test_f16_weights);
  g_test_add_func ("/precision/training", test_training);

  return g_test_run ();
}
