/* The settings of LpTrainer: their properties, getters and setters. */

#include <lp/trainer/lp-trainer-settings-private.h>

#include <lp/trainer/lp-trainer-private.h>

static GParamSpec *properties[LP_N_TRAINER_SETTINGS];

void
_lp_trainer_install_settings (GObjectClass *klass,
                              guint         first)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  /**
   * LpTrainer:max-epochs:
   *
   * How many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000.
   */
  properties[LP_TRAINER_SETTING_MAX_EPOCHS] =
    g_param_spec_int ("max-epochs", NULL, NULL, -1, G_MAXINT, -1, flags);

  /**
   * LpTrainer:min-epochs:
   *
   * How many epochs to train before a request to stop counts.
   */
  properties[LP_TRAINER_SETTING_MIN_EPOCHS] =
    g_param_spec_int ("min-epochs", NULL, NULL, 0, G_MAXINT, 0, flags);

  /**
   * LpTrainer:max-steps:
   *
   * How many optimizer steps to make; -1 is no limit.
   */
  properties[LP_TRAINER_SETTING_MAX_STEPS] =
    g_param_spec_int64 ("max-steps", NULL, NULL, -1, G_MAXINT64, -1, flags);

  /**
   * LpTrainer:min-steps:
   *
   * How many optimizer steps to make before a request to stop counts.
   */
  properties[LP_TRAINER_SETTING_MIN_STEPS] =
    g_param_spec_int64 ("min-steps", NULL, NULL, 0, G_MAXINT64, 0, flags);

  /**
   * LpTrainer:max-time:
   *
   * How many seconds to train; 0 is no limit.
   */
  properties[LP_TRAINER_SETTING_MAX_TIME] =
    g_param_spec_double ("max-time", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:limit-train-batches:
   *
   * How much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  properties[LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES] =
    g_param_spec_double ("limit-train-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-val-batches:
   *
   * How much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  properties[LP_TRAINER_SETTING_LIMIT_VAL_BATCHES] =
    g_param_spec_double ("limit-val-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-test-batches:
   *
   * How much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  properties[LP_TRAINER_SETTING_LIMIT_TEST_BATCHES] =
    g_param_spec_double ("limit-test-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-predict-batches:
   *
   * How much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  properties[LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES] =
    g_param_spec_double ("limit-predict-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:val-check-interval:
   *
   * How often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down.
   */
  properties[LP_TRAINER_SETTING_VAL_CHECK_INTERVAL] =
    g_param_spec_double ("val-check-interval", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:check-val-every-n-epoch:
   *
   * How many epochs to train between validations; 0 lets `val-check-interval` count across epochs.
   */
  properties[LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH] =
    g_param_spec_int ("check-val-every-n-epoch", NULL, NULL, 0, G_MAXINT, 1, flags);

  /**
   * LpTrainer:accumulate-grad-batches:
   *
   * How many batches make one optimizer step.
   */
  properties[LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES] =
    g_param_spec_int ("accumulate-grad-batches", NULL, NULL, 1, G_MAXINT, 1, flags);

  /**
   * LpTrainer:gradient-clip-val:
   *
   * What gradients are clipped at; 0 is off.
   */
  properties[LP_TRAINER_SETTING_GRADIENT_CLIP_VAL] =
    g_param_spec_double ("gradient-clip-val", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:gradient-clip-algorithm:
   *
   * How gradients are clipped.
   */
  properties[LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM] =
    g_param_spec_enum ("gradient-clip-algorithm", NULL, NULL, LP_TYPE_CLIP_ALGORITHM, LP_CLIP_NORM, flags);

  /**
   * LpTrainer:fast-dev-run:
   *
   * A trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off.
   */
  properties[LP_TRAINER_SETTING_FAST_DEV_RUN] =
    g_param_spec_int ("fast-dev-run", NULL, NULL, 0, G_MAXINT, 0, flags);

  /**
   * LpTrainer:num-sanity-val-steps:
   *
   * How many batches to validate before training, to see that it works; -1 is all, 0 none.
   */
  properties[LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS] =
    g_param_spec_int ("num-sanity-val-steps", NULL, NULL, -1, G_MAXINT, 2, flags);

  /**
   * LpTrainer:overfit-batches:
   *
   * Train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off.
   */
  properties[LP_TRAINER_SETTING_OVERFIT_BATCHES] =
    g_param_spec_double ("overfit-batches", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:log-every-n-steps:
   *
   * How many optimizer steps lie between two entries in the loggers; 0 is never.
   */
  properties[LP_TRAINER_SETTING_LOG_EVERY_N_STEPS] =
    g_param_spec_int ("log-every-n-steps", NULL, NULL, 0, G_MAXINT, 50, flags);

  /**
   * LpTrainer:enable-progress-bar:
   *
   * Whether to show progress.
   */
  properties[LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR] =
    g_param_spec_boolean ("enable-progress-bar", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:enable-checkpointing:
   *
   * Whether to write checkpoints even if no callback for it was added.
   */
  properties[LP_TRAINER_SETTING_ENABLE_CHECKPOINTING] =
    g_param_spec_boolean ("enable-checkpointing", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:enable-model-summary:
   *
   * Whether to print what the model is made of before training.
   */
  properties[LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY] =
    g_param_spec_boolean ("enable-model-summary", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:handle-signals:
   *
   * Whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint.
   */
  properties[LP_TRAINER_SETTING_HANDLE_SIGNALS] =
    g_param_spec_boolean ("handle-signals", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:default-root-dir:
   *
   * Where checkpoints go if nothing else is said; %NULL is the current folder.
   */
  properties[LP_TRAINER_SETTING_DEFAULT_ROOT_DIR] =
    g_param_spec_string ("default-root-dir", NULL, NULL, NULL, flags);

  for (guint i = 0; i < LP_N_TRAINER_SETTINGS; i++)
    g_object_class_install_property (klass, first + i, properties[i]);
}

void
_lp_trainer_init_settings (LpTrainer *self)
{
  self->settings.max_epochs = -1;
  self->settings.max_steps = -1;
  self->settings.limit_train_batches = 1;
  self->settings.limit_val_batches = 1;
  self->settings.limit_test_batches = 1;
  self->settings.limit_predict_batches = 1;
  self->settings.val_check_interval = 1;
  self->settings.check_val_every_n_epoch = 1;
  self->settings.accumulate_grad_batches = 1;
  self->settings.gradient_clip_algorithm = LP_CLIP_NORM;
  self->settings.num_sanity_val_steps = 2;
  self->settings.log_every_n_steps = 50;
  self->settings.enable_progress_bar = TRUE;
  self->settings.enable_checkpointing = TRUE;
  self->settings.enable_model_summary = TRUE;
  self->settings.handle_signals = TRUE;
}

void
_lp_trainer_get_setting (LpTrainer *self,
                         guint      setting,
                         GValue    *value)
{
  switch (setting)
    {
    case LP_TRAINER_SETTING_MAX_EPOCHS:
      g_value_set_int (value, self->settings.max_epochs);
      break;
    case LP_TRAINER_SETTING_MIN_EPOCHS:
      g_value_set_int (value, self->settings.min_epochs);
      break;
    case LP_TRAINER_SETTING_MAX_STEPS:
      g_value_set_int64 (value, self->settings.max_steps);
      break;
    case LP_TRAINER_SETTING_MIN_STEPS:
      g_value_set_int64 (value, self->settings.min_steps);
      break;
    case LP_TRAINER_SETTING_MAX_TIME:
      g_value_set_double (value, self->settings.max_time);
      break;
    case LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES:
      g_value_set_double (value, self->settings.limit_train_batches);
      break;
    case LP_TRAINER_SETTING_LIMIT_VAL_BATCHES:
      g_value_set_double (value, self->settings.limit_val_batches);
      break;
    case LP_TRAINER_SETTING_LIMIT_TEST_BATCHES:
      g_value_set_double (value, self->settings.limit_test_batches);
      break;
    case LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES:
      g_value_set_double (value, self->settings.limit_predict_batches);
      break;
    case LP_TRAINER_SETTING_VAL_CHECK_INTERVAL:
      g_value_set_double (value, self->settings.val_check_interval);
      break;
    case LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH:
      g_value_set_int (value, self->settings.check_val_every_n_epoch);
      break;
    case LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES:
      g_value_set_int (value, self->settings.accumulate_grad_batches);
      break;
    case LP_TRAINER_SETTING_GRADIENT_CLIP_VAL:
      g_value_set_double (value, self->settings.gradient_clip_val);
      break;
    case LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM:
      g_value_set_enum (value, self->settings.gradient_clip_algorithm);
      break;
    case LP_TRAINER_SETTING_FAST_DEV_RUN:
      g_value_set_int (value, self->settings.fast_dev_run);
      break;
    case LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS:
      g_value_set_int (value, self->settings.num_sanity_val_steps);
      break;
    case LP_TRAINER_SETTING_OVERFIT_BATCHES:
      g_value_set_double (value, self->settings.overfit_batches);
      break;
    case LP_TRAINER_SETTING_LOG_EVERY_N_STEPS:
      g_value_set_int (value, self->settings.log_every_n_steps);
      break;
    case LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR:
      g_value_set_boolean (value, self->settings.enable_progress_bar);
      break;
    case LP_TRAINER_SETTING_ENABLE_CHECKPOINTING:
      g_value_set_boolean (value, self->settings.enable_checkpointing);
      break;
    case LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY:
      g_value_set_boolean (value, self->settings.enable_model_summary);
      break;
    case LP_TRAINER_SETTING_HANDLE_SIGNALS:
      g_value_set_boolean (value, self->settings.handle_signals);
      break;
    case LP_TRAINER_SETTING_DEFAULT_ROOT_DIR:
      g_value_set_string (value, self->settings.default_root_dir);
      break;
    default:
      g_assert_not_reached ();
    }
}

void
_lp_trainer_set_setting (LpTrainer    *self,
                         guint         setting,
                         const GValue *value)
{
  switch (setting)
    {
    case LP_TRAINER_SETTING_MAX_EPOCHS:
      lp_trainer_set_max_epochs (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_MIN_EPOCHS:
      lp_trainer_set_min_epochs (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_MAX_STEPS:
      lp_trainer_set_max_steps (self, g_value_get_int64 (value));
      break;
    case LP_TRAINER_SETTING_MIN_STEPS:
      lp_trainer_set_min_steps (self, g_value_get_int64 (value));
      break;
    case LP_TRAINER_SETTING_MAX_TIME:
      lp_trainer_set_max_time (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES:
      lp_trainer_set_limit_train_batches (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_LIMIT_VAL_BATCHES:
      lp_trainer_set_limit_val_batches (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_LIMIT_TEST_BATCHES:
      lp_trainer_set_limit_test_batches (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES:
      lp_trainer_set_limit_predict_batches (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_VAL_CHECK_INTERVAL:
      lp_trainer_set_val_check_interval (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH:
      lp_trainer_set_check_val_every_n_epoch (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES:
      lp_trainer_set_accumulate_grad_batches (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_GRADIENT_CLIP_VAL:
      lp_trainer_set_gradient_clip_val (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM:
      lp_trainer_set_gradient_clip_algorithm (self, g_value_get_enum (value));
      break;
    case LP_TRAINER_SETTING_FAST_DEV_RUN:
      lp_trainer_set_fast_dev_run (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS:
      lp_trainer_set_num_sanity_val_steps (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_OVERFIT_BATCHES:
      lp_trainer_set_overfit_batches (self, g_value_get_double (value));
      break;
    case LP_TRAINER_SETTING_LOG_EVERY_N_STEPS:
      lp_trainer_set_log_every_n_steps (self, g_value_get_int (value));
      break;
    case LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR:
      lp_trainer_set_enable_progress_bar (self, g_value_get_boolean (value));
      break;
    case LP_TRAINER_SETTING_ENABLE_CHECKPOINTING:
      lp_trainer_set_enable_checkpointing (self, g_value_get_boolean (value));
      break;
    case LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY:
      lp_trainer_set_enable_model_summary (self, g_value_get_boolean (value));
      break;
    case LP_TRAINER_SETTING_HANDLE_SIGNALS:
      lp_trainer_set_handle_signals (self, g_value_get_boolean (value));
      break;
    case LP_TRAINER_SETTING_DEFAULT_ROOT_DIR:
      lp_trainer_set_default_root_dir (self, g_value_get_string (value));
      break;
    default:
      g_assert_not_reached ();
    }
}

/**
 * lp_trainer_get_max_epochs:
 * @self: a trainer
 *
 * Gets how many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000.
 *
 * Returns: the value
 */
gint
lp_trainer_get_max_epochs (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), -1);

  return self->settings.max_epochs;
}

/**
 * lp_trainer_set_max_epochs:
 * @self: a trainer
 * @max_epochs: the value
 *
 * Sets how many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000. It counts from the next run on.
 */
void
lp_trainer_set_max_epochs (LpTrainer *self,
                           gint max_epochs)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_epochs >= -1);

  if (self->settings.max_epochs == max_epochs)
    return;

  self->settings.max_epochs = max_epochs;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_MAX_EPOCHS]);
}

/**
 * lp_trainer_get_min_epochs:
 * @self: a trainer
 *
 * Gets how many epochs to train before a request to stop counts.
 *
 * Returns: the value
 */
gint
lp_trainer_get_min_epochs (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.min_epochs;
}

/**
 * lp_trainer_set_min_epochs:
 * @self: a trainer
 * @min_epochs: the value
 *
 * Sets how many epochs to train before a request to stop counts. It counts from the next run on.
 */
void
lp_trainer_set_min_epochs (LpTrainer *self,
                           gint min_epochs)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (min_epochs >= 0);

  if (self->settings.min_epochs == min_epochs)
    return;

  self->settings.min_epochs = min_epochs;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_MIN_EPOCHS]);
}

/**
 * lp_trainer_get_max_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps to make; -1 is no limit.
 *
 * Returns: the value
 */
gint64
lp_trainer_get_max_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), -1);

  return self->settings.max_steps;
}

/**
 * lp_trainer_set_max_steps:
 * @self: a trainer
 * @max_steps: the value
 *
 * Sets how many optimizer steps to make; -1 is no limit. It counts from the next run on.
 */
void
lp_trainer_set_max_steps (LpTrainer *self,
                          gint64 max_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_steps >= -1);

  if (self->settings.max_steps == max_steps)
    return;

  self->settings.max_steps = max_steps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_MAX_STEPS]);
}

/**
 * lp_trainer_get_min_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps to make before a request to stop counts.
 *
 * Returns: the value
 */
gint64
lp_trainer_get_min_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.min_steps;
}

/**
 * lp_trainer_set_min_steps:
 * @self: a trainer
 * @min_steps: the value
 *
 * Sets how many optimizer steps to make before a request to stop counts. It counts from the next run on.
 */
void
lp_trainer_set_min_steps (LpTrainer *self,
                          gint64 min_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (min_steps >= 0);

  if (self->settings.min_steps == min_steps)
    return;

  self->settings.min_steps = min_steps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_MIN_STEPS]);
}

/**
 * lp_trainer_get_max_time:
 * @self: a trainer
 *
 * Gets how many seconds to train; 0 is no limit.
 *
 * Returns: the value
 */
double
lp_trainer_get_max_time (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.max_time;
}

/**
 * lp_trainer_set_max_time:
 * @self: a trainer
 * @max_time: the value
 *
 * Sets how many seconds to train; 0 is no limit. It counts from the next run on.
 */
void
lp_trainer_set_max_time (LpTrainer *self,
                         double max_time)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_time >= 0);

  if (self->settings.max_time == max_time)
    return;

  self->settings.max_time = max_time;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_MAX_TIME]);
}

/**
 * lp_trainer_get_limit_train_batches:
 * @self: a trainer
 *
 * Gets how much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_train_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_train_batches;
}

/**
 * lp_trainer_set_limit_train_batches:
 * @self: a trainer
 * @limit_train_batches: the value
 *
 * Sets how much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_train_batches (LpTrainer *self,
                                    double limit_train_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_train_batches >= 0);

  if (self->settings.limit_train_batches == limit_train_batches)
    return;

  self->settings.limit_train_batches = limit_train_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES]);
}

/**
 * lp_trainer_get_limit_val_batches:
 * @self: a trainer
 *
 * Gets how much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_val_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_val_batches;
}

/**
 * lp_trainer_set_limit_val_batches:
 * @self: a trainer
 * @limit_val_batches: the value
 *
 * Sets how much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_val_batches (LpTrainer *self,
                                  double limit_val_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_val_batches >= 0);

  if (self->settings.limit_val_batches == limit_val_batches)
    return;

  self->settings.limit_val_batches = limit_val_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_LIMIT_VAL_BATCHES]);
}

/**
 * lp_trainer_get_limit_test_batches:
 * @self: a trainer
 *
 * Gets how much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_test_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_test_batches;
}

/**
 * lp_trainer_set_limit_test_batches:
 * @self: a trainer
 * @limit_test_batches: the value
 *
 * Sets how much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_test_batches (LpTrainer *self,
                                   double limit_test_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_test_batches >= 0);

  if (self->settings.limit_test_batches == limit_test_batches)
    return;

  self->settings.limit_test_batches = limit_test_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_LIMIT_TEST_BATCHES]);
}

/**
 * lp_trainer_get_limit_predict_batches:
 * @self: a trainer
 *
 * Gets how much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_predict_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_predict_batches;
}

/**
 * lp_trainer_set_limit_predict_batches:
 * @self: a trainer
 * @limit_predict_batches: the value
 *
 * Sets how much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_predict_batches (LpTrainer *self,
                                      double limit_predict_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_predict_batches >= 0);

  if (self->settings.limit_predict_batches == limit_predict_batches)
    return;

  self->settings.limit_predict_batches = limit_predict_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES]);
}

/**
 * lp_trainer_get_val_check_interval:
 * @self: a trainer
 *
 * Gets how often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down.
 *
 * Returns: the value
 */
double
lp_trainer_get_val_check_interval (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.val_check_interval;
}

/**
 * lp_trainer_set_val_check_interval:
 * @self: a trainer
 * @val_check_interval: the value
 *
 * Sets how often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down. It counts from the next run on.
 */
void
lp_trainer_set_val_check_interval (LpTrainer *self,
                                   double val_check_interval)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (val_check_interval >= 0);

  if (self->settings.val_check_interval == val_check_interval)
    return;

  self->settings.val_check_interval = val_check_interval;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_VAL_CHECK_INTERVAL]);
}

