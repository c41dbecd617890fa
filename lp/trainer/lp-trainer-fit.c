/* The run as a state machine: one call, one batch or one event between batches. Where a checkpoint is written, the state
 * says what comes next, so a resumed run goes on with just that. */

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>

static gboolean
reached_max_steps (LpTrainer *self)
{
  return self->run.max_steps >= 0 && self->global_step >= self->run.max_steps;
}

static gboolean
reached_max_time (LpTrainer *self)
{
  double seconds;

  if (self->settings.max_time <= 0)
    return FALSE;
  seconds = (g_get_monotonic_time () - self->run.start_time) / 1e6 + self->run.earlier_time;

  return seconds >= self->settings.max_time;
}

/* Something wants the fit to end now, not at the end of its epochs. */
static gboolean
should_end (LpTrainer *self,
            gint64     epochs_done)
{
  if (self->received_signal != 0 || reached_max_steps (self) || reached_max_time (self))
    return TRUE;

  return self->should_stop && epochs_done >= self->settings.min_epochs &&
         self->global_step >= self->settings.min_steps;
}

static gboolean
is_epoch_done (LpTrainer *self)
{
  return self->run.n_done >= self->run.n_train || self->run.skip_epoch;
}

static gboolean
note_signal (LpTrainer *self)
{
  gint number = _lp_signals_get_received ();

  if (number == 0 || self->received_signal != 0)
    return FALSE;

  self->received_signal = number;
  self->interrupted = TRUE;

  return TRUE;
}

static gboolean
start_training (LpTrainer  *self,
                GError    **error)
{
  self->run.log.phase = LP_LOG_PHASE_TRAIN;
  self->run.state = self->run.resume_point;

  return _lp_trainer_call_hook (self, on_train_start, error);
}

static gboolean
start_epoch (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;

  if (run->max_epochs >= 0 && self->current_epoch >= run->max_epochs)
    {
      run->state = LP_RUN_TRAIN_END;
      return TRUE;
    }
  if (should_end (self, self->current_epoch))
    {
      run->state = LP_RUN_TRAIN_END;
      return TRUE;
    }

  run->n_done = 0;
  run->batch_idx = 0;
  run->window_done = 0;
  run->window_losses = 0;
  run->epoch_losses = 0;
  run->epoch_applied = run->epoch_finite = run->epoch_not_finite = FALSE;
  run->skip_epoch = FALSE;
  run->is_last_batch = FALSE;
  run->log.phase = LP_LOG_PHASE_TRAIN;
  _lp_log_start_epoch (&run->log, LP_LOG_PHASE_TRAIN);
  if (!lp_data_loader_start_epoch (run->train_loader, self->current_epoch, error) ||
      !_lp_trainer_call_hook (self, on_train_epoch_start, error))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_TRAIN_EPOCH_START, self->current_epoch);

  run->state = is_epoch_done (self) ? LP_RUN_EPOCH_END : LP_RUN_BATCH;

  return TRUE;
}

static gboolean
check_val_due (LpTrainer *self)
{
  LpRun *run = &self->run;
  gint every_epochs = self->settings.check_val_every_n_epoch;

  if (run->val_every <= 0 || run->n_val == 0)
    return FALSE;
  if (every_epochs == 0)
    return run->total_batches % run->val_every == 0;

  return (self->current_epoch + 1) % every_epochs == 0 && run->n_done % run->val_every == 0;
}

static LpBatch *
fetch_batch (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;
  GError *local = NULL;
  g_autoptr (LpBatch) raw = lp_data_loader_next (run->train_loader, &local);

  if (raw == NULL)
    {
      if (local == NULL)
        g_set_error (&local, LP_ERROR, LP_ERROR_STATE,
                     "The dataset has become shorter: batch %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " is missing",
                     run->batch_idx, run->n_train);
      g_propagate_error (error, local);
      return NULL;
    }

  return _lp_trainer_prepare_batch (self, raw, error);
}

