#include <lp/trainer/lp-callback.h>

#include <lp/core/lp-error.h>

/**
 * LpCallback:
 *
 * Code that a trainer calls at the events of a run, with state that is saved in checkpoints.
 *
 * Callbacks are called in the order in which they were added, before the model; those that write checkpoints come last of
 * all. Every hook may set an error, which ends the run.
 */
G_DEFINE_ABSTRACT_TYPE (LpCallback, lp_callback, G_TYPE_OBJECT)

static void
ignore_stage (LpCallback  *self,
              LpTrainer   *trainer,
              LpModel     *model,
              LpStage      stage,
              GError     **error)
{
}

static void
ignore_event (LpCallback  *self,
              LpTrainer   *trainer,
              LpModel     *model,
              GError     **error)
{
}

static void
ignore_batch_batch_idx (LpCallback  *self,
                        LpTrainer   *trainer,
                        LpModel     *model,
                        LpBatch     *batch,
                        gint64       batch_idx,
                        GError     **error)
{
}

static void
ignore_outputs_batch_batch_idx (LpCallback  *self,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                LpTensor    *outputs,
                                LpBatch     *batch,
                                gint64       batch_idx,
                                GError     **error)
{
}

static void
ignore_optimizer (LpCallback   *self,
                  LpTrainer    *trainer,
                  LpModel      *model,
                  LpOptimizer  *optimizer,
                  GError      **error)
{
}

static void
ignore_loss (LpCallback  *self,
             LpTrainer   *trainer,
             LpModel     *model,
             LpTensor    *loss,
             GError     **error)
{
}

static void
ignore_checkpoint (LpCallback  *self,
                   LpTrainer   *trainer,
                   LpModel     *model,
                   LpState     *checkpoint,
                   GError     **error)
{
}

static void
ignore_message (LpCallback  *self,
                LpTrainer   *trainer,
                LpModel     *model,
                const char  *message,
                GError     **error)
{
}

static char *
lp_callback_real_dup_state_key (LpCallback *self)
{
  return g_strdup (G_OBJECT_TYPE_NAME (self));
}

static LpState *
lp_callback_real_save_state (LpCallback  *self,
                             GError     **error)
{
  return NULL;
}

static void
lp_callback_real_load_state (LpCallback  *self,
                             LpState     *state,
                             GError     **error)
{
}

static gboolean
lp_callback_real_is_checkpoint (LpCallback *self)
{
  return FALSE;
}

static void
lp_callback_class_init (LpCallbackClass *klass)
{
  klass->setup = ignore_stage;
  klass->teardown = ignore_stage;
  klass->on_fit_start = ignore_event;
  klass->on_fit_end = ignore_event;
  klass->on_sanity_check_start = ignore_event;
  klass->on_sanity_check_end = ignore_event;
  klass->on_train_start = ignore_event;
  klass->on_train_end = ignore_event;
  klass->on_train_epoch_start = ignore_event;
  klass->on_train_epoch_end = ignore_event;
  klass->on_train_batch_start = ignore_batch_batch_idx;
  klass->on_train_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_validation_start = ignore_event;
  klass->on_validation_end = ignore_event;
  klass->on_validation_epoch_start = ignore_event;
  klass->on_validation_epoch_end = ignore_event;
  klass->on_validation_batch_start = ignore_batch_batch_idx;
  klass->on_validation_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_test_start = ignore_event;
  klass->on_test_end = ignore_event;
  klass->on_test_epoch_start = ignore_event;
  klass->on_test_epoch_end = ignore_event;
  klass->on_test_batch_start = ignore_batch_batch_idx;
  klass->on_test_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_predict_start = ignore_event;
  klass->on_predict_end = ignore_event;
  klass->on_predict_epoch_start = ignore_event;
  klass->on_predict_epoch_end = ignore_event;
  klass->on_predict_batch_start = ignore_batch_batch_idx;
  klass->on_predict_batch_end = ignore_outputs_batch_batch_idx;
  klass->on_before_zero_grad = ignore_optimizer;
  klass->on_before_backward = ignore_loss;
  klass->on_after_backward = ignore_event;
  klass->on_before_optimizer_step = ignore_optimizer;
  klass->on_save_checkpoint = ignore_checkpoint;
  klass->on_load_checkpoint = ignore_checkpoint;
  klass->on_exception = ignore_message;
  klass->dup_state_key = lp_callback_real_dup_state_key;
  klass->save_state = lp_callback_real_save_state;
  klass->load_state = lp_callback_real_load_state;
  klass->is_checkpoint = lp_callback_real_is_checkpoint;
}

static void
lp_callback_init (LpCallback *self)
{
}

/**
 * lp_callback_dup_state_key:
 * @self: a callback
 *
 * Gets the name under which the callback's state is saved. Two callbacks with state need different ones.
 *
 * Returns: (transfer full): the name
 */
char *
lp_callback_dup_state_key (LpCallback *self)
{
  char *key;

  g_return_val_if_fail (LP_IS_CALLBACK (self), NULL);

  key = LP_CALLBACK_GET_CLASS (self)->dup_state_key (self);

  return key != NULL ? key : g_strdup (G_OBJECT_TYPE_NAME (self));
}

/**
 * lp_callback_save_state:
 * @self: a callback
 * @error: return location for an error
 *
 * Gets what the callback needs to go on after a restart.
 *
 * Returns: (transfer full) (nullable): the state, or %NULL if there is none. Errors: a subclass's own
 */
LpState *
lp_callback_save_state (LpCallback  *self,
                        GError     **error)
{
  GError *local = NULL;
  LpState *state;

  g_return_val_if_fail (LP_IS_CALLBACK (self), NULL);

  state = LP_CALLBACK_GET_CLASS (self)->save_state (self, &local);
  if (local == NULL && state != NULL && !LP_IS_STATE (state))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.save_state returned something that is no LpState",
                 G_OBJECT_TYPE_NAME (self));
  if (local == NULL)
    return state;

  g_clear_object (&state);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_callback_load_state:
 * @self: a callback
 * @state: what [method@Callback.save_state] gave
 * @error: return location for an error
 *
 * Goes on from a saved state.
 */
void
lp_callback_load_state (LpCallback  *self,
                        LpState     *state,
                        GError     **error)
{
  g_return_if_fail (LP_IS_CALLBACK (self));
  g_return_if_fail (LP_IS_STATE (state));

  LP_CALLBACK_GET_CLASS (self)->load_state (self, state, error);
}

/**
 * lp_callback_is_checkpoint:
 * @self: a callback
 *
 * Gets whether the callback writes checkpoints, and is therefore called after all others and the model.
 *
 * Returns: whether it does
 */
gboolean
lp_callback_is_checkpoint (LpCallback *self)
{
  g_return_val_if_fail (LP_IS_CALLBACK (self), FALSE);

  return LP_CALLBACK_GET_CLASS (self)->is_checkpoint (self);
}
