/* The precision in a checkpoint, of LpTrainer's as of LpFabric's. */

#include <lp/trainer/lp-checkpoint-private.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/nn/lp-module-private.h>
#include <lp/trainer/lp-state-private.h>

/* Plugins that report the same may store differently: levels of apex, options. */
static char *
describe_storage (LpPrecisionPlugin  *plugin,
                  GError            **error)
{
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, error);

  if (traits == NULL)
    return NULL;

  return g_strdup_printf ("weights in %s, masters in %s", lp_precision_traits_get_storage (traits),
                          lp_precision_traits_get_master (traits));
}

gboolean
_lp_checkpoint_check_module (LpModule  *module,
                             GError   **error)
{
  g_autofree char *merged = _lp_module_dup_merged_path (module);

  if (merged == NULL)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The adapters of “%s” are merged into its weight, so a checkpoint would hold them twice: "
               "unmerge them first", merged);
  return FALSE;
}

/* What the plugin needs, and for people: what it was. */
gboolean
_lp_checkpoint_add_precision (LpCheckpoint       *self,
                              LpPrecisionPlugin  *plugin,
                              GError            **error)
{
  g_autofree char *id = lp_precision_plugin_dup_state_id (plugin);
  g_autofree char *precision = lp_precision_plugin_dup_precision (plugin);
  g_autofree char *stores = describe_storage (plugin, error);
  LpState *state = stores != NULL ? lp_precision_plugin_save_state (plugin, error) : NULL;
  LpState *about;

  if (state == NULL)
    return FALSE;
  _lp_checkpoint_add (self, "plugin", state);

  about = lp_state_new ();
  lp_state_set_value (about, "plugin", g_variant_new_string (id));
  lp_state_set_value (about, "precision", g_variant_new_string (precision != NULL ? precision : ""));
  lp_state_set_value (about, "stores", g_variant_new_string (stores));
  _lp_checkpoint_add (self, "precision", about);

  return TRUE;
}

static gboolean
tell_about_change (LpState            *about,
                   LpPrecisionPlugin  *plugin,
                   const char         *path,
                   GError            **error)
{
  g_autofree char *former_id = _lp_state_dup_string (about, "plugin");
  g_autofree char *former = _lp_state_dup_string (about, "precision");
  g_autofree char *stored = _lp_state_dup_string (about, "stores");
  g_autofree char *id = lp_precision_plugin_dup_state_id (plugin);
  g_autofree char *precision = lp_precision_plugin_dup_precision (plugin);
  g_autofree char *stores = describe_storage (plugin, error);

  if (stores == NULL || !lp_check_exceptions (error))
    return FALSE;
  if (former == NULL || (g_strcmp0 (former_id, id) == 0 && g_strcmp0 (former, precision) == 0 &&
                         (stored == NULL || g_str_equal (stored, stores))))
    return TRUE;

  g_message ("%s: it was saved under %s (%s%s%s), and goes on under %s (%s, %s)", path, former,
             former_id != NULL ? former_id : "?", stored != NULL ? ", " : "", stored != NULL ? stored : "", precision, id, stores);
  return TRUE;
}

void
_lp_checkpoint_explain_optimizer (LpCheckpoint       *self,
                                  LpPrecisionPlugin  *plugin,
                                  GError            **error)
{
  LpState *about = _lp_checkpoint_lookup (self, "precision");
  g_autofree char *former = about != NULL ? _lp_state_dup_string (about, "precision") : NULL;
  g_autofree char *precision = lp_precision_plugin_dup_precision (plugin);
  GError *plain;

  if (error == NULL || former == NULL || g_strcmp0 (former, precision) == 0)
    return;

  plain = g_steal_pointer (error);
  g_set_error (error, plain->domain, plain->code, "%s; it was saved under %s, and this is %s: go on under the former, or start another "
               "fit with the weights alone, by lp_module_load_state_dict(), not strict", plain->message, former, precision);
  g_error_free (plain);
}

/* What of another precision can't be used is told by the plugin and left alone: it then goes on with fresh state. */
gboolean
_lp_checkpoint_load_precision (LpCheckpoint       *self,
                               LpPrecisionPlugin  *plugin,
                               const char         *path,
                               GError            **error)
{
  LpState *state = _lp_checkpoint_lookup (self, "plugin");
  LpState *about = _lp_checkpoint_lookup (self, "precision");
  GError *local = NULL;

  if (state != NULL && !lp_precision_plugin_load_state (plugin, state, &local))
    {
      if (g_error_matches (local, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE))
        g_prefix_error (&local, "%s: ", path);
      g_propagate_error (error, local);
      return FALSE;
    }

  return about == NULL || tell_about_change (about, plugin, path, error);
}
