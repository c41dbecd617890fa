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

char *
_lp_state_dup_string (LpState    *state,
                      const char *name)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE_STRING))
    return NULL;

  return g_variant_dup_string (variant, NULL);
}
