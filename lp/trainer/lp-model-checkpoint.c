#include <math.h>

#include <lp/trainer/lp-model-checkpoint-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-trainer-private.h>

/**
 * LpModelCheckpoint:
 *
 * Writes checkpoints during a fit: the best ones by a logged value, the last one, or one every so many steps.
 *
 * Without a monitored value, the newest ones count as the best. Nothing is written while validation is being tried before
 * training, and never twice for one optimizer step. The last one is `last.safetensors`; it is a second name of the file
 * that was written with it where the file system can do that.
 */
G_DEFINE_FINAL_TYPE (LpModelCheckpoint, lp_model_checkpoint, LP_TYPE_MONITOR_CALLBACK)

enum
{
  PROP_0,
  PROP_DIRPATH,
  PROP_FILENAME,
  PROP_SAVE_TOP_K,
  PROP_SAVE_LAST,
  PROP_SAVE_WEIGHTS_ONLY,
  PROP_EVERY_N_TRAIN_STEPS,
  PROP_EVERY_N_EPOCHS,
  PROP_BEST_MODEL_PATH,
  PROP_BEST_MODEL_SCORE,
  PROP_LAST_MODEL_PATH,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gboolean
may_save (LpModelCheckpoint *self,
          LpTrainer         *trainer)
{
  return lp_trainer_get_stage (trainer) == LP_STAGE_FIT && !lp_trainer_get_sanity_checking (trainer) &&
         lp_trainer_get_global_step (trainer) != self->saved_step && trainer->run.window_done == 0;
}

/* The monitored value, or NaN without one. */
static gboolean
get_score (LpModelCheckpoint  *self,
           LpTrainer          *trainer,
           double             *score,
           GError            **error)
{
  const char *monitor = _lp_monitor_callback_peek_monitor (LP_MONITOR_CALLBACK (self));

  *score = NAN;
  if (monitor == NULL || _lp_monitor_callback_look_up (LP_MONITOR_CALLBACK (self), trainer, score))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Checkpoints look at '%s', which was not logged", monitor);
  return FALSE;
}

static void
lp_model_checkpoint_on_train_batch_end (LpCallback  *callback,
                                        LpTrainer   *trainer,
                                        LpModel     *model,
                                        LpTensor    *outputs,
                                        LpBatch     *batch,
                                        gint64       batch_idx,
                                        GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);
  double score;

  if (self->every_n_train_steps == 0 || lp_trainer_get_global_step (trainer) % self->every_n_train_steps != 0 ||
      !may_save (self, trainer) || !get_score (self, trainer, &score, error))
    return;

  _lp_model_checkpoint_save (self, trainer, score, error);
}

static gboolean
is_epoch_due (LpModelCheckpoint *self,
              LpTrainer         *trainer)
{
  return self->every_n_train_steps == 0 && self->every_n_epochs > 0 &&
         (lp_trainer_get_current_epoch (trainer) + 1) % self->every_n_epochs == 0 && may_save (self, trainer);
}

/* A value of validation is judged as soon as it is known. */
static void
lp_model_checkpoint_on_validation_end (LpCallback  *callback,
                                       LpTrainer   *trainer,
                                       LpModel     *model,
                                       GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);
  double score;

  if (is_epoch_due (self, trainer) && _lp_monitor_callback_look_up (LP_MONITOR_CALLBACK (self), trainer, &score))
    _lp_model_checkpoint_save (self, trainer, score, error);
}

static void
lp_model_checkpoint_on_train_epoch_end (LpCallback  *callback,
                                        LpTrainer   *trainer,
                                        LpModel     *model,
                                        GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);
  double score;

  if (is_epoch_due (self, trainer) && get_score (self, trainer, &score, error))
    _lp_model_checkpoint_save (self, trainer, score, error);
}

static gboolean
lp_model_checkpoint_is_checkpoint (LpCallback *callback)
{
  return TRUE;
}

static char *
lp_model_checkpoint_dup_state_key (LpCallback *callback)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);

  g_autofree char *base = LP_CALLBACK_CLASS (lp_model_checkpoint_parent_class)->dup_state_key (callback);

  return g_strdup_printf ("%s.%" G_GINT64_FORMAT ".%" G_GINT64_FORMAT, base, self->every_n_train_steps, self->every_n_epochs);
}

static void
lp_model_checkpoint_on_fit_start (LpCallback  *callback,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);

  if (!trainer->run.resumed)
    {
      self->saved_step = -1;
      g_ptr_array_set_size (self->kept, 0);
      g_clear_pointer (&self->best_model_path, g_free);
      g_clear_pointer (&self->last_model_path, g_free);
    }
}

