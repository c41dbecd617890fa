#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-state.h>

G_BEGIN_DECLS

#define LP_TYPE_METRIC (lp_metric_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpMetric, lp_metric, LP, METRIC, GObject)

/**
 * LpMetricClass:
 * @update: takes in one batch
 * @compute: the value of everything taken in since the last reset
 * @reset: forgets everything
 * @merge: takes in what another metric of the same type has taken in
 * @save_state: what @load_state needs to go on from here
 * @load_state: goes on from a saved state
 */
struct _LpMetricClass
{
  GObjectClass parent_class;

  gboolean  (* update)     (LpMetric  *self,
                            LpTensor  *predictions,
                            LpTensor  *targets,
                            GError   **error);
  LpTensor *(* compute)    (LpMetric  *self,
                            GError   **error);
  void      (* reset)      (LpMetric  *self);
  gboolean  (* merge)      (LpMetric  *self,
                            LpMetric  *other,
                            GError   **error);
  LpState  *(* save_state) (LpMetric  *self,
                            GError   **error);
  gboolean  (* load_state) (LpMetric  *self,
                            LpState   *state,
                            GError   **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
gboolean  lp_metric_update        (LpMetric  *self,
                                   LpTensor  *predictions,
                                   LpTensor  *targets,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_metric_compute       (LpMetric  *self,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
double    lp_metric_compute_value (LpMetric  *self,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
void      lp_metric_reset         (LpMetric  *self);
LP_AVAILABLE_IN_ALL
gboolean  lp_metric_merge         (LpMetric  *self,
                                   LpMetric  *other,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
LpState  *lp_metric_save_state    (LpMetric  *self,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
gboolean  lp_metric_load_state    (LpMetric  *self,
                                   LpState   *state,
                                   GError   **error);

G_END_DECLS
