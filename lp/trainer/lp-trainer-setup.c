/* The beginning of a run. */

#include <lp/trainer/lp-trainer-private.h>
#include <lp/trainer/lp-trainer-settings-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-random.h>
#include <lp/trainer/lp-early-stopping.h>
#include <lp/trainer/lp-model-checkpoint.h>
#include <lp/trainer/lp-progress-bar.h>

#define DEFAULT_MAX_EPOCHS 1000

static gint64
resolve_limit (double limit,
               gint64 total)
{
  if (limit <= 1)
    return (gint64) (limit * total);

  return limit < (double) total ? (gint64) limit : total;
}

static gboolean
has_callback (LpTrainer *self,
              GType      type)
{
  for (guint i = 0; i < self->callbacks->len; i++)
    if (G_TYPE_CHECK_INSTANCE_TYPE (g_ptr_array_index (self->callbacks, i), type))
      return TRUE;

  return FALSE;
}

static gboolean
check_opt_out (LpTrainer   *self,
               GType        type,
               gboolean     enabled,
               const char  *setting,
               GError     **error)
{
  if (enabled || !has_callback (self, type))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "%s is off, but a callback of type %s was added", setting,
               g_type_name (type));
  return FALSE;
}

static gboolean
add_default_callbacks (LpTrainer  *self,
                       GError    **error)
{
  const LpTrainerSettings *settings = &self->settings;

  if (!check_opt_out (self, LP_TYPE_PROGRESS_BAR, settings->enable_progress_bar, "enable-progress-bar", error) ||
      !check_opt_out (self, LP_TYPE_MODEL_CHECKPOINT, settings->enable_checkpointing, "enable-checkpointing", error))
    return FALSE;

  if (settings->enable_progress_bar && !has_callback (self, LP_TYPE_PROGRESS_BAR))
    g_ptr_array_add (self->callbacks, lp_progress_bar_new ());
  if (settings->enable_checkpointing && settings->fast_dev_run == 0 && self->run.stage == LP_STAGE_FIT &&
      !has_callback (self, LP_TYPE_MODEL_CHECKPOINT))
    g_ptr_array_add (self->callbacks, lp_model_checkpoint_new (NULL, NULL, LP_MONITOR_MIN));

  return TRUE;
}

/* Those that watch values come after the model, which may log some; those that write checkpoints after them. */
static int
get_pass (LpCallback *callback)
{
  if (lp_callback_is_checkpoint (callback))
    return 2;

  return LP_IS_EARLY_STOPPING (callback) ? 1 : 0;
}

static void
remove_callbacks_of_type (LpTrainer *self,
                          GType      type)
{
  for (guint i = self->callbacks->len; i-- > 0; )
    if (G_OBJECT_TYPE (g_ptr_array_index (self->callbacks, i)) == type)
      g_ptr_array_remove_index (self->callbacks, i);
}

static gboolean
join_callbacks_of_model (LpTrainer  *self,
                         GError    **error)
{
  g_autoptr (GPtrArray) callbacks = lp_model_configure_callbacks (self->run.model, error);

  if (callbacks == NULL)
    return FALSE;

  for (guint i = 0; i < callbacks->len; i++)
    remove_callbacks_of_type (self, G_OBJECT_TYPE (g_ptr_array_index (callbacks, i)));
  for (guint i = 0; i < callbacks->len; i++)
    g_ptr_array_add (self->callbacks, g_ptr_array_index (callbacks, i));

  return TRUE;
}

/* What takes part, in the order in which it is called; a trial has neither early stopping nor checkpoints. */
static gboolean
collect_callbacks (LpTrainer  *self,
                   GError    **error)
{
  LpRun *run = &self->run;
  gboolean trial = self->settings.fast_dev_run > 0;

  if (!join_callbacks_of_model (self, error) || !add_default_callbacks (self, error))
    return FALSE;

  g_clear_pointer (&run->callback_array, g_ptr_array_unref);
  run->callback_array = g_ptr_array_new_with_free_func (g_object_unref);
  for (int pass = 0; pass < 3; pass++)
    {
      for (guint i = 0; i < self->callbacks->len; i++)
        {
          LpCallback *callback = g_ptr_array_index (self->callbacks, i);

          if (get_pass (callback) != pass || (trial && pass > 0))
            continue;
          g_ptr_array_add (run->callback_array, g_object_ref (callback));
        }
      if (pass == 0)
        run->n_plain = run->callback_array->len;
    }
  run->callbacks = (LpCallback **) run->callback_array->pdata;
  run->n_callbacks = run->callback_array->len;

  return TRUE;
}

