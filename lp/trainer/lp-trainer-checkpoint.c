/* What a trainer saves of a run, and how a run goes on from it. */

#include <string.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/core/lp-random.h>
#include <lp/trainer/lp-checkpoint-private.h>
#include <lp/trainer/lp-model-checkpoint.h>

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
      LpState *state = lp_check_exceptions (&local) ? lp_callback_save_state (run->callbacks[i], &local) : NULL;

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
  LpState *loops = _lp_trainer_save_loops (self, error);
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
 * Returns: whether it was written. Errors: %LP_ERROR_STATE without a model, between the batches of one optimizer step and while
 *   adapters are merged, %LP_ERROR_IO, and those of what is saved
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

  if (!_lp_checkpoint_check_module (LP_MODULE (self->run.model), error))
    return FALSE;

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

static LpState *
require_section (LpCheckpoint  *checkpoint,
                 const char    *section,
                 GError       **error)
{
  LpState *state = _lp_checkpoint_lookup (checkpoint, section);

  if (state == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_FORMAT,
                 "It holds no '%s', so a fit can't go on from it; it was probably saved as weights only", section);

  return state;
}

static gboolean
load_optimizers (LpTrainer     *self,
                 LpCheckpoint  *checkpoint,
                 GError       **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->optimizers->len; i++)
    {
      g_autofree char *section = g_strdup_printf ("optimizer.%u", i);
      LpState *state = require_section (checkpoint, section, error);

      if (state == NULL || !lp_optimizer_load_state (g_ptr_array_index (run->optimizers, i), state, error))
        return FALSE;
    }
  for (guint i = 0; i < lp_optimizer_config_get_n_schedulers (run->config); i++)
    {
      g_autofree char *section = g_strdup_printf ("scheduler.%u", i);
      LpState *state = require_section (checkpoint, section, error);

      if (state == NULL ||
          !lp_lr_scheduler_load_state (lp_optimizer_config_get_scheduler (run->config, i), state, error))
        return FALSE;
    }

  return TRUE;
}

/* Whatever can't be is said with the name of the file. The loader first: it knows how long an epoch is. */
static gboolean
load_counts (LpTrainer     *self,
             LpCheckpoint  *checkpoint,
             LpState       *loops,
             LpState       *loader,
             const char    *path,
             GError       **error)
{
  GError *local = NULL;

  if (lp_data_loader_load_state (self->run.train_loader, loader, &local) && _lp_trainer_load_loops (self, loops, &local))
    {
      if (load_optimizers (self, checkpoint, &local))
        return TRUE;
      _lp_checkpoint_explain_optimizer (checkpoint, self->run.plugin, &local);
    }

  g_prefix_error (&local, "%s: ", path);
  g_propagate_error (error, local);
  return FALSE;
}

static gboolean
load_callbacks (LpTrainer     *self,
                LpCheckpoint  *checkpoint,
                const char    *path,
                GError       **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->n_callbacks; i++)
    {
      g_autofree char *key = lp_callback_dup_state_key (run->callbacks[i]);
      g_autofree char *section = g_strconcat ("callback.", key, NULL);
      LpState *state = _lp_checkpoint_lookup (checkpoint, section);
      GError *local = NULL;

      if (!lp_check_exceptions (error))
        return FALSE;
      if (state == NULL)
        continue;
      lp_callback_load_state (run->callbacks[i], state, &local);
      if (local != NULL)
        {
          if (g_error_matches (local, LP_ERROR, LP_ERROR_FORMAT))
            g_prefix_error (&local, "%s: ", path);
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

  loops = require_section (&checkpoint, "loops", error);
  loader = loops != NULL ? require_section (&checkpoint, "loader", error) : NULL;
  generator = loader != NULL ? require_section (&checkpoint, "generator", error) : NULL;
  if (generator == NULL)
    {
      g_prefix_error (error, "%s: ", path);
      return FALSE;
    }

  if (!load_counts (self, &checkpoint, loops, loader, path, error) ||
      !_lp_checkpoint_load_precision (&checkpoint, self->run.plugin, path, error) ||
      !load_callbacks (self, &checkpoint, path, error))
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