/**
 * lp_trainer_get_check_val_every_n_epoch:
 * @self: a trainer
 *
 * Gets how many epochs to train between validations; 0 lets `val-check-interval` count across epochs.
 *
 * Returns: the value
 */
gint
lp_trainer_get_check_val_every_n_epoch (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.check_val_every_n_epoch;
}

/**
 * lp_trainer_set_check_val_every_n_epoch:
 * @self: a trainer
 * @check_val_every_n_epoch: the value
 *
 * Sets how many epochs to train between validations; 0 lets `val-check-interval` count across epochs. It counts from the next run on.
 */
void
lp_trainer_set_check_val_every_n_epoch (LpTrainer *self,
                                        gint check_val_every_n_epoch)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (check_val_every_n_epoch >= 0);

  if (self->settings.check_val_every_n_epoch == check_val_every_n_epoch)
    return;

  self->settings.check_val_every_n_epoch = check_val_every_n_epoch;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH]);
}

/**
 * lp_trainer_get_accumulate_grad_batches:
 * @self: a trainer
 *
 * Gets how many batches make one optimizer step.
 *
 * Returns: the value
 */
gint
lp_trainer_get_accumulate_grad_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.accumulate_grad_batches;
}

/**
 * lp_trainer_set_accumulate_grad_batches:
 * @self: a trainer
 * @accumulate_grad_batches: the value
 *
 * Sets how many batches make one optimizer step. It counts from the next run on.
 */
