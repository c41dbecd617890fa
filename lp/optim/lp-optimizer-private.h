#pragma once

#include <lp/optim/lp-optimizer.h>
#include <lp/optim/lp-param-group-private.h>

G_BEGIN_DECLS

typedef struct
{
  GPtrArray *groups;
  LpTensor  *grad_scale;
  LpTensor  *found_inf;
  LpTensor  *clip_coefficient;
  guint      stream;        /* place in its run */
  gint64     step_count;
  gint64     n_skipped;
  LpStepResult last_result;
  GError    *problem;       /* of construction */
  gboolean   scaled;        /* the gradients are those of a loss that a precision has scaled */

  /* The sum of squares of the gradients, good while the mark is theirs. */
  double     sum_squares;
  guint64    mark;
  gboolean   has_sum;
} LpOptimizerData;

LpOptimizerData *_lp_optimizer_get_data      (LpOptimizer *self);

/* The defaults of the virtual functions. */
LpState         *_lp_optimizer_real_save_state (LpOptimizer *self, GError **error);
gboolean         _lp_optimizer_real_load_state (LpOptimizer *self, LpState *state, GError **error);

/* LP_ERROR_STATE and the like before anything can be done. */
gboolean         _lp_optimizer_check         (LpOptimizer *self, GError **error);
gboolean         _lp_optimizer_gather        (LpOptimizer *self, GError **error);
/* Reads a scalar on the device: TRUE when it is set and not 0. */
gboolean         _lp_optimizer_has_found_inf (LpOptimizer *self);
/* Multiplies all gradients in place. */
gboolean         _lp_optimizer_multiply      (LpOptimizer *self, LpTensor *factor, GError **error);

/* Adds the parameters as the first group; what is wrong with them is reported later. */
void             _lp_optimizer_take_group    (LpOptimizer *self, LpParamGroup *group);

/* Counts a step and notifies. */
void             _lp_optimizer_count_result  (LpOptimizer *self, LpStepResult result);

/* A step is refused while its gradients are scaled: their precision knows how to make it. */
void             _lp_optimizer_set_scaled    (LpOptimizer *self, gboolean scaled);

/* Its place in the run: optimizers at different ones round by different random numbers, at the same one by the same. */
void             _lp_optimizer_set_stream    (LpOptimizer *self, guint stream);

/* The part of the fused arguments that all optimizers share. */
gboolean         _lp_optimizer_fill_args     (LpOptimizer *self, LpParamGroup *group, guint index, guint n_moments,
                                              LpFusedStepArgs *args, GError **error);
/* After the kernel ran: versions, 16-bit copies, encoded weights. */
gboolean         _lp_param_group_finish_slot (LpParamGroup *group, guint index, GError **error);

/* Numbers of saved state, however they were boxed on their way through a file. */
gboolean         _lp_variant_to_double       (GVariant *variant, double *value);
/* A whole number from 0 to 2^53: what a count can be. */
gboolean         _lp_state_get_count         (LpState *state, const char *name, gint64 *count);

G_END_DECLS