static void
lp_model_checkpoint_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (object);

  switch (prop_id)
    {
    case PROP_DIRPATH:
      g_value_set_string (value, self->dirpath);
      break;
    case PROP_FILENAME:
      g_value_set_string (value, self->filename);
      break;
    case PROP_SAVE_TOP_K:
      g_value_set_int (value, self->save_top_k);
      break;
    case PROP_SAVE_LAST:
      g_value_set_boolean (value, self->save_last);
      break;
    case PROP_SAVE_WEIGHTS_ONLY:
      g_value_set_boolean (value, self->save_weights_only);
      break;
    case PROP_EVERY_N_TRAIN_STEPS:
      g_value_set_int64 (value, self->every_n_train_steps);
      break;
    case PROP_EVERY_N_EPOCHS:
      g_value_set_int64 (value, self->every_n_epochs);
      break;
    case PROP_BEST_MODEL_PATH:
      g_value_set_string (value, self->best_model_path);
      break;
    case PROP_BEST_MODEL_SCORE:
      g_value_set_double (value, self->best_model_score);
      break;
    case PROP_LAST_MODEL_PATH:
      g_value_set_string (value, self->last_model_path);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_model_checkpoint_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (object);

  switch (prop_id)
    {
    case PROP_DIRPATH:
      lp_model_checkpoint_set_dirpath (self, g_value_get_string (value));
      break;
    case PROP_FILENAME:
      lp_model_checkpoint_set_filename (self, g_value_get_string (value));
      break;
    case PROP_SAVE_TOP_K:
      lp_model_checkpoint_set_save_top_k (self, g_value_get_int (value));
      break;
    case PROP_SAVE_LAST:
      lp_model_checkpoint_set_save_last (self, g_value_get_boolean (value));
      break;
    case PROP_SAVE_WEIGHTS_ONLY:
      lp_model_checkpoint_set_save_weights_only (self, g_value_get_boolean (value));
      break;
    case PROP_EVERY_N_TRAIN_STEPS:
      lp_model_checkpoint_set_every_n_train_steps (self, g_value_get_int64 (value));
      break;
    case PROP_EVERY_N_EPOCHS:
      lp_model_checkpoint_set_every_n_epochs (self, g_value_get_int64 (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_model_checkpoint_finalize (GObject *object)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (object);

  g_free (self->dirpath);
  g_free (self->filename);
  g_free (self->best_model_path);
  g_free (self->last_model_path);
  g_ptr_array_unref (self->kept);

  G_OBJECT_CLASS (lp_model_checkpoint_parent_class)->finalize (object);
}

static void
lp_model_checkpoint_class_init (LpModelCheckpointClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readwrite = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  LpCallbackClass *callback_class = LP_CALLBACK_CLASS (klass);

  object_class->get_property = lp_model_checkpoint_get_property;
  object_class->set_property = lp_model_checkpoint_set_property;
  object_class->finalize = lp_model_checkpoint_finalize;

  callback_class->on_fit_start = lp_model_checkpoint_on_fit_start;
  callback_class->on_train_batch_end = lp_model_checkpoint_on_train_batch_end;
  callback_class->on_validation_end = lp_model_checkpoint_on_validation_end;
  callback_class->on_train_epoch_end = lp_model_checkpoint_on_train_epoch_end;
  callback_class->is_checkpoint = lp_model_checkpoint_is_checkpoint;
  callback_class->save_state = _lp_model_checkpoint_save_state;
  callback_class->load_state = _lp_model_checkpoint_load_state;
  callback_class->dup_state_key = lp_model_checkpoint_dup_state_key;

  /**
   * LpModelCheckpoint:dirpath:
   *
   * The folder; %NULL is `checkpoints` in the trainer's root folder.
   */
  properties[PROP_DIRPATH] = g_param_spec_string ("dirpath", NULL, NULL, NULL, readwrite);

  /**
   * LpModelCheckpoint:filename:
   *
   * The name of a file without its ending; {epoch}, {step} and {NAME} or {NAME:.2f} of a logged value are filled in.
   */
  properties[PROP_FILENAME] = g_param_spec_string ("filename", NULL, NULL, "{epoch}-{step}", readwrite);

  /**
   * LpModelCheckpoint:save-top-k:
   *
   * How many of the best to keep; -1 is all, 0 none.
   */
  properties[PROP_SAVE_TOP_K] = g_param_spec_int ("save-top-k", NULL, NULL, -1, G_MAXINT, 1, readwrite);

  /**
   * LpModelCheckpoint:save-last:
   *
   * Whether to keep the last one as `last.safetensors`.
   */
  properties[PROP_SAVE_LAST] = g_param_spec_boolean ("save-last", NULL, NULL, TRUE, readwrite);

  /**
   * LpModelCheckpoint:save-weights-only:
   *
   * Whether to leave out what a fit needs to go on.
   */
  properties[PROP_SAVE_WEIGHTS_ONLY] = g_param_spec_boolean ("save-weights-only", NULL, NULL, FALSE, readwrite);

  /**
   * LpModelCheckpoint:every-n-train-steps:
   *
   * How many optimizer steps lie between two; 0 counts epochs instead.
   */
  properties[PROP_EVERY_N_TRAIN_STEPS] = g_param_spec_int64 ("every-n-train-steps", NULL, NULL, 0, G_MAXINT64, 0, readwrite);

  /**
   * LpModelCheckpoint:every-n-epochs:
   *
   * How many epochs lie between two; 0 is off.
   */
  properties[PROP_EVERY_N_EPOCHS] = g_param_spec_int64 ("every-n-epochs", NULL, NULL, 0, G_MAXINT64, 1, readwrite);

  /**
   * LpModelCheckpoint:best-model-path:
   *
   * The file with the best value, or %NULL.
   */
  properties[PROP_BEST_MODEL_PATH] = g_param_spec_string ("best-model-path", NULL, NULL, NULL, readable);

  /**
   * LpModelCheckpoint:best-model-score:
   *
   * The best value.
   */
  properties[PROP_BEST_MODEL_SCORE] = g_param_spec_double ("best-model-score", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, readable);

  /**
   * LpModelCheckpoint:last-model-path:
   *
   * The file written last, or %NULL.
   */
  properties[PROP_LAST_MODEL_PATH] = g_param_spec_string ("last-model-path", NULL, NULL, NULL, readable);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_model_checkpoint_init (LpModelCheckpoint *self)
{
  self->filename = g_strdup ("{epoch}-{step}");
  self->save_top_k = 1;
  self->save_last = TRUE;
  self->every_n_epochs = 1;
  self->saved_step = -1;
  self->kept = g_ptr_array_new_with_free_func (_lp_kept_free);
}

/**
 * lp_model_checkpoint_new:
 * @dirpath: (nullable) (type filename): the folder, or %NULL for `checkpoints` in the trainer's root folder
 * @monitor: (nullable): the name of a logged value, or %NULL to keep the newest
 * @mode: which values are better
 *
 * Creates a callback that writes a checkpoint at the end of each epoch.
 *
 * Returns: (transfer full): the callback
 */
LpCallback *
lp_model_checkpoint_new (const char    *dirpath,
                         const char    *monitor,
                         LpMonitorMode  mode)
{
  return g_object_new (LP_TYPE_MODEL_CHECKPOINT, "dirpath", dirpath, "monitor", monitor, "mode", mode, NULL);
}

/**
 * lp_model_checkpoint_dup_dirpath:
 * @self: a checkpoint callback
 *
 * Gets the folder; %NULL is `checkpoints` in the trainer's root folder.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_model_checkpoint_dup_dirpath (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), NULL);

  return g_strdup (self->dirpath);
}

/**
 * lp_model_checkpoint_set_dirpath:
 * @self: a checkpoint callback
 * @dirpath: (nullable): the value
 *
 * Sets the folder; %NULL is `checkpoints` in the trainer's root folder.
 */
void
lp_model_checkpoint_set_dirpath (LpModelCheckpoint *self,
                                 const char        *dirpath)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (g_strcmp0 (self->dirpath, dirpath) == 0)
    return;

  g_free (self->dirpath);
  self->dirpath = g_strdup (dirpath);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_DIRPATH]);
}

/**
 * lp_model_checkpoint_dup_filename:
 * @self: a checkpoint callback
 *
 * Gets the name of a file without its ending; {epoch}, {step} and {NAME} or {NAME:.2f} of a logged value are filled in.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_model_checkpoint_dup_filename (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), NULL);

  return g_strdup (self->filename);
}

/**
 * lp_model_checkpoint_set_filename:
 * @self: a checkpoint callback
 * @filename: (nullable): the value
 *
 * Sets the name of a file without its ending; {epoch}, {step} and {NAME} or {NAME:.2f} of a logged value are filled in.
 */
void
lp_model_checkpoint_set_filename (LpModelCheckpoint *self,
                                  const char        *filename)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (g_strcmp0 (self->filename, filename) == 0)
    return;

  g_free (self->filename);
  self->filename = g_strdup (filename);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FILENAME]);
}

