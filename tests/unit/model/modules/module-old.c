#include <lp/lp.h>

/* Built for another LP. */

G_MODULE_EXPORT const guint lp_module_abi_version;
G_MODULE_EXPORT gboolean    lp_module_precision_test_old_register (LpRegistry *registry, GError **error);

const guint lp_module_abi_version = LP_MODULE_ABI + 1;

gboolean
lp_module_precision_test_old_register (LpRegistry  *registry,
                                       GError     **error)
{
  g_assert_not_reached ();
}
