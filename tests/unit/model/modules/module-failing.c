#include <lp/lp.h>

/* Says why it can't work here. */

G_MODULE_EXPORT const guint lp_module_abi_version;
G_MODULE_EXPORT gboolean    lp_module_precision_test_failing_register (LpRegistry *registry, GError **error);

const guint lp_module_abi_version = LP_MODULE_ABI;

gboolean
lp_module_precision_test_failing_register (LpRegistry  *registry,
                                           GError     **error)
{
  g_set_error_literal (error, LP_ERROR, LP_ERROR_DEVICE, "no such hardware");
  return FALSE;
}
