#pragma once

#include <lp/metrics/lp-metric.h>

G_BEGIN_DECLS

gboolean _lp_metric_get_sum       (LpState     *state,
                                   const char  *name,
                                   double      *sum,
                                   GError     **error);
gboolean _lp_metric_check_targets (LpMetric    *self,
                                   LpTensor    *targets,
                                   GError     **error);

/* The classes that predictions name: the largest of each row for scores [n, c], the numbers themselves for integers [n].
 * LP_ERROR_SHAPE unless targets are [n]. @n_classes is the extent of the last axis, or 0. */
typedef struct
{
  double *scores;      /* [n, c], or NULL */
  gint64 *classes;     /* [n], or NULL */
  gint64 *targets;     /* [n] */
  gsize   n;
  gsize   n_classes;
} LpLabels;

gboolean _lp_labels_read  (LpLabels  *self,
                           LpTensor  *predictions,
                           LpTensor  *targets,
                           GError   **error);
gint64   _lp_labels_get   (LpLabels  *self,
                           gsize      row);
void     _lp_labels_clear (LpLabels  *self);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LpLabels, _lp_labels_clear)

G_END_DECLS