/**
 * lp_model_checkpoint_get_save_top_k:
 * @self: a checkpoint callback
 *
 * Gets how many of the best to keep; -1 is all, 0 none.
 *
 * Returns: the value
 */
gint
lp_model_checkpoint_get_save_top_k (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->save_top_k;
}

/**
 * lp_model_checkpoint_set_save_top_k:
 * @self: a checkpoint callback
 * @save_top_k: the value
 *
 * Sets how many of the best to keep; -1 is all, 0 none.
 */
void
lp_model_checkpoint_set_save_top_k (LpModelCheckpoint *self,
                                    gint               save_top_k)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (self->save_top_k == save_top_k)
    return;

  self->save_top_k = save_top_k;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SAVE_TOP_K]);
}

/**
 * lp_model_checkpoint_get_save_last:
 * @self: a checkpoint callback
 *
 * Gets whether to keep the last one as `last.safetensors`.
 *
 * Returns: the value
 */
gboolean
lp_model_checkpoint_get_save_last (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->save_last;
}

/**
 * lp_model_checkpoint_set_save_last:
 * @self: a checkpoint callback
 * @save_last: the value
 *
 * Sets whether to keep the last one as `last.safetensors`.
 */
void
lp_model_checkpoint_set_save_last (LpModelCheckpoint *self,
                                   gboolean           save_last)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (self->save_last == !!save_last)
    return;

  self->save_last = !!save_last;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SAVE_LAST]);
}

