/* From logged values to loggers. */

#include <math.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>

static gboolean
give_to_loggers (LpTrainer  *self,
                 GVariant   *metrics,
                 GError    **error)
{
  g_autoptr (GVariant) owned = g_variant_ref_sink (metrics);

  if (g_variant_n_children (owned) == 0)
    return TRUE;

  for (guint i = 0; i < self->loggers->len; i++)
    {
      GError *local = NULL;

      lp_logger_log_metrics (g_ptr_array_index (self->loggers, i), owned, self->global_step, &local);
      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
    }

  return TRUE;
}

/* Where the device holds the loss, this is the moment to look at it. */
static gboolean
check_loss (LpTrainer  *self,
            GError    **error)
{
  LpRun *run = &self->run;

  if (run->reads_are_free || run->last_loss == NULL)
    return TRUE;
  if (isfinite (lp_tensor_get_item (run->last_loss, NULL)))
    {
      run->bad_in_a_row = 0;
      return TRUE;
    }
  if (++run->bad_in_a_row < 4)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_NOT_FINITE, "The loss is not finite at step %" G_GINT64_FORMAT, self->global_step);
  return FALSE;
}

gboolean
_lp_trainer_flush_step (LpTrainer  *self,
                        GError    **error)
{
  LpRun *run = &self->run;

  if (run->log_every <= 0 || self->global_step % run->log_every != 0 || self->global_step == run->last_logged_step)
    return TRUE;

  run->last_logged_step = self->global_step;
  if (!check_loss (self, error) || !_lp_log_settle (&run->log, error))
    return FALSE;
  if (self->loggers->len == 0 || self->settings.fast_dev_run > 0)
    return TRUE;

  return give_to_loggers (self, _lp_log_dup_step (&run->log, LP_LOG_PHASE_TRAIN, self->current_epoch), error);
}

gboolean
_lp_trainer_settle_epoch (LpTrainer   *self,
                          LpLogPhase   phase,
                          GError     **error)
{
  return check_loss (self, error) && _lp_log_finish_epoch (&self->run.log, phase, error);
}

gboolean
_lp_trainer_flush_epoch (LpTrainer   *self,
                         LpLogPhase   phase,
                         GError     **error)
{
  LpRun *run = &self->run;

  if (!_lp_log_finish_epoch (&run->log, phase, error))
    return FALSE;
  if (self->loggers->len == 0 || self->settings.fast_dev_run > 0)
    return TRUE;

  return give_to_loggers (self, _lp_log_dup_epoch (&run->log, phase, self->current_epoch), error);
}
