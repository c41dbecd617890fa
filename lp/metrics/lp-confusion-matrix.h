#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/metrics/lp-metric.h>

G_BEGIN_DECLS

#define LP_TYPE_CONFUSION_MATRIX (lp_confusion_matrix_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpConfusionMatrix, lp_confusion_matrix, LP, CONFUSION_MATRIX, LpMetric)

LP_AVAILABLE_IN_ALL
LpMetric *lp_confusion_matrix_new             (guint              num_classes);
LP_AVAILABLE_IN_ALL
guint     lp_confusion_matrix_get_num_classes (LpConfusionMatrix *self);

G_END_DECLS
