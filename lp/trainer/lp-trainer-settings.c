/* The settings of LpTrainer as properties. */

#include <lp/trainer/lp-trainer-settings-private.h>

#include <lp/trainer/lp-trainer-private.h>

GParamSpec *_lp_trainer_settings[LP_N_TRAINER_SETTINGS];

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
  _lp_trainer_settings[LP_TRAINER_SETTING_MAX_EPOCHS] =
    g_param_spec_int ("max-epochs", NULL, NULL, -1, G_MAXINT, -1, flags);

  /**
   * LpTrainer:min-epochs:
   *
   * How many epochs to train before a request to stop counts.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_MIN_EPOCHS] =
    g_param_spec_int ("min-epochs", NULL, NULL, 0, G_MAXINT, 0, flags);

  /**
   * LpTrainer:max-steps:
   *
   * How many optimizer steps to make; -1 is no limit.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_MAX_STEPS] =
    g_param_spec_int64 ("max-steps", NULL, NULL, -1, G_MAXINT64, -1, flags);

  /**
   * LpTrainer:min-steps:
   *
   * How many optimizer steps to make before a request to stop counts.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_MIN_STEPS] =
    g_param_spec_int64 ("min-steps", NULL, NULL, 0, G_MAXINT64, 0, flags);

  /**
   * LpTrainer:max-time:
   *
   * How many seconds to train; 0 is no limit.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_MAX_TIME] =
    g_param_spec_double ("max-time", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:limit-train-batches:
   *
   * How much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES] =
    g_param_spec_double ("limit-train-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-val-batches:
   *
   * How much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_LIMIT_VAL_BATCHES] =
    g_param_spec_double ("limit-val-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-test-batches:
   *
   * How much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_LIMIT_TEST_BATCHES] =
    g_param_spec_double ("limit-test-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:limit-predict-batches:
   *
   * How much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES] =
    g_param_spec_double ("limit-predict-batches", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:val-check-interval:
   *
   * How often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_VAL_CHECK_INTERVAL] =
    g_param_spec_double ("val-check-interval", NULL, NULL, 0, G_MAXDOUBLE, 1, flags);

  /**
   * LpTrainer:check-val-every-n-epoch:
   *
   * How many epochs to train between validations; 0 lets `val-check-interval` count across epochs.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH] =
    g_param_spec_int ("check-val-every-n-epoch", NULL, NULL, 0, G_MAXINT, 1, flags);

  /**
   * LpTrainer:accumulate-grad-batches:
   *
   * How many batches make one optimizer step.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES] =
    g_param_spec_int ("accumulate-grad-batches", NULL, NULL, 1, G_MAXINT, 1, flags);

  /**
   * LpTrainer:gradient-clip-val:
   *
   * What gradients are clipped at; 0 is off.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_GRADIENT_CLIP_VAL] =
    g_param_spec_double ("gradient-clip-val", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:gradient-clip-algorithm:
   *
   * How gradients are clipped.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM] =
    g_param_spec_enum ("gradient-clip-algorithm", NULL, NULL, LP_TYPE_CLIP_ALGORITHM, LP_CLIP_NORM, flags);

  /**
   * LpTrainer:fast-dev-run:
   *
   * A trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_FAST_DEV_RUN] =
    g_param_spec_int ("fast-dev-run", NULL, NULL, 0, G_MAXINT, 0, flags);

  /**
   * LpTrainer:num-sanity-val-steps:
   *
   * How many batches to validate before training, to see that it works; -1 is all, 0 none.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS] =
    g_param_spec_int ("num-sanity-val-steps", NULL, NULL, -1, G_MAXINT, 2, flags);

  /**
   * LpTrainer:overfit-batches:
   *
   * Train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_OVERFIT_BATCHES] =
    g_param_spec_double ("overfit-batches", NULL, NULL, 0, G_MAXDOUBLE, 0, flags);

  /**
   * LpTrainer:log-every-n-steps:
   *
   * How many optimizer steps lie between two entries in the loggers; 0 is never.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_LOG_EVERY_N_STEPS] =
    g_param_spec_int ("log-every-n-steps", NULL, NULL, 0, G_MAXINT, 50, flags);

  /**
   * LpTrainer:enable-progress-bar:
   *
   * Whether to show progress.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR] =
    g_param_spec_boolean ("enable-progress-bar", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:enable-checkpointing:
   *
   * Whether to write checkpoints even if no callback for it was added.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_ENABLE_CHECKPOINTING] =
    g_param_spec_boolean ("enable-checkpointing", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:enable-model-summary:
   *
   * Whether to print what the model is made of before training.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY] =
    g_param_spec_boolean ("enable-model-summary", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:handle-signals:
   *
   * Whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_HANDLE_SIGNALS] =
    g_param_spec_boolean ("handle-signals", NULL, NULL, TRUE, flags);

  /**
   * LpTrainer:default-root-dir:
   *
   * Where checkpoints go if nothing else is said; %NULL is the current folder.
   */
  _lp_trainer_settings[LP_TRAINER_SETTING_DEFAULT_ROOT_DIR] =
    g_param_spec_string ("default-root-dir", NULL, NULL, NULL, flags);

  for (guint i = 0; i < LP_N_TRAINER_SETTINGS; i++)
    g_object_class_install_property (klass, first + i, _lp_trainer_settings[i]);
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
