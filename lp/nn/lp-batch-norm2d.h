#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_BATCH_NORM2D (lp_batch_norm2d_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpBatchNorm2d, lp_batch_norm2d, LP, BATCH_NORM2D, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_batch_norm2d_new              (gint64         n_features);
LP_AVAILABLE_IN_ALL
LpModule *lp_batch_norm2d_new_full         (gint64         n_features,
                                            double         eps,
                                            double         momentum,
                                            gboolean       affine);
LP_AVAILABLE_IN_ALL
gint64    lp_batch_norm2d_get_n_features   (LpBatchNorm2d *self);
LP_AVAILABLE_IN_ALL
double    lp_batch_norm2d_get_eps          (LpBatchNorm2d *self);
LP_AVAILABLE_IN_ALL
double    lp_batch_norm2d_get_momentum     (LpBatchNorm2d *self);

G_END_DECLS
