#include <lp/lp.h>

/* Wants a name that is an alias of a precision of the library. */

G_MODULE_EXPORT const guint lp_module_abi_version;
G_MODULE_EXPORT gboolean    lp_module_precision_test_taken_register (LpRegistry *registry, GError **error);

const guint lp_module_abi_version = LP_MODULE_ABI;

gboolean
lp_module_precision_test_taken_register (LpRegistry  *registry,
                                         GError     **error)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new ("bf16", LP_TYPE_FULL_PRECISION_PLUGIN, NULL, NULL);

  return lp_registry_add (registry, entry, error);
}
