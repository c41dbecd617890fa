#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-lr-scheduler.h>

G_BEGIN_DECLS

#define LP_TYPE_STEP_LR (lp_step_lr_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpStepLr, lp_step_lr, LP, STEP_LR, LpLrScheduler)

LP_AVAILABLE_IN_ALL
LpLrScheduler *lp_step_lr_new (LpOptimizer *optimizer,
                               gint64       step_size,
                               double       gamma);

G_END_DECLS
