#pragma once

#include <lp/metrics/lp-metric.h>
#include <lp/tensor/lp-state.h>
#include <lp/trainer/lp-trainer-types.h>

G_BEGIN_DECLS

typedef enum { LP_LOG_PHASE_NONE, LP_LOG_PHASE_TRAIN, LP_LOG_PHASE_EVAL, LP_LOG_N_PHASES } LpLogPhase;

/* One logged name. Sums are float64 whatever is logged. */
typedef struct
{
  char       *name;
  LpLogFlags  flags;          /* with on step or on epoch decided */
  LpMetric   *metric;         /* NULL for plain values */
  LpState    *metric_state;   /* of a resumed run, until the metric turns up */
  GPtrArray  *pending;        /* tensors not read yet, and their weights */
  GArray     *pending_weights;
  double      sum, weight, min, max;
  double      step_value, epoch_value;
  gboolean    has_step, has_epoch;
  gboolean    fresh;          /* logged in this epoch */
  gboolean    dirty;          /* logged since the epoch's value was made */
} LpLogEntry;

/* What a run has logged, by phase, in the order of the first use. */
typedef struct
{
  LpLogPhase  phase;          /* LP_LOG_PHASE_NONE: logging is not allowed */
  gboolean    in_step;        /* the default is on step */
  gboolean    defer;          /* tensors are read later */
  GPtrArray  *entries[LP_LOG_N_PHASES];
  GHashTable *tables[LP_LOG_N_PHASES];
} LpLog;

void      _lp_log_init         (LpLog *self);
void      _lp_log_clear        (LpLog *self);
gboolean  _lp_log_add_value    (LpLog *self, const char *name, double value, double weight, LpLogFlags flags, GError **error);
gboolean  _lp_log_add_tensor   (LpLog *self, const char *name, LpTensor *value, double weight, LpLogFlags flags,
                                GError **error);
gboolean  _lp_log_add_metric   (LpLog *self, const char *name, LpMetric *metric, LpLogFlags flags, GError **error);
/* Reads what was deferred. */
gboolean  _lp_log_settle       (LpLog *self, GError **error);
void      _lp_log_start_epoch  (LpLog *self, LpLogPhase phase);
/* Drops what a phase has logged so far. */
void      _lp_log_forget       (LpLog *self, LpLogPhase phase);
/* Makes the epoch's values. */
gboolean  _lp_log_finish_epoch (LpLog *self, LpLogPhase phase, GError **error);
/* a{sd}, floating: what loggers get for a step or an epoch */
GVariant *_lp_log_dup_step     (LpLog *self, LpLogPhase phase, gint64 epoch);
GVariant *_lp_log_dup_epoch    (LpLog *self, LpLogPhase phase, gint64 epoch);
/* a{sd}, floating: everything known; with all flags of @required and none of @excluded */
GVariant *_lp_log_dup_all      (LpLog *self, LpLogFlags required, LpLogFlags excluded);
/* a{sd}, floating: the epoch values of the evaluation */
GVariant *_lp_log_dup_results  (LpLog *self);
gboolean  _lp_log_lookup       (LpLog *self, const char *name, double *value);
gboolean  _lp_log_save         (LpLog *self, LpState *state, GError **error);
gboolean  _lp_log_load         (LpLog *self, LpState *state, GError **error);

G_END_DECLS
