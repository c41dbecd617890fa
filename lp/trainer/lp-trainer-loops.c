/* Where in the loops of a fit a checkpoint was written. */

#include <lp/trainer/lp-trainer-private.h>

#include <math.h>

#include <lp/core/lp-error.h>

/* No run gets there, and what is added to a count of this size fits. */
#define MAX_COUNT ((gint64) 1 << 53)

LpState *
_lp_trainer_save_loops (LpTrainer  *self,
                        GError    **error)
{
  LpRun *run = &self->run;
  g_autoptr (LpState) state = lp_state_new ();
  double seconds = (g_get_monotonic_time () - run->start_time) / 1e6 + run->earlier_time;

  lp_state_set_value (state, "epoch", g_variant_new_int64 (self->current_epoch));
  lp_state_set_value (state, "global-step", g_variant_new_int64 (self->global_step));
  lp_state_set_value (state, "skipped-steps", g_variant_new_int64 (self->n_skipped_steps));
  lp_state_set_value (state, "batches-done", g_variant_new_int64 (run->n_done));
  lp_state_set_value (state, "total-batches", g_variant_new_int64 (run->total_batches));
  lp_state_set_value (state, "applied-windows", g_variant_new_int64 (run->applied_windows));
  lp_state_set_value (state, "epoch-losses", g_variant_new_int64 (run->epoch_losses));
  lp_state_set_value (state, "bad-in-a-row", g_variant_new_int64 (run->bad_in_a_row));
  lp_state_set_value (state, "skipped-in-a-row", g_variant_new_int64 (run->skipped_in_a_row));
  lp_state_set_value (state, "last-logged-step", g_variant_new_int64 (run->last_logged_step));
  lp_state_set_value (state, "resume-point", g_variant_new_int64 (run->resume_point));
  lp_state_set_value (state, "validation-due", g_variant_new_boolean (run->val_due));
  lp_state_set_value (state, "skip-epoch", g_variant_new_boolean (run->skip_epoch));
  lp_state_set_value (state, "epoch-applied", g_variant_new_boolean (run->epoch_applied));
  lp_state_set_value (state, "epoch-finite", g_variant_new_boolean (run->epoch_finite));
  lp_state_set_value (state, "epoch-not-finite", g_variant_new_boolean (run->epoch_not_finite));
  lp_state_set_value (state, "seconds", g_variant_new_double (seconds));

  return _lp_log_save (&run->log, state, error) ? g_steal_pointer (&state) : NULL;
}

/* LP_ERROR_FORMAT; always FALSE. */
static gboolean
refuse (LpState     *state,
        const char  *name,
        const char  *wanted,
        GError     **error)
{
  g_autoptr (GVariant) value = lp_state_dup_value (state, name);
  g_autofree char *text = value != NULL ? g_variant_print (value, FALSE) : NULL;

  if (text == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of the loops has no “%s”, which is %s", name, wanted);
  else
    g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The “%s” of the loops is %s, which is not %s", name, text, wanted);
  return FALSE;
}

typedef struct
{
  const char *name;
  gint64      least;
  gint64     *value;
  gboolean    optional;  /* older checkpoints don't have it */
} Count;

static gboolean
load_count (LpState      *state,
            const Count  *count,
            GError      **error)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, count->name);
  g_autofree char *wanted = NULL;

  if (variant == NULL && count->optional)
    return TRUE;
  if (variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE_INT64))
    {
      *count->value = g_variant_get_int64 (variant);
      if (*count->value >= count->least && *count->value <= MAX_COUNT)
        return TRUE;
    }

  wanted = g_strdup_printf ("a count from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, count->least, MAX_COUNT);
  return refuse (state, count->name, wanted, error);
}

static gboolean
load_flag (LpState     *state,
           const char  *name,
           gboolean     optional,
           gboolean    *value,
           GError     **error)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL && optional)
    return TRUE;
  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE_BOOLEAN))
    return refuse (state, name, "true or false", error);
  *value = g_variant_get_boolean (variant);

  return TRUE;
}

