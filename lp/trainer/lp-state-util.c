#include <lp/trainer/lp-state-private.h>

#include <lp/core/lp-error.h>

gboolean
_lp_state_get (LpState     *state,
               const char  *name,
               const char  *type,
               gpointer     value,
               GError     **error)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE (type)))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The saved state has no usable '%s'", name);
      return FALSE;
    }
  g_variant_get (variant, type, value);

  return TRUE;
}

gboolean
_lp_state_get_at_least (LpState     *state,
                        const char  *name,
                        gint64       least,
                        gint64      *value,
                        GError     **error)
{
  if (!_lp_state_get (state, name, "x", value, error))
    return FALSE;
  if (*value >= least && *value <= (gint64) 1 << 53)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The saved '%s' is %" G_GINT64_FORMAT ", which no run can reach", name, *value);
  return FALSE;
}

char *
_lp_state_dup_string (LpState    *state,
                      const char *name)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE_STRING))
    return NULL;

  return g_variant_dup_string (variant, NULL);
}
