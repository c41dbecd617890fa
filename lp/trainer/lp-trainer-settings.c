/* The settings of LpTrainer as properties. */

#include <math.h>

#include <lp/trainer/lp-trainer-settings-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-trainer-private.h>

/* A setting: its field, and what its values may be. */
typedef struct
{
  const char *name;
  GType       type;
  gsize       offset;
  double      minimum, initial;   /* of numbers */
} Setting;

static const Setting settings[LP_N_TRAINER_SETTINGS] = {
  /**
   * LpTrainer:max-epochs:
   *
   * How many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000.
   */
  [LP_TRAINER_SETTING_MAX_EPOCHS] = { "max-epochs", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.max_epochs), -1, -1 },

  /**
   * LpTrainer:min-epochs:
   *
   * How many epochs to train before a request to stop counts.
   */
  [LP_TRAINER_SETTING_MIN_EPOCHS] = { "min-epochs", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.min_epochs), 0, 0 },

  /**
   * LpTrainer:max-steps:
   *
   * How many optimizer steps to make; -1 is no limit.
   */
  [LP_TRAINER_SETTING_MAX_STEPS] = { "max-steps", G_TYPE_INT64, G_STRUCT_OFFSET (LpTrainer, settings.max_steps), -1, -1 },

  /**
   * LpTrainer:min-steps:
   *
   * How many optimizer steps to make before a request to stop counts.
   */
  [LP_TRAINER_SETTING_MIN_STEPS] = { "min-steps", G_TYPE_INT64, G_STRUCT_OFFSET (LpTrainer, settings.min_steps), 0, 0 },

  /**
   * LpTrainer:max-time:
   *
   * How many seconds to train; 0 is no limit.
   */
  [LP_TRAINER_SETTING_MAX_TIME] = { "max-time", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.max_time), 0, 0 },

  /**
   * LpTrainer:limit-train-batches:
   *
   * How much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  [LP_TRAINER_SETTING_LIMIT_TRAIN_BATCHES] = { "limit-train-batches", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.limit_train_batches), 0, 1 },

  /**
   * LpTrainer:limit-val-batches:
   *
   * How much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  [LP_TRAINER_SETTING_LIMIT_VAL_BATCHES] = { "limit-val-batches", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.limit_val_batches), 0, 1 },

  /**
   * LpTrainer:limit-test-batches:
   *
   * How much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  [LP_TRAINER_SETTING_LIMIT_TEST_BATCHES] = { "limit-test-batches", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.limit_test_batches), 0, 1 },

  /**
   * LpTrainer:limit-predict-batches:
   *
   * How much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
   */
  [LP_TRAINER_SETTING_LIMIT_PREDICT_BATCHES] = { "limit-predict-batches", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.limit_predict_batches), 0, 1 },

  /**
   * LpTrainer:val-check-interval:
   *
   * How often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down.
   */
  [LP_TRAINER_SETTING_VAL_CHECK_INTERVAL] = { "val-check-interval", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.val_check_interval), 0, 1 },

  /**
   * LpTrainer:check-val-every-n-epoch:
   *
   * How many epochs to train between validations; 0 lets `val-check-interval` count across epochs.
   */
  [LP_TRAINER_SETTING_CHECK_VAL_EVERY_N_EPOCH] = { "check-val-every-n-epoch", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.check_val_every_n_epoch), 0, 1 },

  /**
   * LpTrainer:accumulate-grad-batches:
   *
   * How many batches make one optimizer step.
   */
  [LP_TRAINER_SETTING_ACCUMULATE_GRAD_BATCHES] = { "accumulate-grad-batches", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.accumulate_grad_batches), 1, 1 },

  /**
   * LpTrainer:gradient-clip-val:
   *
   * What gradients are clipped at; 0 is off.
   */
  [LP_TRAINER_SETTING_GRADIENT_CLIP_VAL] = { "gradient-clip-val", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.gradient_clip_val), 0, 0 },

  /**
   * LpTrainer:gradient-clip-algorithm:
   *
   * How gradients are clipped.
   */
  [LP_TRAINER_SETTING_GRADIENT_CLIP_ALGORITHM] = { "gradient-clip-algorithm", G_TYPE_ENUM, G_STRUCT_OFFSET (LpTrainer, settings.gradient_clip_algorithm), 0, LP_CLIP_NORM },

  /**
   * LpTrainer:fast-dev-run:
   *
   * A trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off.
   */
  [LP_TRAINER_SETTING_FAST_DEV_RUN] = { "fast-dev-run", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.fast_dev_run), 0, 0 },

  /**
   * LpTrainer:num-sanity-val-steps:
   *
   * How many batches to validate before training, to see that it works; -1 is all, 0 none.
   */
  [LP_TRAINER_SETTING_NUM_SANITY_VAL_STEPS] = { "num-sanity-val-steps", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.num_sanity_val_steps), -1, 2 },

  /**
   * LpTrainer:overfit-batches:
   *
   * Train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off.
   */
  [LP_TRAINER_SETTING_OVERFIT_BATCHES] = { "overfit-batches", G_TYPE_DOUBLE, G_STRUCT_OFFSET (LpTrainer, settings.overfit_batches), 0, 0 },

  /**
   * LpTrainer:log-every-n-steps:
   *
   * How many optimizer steps lie between two entries in the loggers; 0 is never.
   */
  [LP_TRAINER_SETTING_LOG_EVERY_N_STEPS] = { "log-every-n-steps", G_TYPE_INT, G_STRUCT_OFFSET (LpTrainer, settings.log_every_n_steps), 0, 50 },

  /**
   * LpTrainer:enable-progress-bar:
   *
   * Whether to show progress.
   */
  [LP_TRAINER_SETTING_ENABLE_PROGRESS_BAR] = { "enable-progress-bar", G_TYPE_BOOLEAN, G_STRUCT_OFFSET (LpTrainer, settings.enable_progress_bar), 0, 1 },

  /**
   * LpTrainer:enable-checkpointing:
   *
   * Whether to write checkpoints even if no callback for it was added.
   */
  [LP_TRAINER_SETTING_ENABLE_CHECKPOINTING] = { "enable-checkpointing", G_TYPE_BOOLEAN, G_STRUCT_OFFSET (LpTrainer, settings.enable_checkpointing), 0, 1 },

  /**
   * LpTrainer:enable-model-summary:
   *
   * Whether to print what the model is made of before training.
   */
  [LP_TRAINER_SETTING_ENABLE_MODEL_SUMMARY] = { "enable-model-summary", G_TYPE_BOOLEAN, G_STRUCT_OFFSET (LpTrainer, settings.enable_model_summary), 0, 1 },

  /**
   * LpTrainer:handle-signals:
   *
   * Whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint.
   */
  [LP_TRAINER_SETTING_HANDLE_SIGNALS] = { "handle-signals", G_TYPE_BOOLEAN, G_STRUCT_OFFSET (LpTrainer, settings.handle_signals), 0, 1 },

  /**
   * LpTrainer:default-root-dir:
   *
   * Where checkpoints go if nothing else is said; %NULL is the current folder.
   */
  [LP_TRAINER_SETTING_DEFAULT_ROOT_DIR] = { "default-root-dir", G_TYPE_STRING, G_STRUCT_OFFSET (LpTrainer, settings.default_root_dir), 0, 0 },
};

