#include <lp/optim/lp-step-closure.h>

#include <lp/core/lp-error.h>

/**
 * LpStepClosure:
 *
 * The part of a training step that an optimizer may want to run again: clear the gradients, compute the loss and its
 * gradients.
 */

G_DEFINE_ABSTRACT_TYPE (LpStepClosure, lp_step_closure, G_TYPE_OBJECT)

static LpTensor *
lp_step_closure_real_run (LpStepClosure  *self,
                          GError        **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement run", G_OBJECT_TYPE_NAME (self));
  return NULL;
}

static void
lp_step_closure_class_init (LpStepClosureClass *klass)
{
  klass->run = lp_step_closure_real_run;
}

static void
lp_step_closure_init (LpStepClosure *self)
{
}

/**
 * lp_step_closure_run:
 * @self: a closure
 * @error: return location for an error
 *
 * Clears the gradients, computes the loss and its gradients.
 *
 * Returns: (transfer full): the loss. Errors: those of the closure; %LP_ERROR_SUBCLASS for one that returns nothing
 */
LpTensor *
lp_step_closure_run (LpStepClosure  *self,
                     GError        **error)
{
  GError *local = NULL;
  LpTensor *loss;

  g_return_val_if_fail (LP_IS_STEP_CLOSURE (self), NULL);

  loss = LP_STEP_CLOSURE_GET_CLASS (self)->run (self, &local);
  if (loss != NULL && local == NULL)
    return loss;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.run returned no loss and no error", G_OBJECT_TYPE_NAME (self));
  g_clear_object (&loss);
  g_propagate_error (error, local);

  return NULL;
}
