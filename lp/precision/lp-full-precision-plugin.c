#include <lp/precision/lp-full-precision-plugin.h>

#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpFullPrecisionPlugin:
 *
 * Precision `32-true`: weights and computation in float32.
 */

G_DEFINE_TYPE (LpFullPrecisionPlugin, lp_full_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

static const char *const names[] = { "32-true", NULL };

static gboolean
lp_full_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                         LpPrecisionState   *state,
                                         GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error);
}

static char *
lp_full_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("full");
}

static void
lp_full_precision_plugin_constructed (GObject *object)
{
  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "32-true", NULL);

  G_OBJECT_CLASS (lp_full_precision_plugin_parent_class)->constructed (object);
}

static void
lp_full_precision_plugin_class_init (LpFullPrecisionPluginClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  G_OBJECT_CLASS (klass)->constructed = lp_full_precision_plugin_constructed;
  plugin_class->validate_state = lp_full_precision_plugin_validate_state;
  plugin_class->dup_state_id = lp_full_precision_plugin_dup_state_id;
}

static void
lp_full_precision_plugin_init (LpFullPrecisionPlugin *self)
{
}

/**
 * lp_full_precision_plugin_new:
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpFullPrecisionPlugin): the plugin
 */
LpPrecisionPlugin *
lp_full_precision_plugin_new (void)
{
  return g_object_new (LP_TYPE_FULL_PRECISION_PLUGIN, NULL);
}