void
lp_trainer_set_accumulate_grad_batches (LpTrainer *self,
                                        gint accumulate_grad_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (accumulate_grad_batches >= 1);

  if (self->settings.accumulate_grad_batches == accumulate_grad_batches)
    return;

  self->settings.accumulate_grad_batches = accumulate_grad_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES]);
}

/**
 * lp_trainer_get_gradient_clip_val:
 * @self: a trainer
 *
 * Gets what gradients are clipped at; 0 is off.
 *
 * Returns: the value
 */
double
lp_trainer_get_gradient_clip_val (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.gradient_clip_val;
}

/**
 * lp_trainer_set_gradient_clip_val:
 * @self: a trainer
 * @gradient_clip_val: the value
 *
 * Sets what gradients are clipped at; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_gradient_clip_val (LpTrainer *self,
                                  double gradient_clip_val)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (gradient_clip_val >= 0);

  if (self->settings.gradient_clip_val == gradient_clip_val)
    return;

  self->settings.gradient_clip_val = gradient_clip_val;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_GRADIENT_CLIP_VAL]);
}

/**
 * lp_trainer_get_gradient_clip_algorithm:
 * @self: a trainer
 *
 * Gets how gradients are clipped.
 *
 * Returns: the value
 */
LpClipAlgorithm
lp_trainer_get_gradient_clip_algorithm (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), LP_CLIP_NORM);

  return self->settings.gradient_clip_algorithm;
}