/* The rest of an epoch that was cut short belongs to no full window; what it has gathered is stepped. */
static gboolean
cut_epoch (LpTrainer  *self,
           GError    **error)
{
  self->run.state = LP_RUN_EPOCH_END;

  return self->run.window_done == 0 || _lp_trainer_finish_window (self, error);
}

static gboolean
train_batch (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;
  g_autoptr (LpBatch) batch = NULL;
  g_autoptr (LpTensor) outputs = NULL;

  run->batch_idx = run->n_done;
  run->is_last_batch = run->batch_idx + 1 >= run->n_train;
  batch = fetch_batch (self, error);
  if (batch == NULL)
    return FALSE;

  run->batch_samples = lp_batch_get_n_samples (batch);
  if (!_lp_trainer_call_hook (self, on_train_batch_start, error, batch, run->batch_idx))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_TRAIN_BATCH_START, batch, run->batch_idx);
  if (run->skip_epoch)
    return cut_epoch (self, error);

  if (!_lp_trainer_training_step (self, batch, &outputs, error))
    return FALSE;
  if (!run->reads_are_free && !lp_data_loader_read_ahead (run->train_loader, error))
    return FALSE;

  run->n_done++;
  run->total_batches++;
  if (run->window_done == 0 && !_lp_trainer_flush_step (self, error))
    return FALSE;
  run->val_due |= check_val_due (self);
  run->state = run->resume_point = LP_RUN_AFTER_BATCH;

  if (!_lp_trainer_call_plain_hook (self, on_train_batch_end, error, outputs, batch, run->batch_idx))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_TRAIN_BATCH_END, batch, run->batch_idx);

  return _lp_trainer_call_checkpoint_hook (self, on_train_batch_end, error, outputs, batch, run->batch_idx);
}

/* Within a window nothing happens between batches. */
static gboolean
after_batch (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;

  if (run->window_done > 0 && !run->skip_epoch)
    {
      run->state = LP_RUN_BATCH;
      return TRUE;
    }
  if (run->window_done > 0 && !cut_epoch (self, error))
    return FALSE;

  if (note_signal (self))
    {
      if (!_lp_trainer_save_last (self, error))
        return FALSE;
      run->state = LP_RUN_TRAIN_END;
      return TRUE;
    }
  if (run->val_due)
    {
      run->state = LP_RUN_VALIDATE;
      return _lp_trainer_eval_start (self, LP_EVAL_VALIDATION, FALSE, run->val_loader, run->n_val, error);
    }

  run->state = is_epoch_done (self) || should_end (self, self->current_epoch) ? LP_RUN_EPOCH_END : LP_RUN_BATCH;

  return TRUE;
}

static gboolean
validate_batch (LpTrainer  *self,
                GError    **error)
{
  gboolean more;

  if (!_lp_trainer_eval_batch (self, &more, error))
    return FALSE;
  if (more)
    return TRUE;

  self->run.val_due = FALSE;
  self->run.state = self->run.resume_point = LP_RUN_AFTER_VALIDATION;

  return _lp_trainer_eval_end (self, error);
}

static gboolean
after_validation (LpTrainer  *self,
                  GError    **error)
{
  LpRun *run = &self->run;

  run->log.phase = LP_LOG_PHASE_TRAIN;
  if (note_signal (self))
    {
      if (!_lp_trainer_save_last (self, error))
        return FALSE;
      run->state = LP_RUN_TRAIN_END;
      return TRUE;
    }
  run->state = is_epoch_done (self) || should_end (self, self->current_epoch) ? LP_RUN_EPOCH_END : LP_RUN_BATCH;

  return TRUE;
}

static gboolean
check_epoch_losses (LpTrainer  *self,
                    GError    **error)
{
  LpRun *run = &self->run;

  if (run->epoch_losses > 0 || run->n_done == 0 || run->optimizers->len == 0 ||
      !lp_model_get_automatic_optimization (run->model))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS,
               "%s.training_step returned no loss for any of the %" G_GINT64_FORMAT " batches of epoch %" G_GINT64_FORMAT,
               G_OBJECT_TYPE_NAME (run->model), run->n_done, self->current_epoch);
  return FALSE;
}