/* Another loader over the same data, in the order in which they lie. */
static LpDataLoader *
make_twin (LpDataLoader *loader)
{
  LpDataLoader *twin = lp_data_loader_new (lp_data_loader_get_dataset (loader), lp_data_loader_get_batch_size (loader), FALSE);

  lp_data_loader_set_drop_last (twin, lp_data_loader_get_drop_last (loader));
  lp_data_loader_set_prefetch (twin, lp_data_loader_get_prefetch (loader));

  return twin;
}

static void
set_loaders (LpTrainer    *self,
             LpDataLoader *loader,
             LpDataLoader *val_loader)
{
  LpRun *run = &self->run;

  g_clear_object (&run->train_loader);
  g_clear_object (&run->val_loader);
  if (run->stage != LP_STAGE_FIT)
    {
      run->val_loader = g_object_ref (loader);
      return;
    }

  if (self->settings.overfit_batches > 0)
    {
      if (lp_data_loader_get_shuffle (loader))
        g_message ("overfit-batches is set: the training data is not shuffled");
      run->train_loader = make_twin (loader);
      run->val_loader = val_loader != NULL ? make_twin (loader) : NULL;
      return;
    }

  run->train_loader = g_object_ref (loader);
  if (val_loader != NULL)
    run->val_loader = val_loader == loader ? make_twin (loader) : g_object_ref (val_loader);
}

static gint64
count_batches (LpTrainer    *self,
               LpDataLoader *loader,
               double        limit)
{
  gint64 total;

  if (loader == NULL)
    return 0;

  total = lp_data_loader_get_length (loader);
  if (self->settings.fast_dev_run > 0)
    return MIN (total, self->settings.fast_dev_run);
  if (self->settings.overfit_batches > 0 && self->run.stage == LP_STAGE_FIT)
    return resolve_limit (self->settings.overfit_batches, total);

  return resolve_limit (limit, total);
}

static gboolean
set_val_interval (LpTrainer  *self,
                  GError    **error)
{
  LpRun *run = &self->run;
  double interval = self->settings.val_check_interval;

  run->val_every = 0;
  if (run->n_val == 0 || interval <= 0)
    return TRUE;

  run->val_every = interval > 1 ? (gint64) interval : MAX ((gint64) (interval * run->n_train), 1);
  if (self->settings.fast_dev_run > 0)
    run->val_every = run->n_train;
  if (run->val_every <= run->n_train || self->settings.check_val_every_n_epoch == 0)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT,
               "val-check-interval is %" G_GINT64_FORMAT " batches, but an epoch has %" G_GINT64_FORMAT
               "; set check-val-every-n-epoch to 0 to count across epochs", run->val_every, run->n_train);
  return FALSE;
}

static gboolean
set_limits (LpTrainer  *self,
            GError    **error)
{
  const LpTrainerSettings *settings = &self->settings;
  LpRun *run = &self->run;

  switch (run->stage)
    {
    case LP_STAGE_VALIDATE:
      run->n_val = count_batches (self, run->val_loader, settings->limit_val_batches);
      return TRUE;
    case LP_STAGE_TEST:
      run->n_val = count_batches (self, run->val_loader, settings->limit_test_batches);
      return TRUE;
    case LP_STAGE_PREDICT:
      run->n_val = count_batches (self, run->val_loader, settings->limit_predict_batches);
      return TRUE;
    default:
      break;
    }

  run->n_train = count_batches (self, run->train_loader, settings->limit_train_batches);
  run->n_val = count_batches (self, run->val_loader, settings->limit_val_batches);
  run->accumulate = settings->accumulate_grad_batches;
  run->log_every = settings->log_every_n_steps;
  run->max_steps = settings->max_steps;
  run->max_epochs = settings->fast_dev_run > 0 ? 1 : settings->max_epochs;
  if (run->max_epochs < 0 && run->max_steps < 0 && settings->max_time <= 0)
    run->max_epochs = DEFAULT_MAX_EPOCHS;
  run->sanity_steps = settings->num_sanity_val_steps < 0 ? run->n_val : MIN (settings->num_sanity_val_steps, run->n_val);
  if (settings->fast_dev_run > 0)
    run->sanity_steps = 0;

  return set_val_interval (self, error);
}

