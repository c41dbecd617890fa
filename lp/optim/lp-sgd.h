#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-optimizer.h>

G_BEGIN_DECLS

#define LP_TYPE_SGD (lp_sgd_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpSgd, lp_sgd, LP, SGD, LpOptimizer)

LP_AVAILABLE_IN_ALL
LpOptimizer *lp_sgd_new           (GPtrArray *parameters,
                                   double     lr);
LP_AVAILABLE_IN_ALL
LpOptimizer *lp_sgd_new_full      (GPtrArray *parameters,
                                   double     lr,
                                   double     momentum,
                                   double     dampening,
                                   double     weight_decay,
                                   gboolean   nesterov);
LP_AVAILABLE_IN_ALL
double       lp_sgd_get_momentum  (LpSgd     *self);
LP_AVAILABLE_IN_ALL
void         lp_sgd_set_momentum  (LpSgd     *self,
                                   double     momentum);
LP_AVAILABLE_IN_ALL
double       lp_sgd_get_dampening (LpSgd     *self);
LP_AVAILABLE_IN_ALL
void         lp_sgd_set_dampening (LpSgd     *self,
                                   double     dampening);
LP_AVAILABLE_IN_ALL
gboolean     lp_sgd_get_nesterov  (LpSgd     *self);
LP_AVAILABLE_IN_ALL
void         lp_sgd_set_nesterov  (LpSgd     *self,
                                   gboolean   nesterov);

G_END_DECLS
