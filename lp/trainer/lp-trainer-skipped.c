/* Losses that are not finite, and steps that the precision didn't apply. A few are the way in which a scale is found; these
 * functions say when they are too many. */

#include <math.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-skipped-steps-private.h>

void
_lp_trainer_note_loss (LpTrainer *self,
                       gboolean   is_finite)
{
  self->run.window_not_finite |= !is_finite;
  self->run.epoch_finite |= is_finite;
  self->run.epoch_not_finite |= !is_finite;
}

static char *
describe (LpTrainer *self,
          gint64     n,
          gboolean   bad_loss)
{
  g_autoptr (GPtrArray) modules = g_ptr_array_new ();

  g_ptr_array_add (modules, self->run.model);

  return _lp_describe_skipped_steps (n, self->run.plugin, modules, bad_loss);
}

static gboolean
fail (LpTrainer  *self,
      gboolean    bad_loss,
      GError    **error)
{
  g_autofree char *text = describe (self, self->run.skipped_in_a_row, bad_loss);

  g_set_error (error, LP_ERROR, LP_ERROR_NOT_FINITE, "Epoch %" G_GINT64_FORMAT ", batch %" G_GINT64_FORMAT ": %s",
               self->current_epoch, self->run.batch_idx, text);
  return FALSE;
}

/* TRUE if the losses of the step were finite, or may become so by themselves: where the precision skipped the step. */
static gboolean
judge_losses (LpTrainer  *self,
              gboolean    applied,
              GError    **error)
{
  LpRun *run = &self->run;

  if (!run->window_not_finite)
    {
      run->bad_in_a_row = 0;
      return TRUE;
    }

  run->window_not_finite = FALSE;
  run->bad_in_a_row++;
  if (!applied)
    return run->bad_in_a_row < LP_MANY_SKIPPED_STEPS || fail (self, TRUE, error);

  g_set_error (error, LP_ERROR, LP_ERROR_NOT_FINITE, "The loss is not finite in epoch %" G_GINT64_FORMAT ", batch %"
               G_GINT64_FORMAT "; a smaller learning rate, clipping or another precision may help", self->current_epoch,
               run->batch_idx);
  return FALSE;
}

/* After each step. With finite losses a streak of skipped steps is told once. */
gboolean
_lp_trainer_judge_step (LpTrainer  *self,
                        gboolean    applied,
                        GError    **error)
{
  LpRun *run = &self->run;

  run->epoch_applied |= applied;
  run->skipped_in_a_row = applied ? 0 : run->skipped_in_a_row + 1;
  if (!judge_losses (self, applied, error))
    return FALSE;

  if (run->skipped_in_a_row == LP_MANY_SKIPPED_STEPS)
    {
      g_autofree char *text = describe (self, run->skipped_in_a_row, FALSE);

      g_warning ("%s", text);
    }

  return TRUE;
}

/* At the end of an epoch whose last step was not applied: weights that are not finite, and an epoch without any finite loss and
 * without any step that was applied, leave nothing to go on with. */
gboolean
_lp_trainer_judge_epoch (LpTrainer  *self,
                         GError    **error)
{
  LpRun *run = &self->run;
  g_autofree char *name = NULL;

  if (run->skipped_in_a_row == 0)
    return TRUE;

  if (!run->reads_are_free && run->last_loss != NULL)
    _lp_trainer_note_loss (self, isfinite (lp_tensor_get_item (run->last_loss, NULL)));
  if (!run->epoch_applied && run->epoch_not_finite && !run->epoch_finite)
    return fail (self, TRUE, error);

  name = _lp_find_not_finite (LP_MODULE (run->model), TRUE);

  return name == NULL || fail (self, FALSE, error);
}

void
_lp_trainer_judge_fit (LpTrainer *self)
{
  LpRun *run = &self->run;
  g_autofree char *text = NULL;

  if (run->skipped_in_a_row == 0 || run->skipped_in_a_row >= LP_MANY_SKIPPED_STEPS || self->n_skipped_steps < self->global_step)
    return;

  text = describe (self, run->skipped_in_a_row, FALSE);
  g_warning ("No step of this fit was applied. %s", text);
}
