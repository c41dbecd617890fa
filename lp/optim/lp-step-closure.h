#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_STEP_CLOSURE (lp_step_closure_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpStepClosure, lp_step_closure, LP, STEP_CLOSURE, GObject)

/**
 * LpStepClosureClass:
 * @run: clears the gradients, computes the loss and its gradients, and returns the loss
 */
struct _LpStepClosureClass
{
  GObjectClass parent_class;

  LpTensor *(* run) (LpStepClosure  *self,
                     GError        **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpTensor *lp_step_closure_run (LpStepClosure  *self,
                               GError        **error);

G_END_DECLS