static gboolean
check_manual (LpTrainer  *self,
              GError    **error)
{
  if (self->run.stage != LP_STAGE_FIT || lp_model_get_automatic_optimization (self->run.model))
    return TRUE;
  if (self->settings.gradient_clip_val <= 0 && self->settings.accumulate_grad_batches == 1)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT,
               "%s optimizes by hand, so gradient-clip-val and accumulate-grad-batches can't be used; its training step clips "
               "and accumulates", G_OBJECT_TYPE_NAME (self->run.model));
  return FALSE;
}

static gboolean
attach_plugin (LpTrainer  *self,
               GError    **error)
{
  LpRun *run = &self->run;

  g_clear_object (&run->context);
  run->context = lp_precision_context_new ();
  lp_precision_context_set_device (run->context, run->device);
  lp_precision_context_set_strategy (run->context, self->strategy);
  lp_precision_context_set_module (run->context, LP_MODULE (run->model));
  lp_precision_context_set_clip_value (run->context, self->settings.gradient_clip_val);
  lp_precision_context_set_clip_algorithm (run->context, self->settings.gradient_clip_algorithm);

  run->attached = lp_precision_plugin_attach (run->plugin, run->context, error);
  if (run->attached)
    _lp_precision_plugin_hold (run->plugin);

  return run->attached;
}

static gboolean
configure_model (LpTrainer  *self,
                 GError    **error)
{
  LpRun *run = &self->run;
  GError *local = NULL;

  if (!_lp_model_needs_configure (run->model))
    return TRUE;
  if (!lp_precision_plugin_begin_init (run->plugin, error))
    return FALSE;
  lp_model_configure_model (run->model, &local);
  if (!lp_precision_plugin_end_init (run->plugin, local == NULL ? &local : NULL))
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  if (local == NULL)
    return TRUE;

  g_propagate_error (error, local);
  return FALSE;
}

static gboolean
place_model (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;

  return configure_model (self, error) &&
         lp_module_check (LP_MODULE (run->model), error) &&
         lp_precision_plugin_convert_module (run->plugin, LP_MODULE (run->model), error) &&
         lp_module_to_device (LP_MODULE (run->model), run->device, error);
}

static gboolean
configure_optimizers (LpTrainer  *self,
                      GError    **error)
{
  LpRun *run = &self->run;
  g_autoptr (GObject) result = lp_model_configure_optimizers (run->model, error);

  if (result == NULL)
    return FALSE;

  if (LP_IS_OPTIMIZER_CONFIG (result))
    run->config = g_object_ref (LP_OPTIMIZER_CONFIG (result));
  else
    {
      run->config = lp_optimizer_config_new ();
      lp_optimizer_config_add_optimizer (run->config, LP_OPTIMIZER (result));
    }

  run->optimizers = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < lp_optimizer_config_get_n_optimizers (run->config); i++)
    {
      LpOptimizer *optimizer = lp_optimizer_config_get_optimizer (run->config, i);

      g_ptr_array_add (run->optimizers, g_object_ref (optimizer));
      lp_precision_context_add_optimizer (run->context, optimizer);
    }
  if (run->optimizers->len > 1 && lp_model_get_automatic_optimization (run->model))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT,
                   "%s has %u optimizers; more than one takes manual optimization: set the model's automatic_optimization to "
                   "false, and call its manual_backward and optimizer_step in training_step",
                   G_OBJECT_TYPE_NAME (run->model), run->optimizers->len);
      return FALSE;
    }

  if (!lp_precision_plugin_validate (run->plugin, run->context, error))
    return FALSE;

  for (guint i = 0; i < run->optimizers->len; i++)
    if (!lp_precision_plugin_convert_optimizer (run->plugin, g_ptr_array_index (run->optimizers, i), error))
      return FALSE;

  return TRUE;
}

