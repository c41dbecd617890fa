#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-lr-scheduler.h>

G_BEGIN_DECLS

#define LP_TYPE_OPTIMIZER_CONFIG (lp_optimizer_config_get_type ())

/* The optimizers of a model and their schedules. */
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpOptimizerConfig, lp_optimizer_config, LP, OPTIMIZER_CONFIG, GObject)

LP_AVAILABLE_IN_ALL
LpOptimizerConfig *lp_optimizer_config_new              (void);
LP_AVAILABLE_IN_ALL
void               lp_optimizer_config_add_optimizer    (LpOptimizerConfig *self,
                                                         LpOptimizer       *optimizer);
LP_AVAILABLE_IN_ALL
void               lp_optimizer_config_add_scheduler    (LpOptimizerConfig *self,
                                                         LpLrScheduler     *scheduler,
                                                         guint              frequency);
LP_AVAILABLE_IN_ALL
guint              lp_optimizer_config_get_n_optimizers (LpOptimizerConfig *self);
LP_AVAILABLE_IN_ALL
LpOptimizer       *lp_optimizer_config_get_optimizer    (LpOptimizerConfig *self,
                                                         guint              index);
LP_AVAILABLE_IN_ALL
guint              lp_optimizer_config_get_n_schedulers (LpOptimizerConfig *self);
LP_AVAILABLE_IN_ALL
LpLrScheduler     *lp_optimizer_config_get_scheduler    (LpOptimizerConfig *self,
                                                         guint              index);
LP_AVAILABLE_IN_ALL
guint              lp_optimizer_config_get_frequency    (LpOptimizerConfig *self,
                                                         guint              index);

G_END_DECLS