/**
 * lp_trainer_set_gradient_clip_algorithm:
 * @self: a trainer
 * @gradient_clip_algorithm: the value
 *
 * Sets how gradients are clipped. It counts from the next run on.
 */
void
lp_trainer_set_gradient_clip_algorithm (LpTrainer *self,
                                        LpClipAlgorithm gradient_clip_algorithm)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->settings.gradient_clip_algorithm == gradient_clip_algorithm)
    return;

  self->settings.gradient_clip_algorithm = gradient_clip_algorithm;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM]);
}

/**
 * lp_trainer_get_fast_dev_run:
 * @self: a trainer
 *
 * Gets a trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off.
 *
 * Returns: the value
 */
gint
lp_trainer_get_fast_dev_run (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.fast_dev_run;
}

/**
 * lp_trainer_set_fast_dev_run:
 * @self: a trainer
 * @fast_dev_run: the value
 *
 * Sets a trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_fast_dev_run (LpTrainer *self,
                             gint fast_dev_run)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (fast_dev_run >= 0);

  if (self->settings.fast_dev_run == fast_dev_run)
    return;

  self->settings.fast_dev_run = fast_dev_run;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_FAST_DEV_RUN]);
}

/**
 * lp_trainer_get_num_sanity_val_steps:
 * @self: a trainer
 *
 * Gets how many batches to validate before training, to see that it works; -1 is all, 0 none.
 *
 * Returns: the value
 */
