#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-optimizer.h>

G_BEGIN_DECLS

#define LP_TYPE_ADAMW (lp_adamw_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpAdamW, lp_adamw, LP, ADAMW, LpOptimizer)

LP_AVAILABLE_IN_ALL
LpOptimizer *lp_adamw_new       (GPtrArray *parameters,
                                 double     lr);
LP_AVAILABLE_IN_ALL
LpOptimizer *lp_adamw_new_full  (GPtrArray *parameters,
                                 double     lr,
                                 double     beta1,
                                 double     beta2,
                                 double     eps,
                                 double     weight_decay);
LP_AVAILABLE_IN_ALL
double       lp_adamw_get_beta1 (LpAdamW   *self);
LP_AVAILABLE_IN_ALL
void         lp_adamw_set_beta1 (LpAdamW   *self,
                                 double     beta1);
LP_AVAILABLE_IN_ALL
double       lp_adamw_get_beta2 (LpAdamW   *self);
LP_AVAILABLE_IN_ALL
void         lp_adamw_set_beta2 (LpAdamW   *self,
                                 double     beta2);
LP_AVAILABLE_IN_ALL
double       lp_adamw_get_eps   (LpAdamW   *self);
LP_AVAILABLE_IN_ALL
void         lp_adamw_set_eps   (LpAdamW   *self,
                                 double     eps);

G_END_DECLS
