#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/metrics/lp-metric.h>

G_BEGIN_DECLS

#define LP_TYPE_MEAN_METRIC (lp_mean_metric_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpMeanMetric, lp_mean_metric, LP, MEAN_METRIC, LpMetric)

LP_AVAILABLE_IN_ALL
LpMetric *lp_mean_metric_new       (void);
LP_AVAILABLE_IN_ALL
void      lp_mean_metric_add_value (LpMeanMetric *self,
                                    double        value,
                                    double        weight);

G_END_DECLS
