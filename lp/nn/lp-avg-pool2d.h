#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-pool2d.h>

G_BEGIN_DECLS

#define LP_TYPE_AVG_POOL2D (lp_avg_pool2d_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpAvgPool2d, lp_avg_pool2d, LP, AVG_POOL2D, LpPool2d)

LP_AVAILABLE_IN_ALL
LpModule *lp_avg_pool2d_new      (gint kernel_size);
LP_AVAILABLE_IN_ALL
LpModule *lp_avg_pool2d_new_full (gint kernel_size,
                                  gint stride,
                                  gint padding);

G_END_DECLS
