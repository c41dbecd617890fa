#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_GELU (lp_gelu_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpGELU, lp_gelu, LP, GELU, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_gelu_new             (void);
LP_AVAILABLE_IN_ALL
LpModule *lp_gelu_new_full        (gboolean  approximate);
LP_AVAILABLE_IN_ALL
gboolean  lp_gelu_get_approximate (LpGELU   *self);

G_END_DECLS
