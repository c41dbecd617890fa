/* What a trainer saves of a run, and how a run goes on from it. */

#include <string.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-random.h>
#include <lp/trainer/lp-checkpoint-private.h>
#include <lp/trainer/lp-model-checkpoint.h>

static LpState *
save_loops (LpTrainer  *self,
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
  lp_state_set_value (state, "last-logged-step", g_variant_new_int64 (run->last_logged_step));
  lp_state_set_value (state, "resume-point", g_variant_new_int64 (run->resume_point));
  lp_state_set_value (state, "validation-due", g_variant_new_boolean (run->val_due));
  lp_state_set_value (state, "skip-epoch", g_variant_new_boolean (run->skip_epoch));
  lp_state_set_value (state, "seconds", g_variant_new_double (seconds));

  return _lp_log_save (&run->log, state, error) ? g_steal_pointer (&state) : NULL;
}

static gboolean
save_callbacks (LpTrainer     *self,
                LpCheckpoint  *checkpoint,
                GError       **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->n_callbacks; i++)
    {
      g_autofree char *key = lp_callback_dup_state_key (run->callbacks[i]);
      g_autofree char *section = g_strconcat ("callback.", key, NULL);
      GError *local = NULL;
      LpState *state = lp_callback_save_state (run->callbacks[i], &local);

      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
      if (state == NULL)
        continue;
      if (_lp_checkpoint_lookup (checkpoint, section) != NULL)
        {
          g_object_unref (state);
          g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "Two callbacks with state have the key '%s'", key);
          return FALSE;
        }
      _lp_checkpoint_add (checkpoint, section, state);
    }

  return TRUE;
}

static gboolean
add_or_fail (LpCheckpoint *checkpoint,
             const char   *prefix,
             guint         index,
             LpState      *state)
{
  g_autofree char *section = g_strdup_printf ("%s.%u", prefix, index);

  if (state == NULL)
    return FALSE;
  _lp_checkpoint_add (checkpoint, section, state);

  return TRUE;
}

static gboolean
save_optimizers (LpTrainer     *self,
                 LpCheckpoint  *checkpoint,
                 GError       **error)
{
  LpRun *run = &self->run;
  guint n_schedulers = run->config != NULL ? lp_optimizer_config_get_n_schedulers (run->config) : 0;

  for (guint i = 0; run->optimizers != NULL && i < run->optimizers->len; i++)
    if (!add_or_fail (checkpoint, "optimizer", i,
                      lp_optimizer_save_state (g_ptr_array_index (run->optimizers, i), error)))
      return FALSE;
  for (guint i = 0; i < n_schedulers; i++)
    if (!add_or_fail (checkpoint, "scheduler", i,
                      lp_lr_scheduler_save_state (lp_optimizer_config_get_scheduler (run->config, i))))
      return FALSE;

  return TRUE;
}

static gboolean
save_run (LpTrainer     *self,
          LpCheckpoint  *checkpoint,
          GError       **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (&self->precision);
  g_autoptr (GVariant) random = lp_generator_dup_state (lp_generator_get_default ());
  LpState *loops = save_loops (self, error);
  LpState *generator;

  if (loops == NULL)
    return FALSE;
  _lp_checkpoint_add (checkpoint, "loops", loops);

  generator = lp_state_new ();
  lp_state_set_value (generator, "state", random);
  _lp_checkpoint_add (checkpoint, "generator", generator);
  if (self->run.train_loader != NULL)
    _lp_checkpoint_add (checkpoint, "loader", lp_data_loader_save_state (self->run.train_loader));

  return _lp_checkpoint_add_precision (checkpoint, plugin, error) &&
         save_optimizers (self, checkpoint, error) &&
         save_callbacks (self, checkpoint, error);
}

/**
 * lp_trainer_save_checkpoint:
 * @self: a trainer, with a model
 * @path: (type filename): a file; missing folders are made
 * @weights_only: whether to leave out what a fit needs to go on
 * @error: return location for an error
 *
 * Writes a checkpoint: a safetensors file with the weights under their names. It appears whole, or the one of that name
 * stays as it was. In a fit that accumulates gradients, checkpoints fall between optimizer steps.
 *
 * Returns: whether it was written. Errors: %LP_ERROR_STATE without a model or between the batches of one optimizer step,
 *   %LP_ERROR_IO, and those of what is saved
 */
gboolean
lp_trainer_save_checkpoint (LpTrainer   *self,
                            const char  *path,
                            gboolean     weights_only,
                            GError     **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };
  LpState *extra;

  g_return_val_if_fail (LP_IS_TRAINER (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  if (self->run.model == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "There is no model to save");
      return FALSE;
    }
  if (self->run.active && self->run.window_done > 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "A checkpoint can't be written between the batches of an optimizer step");
      return FALSE;
    }

  _lp_checkpoint_init (&checkpoint);
  g_object_unref (checkpoint.weights);
  checkpoint.weights = lp_module_dup_state_dict (LP_MODULE (self->run.model));
  extra = lp_state_new ();
  _lp_checkpoint_add (&checkpoint, "extra", extra);
  if (!weights_only && !save_run (self, &checkpoint, error))
    return FALSE;
  if (self->run.active && !_lp_trainer_call_hook (self, on_save_checkpoint, error, extra))
    return FALSE;
  if (!_lp_checkpoint_write (&checkpoint, path, error))
    return FALSE;

  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_CHECKPOINT_SAVED, path);
  return TRUE;
}

