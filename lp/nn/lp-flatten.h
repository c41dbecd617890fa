#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_FLATTEN (lp_flatten_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpFlatten, lp_flatten, LP, FLATTEN, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_flatten_new            (void);
LP_AVAILABLE_IN_ALL
LpModule *lp_flatten_new_full       (gint       start_axis);
LP_AVAILABLE_IN_ALL
gint      lp_flatten_get_start_axis (LpFlatten *self);

G_END_DECLS
