/* State under every name that it may have been saved under, and what is left of a plugin that fails as it begins. */

#include <string.h>

#include <lp/lp.h>

static LpPrecisionPlugin *
create (const char *name)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_precision_registry_create (lp_precision_registry_get_default (), name, NULL, &error);

  g_assert_no_error (error);

  return plugin;
}

/* Whatever name the state of a scaler was saved under, each of the family that has one goes on with it. */
static void
test_state_names (void)
{
  static const struct { const char *precision; const char *names[8]; } rows[] = {
    { "16-mixed", { "mixed", "MixedPrecision", "MixedPrecisionPlugin", "NativeMixedPrecisionPlugin", "native_amp_scaling_state", "apex",
                    "fallback", NULL } },
    { "apex-O1", { "apex", "ApexMixedPrecisionPlugin", "mixed", "fallback", NULL } },
    { "16-mixed-fallback", { "fallback", "mixed", "apex", NULL } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (gsize j = 0; rows[i].names[j] != NULL; j++)
      {
        g_autoptr (LpPrecisionPlugin) plugin = create (rows[i].precision);
        g_autoptr (LpGradScaler) other = lp_grad_scaler_new_full (32, 2, 0.5, 7, TRUE, NULL);
        g_autoptr (LpState) state = lp_grad_scaler_save_state (other);
        g_autoptr (LpGradScaler) own = NULL;
        g_autoptr (GError) error = NULL;

        g_test_message ("%s from %s", rows[i].precision, rows[i].names[j]);
        lp_state_set_value (state, "plugin-id", g_variant_new_string (rows[i].names[j]));
        lp_state_set_value (state, "plugin-version", g_variant_new_int64 (1));
        g_assert_true (lp_precision_plugin_load_state (plugin, state, &error));
        g_assert_no_error (error);
        g_object_get (plugin, "scaler", &own, NULL);
        g_assert_cmpfloat (lp_grad_scaler_get_scale (own), ==, 32);
        g_assert_cmpint (lp_grad_scaler_get_growth_interval (own), ==, 7);
      }
}

/* That of fp8 has scales. */
static void
test_fp8_names (void)
{
  static const char *const names[] = { "fp8", "TransformerEnginePrecision" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = create ("transformer-engine");
      g_autoptr (LpModule) layer = lp_linear_new (8, 16);
      g_autoptr (LpState) state = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (lp_precision_plugin_convert_module (plugin, layer, &error));
      state = lp_precision_plugin_save_state (plugin, &error);
      lp_state_set_value (state, "plugin-id", g_variant_new_string (names[i]));
      lp_state_set_value (state, "scales",
                          g_variant_new_parsed ("{':input': (8.0, uint32 0), ':weight': (4.0, uint32 0), ':grad-output': (2.0, uint32 0)}"));
      g_assert_true (lp_precision_plugin_load_state (plugin, state, &error));
      g_assert_no_error (error);
      g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (LP_FP8_PRECISION_PLUGIN (plugin), ":input"), ==, 8);
    }
}

/* A precision that has begun when it fails. */
typedef struct { LpDoublePrecisionPlugin parent_instance; } Failing;
typedef struct { LpDoublePrecisionPluginClass parent_class; } FailingClass;

static GType failing_get_type (void);

G_DEFINE_TYPE (Failing, failing, LP_TYPE_DOUBLE_PRECISION_PLUGIN)

static gboolean unsupported;

static gboolean
fail (GError **error)
{
  g_assert_true (lp_default_dtype_get () == lp_dtype_f64 ());
  g_set_error_literal (error, LP_ERROR, LP_ERROR_STATE, "not now");

  return FALSE;
}

static gboolean
failing_begin_init (LpPrecisionPlugin  *plugin,
                    GError            **error)
{
  return LP_PRECISION_PLUGIN_CLASS (failing_parent_class)->begin_init (plugin, error) && fail (error);
}

static gboolean
failing_attach (LpPrecisionPlugin   *plugin,
                LpPrecisionContext  *context,
                GError             **error)
{
  return lp_precision_plugin_push_scope (plugin, error) && fail (error);
}

static gboolean
failing_supports (LpPrecisionPlugin  *plugin,
                  LpDevice           *device,
                  GError            **error)
{
  if (unsupported)
    g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "not here");

  return !unsupported;
}

/* An object of another kind than was asked for. */
static LpPrecisionTraits *
failing_dup_traits (LpPrecisionPlugin  *plugin,
                    GError            **error)
{
  return (LpPrecisionTraits *) lp_state_new ();
}

static void
failing_class_init (FailingClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  plugin_class->begin_init = failing_begin_init;
  plugin_class->attach = failing_attach;
  plugin_class->supports = failing_supports;
  plugin_class->dup_traits = failing_dup_traits;
}

static void
failing_init (Failing *self)
{
}

static void
test_failing (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_object_new (failing_get_type (), NULL);
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_precision_plugin_begin_init (plugin, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());

  lp_precision_context_set_device (context, lp_device_get_default ());
  for (int i = 0; i < 2; i++)
    {
      g_assert_false (lp_precision_plugin_attach (plugin, context, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
      g_clear_error (&error);
      g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
      g_assert_false (lp_precision_plugin_is_attached (plugin));
    }

  /* what can't run on a device is not attached there */
  unsupported = TRUE;
  g_assert_false (lp_precision_plugin_attach (plugin, context, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_cmpstr (error->message, ==, "not here");
  unsupported = FALSE;
}

static void
test_wrong_kind (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_object_new (failing_get_type (), NULL);
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_precision_plugin_dup_traits (plugin, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "Failing.dup_traits gave a LpState"));
}

static void
test_saved_fall (void)
{
  static const char *const values[] = { "1e308", "'true'", "int64 1", "nan" };
  g_autoptr (LpPrecisionPlugin) plugin = create ("16-mixed-fallback");
  g_autoptr (GError) error = NULL;
  g_autoptr (LpState) state = lp_precision_plugin_save_state (plugin, &error);

  for (gsize i = 0; i < G_N_ELEMENTS (values); i++)
    {
      lp_state_set_value (state, "fallen-back", g_variant_new_parsed (values[i]));
      g_assert_false (lp_precision_plugin_load_state (plugin, state, &error));
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
      g_assert_nonnull (strstr (error->message, "“fallen-back”"));
      g_clear_error (&error);
    }
  lp_state_set_value (state, "fallen-back", g_variant_new_boolean (TRUE));
  g_assert_true (lp_precision_plugin_load_state (plugin, state, &error));
  g_assert_no_error (error);
  g_assert_true (lp_fallback_mixed_precision_plugin_has_fallen_back (LP_FALLBACK_MIXED_PRECISION_PLUGIN (plugin)));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/precision-state/names", test_state_names);
  g_test_add_func ("/precision-state/fp8-names", test_fp8_names);
  g_test_add_func ("/precision-state/failing", test_failing);
  g_test_add_func ("/precision-state/wrong-kind", test_wrong_kind);
  g_test_add_func ("/precision-state/fallen-back", test_saved_fall);

  return g_test_run ();
}
