/* "auto": which precision is the fastest that trains safely on a device. */

#include <lp/precision/lp-precision-registry-private.h>

#include <lp/core/lp-dtype-registry.h>
#include <lp/precision/lp-precision-error.h>

/* What a precision needs of the device so that it is worth its while; a note on what is missing otherwise. */
static gboolean
suits (LpPrecisionPlugin  *plugin,
       LpDevice           *device,
       GError            **error)
{
  g_autoptr (LpPrecisionTraits) traits = NULL;
  g_autoptr (LpDType) dtype = NULL;
  const char *compute;

  if (!lp_precision_plugin_supports (plugin, device, error))
    return FALSE;
  traits = lp_precision_plugin_dup_traits (plugin, error);
  if (traits == NULL)
    return FALSE;

  compute = lp_precision_traits_get_compute (traits);
  dtype = compute != NULL ? lp_dtype_lookup (compute, NULL) : NULL;
  if (dtype == NULL || lp_device_computes_natively (device, dtype, dtype, lp_dtype_f32 ()))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "%s doesn't compute %s natively",
               lp_device_get_name (device), compute);
  return FALSE;
}

static gint
compare_ranks (gconstpointer a,
               gconstpointer b)
{
  return lp_registry_entry_get_rank (*(LpRegistryEntry *const *) b) - lp_registry_entry_get_rank (*(LpRegistryEntry *const *) a);
}

/* The entries that train safely, the fastest first. */
static GPtrArray *
dup_candidates (LpRegistry *registry)
{
  GPtrArray *entries = g_ptr_array_new_with_free_func (g_object_unref);

  lp_registry_load_modules (registry);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (G_LIST_MODEL (registry), i);

      if (lp_registry_entry_get_rank (entry) > 0)
        g_ptr_array_add (entries, g_steal_pointer (&entry));
    }
  g_ptr_array_sort (entries, compare_ranks);

  return entries;
}

static LpPrecisionPlugin *
try (LpPrecisionRegistry  *self,
     LpRegistryEntry      *entry,
     LpDevice             *device,
     GError              **error)
{
  g_autoptr (LpPrecisionPlugin) plugin =
    lp_precision_registry_create (self, lp_registry_entry_get_name (entry), NULL, error);

  return plugin != NULL && suits (plugin, device, error) ? g_steal_pointer (&plugin) : NULL;
}

/**
 * lp_precision_registry_choose:
 * @self: a registry
 * @device: a device
 * @reason: (out) (optional) (transfer full): what was taken, and why not the others
 * @error: return location for an error
 *
 * Makes the plugin of the fastest precision that trains safely on a device: of the entries with a rank above 0, the one
 * with the highest that supports the device, and whose arithmetic the device has. This is what the name `auto` takes.
 *
 * Returns: (transfer full): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED if no such precision runs there
 */
LpPrecisionPlugin *
lp_precision_registry_choose (LpPrecisionRegistry  *self,
                              LpDevice             *device,
                              char                **reason,
                              GError              **error)
{
  g_autoptr (GPtrArray) candidates = NULL;
  g_autoptr (GString) notes = g_string_new (NULL);

  g_return_val_if_fail (LP_IS_PRECISION_REGISTRY (self), NULL);
  g_return_val_if_fail (LP_IS_DEVICE (device), NULL);

  candidates = dup_candidates (LP_REGISTRY (self));
  for (guint i = 0; i < candidates->len; i++)
    {
      LpRegistryEntry *entry = g_ptr_array_index (candidates, i);
      g_autoptr (GError) local = NULL;
      LpPrecisionPlugin *plugin = try (self, entry, device, &local);

      if (plugin != NULL)
        {
          if (reason != NULL)
            *reason = g_strdup_printf ("%s is the fastest precision that trains safely on %s%s",
                                       lp_registry_entry_get_name (entry), lp_device_get_name (device), notes->str);
          return plugin;
        }
      g_string_append_printf (notes, "; not %s: %s", lp_registry_entry_get_name (entry), local->message);
    }

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "No precision trains safely on %s%s",
               lp_device_get_name (device), notes->str);
  return NULL;
}

GObject *
_lp_precision_create_auto (const char  *name,
                           GVariant    *config,
                           gpointer     user_data,
                           GError     **error)
{
  return (GObject *) lp_precision_registry_choose (lp_precision_registry_get_default (), lp_device_get_default (), NULL, error);
}
