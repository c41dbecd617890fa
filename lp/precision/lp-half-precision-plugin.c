#include <lp/precision/lp-half-precision-plugin.h>

#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpHalfPrecisionPlugin:
 *
 * Precisions `16-true` and `bf16-true`: weights and computation in float16 or bfloat16.
 *
 * The loss is not scaled: with float16 small gradients vanish.
 */

G_DEFINE_TYPE (LpHalfPrecisionPlugin, lp_half_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

static const char *const names[] = { "16-true", "bf16-true", NULL };

/* Follows what the plugin reports. */
static LpDType *
peek_dtype (LpPrecisionPlugin *self)
{
  const char *precision = _lp_precision_plugin_peek_precision (self);

  return g_strcmp0 (precision, "bf16-true") == 0 ? lp_dtype_bf16 () : lp_dtype_f16 ();
}

static gboolean
lp_half_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                           LpPrecisionState   *state,
                                           GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error);
}

static LpPrecisionTraits *
lp_half_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                       GError            **error)
{
  const char *name = lp_dtype_get_name (peek_dtype (self));

  return lp_precision_traits_new (name, name, name, name, name);
}

static LpDType *
lp_half_precision_plugin_get_default_dtype (LpPrecisionPlugin  *self,
                                              GError            **error)
{
  return g_object_ref (peek_dtype (self));
}

static gboolean
lp_half_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                           LpModule           *module,
                                           GError            **error)
{
  return lp_module_to_dtype (module, peek_dtype (self), error);
}

static LpTensor *
lp_half_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                          LpTensor           *tensor,
                                          GError            **error)
{
  return lp_tensor_to_dtype (tensor, peek_dtype (self), error);
}

/* What comes out of a step goes on in the dtype of the program. */
static LpTensor *
lp_half_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                           LpTensor           *tensor,
                                           GError            **error)
{
  if (lp_tensor_get_dtype (tensor) != peek_dtype (self))
    return g_object_ref (tensor);

  return lp_tensor_to_dtype (tensor, lp_default_dtype_get (), error);
}

static char *
lp_half_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("half");
}

static void
lp_half_precision_plugin_constructed (GObject *object)
{
  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "16-true", NULL);

  G_OBJECT_CLASS (lp_half_precision_plugin_parent_class)->constructed (object);
}

static void
lp_half_precision_plugin_class_init (LpHalfPrecisionPluginClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  G_OBJECT_CLASS (klass)->constructed = lp_half_precision_plugin_constructed;
  plugin_class->validate_state = lp_half_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_half_precision_plugin_dup_traits;
  plugin_class->get_default_dtype = lp_half_precision_plugin_get_default_dtype;
  plugin_class->convert_module = lp_half_precision_plugin_convert_module;
  plugin_class->convert_input = lp_half_precision_plugin_convert_input;
  plugin_class->convert_output = lp_half_precision_plugin_convert_output;
  plugin_class->dup_state_id = lp_half_precision_plugin_dup_state_id;
}

static void
lp_half_precision_plugin_init (LpHalfPrecisionPlugin *self)
{
}

/**
 * lp_half_precision_plugin_new:
 * @precision: `16-true` or `bf16-true`
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpHalfPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED for another
 *   precision
 */
LpPrecisionPlugin *
lp_half_precision_plugin_new (const char  *precision,
                              GError     **error)
{
  return g_initable_new (LP_TYPE_HALF_PRECISION_PLUGIN, NULL, error, "precision", precision, NULL);
}