char *
_lp_trainer_dup_checkpoint_dir (LpTrainer *self)
{
  return g_build_filename (_lp_trainer_get_root_dir (self), "checkpoints", NULL);
}

static LpCallback *
find_checkpoint_callback (LpTrainer *self)
{
  for (guint i = 0; i < self->callbacks->len; i++)
    if (LP_IS_MODEL_CHECKPOINT (g_ptr_array_index (self->callbacks, i)))
      return g_ptr_array_index (self->callbacks, i);

  return NULL;
}

static char *
dup_last_path (LpTrainer *self)
{
  LpCallback *callback = find_checkpoint_callback (self);
  g_autofree char *folder = NULL;

  if (callback != NULL)
    return _lp_model_checkpoint_dup_last (callback, self);

  folder = _lp_trainer_dup_checkpoint_dir (self);

  return g_build_filename (folder, "last.safetensors", NULL);
}

gboolean
_lp_trainer_save_last (LpTrainer  *self,
                       GError    **error)
{
  g_autofree char *path = dup_last_path (self);

  if (self->settings.fast_dev_run > 0)
    return TRUE;

  return lp_trainer_save_checkpoint (self, path, FALSE, error);
}

char *
_lp_trainer_resolve_ckpt_path (LpTrainer   *self,
                               const char  *ckpt_path,
                               GError     **error)
{
  LpCallback *callback = find_checkpoint_callback (self);
  char *path;

  if (ckpt_path == NULL || *ckpt_path == '\0')
    return NULL;

  if (strcmp (ckpt_path, "last") == 0)
    {
      path = dup_last_path (self);
      if (g_file_test (path, G_FILE_TEST_EXISTS))
        return path;
      g_message ("There is no checkpoint %s yet; the run starts fresh", path);
      g_free (path);
      return NULL;
    }
  if (strcmp (ckpt_path, "best") == 0)
    {
      path = callback != NULL ? lp_model_checkpoint_dup_best_model_path (LP_MODEL_CHECKPOINT (callback)) : NULL;
      if (path == NULL)
        g_set_error (error, LP_ERROR, LP_ERROR_STATE, callback != NULL ? "No best checkpoint was saved yet"
                                                                       : "There is no callback that saves checkpoints");
      return path;
    }

  return g_strdup (ckpt_path);
}

gboolean
_lp_trainer_restore_weights (LpTrainer   *self,
                             const char  *path,
                             GError     **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };
  LpState *extra;

  _lp_checkpoint_init (&checkpoint);
  if (!_lp_checkpoint_read (&checkpoint, path, error))
    return FALSE;
  if (!lp_module_load_state_dict (LP_MODULE (self->run.model), checkpoint.weights, TRUE, error))
    {
      g_prefix_error (error, "%s: ", path);
      return FALSE;
    }

  extra = _lp_checkpoint_lookup (&checkpoint, "extra");

  return extra == NULL || _lp_trainer_call_hook (self, on_load_checkpoint, error, extra);
}

/* No run gets there, and what is added to a count of this size fits. */
#define MAX_COUNT ((gint64) 1 << 53)

static gboolean
get_int64 (LpState    *state,
           const char *name,
           gint64      least,
           gint64     *value)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE_INT64))
    return FALSE;
  *value = g_variant_get_int64 (variant);

  return *value >= least && *value <= MAX_COUNT;
}

static gboolean
get_boolean (LpState    *state,
             const char *name,
             gboolean   *value)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant == NULL || !g_variant_is_of_type (variant, G_VARIANT_TYPE_BOOLEAN))
    return FALSE;
  *value = g_variant_get_boolean (variant);

  return TRUE;
}

