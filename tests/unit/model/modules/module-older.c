#include <lp/lp.h>

/* Built for the LP before. */

G_MODULE_EXPORT guint    lp_module_abi (void);
G_MODULE_EXPORT gboolean lp_module_precision_test_older_register (LpRegistry *registry, GError **error);

guint
lp_module_abi (void)
{
  return LP_MODULE_ABI - 1;
}

gboolean
lp_module_precision_test_older_register (LpRegistry  *registry,
                                         GError     **error)
{
  g_assert_not_reached ();
}