gint
lp_trainer_get_num_sanity_val_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 2);

  return self->settings.num_sanity_val_steps;
}

/**
 * lp_trainer_set_num_sanity_val_steps:
 * @self: a trainer
 * @num_sanity_val_steps: the value
 *
 * Sets how many batches to validate before training, to see that it works; -1 is all, 0 none. It counts from the next run on.
 */
void
lp_trainer_set_num_sanity_val_steps (LpTrainer *self,
                                     gint num_sanity_val_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (num_sanity_val_steps >= -1);

  if (self->settings.num_sanity_val_steps == num_sanity_val_steps)
    return;

  self->settings.num_sanity_val_steps = num_sanity_val_steps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS]);
}

/**
 * lp_trainer_get_overfit_batches:
 * @self: a trainer
 *
 * Gets train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off.
 *
 * Returns: the value
 */
double
lp_trainer_get_overfit_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.overfit_batches;
}

/**
 * lp_trainer_set_overfit_batches:
 * @self: a trainer
 * @overfit_batches: the value
 *
 * Sets train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_overfit_batches (LpTrainer *self,
                                double overfit_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (overfit_batches >= 0);

  if (self->settings.overfit_batches == overfit_batches)
    return;

  self->settings.overfit_batches = overfit_batches;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_OVERFIT_BATCHES]);
}

/**
 * lp_trainer_get_log_every_n_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps lie between two entries in the loggers; 0 is never.
 *
 * Returns: the value
 */
