#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-lr-scheduler.h>

G_BEGIN_DECLS

#define LP_TYPE_COSINE_LR (lp_cosine_lr_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpCosineLr, lp_cosine_lr, LP, COSINE_LR, LpLrScheduler)

LP_AVAILABLE_IN_ALL
LpLrScheduler *lp_cosine_lr_new (LpOptimizer *optimizer,
                                 gint64       n_steps,
                                 double       min_factor);

G_END_DECLS
