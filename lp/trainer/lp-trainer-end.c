/* The end of a run. */

#include <lp/trainer/lp-trainer-private.h>

static void
tell_failure (LpTrainer    *self,
              const GError *failure)
{
  LpRun *run = &self->run;

  self->interrupted = TRUE;
  for (guint i = 0; i < run->n_callbacks; i++)
    {
      g_autoptr (GError) local = NULL;

      lp_callback_on_exception (run->callbacks[i], self, run->model, failure->message, &local);
      if (local != NULL)
        g_warning ("%s.on_exception: %s", G_OBJECT_TYPE_NAME (run->callbacks[i]), local->message);
    }
}

/* The first error is what the run ends with; others can only be told. */
static void
keep_error (GError       **first,
            const GError  *failure,
            GError        *local)
{
  if (local == NULL)
    return;
  if (*first == NULL && failure == NULL)
    {
      *first = local;
      return;
    }

  g_warning ("While a run ended: %s", local->message);
  g_error_free (local);
}

static void
end_hooks (LpTrainer     *self,
           const GError  *failure,
           GError       **first)
{
  LpRun *run = &self->run;
  GError *local = NULL;

  if (failure == NULL && run->stage == LP_STAGE_FIT)
    {
      if (!_lp_trainer_call_hook (self, on_fit_end, &local))
        keep_error (first, failure, g_steal_pointer (&local));
      _lp_trainer_emit (self, LP_TRAINER_SIGNAL_FIT_END);
    }
  if (!run->set_up)
    return;

  if (!_lp_trainer_call_hook (self, teardown, &local, run->stage))
    keep_error (first, failure, local);
}

static void
end_loggers (LpTrainer     *self,
             const GError  *failure,
             GError       **first)
{
  const char *status = failure != NULL ? "failed" : self->interrupted ? "interrupted" : "success";

  if (self->run.stage != LP_STAGE_FIT)
    status = "success";
  for (guint i = 0; i < self->loggers->len; i++)
    {
      GError *local = NULL;

      lp_logger_finish (g_ptr_array_index (self->loggers, i), status, &local);
      keep_error (first, failure, local);
    }
}

gboolean
_lp_trainer_end (LpTrainer     *self,
                 const GError  *failure,
                 GError       **error)
{
  LpRun *run = &self->run;
  GError *first = NULL;
  GError *local = NULL;

  _lp_trainer_eval_abort (self);
  if (run->train_loader != NULL)
    lp_data_loader_stop (run->train_loader);
  if (run->val_loader != NULL)
    lp_data_loader_stop (run->val_loader);
  run->log.phase = LP_LOG_PHASE_NONE;

  if (failure != NULL)
    tell_failure (self, failure);
  if (run->attached)
    _lp_precision_plugin_release (run->plugin);
  if (run->attached && !lp_precision_plugin_detach (run->plugin, &local))
    keep_error (&first, failure, g_steal_pointer (&local));
  run->attached = FALSE;
  end_hooks (self, failure, &first);
  end_loggers (self, failure, &first);

  g_clear_object (&run->context);
  g_clear_object (&run->cancellable);
  _lp_model_set_trainer (run->model, NULL);
  run->active = FALSE;
  g_object_notify (G_OBJECT (self), "stage");

  if (first == NULL)
    return TRUE;

  g_propagate_error (error, first);
  return FALSE;
}
