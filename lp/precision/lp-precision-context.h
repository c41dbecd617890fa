#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>
#include <lp/optim/lp-optimizer.h>
#include <lp/parallel/lp-strategy.h>

G_BEGIN_DECLS

#define LP_TYPE_PRECISION_CONTEXT (lp_precision_context_get_type ())

/* What is known of a run when a plugin is asked whether it can take part. */
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpPrecisionContext, lp_precision_context, LP, PRECISION_CONTEXT, GObject)

LP_AVAILABLE_IN_ALL
LpPrecisionContext *lp_precision_context_new                (void);
LP_AVAILABLE_IN_ALL
LpDevice           *lp_precision_context_get_device         (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_set_device         (LpPrecisionContext *self,
                                                             LpDevice           *device);
LP_AVAILABLE_IN_ALL
LpStrategy         *lp_precision_context_get_strategy       (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_set_strategy       (LpPrecisionContext *self,
                                                             LpStrategy         *strategy);
LP_AVAILABLE_IN_ALL
LpModule           *lp_precision_context_get_module         (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_set_module         (LpPrecisionContext *self,
                                                             LpModule           *module);
LP_AVAILABLE_IN_ALL
GPtrArray          *lp_precision_context_dup_optimizers     (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_add_optimizer      (LpPrecisionContext *self,
                                                             LpOptimizer        *optimizer);
LP_AVAILABLE_IN_ALL
double              lp_precision_context_get_clip_value     (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_set_clip_value     (LpPrecisionContext *self,
                                                             double              clip_value);
LP_AVAILABLE_IN_ALL
LpClipAlgorithm     lp_precision_context_get_clip_algorithm (LpPrecisionContext *self);
LP_AVAILABLE_IN_ALL
void                lp_precision_context_set_clip_algorithm (LpPrecisionContext *self,
                                                             LpClipAlgorithm     clip_algorithm);

G_END_DECLS
