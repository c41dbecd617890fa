#include <lp/lp.h>

/* A module with one precision, as somebody outside the tree would write it. */

G_MODULE_EXPORT guint    lp_module_abi                              (void);
G_MODULE_EXPORT gboolean lp_module_precision_test_good_register (LpRegistry *registry, GError **error);

static GObject *
create (const char  *name,
        GVariant    *config,
        gpointer     user_data,
        GError     **error)
{
  return G_OBJECT (lp_full_precision_plugin_new ());
}

guint
lp_module_abi (void)
{
  return LP_MODULE_ABI;
}

gboolean
lp_module_precision_test_good_register (LpRegistry  *registry,
                                        GError     **error)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new_factory ("test-good", "From a module", create, NULL, NULL);

  lp_registry_entry_add_alias (entry, "test-alias");

  return lp_registry_add (registry, entry, error);
}
