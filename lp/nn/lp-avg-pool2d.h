#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_AVG_POOL2D (lp_avg_pool2d_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpAvgPool2d, lp_avg_pool2d, LP, AVG_POOL2D, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_avg_pool2d_new             (gint kernel_size);
LP_AVAILABLE_IN_ALL
LpModule *lp_avg_pool2d_new_full        (gint kernel_size,
                                        gint stride,
                                        gint padding);
LP_AVAILABLE_IN_ALL
gint      lp_avg_pool2d_get_kernel_size (LpAvgPool2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_avg_pool2d_get_stride      (LpAvgPool2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_avg_pool2d_get_padding     (LpAvgPool2d *self);

G_END_DECLS
