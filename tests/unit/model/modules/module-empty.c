#include <lp/lp.h>

/* Has the number but registers nothing. */

G_MODULE_EXPORT const guint lp_module_abi_version;

const guint lp_module_abi_version = LP_MODULE_ABI;