GParamSpec *_lp_trainer_settings[LP_N_TRAINER_SETTINGS];

/* Any number can be set: one that is too small is an error of _lp_trainer_check_settings(), where GObject would go on with another. */
static GParamSpec *
describe (const Setting *setting)
{
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY | G_PARAM_LAX_VALIDATION;

  switch (setting->type)
    {
    case G_TYPE_INT:
      return g_param_spec_int (setting->name, NULL, NULL, G_MININT, G_MAXINT, setting->initial, flags);
    case G_TYPE_INT64:
      return g_param_spec_int64 (setting->name, NULL, NULL, G_MININT64, G_MAXINT64, setting->initial, flags);
    case G_TYPE_DOUBLE:
      return g_param_spec_double (setting->name, NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, setting->initial, flags);
    case G_TYPE_BOOLEAN:
      return g_param_spec_boolean (setting->name, NULL, NULL, setting->initial != 0, flags);
    case G_TYPE_ENUM:
      return g_param_spec_enum (setting->name, NULL, NULL, LP_TYPE_CLIP_ALGORITHM, setting->initial, flags);
    default:
      return g_param_spec_string (setting->name, NULL, NULL, NULL, flags);
    }
}

void
_lp_trainer_install_settings (GObjectClass *klass,
                              guint         first)
{
  for (guint i = 0; i < LP_N_TRAINER_SETTINGS; i++)
    {
      _lp_trainer_settings[i] = describe (&settings[i]);
      g_object_class_install_property (klass, first + i, _lp_trainer_settings[i]);
    }
}