static gboolean
load_loops (LpTrainer   *self,
            LpState     *state,
            const char  *path,
            GError     **error)
{
  LpRun *run = &self->run;
  g_autoptr (GVariant) seconds = lp_state_dup_value (state, "seconds");
  gint64 point = -1;
  const struct { const char *name; gint64 least; gint64 *value; } counts[] = {
    { "epoch", 0, &self->current_epoch },
    { "global-step", 0, &self->global_step },
    { "skipped-steps", 0, &self->n_skipped_steps },
    { "batches-done", 0, &run->n_done },
    { "total-batches", 0, &run->total_batches },
    { "epoch-losses", 0, &run->epoch_losses },
    { "bad-in-a-row", 0, &run->bad_in_a_row },
    { "last-logged-step", -1, &run->last_logged_step },
    { "resume-point", 0, &point },
  };
  gboolean ok = get_boolean (state, "validation-due", &run->val_due) && get_boolean (state, "skip-epoch", &run->skip_epoch) &&
                seconds != NULL && g_variant_is_of_type (seconds, G_VARIANT_TYPE_DOUBLE);

  for (guint i = 0; ok && i < G_N_ELEMENTS (counts); i++)
    ok = get_int64 (state, counts[i].name, counts[i].least, counts[i].value);
  if (!ok ||
      (point != LP_RUN_EPOCH_START && point != LP_RUN_AFTER_BATCH && point != LP_RUN_AFTER_VALIDATION &&
       point != LP_RUN_NEXT_EPOCH))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "%s: the state of the loops can't be used", path);
      return FALSE;
    }
  if (run->max_epochs >= 0 && self->current_epoch > run->max_epochs)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "%s: it is from epoch %" G_GINT64_FORMAT ", but max-epochs is %"
                   G_GINT64_FORMAT, path, self->current_epoch, run->max_epochs);
      return FALSE;
    }

  if (!get_int64 (state, "applied-windows", 0, &run->applied_windows))
    run->applied_windows = self->global_step - self->n_skipped_steps;
  run->earlier_time = g_variant_get_double (seconds);
  run->resume_point = (LpRunState) point;
  run->batch_idx = MAX (run->n_done - 1, 0);
  run->resumed = TRUE;

  return _lp_log_load (&run->log, state, error);
}

static LpState *
require_section (LpCheckpoint  *checkpoint,
                 const char    *section,
                 const char    *path,
                 GError       **error)
{
  LpState *state = _lp_checkpoint_lookup (checkpoint, section);

  if (state == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_FORMAT,
                 "%s: it holds no '%s', so a fit can't go on from it; it was probably saved as weights only", path, section);

  return state;
}

static gboolean
load_optimizers (LpTrainer     *self,
                 LpCheckpoint  *checkpoint,
                 const char    *path,
                 GError       **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->optimizers->len; i++)
    {
      g_autofree char *section = g_strdup_printf ("optimizer.%u", i);
      LpState *state = require_section (checkpoint, section, path, error);

      if (state == NULL || !lp_optimizer_load_state (g_ptr_array_index (run->optimizers, i), state, error))
        return FALSE;
    }
  for (guint i = 0; i < lp_optimizer_config_get_n_schedulers (run->config); i++)
    {
      g_autofree char *section = g_strdup_printf ("scheduler.%u", i);
      LpState *state = require_section (checkpoint, section, path, error);

      if (state == NULL ||
          !lp_lr_scheduler_load_state (lp_optimizer_config_get_scheduler (run->config, i), state, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
load_callbacks (LpTrainer     *self,
                LpCheckpoint  *checkpoint,
                GError       **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->n_callbacks; i++)
    {
      g_autofree char *key = lp_callback_dup_state_key (run->callbacks[i]);
      g_autofree char *section = g_strconcat ("callback.", key, NULL);
      LpState *state = _lp_checkpoint_lookup (checkpoint, section);
      GError *local = NULL;

      if (state == NULL)
        continue;
      lp_callback_load_state (run->callbacks[i], state, &local);
      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
      g_hash_table_remove (checkpoint->sections, section);
    }

  return TRUE;
}

static void
tell_about_missing_callbacks (LpCheckpoint *checkpoint,
                              const char   *path)
{
  GHashTableIter iter;
  gpointer key;

  g_hash_table_iter_init (&iter, checkpoint->sections);
  while (g_hash_table_iter_next (&iter, &key, NULL))
    if (g_str_has_prefix (key, "callback."))
      g_message ("%s: there was a callback '%s' that this run doesn't have", path, (char *) key + strlen ("callback."));
}

gboolean
_lp_trainer_restore_state (LpTrainer   *self,
                           const char  *path,
                           GError     **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };
  LpState *loops, *loader, *generator;

  _lp_checkpoint_init (&checkpoint);
  if (!_lp_checkpoint_read (&checkpoint, path, error))
    return FALSE;

  loops = require_section (&checkpoint, "loops", path, error);
  loader = loops != NULL ? require_section (&checkpoint, "loader", path, error) : NULL;
  generator = loader != NULL ? require_section (&checkpoint, "generator", path, error) : NULL;
  if (generator == NULL)
    return FALSE;

  if (!load_loops (self, loops, path, error) ||
      !lp_data_loader_load_state (self->run.train_loader, loader, error) ||
      !load_optimizers (self, &checkpoint, path, error) ||
      !_lp_checkpoint_load_precision (&checkpoint, self->run.plugin, path, error) ||
      !load_callbacks (self, &checkpoint, error))
    return FALSE;

  tell_about_missing_callbacks (&checkpoint, path);
  self->run.random = lp_state_dup_value (generator, "state");
  if (self->run.random == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "%s: the state of the generator is missing", path);
      return FALSE;
    }

  return TRUE;
}
