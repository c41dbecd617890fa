#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/optim/lp-param-group.h>
#include <lp/optim/lp-step-closure.h>
#include <lp/tensor/lp-state.h>

G_BEGIN_DECLS

/**
 * LpStepResult:
 * @LP_STEP_FAILED: the step failed, and the error says why
 * @LP_STEP_APPLIED: the parameters have new values
 * @LP_STEP_SKIPPED: the gradients were not finite, and the parameters are as before
 * @LP_STEP_DEFERRED: the device decides; the host learns of it later
 *
 * What became of a step.
 */
typedef enum { LP_STEP_FAILED = 0, LP_STEP_APPLIED, LP_STEP_SKIPPED, LP_STEP_DEFERRED } LpStepResult;

/**
 * LpClipAlgorithm:
 * @LP_CLIP_NORM: scale all gradients so that their global L2 norm is at most the value
 * @LP_CLIP_VALUE: clamp each element to plus or minus the value
 *
 * How gradients are clipped.
 */
typedef enum { LP_CLIP_NORM, LP_CLIP_VALUE } LpClipAlgorithm;

#define LP_TYPE_STEP_RESULT (lp_step_result_get_type ())
#define LP_TYPE_CLIP_ALGORITHM (lp_clip_algorithm_get_type ())
#define LP_TYPE_OPTIMIZER (lp_optimizer_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_step_result_get_type (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
GType lp_clip_algorithm_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpOptimizer, lp_optimizer, LP, OPTIMIZER, GObject)

/**
 * LpOptimizerClass:
 * @step_group: updates the masters of @group from their gradients
 * @save_state: what the optimizer needs to go on after a restart
 * @load_state: takes it back
 * @scales_gradients: whether @step_group itself multiplies by the gradient scale and the clip coefficient and
 *   looks at found-inf; the base class does so for those that don't
 */
struct _LpOptimizerClass
{
  GObjectClass parent_class;

  gboolean  (* step_group)       (LpOptimizer   *self,
                                  LpParamGroup  *group,
                                  GError       **error);
  LpState  *(* save_state)       (LpOptimizer   *self,
                                  GError       **error);
  gboolean  (* load_state)       (LpOptimizer   *self,
                                  LpState       *state,
                                  GError       **error);
  gboolean  (* scales_gradients) (LpOptimizer   *self);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_add_group             (LpOptimizer      *self,
                                                  LpParamGroup     *group,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
guint         lp_optimizer_get_n_groups          (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
LpParamGroup *lp_optimizer_get_group             (LpOptimizer      *self,
                                                  guint             index);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_optimizer_dup_parameters        (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
gint64        lp_optimizer_get_master_bytes      (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
double        lp_optimizer_get_lr                (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
void          lp_optimizer_set_lr                (LpOptimizer      *self,
                                                  double            lr);
LP_AVAILABLE_IN_ALL
gint64        lp_optimizer_get_step_count        (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
gint64        lp_optimizer_get_n_skipped         (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
LpStepResult  lp_optimizer_get_last_result       (LpOptimizer      *self);

LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_zero_grad             (LpOptimizer      *self,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
LpStepResult  lp_optimizer_step                  (LpOptimizer      *self,
                                                  LpStepClosure    *closure,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_step_group            (LpOptimizer      *self,
                                                  LpParamGroup     *group,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_scales_gradients      (LpOptimizer      *self);

/* The gradients of all groups. */
LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_scale_gradients       (LpOptimizer      *self,
                                                  LpTensor         *scale,
                                                  LpTensor         *found_inf,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
double        lp_optimizer_compute_grad_norm     (LpOptimizer      *self,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_clip_gradients        (LpOptimizer      *self,
                                                  double            value,
                                                  LpClipAlgorithm   algorithm,
                                                  GError          **error);

/* Scalars on the device that the next steps use. */
LP_AVAILABLE_IN_ALL
LpTensor     *lp_optimizer_get_grad_scale        (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
void          lp_optimizer_set_grad_scale        (LpOptimizer      *self,
                                                  LpTensor         *grad_scale);
LP_AVAILABLE_IN_ALL
LpTensor     *lp_optimizer_get_found_inf         (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
void          lp_optimizer_set_found_inf         (LpOptimizer      *self,
                                                  LpTensor         *found_inf);
LP_AVAILABLE_IN_ALL
LpTensor     *lp_optimizer_get_clip_coefficient  (LpOptimizer      *self);
LP_AVAILABLE_IN_ALL
void          lp_optimizer_set_clip_coefficient  (LpOptimizer      *self,
                                                  LpTensor         *clip_coefficient);

LP_AVAILABLE_IN_ALL
LpState      *lp_optimizer_save_state            (LpOptimizer      *self,
                                                  GError          **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_optimizer_load_state            (LpOptimizer      *self,
                                                  LpState          *state,
                                                  GError          **error);

G_END_DECLS