static void
reset_run (LpTrainer *self)
{
  LpRun *run = &self->run;

  run->n_done = run->batch_idx = run->total_batches = run->applied_windows = 0;
  run->window_done = run->window_losses = run->epoch_losses = run->bad_in_a_row = 0;
  run->skipped_in_a_row = 0;
  run->epoch_applied = run->epoch_finite = run->epoch_not_finite = FALSE;
  run->last_logged_step = -1;
  run->window_not_finite = run->val_due = run->is_last_batch = run->skip_epoch = FALSE;
  run->earlier_time = 0;
  run->start_time = g_get_monotonic_time ();
  run->resume_point = LP_RUN_EPOCH_START;
  run->resumed = FALSE;
  g_clear_object (&run->last_loss);
  g_clear_object (&run->config);
  g_clear_pointer (&run->optimizers, g_ptr_array_unref);
  g_clear_pointer (&run->random, g_variant_unref);
  _lp_log_init (&run->log);

  self->current_epoch = 0;
  self->global_step = 0;
  self->n_skipped_steps = 0;
  self->should_stop = FALSE;
}

static void
open_run (LpTrainer    *self,
          LpStage       stage,
          LpModel      *model,
          GCancellable *cancellable)
{
  LpRun *run = &self->run;

  run->active = TRUE;
  run->set_up = FALSE;
  run->stage = stage;
  g_set_object (&run->model, model);
  g_set_object (&run->cancellable, cancellable);
  g_clear_object (&run->plugin);
  run->plugin = _lp_precision_slot_dup_plugin (&self->precision);
  if (run->unscaled == NULL)
    {
      run->unscaled = g_ptr_array_new ();
      run->stepped = g_ptr_array_new ();
    }
  g_ptr_array_set_size (run->unscaled, 0);
  g_ptr_array_set_size (run->stepped, 0);
  self->interrupted = FALSE;
  self->received_signal = 0;

  if (stage == LP_STAGE_FIT)
    reset_run (self);
  else if (run->log.tables[LP_LOG_PHASE_EVAL] == NULL)
    _lp_log_init (&run->log);
  else
    _lp_log_forget (&run->log, LP_LOG_PHASE_EVAL);
  _lp_model_set_trainer (run->model, self);
  g_object_notify (G_OBJECT (self), "stage");
}

static gboolean
find_device (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;

  g_clear_object (&run->device);
  run->device = lp_strategy_dup_device (self->strategy, error);
  if (run->device == NULL)
    return FALSE;

  run->reads_are_free = g_str_equal (lp_device_get_name (run->device), "cpu");
  run->log.defer = !run->reads_are_free;

  return TRUE;
}

static gboolean
log_settings (LpTrainer  *self,
              GError    **error)
{
  g_autofree char *precision = lp_trainer_dup_precision (self);
  g_autoptr (GVariant) params = NULL;
  g_auto (GVariantDict) dict = G_VARIANT_DICT_INIT (NULL);

  if (self->loggers->len == 0 || self->settings.fast_dev_run > 0)
    return TRUE;

  g_variant_dict_insert (&dict, "model", "s", G_OBJECT_TYPE_NAME (self->run.model));
  g_variant_dict_insert (&dict, "precision", "s", precision != NULL ? precision : "");
  g_variant_dict_insert (&dict, "batch-size", "x", lp_data_loader_get_batch_size (self->run.train_loader));
  g_variant_dict_insert (&dict, "accumulate-grad-batches", "i", self->settings.accumulate_grad_batches);
  g_variant_dict_insert (&dict, "gradient-clip-val", "d", self->settings.gradient_clip_val);
  params = g_variant_ref_sink (g_variant_dict_end (&dict));
  for (guint i = 0; i < self->loggers->len; i++)
    {
      GError *local = NULL;

      lp_logger_log_hyperparams (g_ptr_array_index (self->loggers, i), params, &local);
      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
    }

  return TRUE;
}

