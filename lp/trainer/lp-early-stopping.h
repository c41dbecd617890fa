#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-monitor-callback.h>

G_BEGIN_DECLS

#define LP_TYPE_EARLY_STOPPING (lp_early_stopping_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpEarlyStopping, lp_early_stopping, LP, EARLY_STOPPING, LpMonitorCallback)

LP_AVAILABLE_IN_ALL
LpCallback *lp_early_stopping_new (const char *monitor,
                                   LpMonitorMode mode,
                                   guint patience);
LP_AVAILABLE_IN_ALL
double lp_early_stopping_get_min_delta (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_min_delta (LpEarlyStopping *self,
                                      double min_delta);
LP_AVAILABLE_IN_ALL
guint lp_early_stopping_get_patience (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_patience (LpEarlyStopping *self,
                                     guint patience);
LP_AVAILABLE_IN_ALL
gboolean lp_early_stopping_get_strict (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_strict (LpEarlyStopping *self,
                                   gboolean strict);
LP_AVAILABLE_IN_ALL
gboolean lp_early_stopping_get_check_finite (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_check_finite (LpEarlyStopping *self,
                                         gboolean check_finite);
LP_AVAILABLE_IN_ALL
double lp_early_stopping_get_stopping_threshold (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_stopping_threshold (LpEarlyStopping *self,
                                               double stopping_threshold);
LP_AVAILABLE_IN_ALL
double lp_early_stopping_get_divergence_threshold (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
void lp_early_stopping_set_divergence_threshold (LpEarlyStopping *self,
                                                 double divergence_threshold);
LP_AVAILABLE_IN_ALL
double lp_early_stopping_get_best_score (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
gint64 lp_early_stopping_get_stopped_epoch (LpEarlyStopping *self);
LP_AVAILABLE_IN_ALL
char *lp_early_stopping_dup_stop_reason (LpEarlyStopping *self);

G_END_DECLS
