#include <lp/precision/lp-double-precision-plugin.h>

#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpDoublePrecisionPlugin:
 *
 * Precision `64-true`: weights and computation in float64.
 */

G_DEFINE_TYPE (LpDoublePrecisionPlugin, lp_double_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

static const char *const names[] = { "64-true", NULL };

static gboolean
lp_double_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                           LpPrecisionState   *state,
                                           GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error);
}

static LpPrecisionTraits *
lp_double_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                       GError            **error)
{
  return lp_precision_traits_new ("f64", "f64", "f64", "f64", "f64");
}

static LpDType *
lp_double_precision_plugin_get_default_dtype (LpPrecisionPlugin  *self,
                                              GError            **error)
{
  return g_object_ref (lp_dtype_f64 ());
}

static gboolean
lp_double_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                           LpModule           *module,
                                           GError            **error)
{
  return lp_module_to_dtype (module, lp_dtype_f64 (), error);
}

static LpTensor *
lp_double_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                          LpTensor           *tensor,
                                          GError            **error)
{
  return lp_tensor_to_dtype (tensor, lp_dtype_f64 (), error);
}

static LpTensor *
lp_double_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                           LpTensor           *tensor,
                                           GError            **error)
{
  return _lp_precision_plugin_give_out (tensor, lp_dtype_f64 (), error);
}

static char *
lp_double_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("double");
}

static void
lp_double_precision_plugin_constructed (GObject *object)
{
  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "64-true", NULL);

  G_OBJECT_CLASS (lp_double_precision_plugin_parent_class)->constructed (object);
}

static void
lp_double_precision_plugin_class_init (LpDoublePrecisionPluginClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  G_OBJECT_CLASS (klass)->constructed = lp_double_precision_plugin_constructed;
  plugin_class->validate_state = lp_double_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_double_precision_plugin_dup_traits;
  plugin_class->get_default_dtype = lp_double_precision_plugin_get_default_dtype;
  plugin_class->convert_module = lp_double_precision_plugin_convert_module;
  plugin_class->convert_input = lp_double_precision_plugin_convert_input;
  plugin_class->convert_output = lp_double_precision_plugin_convert_output;
  plugin_class->dup_state_id = lp_double_precision_plugin_dup_state_id;
}

static void
lp_double_precision_plugin_init (LpDoublePrecisionPlugin *self)
{
}

/**
 * lp_double_precision_plugin_new:
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpDoublePrecisionPlugin): the plugin
 */
LpPrecisionPlugin *
lp_double_precision_plugin_new (void)
{
  return g_object_new (LP_TYPE_DOUBLE_PRECISION_PLUGIN, NULL);
}