/* Latent weights are the optimizer's, so they are shown apart from what the model stores. */
static void
print_summary (LpRun *run)
{
  g_autofree char *summary = lp_model_summarize (run->model, 1);
  gint64 latent = 0;

  for (guint i = 0; i < run->optimizers->len; i++)
    latent += lp_optimizer_get_master_bytes (g_ptr_array_index (run->optimizers, i));

  g_printerr ("%s", summary);
  if (latent > 0)
    g_printerr ("%" G_GINT64_FORMAT " bytes of latent weights in the optimizer\n", latent);
}

static gboolean
begin_fit (LpTrainer   *self,
           const char  *checkpoint,
           GError     **error)
{
  LpRun *run = &self->run;

  lp_module_set_training (LP_MODULE (run->model), TRUE);
  if (!configure_optimizers (self, error) ||
      (checkpoint != NULL && !_lp_trainer_restore_state (self, checkpoint, error)))
    return FALSE;

  if (self->settings.enable_model_summary)
    print_summary (run);
  if (!log_settings (self, error) || !_lp_trainer_call_hook (self, on_fit_start, error))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_FIT_START);

  if (run->random != NULL &&
      !lp_generator_set_state (lp_generator_get_default (), run->random, error))
    return FALSE;

  run->state = run->sanity_steps > 0 && !run->resumed ? LP_RUN_SANITY : LP_RUN_TRAIN_START;
  if (run->n_train == 0)
    {
      g_message ("There are no batches to train with");
      run->state = LP_RUN_DONE;
    }

  return TRUE;
}

static gboolean
begin_evaluation (LpTrainer  *self,
                  GError    **error)
{
  LpRun *run = &self->run;
  LpEvalKind kind = run->stage == LP_STAGE_VALIDATE ? LP_EVAL_VALIDATION
                    : run->stage == LP_STAGE_TEST ? LP_EVAL_TEST
                    : LP_EVAL_PREDICT;

  g_clear_pointer (&run->eval.predictions, g_ptr_array_unref);
  if (kind == LP_EVAL_PREDICT)
    run->eval.predictions = g_ptr_array_new_with_free_func (g_object_unref);
  run->state = LP_RUN_EVALUATE;

  return _lp_trainer_eval_start (self, kind, FALSE, run->val_loader, run->n_val, error);
}

gboolean
_lp_trainer_begin (LpTrainer     *self,
                   LpStage        stage,
                   LpModel       *model,
                   LpDataLoader  *loader,
                   LpDataLoader  *val_loader,
                   const char    *ckpt_path,
                   GCancellable  *cancellable,
                   GError       **error)
{
  g_autofree char *checkpoint = NULL;
  GError *local = NULL;

  if (self->run.active)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The trainer is running already");
      return FALSE;
    }
  if (model != NULL && lp_model_get_trainer (model) != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The model is in the run of another trainer");
      return FALSE;
    }
  if (model == NULL)
    model = self->run.model;
  if (model == NULL || loader == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "%s", model == NULL ? "There is no model to run" : "There is no data loader");
      return FALSE;
    }
  if (!_lp_trainer_ensure_initialized (self, error) || !_lp_trainer_check_settings (self, error))
    return FALSE;

  open_run (self, stage, model, cancellable);
  set_loaders (self, loader, val_loader);
  if (!collect_callbacks (self, error) || !find_device (self, error) || !set_limits (self, error) ||
      !check_manual (self, error) || !attach_plugin (self, error))
    return FALSE;

  checkpoint = _lp_trainer_resolve_ckpt_path (self, ckpt_path, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }

  self->run.set_up = TRUE;
  if (!_lp_trainer_call_hook (self, setup, error, stage) || !place_model (self, error) ||
      (checkpoint != NULL && !_lp_trainer_restore_weights (self, checkpoint, error)))
    return FALSE;

  return stage == LP_STAGE_FIT ? begin_fit (self, checkpoint, error) : begin_evaluation (self, error);
}
