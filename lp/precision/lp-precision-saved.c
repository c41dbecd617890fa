#include <lp/precision/lp-precision-plugin-private.h>

#include <math.h>

#include <lp/core/lp-exception.h>
#include <lp/optim/lp-optimizer-private.h>

/* What the invokers add to the state that a plugin saves. */
#define KEY_ID      "plugin-id"
#define KEY_VERSION "plugin-version"

/**
 * lp_precision_plugin_dup_state_id:
 * @self: a plugin
 *
 * Gets the name under which the plugin's saved state is found again. It stays the same when the class is renamed.
 *
 * Returns: (transfer full): the name
 */
char *
lp_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  char *id;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  id = LP_PRECISION_PLUGIN_GET_CLASS (self)->dup_state_id (self);

  return id != NULL ? id : g_strdup (G_OBJECT_TYPE_NAME (self));
}

/**
 * lp_precision_plugin_dup_state_aliases:
 * @self: a plugin
 *
 * Gets other names whose saved state the plugin takes.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names
 */
char **
lp_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self)
{
  char **aliases;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  aliases = LP_PRECISION_PLUGIN_GET_CLASS (self)->dup_state_aliases (self);

  return aliases != NULL ? aliases : g_new0 (char *, 1);
}

/**
 * lp_precision_plugin_get_state_version:
 * @self: a plugin
 *
 * Gets the version of the state that the plugin saves. It reads that and older ones.
 *
 * Returns: the version
 */
guint
lp_precision_plugin_get_state_version (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), 0);

  return LP_PRECISION_PLUGIN_GET_CLASS (self)->get_state_version (self);
}

/**
 * lp_precision_plugin_save_state:
 * @self: a plugin
 * @error: return location for an error
 *
 * Gets what the plugin needs to go on after a restart, with the name and version by which it is known again.
 *
 * Returns: (transfer full): the state, which is empty if the plugin has none
 */
LpState *
lp_precision_plugin_save_state (LpPrecisionPlugin  *self,
                                GError            **error)
{
  g_autofree char *id = NULL;
  GError *local = NULL;
  LpState *state;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  if (!_lp_precision_plugin_ensure_init (self, error))
    return NULL;
  state = LP_PRECISION_PLUGIN_GET_CLASS (self)->save_state (self, &local);
  state = _lp_precision_plugin_end_object (self, "save_state", state, LP_TYPE_STATE, FALSE, local, error);
  if (state == NULL || lp_state_is_empty (state))
    return state;

  id = lp_precision_plugin_dup_state_id (self);
  lp_state_set_value (state, KEY_ID, g_variant_new_string (id));
  lp_state_set_value (state, KEY_VERSION, g_variant_new_int64 (lp_precision_plugin_get_state_version (self)));
  if (!lp_check_exceptions (error))
    g_clear_object (&state);

  return state;
}

static gboolean
is_own_id (LpPrecisionPlugin *self,
           const char        *id)
{
  g_autofree char *own = lp_precision_plugin_dup_state_id (self);

  return g_str_equal (own, id);
}

static gboolean
knows_id (LpPrecisionPlugin *self,
          const char        *id)
{
  g_auto (GStrv) aliases = lp_precision_plugin_dup_state_aliases (self);

  return is_own_id (self, id) || g_strv_contains ((const char *const *) aliases, id);
}

/* State under another name may have another shape: then it is foreign after all. */
static gboolean
load (LpPrecisionPlugin  *self,
      LpState            *state,
      const char         *id,
      GError            **error)
{
  GError *local = NULL;
  gboolean ok = LP_PRECISION_PLUGIN_GET_CLASS (self)->load_state (self, state, &local);

  if (ok || is_own_id (self, id) || !g_error_matches (local, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE))
    return _lp_precision_plugin_end_boolean (self, "load_state", ok, local, error);

  g_warning ("The saved state of the precision plugin “%s” is passed over: %s", id, local->message);
  g_error_free (local);

  return TRUE;
}

static gboolean
check_version (LpPrecisionPlugin  *self,
               LpState            *state,
               GError            **error)
{
  g_autoptr (GVariant) saved = lp_state_dup_value (state, KEY_VERSION);
  g_autofree char *text = NULL;
  double version;
  guint known;

  if (saved == NULL)
    return TRUE;
  if (!_lp_variant_to_double (saved, &version) || !(version >= 0) || version != floor (version))
    {
      text = g_variant_print (saved, FALSE);
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                   "The saved “" KEY_VERSION "” is %s, and a version is a whole number from 0 on", text);
      return FALSE;
    }
  known = lp_precision_plugin_get_state_version (self);
  if (!lp_check_exceptions (error))
    return FALSE;
  if (version <= known)
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
               "The saved state is of version %g and %s reads up to version %u: a newer LP wrote it", version,
               G_OBJECT_TYPE_NAME (self), known);
  return FALSE;
}

/**
 * lp_precision_plugin_load_state:
 * @self: a plugin
 * @state: what [method@PrecisionPlugin.save_state] gave
 * @error: return location for an error
 *
 * Takes saved state back. What is of another plugin, or doesn't say of which, is passed over with a warning.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_STATE for state of this plugin that is broken or of a newer
 *   version
 */
gboolean
lp_precision_plugin_load_state (LpPrecisionPlugin  *self,
                                LpState            *state,
                                GError            **error)
{
  g_autoptr (GVariant) id = NULL;
  gboolean is_known;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!_lp_precision_plugin_ensure_init (self, error))
    return FALSE;
  if (lp_state_is_empty (state))
    return TRUE;

  id = lp_state_dup_value (state, KEY_ID);
  if (id == NULL || !g_variant_is_of_type (id, G_VARIANT_TYPE_STRING))
    {
      g_warning ("Saved state that doesn't say which precision plugin it is of is passed over: this is a %s",
                 G_OBJECT_TYPE_NAME (self));
      return TRUE;
    }
  is_known = knows_id (self, g_variant_get_string (id, NULL));
  if (!lp_check_exceptions (error))
    return FALSE;
  if (!is_known)
    {
      g_warning ("The saved state of the precision plugin “%s” is passed over: this is a %s",
                 g_variant_get_string (id, NULL), G_OBJECT_TYPE_NAME (self));
      return TRUE;
    }
  return check_version (self, state, error) && load (self, state, g_variant_get_string (id, NULL), error) &&
         lp_check_exceptions (error);
}