void
_lp_trainer_get_setting (LpTrainer *self,
                         guint      setting,
                         GValue    *value)
{
  gconstpointer field = G_STRUCT_MEMBER_P (self, settings[setting].offset);

  switch (settings[setting].type)
    {
    case G_TYPE_INT:
      g_value_set_int (value, *(const gint *) field);
      break;
    case G_TYPE_INT64:
      g_value_set_int64 (value, *(const gint64 *) field);
      break;
    case G_TYPE_DOUBLE:
      g_value_set_double (value, *(const double *) field);
      break;
    case G_TYPE_BOOLEAN:
      g_value_set_boolean (value, *(const gboolean *) field);
      break;
    case G_TYPE_ENUM:
      g_value_set_enum (value, *(const gint *) field);
      break;
    default:
      g_value_set_string (value, *(char *const *) field);
    }
}

static void
store (LpTrainer    *self,
       guint         setting,
       const GValue *value)
{
  gpointer field = G_STRUCT_MEMBER_P (self, settings[setting].offset);

  switch (settings[setting].type)
    {
    case G_TYPE_INT:
      *(gint *) field = g_value_get_int (value);
      break;
    case G_TYPE_INT64:
      *(gint64 *) field = g_value_get_int64 (value);
      break;
    case G_TYPE_DOUBLE:
      *(double *) field = g_value_get_double (value);
      break;
    case G_TYPE_BOOLEAN:
      *(gboolean *) field = g_value_get_boolean (value);
      break;
    case G_TYPE_ENUM:
      *(gint *) field = g_value_get_enum (value);
      break;
    default:
      g_free (*(char **) field);
      *(char **) field = g_value_dup_string (value);
    }
}

/* 0 for what is no number. */
static double
get_number (LpTrainer     *self,
            const Setting *setting)
{
  gconstpointer field = G_STRUCT_MEMBER_P (self, setting->offset);

  switch (setting->type)
    {
    case G_TYPE_INT:
      return *(const gint *) field;
    case G_TYPE_INT64:
      return (double) *(const gint64 *) field;
    case G_TYPE_DOUBLE:
      return *(const double *) field;
    default:
      return 0;
    }
}

gboolean
_lp_trainer_check_settings (LpTrainer  *self,
                            GError    **error)
{
  for (guint i = 0; i < LP_N_TRAINER_SETTINGS; i++)
    {
      const double value = get_number (self, &settings[i]);

      if (value >= settings[i].minimum)
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The trainer's “%s” is %g: it has to be at least %g", settings[i].name, value,
                   settings[i].minimum);
      return FALSE;
    }

  return TRUE;
}

void
_lp_trainer_init_settings (LpTrainer *self)
{
  for (guint i = 0; i < LP_N_TRAINER_SETTINGS; i++)
    store (self, i, g_param_spec_get_default_value (_lp_trainer_settings[i]));
}

void
_lp_trainer_set_setting (LpTrainer    *self,
                         guint         setting,
                         const GValue *value)
{
  GParamSpec *pspec = _lp_trainer_settings[setting];
  g_auto (GValue) before = G_VALUE_INIT;

  g_value_init (&before, G_PARAM_SPEC_VALUE_TYPE (pspec));
  _lp_trainer_get_setting (self, setting, &before);
  /* NaN compares as equal to all */
  if (g_param_values_cmp (pspec, &before, value) == 0 && !(G_VALUE_HOLDS_DOUBLE (value) && isnan (g_value_get_double (value))))
    return;

  store (self, setting, value);
  g_object_notify_by_pspec (G_OBJECT (self), pspec);
}
