#pragma once

#include <lp/precision/lp-grad-scaler.h>

G_BEGIN_DECLS

struct _LpGradScaler
{
  GObject     parent_instance;

  double      init_scale;
  double      growth_factor;
  double      backoff_factor;
  gint        growth_interval;
  gint        hysteresis;
  double      min_scale;
  double      max_scale;
  gboolean    enabled;
  gboolean    allows_f16;         /* gradients in f16 are unscaled, and lose what is too small for them */

  float       scale;
  gboolean    started;            /* scale() was called, or state loaded */
  gboolean    loaded;             /* the bounds are those of saved state, which need not hold the initial scale */
  gint        growth_tracker;
  gint        hysteresis_tracker;
  gint64      n_skipped;
  LpStepResult last_result;
  LpTensor   *scale_tensor;
  GHashTable *records;            /* LpOptimizer → LpScalerRecord, since the last update */
};

typedef struct
{
  LpScalerStage  stage;
  LpTensor      *found_inf;
} LpScalerRecord;

void     _lp_grad_scaler_allow_f16     (LpGradScaler *self);

/* LP_PRECISION_ERROR_BAD_SCALER; always FALSE. */
gboolean _lp_grad_scaler_fail          (GError **error, const char *message);

/* They notify. */
void     _lp_grad_scaler_change_scale  (LpGradScaler *self, float scale);
void     _lp_grad_scaler_count_result  (LpGradScaler *self, LpStepResult result);
void     _lp_grad_scaler_change_skipped (LpGradScaler *self, gint64 n_skipped);

G_END_DECLS
