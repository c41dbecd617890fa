#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-lr-scheduler.h>

G_BEGIN_DECLS

#define LP_TYPE_WARMUP_LR (lp_warmup_lr_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpWarmupLr, lp_warmup_lr, LP, WARMUP_LR, LpLrScheduler)

LP_AVAILABLE_IN_ALL
LpLrScheduler *lp_warmup_lr_new (LpOptimizer   *optimizer,
                                 gint64         n_steps,
                                 double         start_factor,
                                 LpLrScheduler *after);

G_END_DECLS
