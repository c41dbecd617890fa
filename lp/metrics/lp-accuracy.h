#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/metrics/lp-metric.h>

G_BEGIN_DECLS

#define LP_TYPE_ACCURACY (lp_accuracy_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpAccuracy, lp_accuracy, LP, ACCURACY, LpMetric)

LP_AVAILABLE_IN_ALL
LpMetric *lp_accuracy_new       (void);
LP_AVAILABLE_IN_ALL
guint     lp_accuracy_get_top_k (LpAccuracy *self);
LP_AVAILABLE_IN_ALL
void      lp_accuracy_set_top_k (LpAccuracy *self,
                                 guint       top_k);

G_END_DECLS