gint
lp_trainer_get_log_every_n_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 50);

  return self->settings.log_every_n_steps;
}

/**
 * lp_trainer_set_log_every_n_steps:
 * @self: a trainer
 * @log_every_n_steps: the value
 *
 * Sets how many optimizer steps lie between two entries in the loggers; 0 is never. It counts from the next run on.
 */
void
lp_trainer_set_log_every_n_steps (LpTrainer *self,
                                  gint log_every_n_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (log_every_n_steps >= 0);

  if (self->settings.log_every_n_steps == log_every_n_steps)
    return;

  self->settings.log_every_n_steps = log_every_n_steps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_LOG_EVERY_N_STEPS]);
}

/**
 * lp_trainer_get_enable_progress_bar:
 * @self: a trainer
 *
 * Gets whether to show progress.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_progress_bar (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_progress_bar;
}

/**
 * lp_trainer_set_enable_progress_bar:
 * @self: a trainer
 * @enable_progress_bar: the value
 *
 * Sets whether to show progress. It counts from the next run on.
 */
void
lp_trainer_set_enable_progress_bar (LpTrainer *self,
                                    gboolean enable_progress_bar)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->settings.enable_progress_bar == !!enable_progress_bar)
    return;

  self->settings.enable_progress_bar = !!enable_progress_bar;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR]);
}

