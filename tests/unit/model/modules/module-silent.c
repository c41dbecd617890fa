#include <lp/lp.h>

/* Says nothing of what it was built for. */

G_MODULE_EXPORT gboolean lp_module_precision_test_silent_register (LpRegistry *registry, GError **error);

gboolean
lp_module_precision_test_silent_register (LpRegistry  *registry,
                                          GError     **error)
{
  g_assert_not_reached ();
}
