#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/metrics/lp-metric.h>

G_BEGIN_DECLS

#define LP_TYPE_MEAN_SQUARED_ERROR (lp_mean_squared_error_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpMeanSquaredError, lp_mean_squared_error, LP, MEAN_SQUARED_ERROR, LpMetric)

LP_AVAILABLE_IN_ALL
LpMetric *lp_mean_squared_error_new (void);

G_END_DECLS