/**
 * lp_trainer_get_enable_checkpointing:
 * @self: a trainer
 *
 * Gets whether to write checkpoints even if no callback for it was added.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_checkpointing (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_checkpointing;
}

/**
 * lp_trainer_set_enable_checkpointing:
 * @self: a trainer
 * @enable_checkpointing: the value
 *
 * Sets whether to write checkpoints even if no callback for it was added. It counts from the next run on.
 */
void
lp_trainer_set_enable_checkpointing (LpTrainer *self,
                                     gboolean enable_checkpointing)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->settings.enable_checkpointing == !!enable_checkpointing)
    return;

  self->settings.enable_checkpointing = !!enable_checkpointing;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_ENABLE_CHECKPOINTING]);
}

/**
 * lp_trainer_get_enable_model_summary:
 * @self: a trainer
 *
 * Gets whether to print what the model is made of before training.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_model_summary (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_model_summary;
}

/**
 * lp_trainer_set_enable_model_summary:
 * @self: a trainer
 * @enable_model_summary: the value
 *
 * Sets whether to print what the model is made of before training. It counts from the next run on.
 */
void
lp_trainer_set_enable_model_summary (LpTrainer *self,
                                     gboolean enable_model_summary)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->settings.enable_model_summary == !!enable_model_summary)
    return;

  self->settings.enable_model_summary = !!enable_model_summary;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY]);
}

/**
 * lp_trainer_get_handle_signals:
 * @self: a trainer
 *
 * Gets whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_handle_signals (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.handle_signals;
}

/**
 * lp_trainer_set_handle_signals:
 * @self: a trainer
 * @handle_signals: the value
 *
 * Sets whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint. It counts from the next run on.
 */
void
lp_trainer_set_handle_signals (LpTrainer *self,
                               gboolean handle_signals)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->settings.handle_signals == !!handle_signals)
    return;

  self->settings.handle_signals = !!handle_signals;
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_HANDLE_SIGNALS]);
}

/**
 * lp_trainer_dup_default_root_dir:
 * @self: a trainer
 *
 * Gets where checkpoints go if nothing else is said; %NULL is the current folder.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_trainer_dup_default_root_dir (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_strdup (self->settings.default_root_dir);
}

/**
 * lp_trainer_set_default_root_dir:
 * @self: a trainer
 * @default_root_dir: (nullable): the value
 *
 * Sets where checkpoints go if nothing else is said; %NULL is the current folder. It counts from the next run on.
 */
void
lp_trainer_set_default_root_dir (LpTrainer *self,
                                 const char *default_root_dir)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (g_strcmp0 (self->settings.default_root_dir, default_root_dir) == 0)
    return;

  g_free (self->settings.default_root_dir);
  self->settings.default_root_dir = g_strdup (default_root_dir);
  g_object_notify_by_pspec (G_OBJECT (self), properties[LP_TRAINER_SETTING_DEFAULT_ROOT_DIR]);
}
