#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-optimizer.h>

G_BEGIN_DECLS

/**
 * LpScalerStage:
 * @LP_SCALER_READY: nothing was done with the gradients since the last update
 * @LP_SCALER_UNSCALED: they have true values
 * @LP_SCALER_STEPPED: the optimizer used them
 *
 * How far an optimizer is within a step.
 */
typedef enum { LP_SCALER_READY, LP_SCALER_UNSCALED, LP_SCALER_STEPPED } LpScalerStage;

#define LP_TYPE_SCALER_STAGE (lp_scaler_stage_get_type ())
#define LP_TYPE_GRAD_SCALER (lp_grad_scaler_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_scaler_stage_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpGradScaler, lp_grad_scaler, LP, GRAD_SCALER, GObject)

LP_AVAILABLE_IN_ALL
LpGradScaler  *lp_grad_scaler_new                (void);
LP_AVAILABLE_IN_ALL
LpGradScaler  *lp_grad_scaler_new_full           (double          init_scale,
                                                  double          growth_factor,
                                                  double          backoff_factor,
                                                  gint            growth_interval,
                                                  gboolean        enabled,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_check              (LpGradScaler   *self,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
LpTensor      *lp_grad_scaler_scale              (LpGradScaler   *self,
                                                  LpTensor       *loss,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_unscale            (LpGradScaler   *self,
                                                  LpOptimizer    *optimizer,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
LpStepResult   lp_grad_scaler_step               (LpGradScaler   *self,
                                                  LpOptimizer    *optimizer,
                                                  LpStepClosure  *closure,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_update             (LpGradScaler   *self,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_set_scale          (LpGradScaler   *self,
                                                  double          scale,
                                                  GError        **error);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_scale          (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_init_scale     (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_growth_factor  (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_backoff_factor (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
gint           lp_grad_scaler_get_growth_interval (LpGradScaler  *self);
LP_AVAILABLE_IN_ALL
gint           lp_grad_scaler_get_growth_tracker (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
gint           lp_grad_scaler_get_hysteresis     (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_min_scale      (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
double         lp_grad_scaler_get_max_scale      (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_get_enabled        (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
gint64         lp_grad_scaler_get_n_skipped      (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
LpStepResult   lp_grad_scaler_get_last_result    (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
LpScalerStage  lp_grad_scaler_get_stage          (LpGradScaler   *self,
                                                  LpOptimizer    *optimizer);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_get_pending        (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
LpState       *lp_grad_scaler_save_state         (LpGradScaler   *self);
LP_AVAILABLE_IN_ALL
gboolean       lp_grad_scaler_load_state         (LpGradScaler   *self,
                                                  LpState        *state,
                                                  GError        **error);

G_END_DECLS
