#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-optimizer.h>

G_BEGIN_DECLS

/**
 * LpLrInterval:
 * @LP_LR_INTERVAL_STEP: after every optimizer step
 * @LP_LR_INTERVAL_EPOCH: at the end of every epoch
 *
 * When a schedule moves on.
 */
typedef enum { LP_LR_INTERVAL_STEP, LP_LR_INTERVAL_EPOCH } LpLrInterval;

#define LP_TYPE_LR_INTERVAL (lp_lr_interval_get_type ())
#define LP_TYPE_LR_SCHEDULER (lp_lr_scheduler_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_lr_interval_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpLrScheduler, lp_lr_scheduler, LP, LR_SCHEDULER, GObject)

/**
 * LpLrSchedulerClass:
 * @get_factor: what the base learning rates are multiplied by at a step, counted from 0
 */
struct _LpLrSchedulerClass
{
  GObjectClass parent_class;

  double (* get_factor) (LpLrScheduler  *self,
                         gint64          step,
                         GError        **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
double        lp_lr_scheduler_get_factor    (LpLrScheduler  *self,
                                             gint64          step,
                                             GError        **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_lr_scheduler_apply         (LpLrScheduler  *self,
                                             GError        **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_lr_scheduler_step          (LpLrScheduler  *self,
                                             GError        **error);
LP_AVAILABLE_IN_ALL
LpOptimizer  *lp_lr_scheduler_get_optimizer (LpLrScheduler  *self);
LP_AVAILABLE_IN_ALL
gint64        lp_lr_scheduler_get_position  (LpLrScheduler  *self);
LP_AVAILABLE_IN_ALL
LpLrInterval  lp_lr_scheduler_get_interval  (LpLrScheduler  *self);
LP_AVAILABLE_IN_ALL
void          lp_lr_scheduler_set_interval  (LpLrScheduler  *self,
                                             LpLrInterval    interval);
LP_AVAILABLE_IN_ALL
LpState      *lp_lr_scheduler_save_state    (LpLrScheduler  *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_lr_scheduler_load_state    (LpLrScheduler  *self,
                                             LpState        *state,
                                             GError        **error);

G_END_DECLS