static gboolean
end_epoch (LpTrainer  *self,
           GError    **error)
{
  LpRun *run = &self->run;

  if (!check_epoch_losses (self, error) || !_lp_trainer_judge_epoch (self, error) ||
      !_lp_trainer_settle_epoch (self, LP_LOG_PHASE_TRAIN, error) ||
      !_lp_trainer_step_schedulers (self, LP_LR_INTERVAL_EPOCH, error) ||
      !_lp_trainer_call_plain_hook (self, on_train_epoch_end, error) ||
      !_lp_trainer_flush_epoch (self, LP_LOG_PHASE_TRAIN, error))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_TRAIN_EPOCH_END, self->current_epoch);

  run->state = run->resume_point = LP_RUN_NEXT_EPOCH;

  return _lp_trainer_call_checkpoint_hook (self, on_train_epoch_end, error);
}

static gboolean
go_to_next_epoch (LpTrainer  *self,
                  GError    **error)
{
  LpRun *run = &self->run;

  if (note_signal (self) && !_lp_trainer_save_last (self, error))
    return FALSE;

  if ((run->max_epochs >= 0 && self->current_epoch + 1 >= run->max_epochs) ||
      should_end (self, self->current_epoch + 1))
    {
      run->state = LP_RUN_TRAIN_END;
      return TRUE;
    }

  run->state = LP_RUN_EPOCH_START;
  self->current_epoch++;
  g_object_notify (G_OBJECT (self), "current-epoch");

  return TRUE;
}

static gboolean
end_training (LpTrainer  *self,
              GError    **error)
{
  self->run.log.phase = LP_LOG_PHASE_NONE;
  self->run.state = LP_RUN_DONE;
  _lp_trainer_judge_fit (self);

  return _lp_trainer_call_hook (self, on_train_end, error);
}

static gboolean
check_sanity (LpTrainer  *self,
              GError    **error)
{
  LpRun *run = &self->run;
  gboolean more;

  if (!run->eval.active &&
      (!_lp_trainer_call_callbacks (self, on_sanity_check_start, error) ||
       !_lp_trainer_eval_start (self, LP_EVAL_VALIDATION, TRUE, run->val_loader, run->sanity_steps, error)))
    return FALSE;
  if (!_lp_trainer_eval_batch (self, &more, error))
    return FALSE;
  if (more)
    return TRUE;

  run->state = LP_RUN_TRAIN_START;

  return _lp_trainer_eval_end (self, error) && _lp_trainer_call_callbacks (self, on_sanity_check_end, error);
}

static gboolean
evaluate (LpTrainer  *self,
          GError    **error)
{
  gboolean more;

  if (!_lp_trainer_eval_batch (self, &more, error))
    return FALSE;
  if (note_signal (self))
    more = FALSE;
  if (more)
    return TRUE;

  self->run.state = LP_RUN_DONE;

  return _lp_trainer_eval_end (self, error);
}

gboolean
_lp_trainer_advance (LpTrainer  *self,
                     GError    **error)
{
  if (g_cancellable_set_error_if_cancelled (self->run.cancellable, error) || !lp_check_exceptions (error))
    return FALSE;

  switch (self->run.state)
    {
    case LP_RUN_SANITY:
      return check_sanity (self, error);
    case LP_RUN_TRAIN_START:
      return start_training (self, error);
    case LP_RUN_EPOCH_START:
      return start_epoch (self, error);
    case LP_RUN_BATCH:
      return train_batch (self, error);
    case LP_RUN_AFTER_BATCH:
      return after_batch (self, error);
    case LP_RUN_VALIDATE:
      return validate_batch (self, error);
    case LP_RUN_AFTER_VALIDATION:
      return after_validation (self, error);
    case LP_RUN_EPOCH_END:
      return end_epoch (self, error);
    case LP_RUN_NEXT_EPOCH:
      return go_to_next_epoch (self, error);
    case LP_RUN_TRAIN_END:
      return end_training (self, error);
    case LP_RUN_EVALUATE:
      return evaluate (self, error);
    case LP_RUN_DONE:
    default:
      return FALSE;
    }
}