static gboolean
load_seconds (LpTrainer  *self,
              LpState    *state,
              GError    **error)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, "seconds");
  double seconds = variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE_DOUBLE) ? g_variant_get_double (variant) : -1;

  if (!(seconds >= 0 && isfinite (seconds)))
    return refuse (state, "seconds", "a finite number that is not below 0", error);
  self->run.earlier_time = seconds;

  return TRUE;
}

static gboolean
load_flags (LpRun    *run,
            LpState  *state,
            GError  **error)
{
  return load_flag (state, "validation-due", FALSE, &run->val_due, error) &&
         load_flag (state, "skip-epoch", FALSE, &run->skip_epoch, error) &&
         load_flag (state, "epoch-applied", TRUE, &run->epoch_applied, error) &&
         load_flag (state, "epoch-finite", TRUE, &run->epoch_finite, error) &&
         load_flag (state, "epoch-not-finite", TRUE, &run->epoch_not_finite, error);
}

/* What each count says for itself can be, but not all of them together. */
static gboolean
check_counts (LpTrainer  *self,
              LpState    *state,
              gint64      point,
              GError    **error)
{
  LpRun *run = &self->run;
  const struct { const char *name; gboolean ok; const char *wanted; } checks[] = {
    { "resume-point", point == LP_RUN_EPOCH_START || point == LP_RUN_AFTER_BATCH || point == LP_RUN_AFTER_VALIDATION ||
                      point == LP_RUN_NEXT_EPOCH, "a place where a run can go on" },
    { "batches-done", run->n_done <= lp_data_loader_get_length (run->train_loader), "within an epoch of the loader" },
    { "total-batches", run->total_batches >= run->n_done, "at least “batches-done”" },
    { "epoch-losses", run->epoch_losses <= run->n_done + 1, "at most one more than “batches-done”" },
    { "skipped-steps", self->n_skipped_steps <= self->global_step, "at most “global-step”" },
    { "skipped-in-a-row", run->skipped_in_a_row <= self->n_skipped_steps, "at most “skipped-steps”" },
    { "applied-windows", run->applied_windows <= self->global_step, "at most “global-step”" },
    { "last-logged-step", run->last_logged_step <= self->global_step, "at most “global-step”" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++)
    if (!checks[i].ok)
      return refuse (state, checks[i].name, checks[i].wanted, error);

  if (run->max_epochs < 0 || self->current_epoch <= run->max_epochs)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "It is from epoch %" G_GINT64_FORMAT ", but max-epochs is %" G_GINT64_FORMAT,
               self->current_epoch, run->max_epochs);
  return FALSE;
}

gboolean
_lp_trainer_load_loops (LpTrainer  *self,
                        LpState    *state,
                        GError    **error)
{
  LpRun *run = &self->run;
  gint64 point = -1;
  gint64 applied_windows = -1;
  const Count counts[] = {
    { "epoch", 0, &self->current_epoch, FALSE },
    { "global-step", 0, &self->global_step, FALSE },
    { "skipped-steps", 0, &self->n_skipped_steps, FALSE },
    { "batches-done", 0, &run->n_done, FALSE },
    { "total-batches", 0, &run->total_batches, FALSE },
    { "applied-windows", 0, &applied_windows, TRUE },
    { "epoch-losses", 0, &run->epoch_losses, FALSE },
    { "bad-in-a-row", 0, &run->bad_in_a_row, FALSE },
    { "skipped-in-a-row", 0, &run->skipped_in_a_row, TRUE },
    { "last-logged-step", -1, &run->last_logged_step, FALSE },
    { "resume-point", 0, &point, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
    if (!load_count (state, &counts[i], error))
      return FALSE;

  run->applied_windows = applied_windows >= 0 ? applied_windows : self->global_step - self->n_skipped_steps;
  if (!load_flags (run, state, error) || !load_seconds (self, state, error) || !check_counts (self, state, point, error))
    return FALSE;

  run->resume_point = (LpRunState) point;
  run->batch_idx = MAX (run->n_done - 1, 0);
  run->resumed = TRUE;

  return _lp_log_load (&run->log, state, error);
}