/**
 * lp_model_checkpoint_get_save_weights_only:
 * @self: a checkpoint callback
 *
 * Gets whether to leave out what a fit needs to go on.
 *
 * Returns: the value
 */
gboolean
lp_model_checkpoint_get_save_weights_only (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->save_weights_only;
}

/**
 * lp_model_checkpoint_set_save_weights_only:
 * @self: a checkpoint callback
 * @save_weights_only: the value
 *
 * Sets whether to leave out what a fit needs to go on.
 */
void
lp_model_checkpoint_set_save_weights_only (LpModelCheckpoint *self,
                                           gboolean           save_weights_only)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (self->save_weights_only == !!save_weights_only)
    return;

  self->save_weights_only = !!save_weights_only;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SAVE_WEIGHTS_ONLY]);
}

/**
 * lp_model_checkpoint_get_every_n_train_steps:
 * @self: a checkpoint callback
 *
 * Gets how many optimizer steps lie between two; 0 counts epochs instead.
 *
 * Returns: the value
 */
gint64
lp_model_checkpoint_get_every_n_train_steps (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->every_n_train_steps;
}

/**
 * lp_model_checkpoint_set_every_n_train_steps:
 * @self: a checkpoint callback
 * @every_n_train_steps: the value
 *
 * Sets how many optimizer steps lie between two; 0 counts epochs instead.
 */
void
lp_model_checkpoint_set_every_n_train_steps (LpModelCheckpoint *self,
                                             gint64             every_n_train_steps)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (self->every_n_train_steps == every_n_train_steps)
    return;

  self->every_n_train_steps = every_n_train_steps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_EVERY_N_TRAIN_STEPS]);
}

/**
 * lp_model_checkpoint_get_every_n_epochs:
 * @self: a checkpoint callback
 *
 * Gets how many epochs lie between two; 0 is off.
 *
 * Returns: the value
 */
gint64
lp_model_checkpoint_get_every_n_epochs (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->every_n_epochs;
}

/**
 * lp_model_checkpoint_set_every_n_epochs:
 * @self: a checkpoint callback
 * @every_n_epochs: the value
 *
 * Sets how many epochs lie between two; 0 is off.
 */
void
lp_model_checkpoint_set_every_n_epochs (LpModelCheckpoint *self,
                                        gint64             every_n_epochs)
{
  g_return_if_fail (LP_IS_MODEL_CHECKPOINT (self));

  if (self->every_n_epochs == every_n_epochs)
    return;

  self->every_n_epochs = every_n_epochs;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_EVERY_N_EPOCHS]);
}

/**
 * lp_model_checkpoint_dup_best_model_path:
 * @self: a checkpoint callback
 *
 * Gets the file with the best value, or %NULL.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_model_checkpoint_dup_best_model_path (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), NULL);

  return g_strdup (self->best_model_path);
}

/**
 * lp_model_checkpoint_get_best_model_score:
 * @self: a checkpoint callback
 *
 * Gets the best value.
 *
 * Returns: the value
 */
double
lp_model_checkpoint_get_best_model_score (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), 0);

  return self->best_model_score;
}

/**
 * lp_model_checkpoint_dup_last_model_path:
 * @self: a checkpoint callback
 *
 * Gets the file written last, or %NULL.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_model_checkpoint_dup_last_model_path (LpModelCheckpoint *self)
{
  g_return_val_if_fail (LP_IS_MODEL_CHECKPOINT (self), NULL);

  return g_strdup (self->last_model_path);
}
