#include <math.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/parallel/lp-single-strategy.h>
#include <lp/trainer/lp-trainer-settings-private.h>

/**
 * LpTrainer:
 *
 * Trains, validates, tests and predicts with a model.
 *
 * The trainer owns the loop and nothing about precision: `precision`, `amp-backend` and `amp-level` are the plugin's, read
 * from it each time. Everything a run calls, it calls on the thread that started the run.
 *
 * Constructors check the precision that was asked for. A trainer made by other means (`g_object_new ()`) checks it when it
 * is first used.
 */
static void initable_iface_init (GInitableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (LpTrainer, lp_trainer, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_INITABLE, initable_iface_init))

enum
{
  PROP_0,
  PROP_PRECISION,
  PROP_AMP_BACKEND,
  PROP_AMP_LEVEL,
  PROP_PRECISION_REQUEST,
  PROP_PRECISION_REASON,
  PROP_PRECISION_PLUGIN,
  PROP_STRATEGY,
  PROP_CURRENT_EPOCH,
  PROP_GLOBAL_STEP,
  PROP_N_SKIPPED_STEPS,
  PROP_STAGE,
  PROP_SHOULD_STOP,
  PROP_INTERRUPTED,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];
guint _lp_trainer_signals[LP_TRAINER_N_SIGNALS];

static gboolean
lp_trainer_initable_init (GInitable     *initable,
                          GCancellable  *cancellable,
                          GError       **error)
{
  LpTrainer *self = LP_TRAINER (initable);

  if (!self->initialized)
    {
      self->initialized = TRUE;
      if (_lp_trainer_check_settings (self, &self->init_error))
        _lp_precision_slot_resolve (&self->precision, self->strategy, &self->init_error);
    }
  if (self->init_error == NULL)
    return TRUE;

  if (error != NULL)
    *error = g_error_copy (self->init_error);
  return FALSE;
}

static void
initable_iface_init (GInitableIface *iface)
{
  iface->init = lp_trainer_initable_init;
}

gboolean
_lp_trainer_ensure_initialized (LpTrainer  *self,
                                GError    **error)
{
  return g_initable_init (G_INITABLE (self), NULL, error);
}

const char *
_lp_trainer_get_root_dir (LpTrainer *self)
{
  return self->settings.default_root_dir != NULL ? self->settings.default_root_dir : ".";
}

static void
lp_trainer_get_property (GObject    *object,
                         guint       prop_id,
                         GValue     *value,
                         GParamSpec *pspec)
{
  LpTrainer *self = LP_TRAINER (object);

  switch (prop_id)
    {
    case PROP_PRECISION:
    case PROP_AMP_BACKEND:
    case PROP_AMP_LEVEL:
      g_value_take_string (value, _lp_precision_slot_dup_value (&self->precision, prop_id - PROP_PRECISION));
      break;
    case PROP_PRECISION_REQUEST:
      g_value_set_string (value, self->precision.request);
      break;
    case PROP_PRECISION_REASON:
      g_value_set_string (value, self->precision.reason);
      break;
    case PROP_PRECISION_PLUGIN:
      g_value_take_object (value, _lp_precision_slot_dup_plugin (&self->precision));
      break;
    case PROP_STRATEGY:
      g_value_set_object (value, self->strategy);
      break;
    case PROP_CURRENT_EPOCH:
      g_value_set_int64 (value, self->current_epoch);
      break;
    case PROP_GLOBAL_STEP:
      g_value_set_int64 (value, self->global_step);
      break;
    case PROP_N_SKIPPED_STEPS:
      g_value_set_int64 (value, self->n_skipped_steps);
      break;
    case PROP_STAGE:
      g_value_set_enum (value, self->run.active ? self->run.stage : LP_STAGE_IDLE);
      break;
    case PROP_SHOULD_STOP:
      g_value_set_boolean (value, self->should_stop);
      break;
    case PROP_INTERRUPTED:
      g_value_set_boolean (value, self->interrupted);
      break;
    default:
      if (prop_id >= N_PROPS && prop_id < N_PROPS + LP_N_TRAINER_SETTINGS)
        _lp_trainer_get_setting (self, prop_id - N_PROPS, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
set_plugin_property (LpTrainer         *self,
                     LpPrecisionPlugin *plugin)
{
  g_autoptr (GError) error = NULL;

  if (plugin == NULL && !self->initialized)
    return;
  if (!lp_trainer_set_precision_plugin (self, plugin, &error))
    g_warning ("%s", error->message);
}

static void
lp_trainer_set_property (GObject      *object,
                         guint         prop_id,
                         const GValue *value,
                         GParamSpec   *pspec)
{
  LpTrainer *self = LP_TRAINER (object);

  switch (prop_id)
    {
    case PROP_PRECISION_REQUEST:
      self->precision.request = g_value_dup_string (value);
      break;
    case PROP_PRECISION_PLUGIN:
      set_plugin_property (self, g_value_get_object (value));
      break;
    case PROP_STRATEGY:
      self->strategy = g_value_dup_object (value);
      break;
    default:
      if (prop_id >= N_PROPS && prop_id < N_PROPS + LP_N_TRAINER_SETTINGS)
        _lp_trainer_set_setting (self, prop_id - N_PROPS, value);
      else
        G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_trainer_constructed (GObject *object)
{
  LpTrainer *self = LP_TRAINER (object);

  if (self->strategy == NULL)
    self->strategy = lp_single_strategy_new (NULL);

  G_OBJECT_CLASS (lp_trainer_parent_class)->constructed (object);
}

static void
lp_trainer_dispose (GObject *object)
{
  LpTrainer *self = LP_TRAINER (object);

  g_clear_object (&self->run.train_loader);
  g_clear_object (&self->run.val_loader);
  g_clear_object (&self->run.model);
  g_clear_object (&self->run.config);
  g_clear_object (&self->run.plugin);
  g_clear_object (&self->run.context);
  g_clear_object (&self->run.cancellable);
  g_clear_pointer (&self->run.random, g_variant_unref);
  g_clear_pointer (&self->run.eval.predictions, g_ptr_array_unref);
  g_clear_object (&self->run.device);
  g_clear_object (&self->run.last_loss);
  g_clear_pointer (&self->run.optimizers, g_ptr_array_unref);
  g_clear_pointer (&self->run.callback_array, g_ptr_array_unref);
  g_clear_pointer (&self->run.unscaled, g_ptr_array_unref);
  g_clear_pointer (&self->run.stepped, g_ptr_array_unref);
  _lp_log_clear (&self->run.log);
  if (self->callbacks != NULL)
    g_ptr_array_set_size (self->callbacks, 0);
  if (self->loggers != NULL)
    g_ptr_array_set_size (self->loggers, 0);
  g_clear_object (&self->strategy);
  _lp_precision_slot_clear (&self->precision);

  G_OBJECT_CLASS (lp_trainer_parent_class)->dispose (object);
}

static void
lp_trainer_finalize (GObject *object)
{
  LpTrainer *self = LP_TRAINER (object);

  g_ptr_array_unref (self->callbacks);
  g_ptr_array_unref (self->loggers);
  g_clear_error (&self->init_error);
  g_free (self->settings.default_root_dir);
  g_mutex_clear (&self->precision.lock);

  G_OBJECT_CLASS (lp_trainer_parent_class)->finalize (object);
}

static void
install_precision_properties (void)
{
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  /**
   * LpTrainer:precision:
   *
   * The precision that the plugin reports.
   */
  properties[PROP_PRECISION] = g_param_spec_string ("precision", NULL, NULL, NULL, readable);

  /**
   * LpTrainer:amp-backend:
   *
   * The backend of mixed precision that the plugin reports, or %NULL.
   */
  properties[PROP_AMP_BACKEND] = g_param_spec_string ("amp-backend", NULL, NULL, NULL, readable);

  /**
   * LpTrainer:amp-level:
   *
   * The level of the backend that the plugin reports, or %NULL.
   */
  properties[PROP_AMP_LEVEL] = g_param_spec_string ("amp-level", NULL, NULL, NULL, readable);

  /**
   * LpTrainer:precision-request:
   *
   * The name of a precision, looked up in the registry; `auto` for the fastest that trains safely on the device; %NULL if
   * nothing was asked.
   */
  properties[PROP_PRECISION_REQUEST] =
    g_param_spec_string ("precision-request", NULL, NULL, NULL,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * LpTrainer:precision-reason:
   *
   * Which precision `auto` took and why; %NULL if it was not asked for.
   */
  properties[PROP_PRECISION_REASON] = g_param_spec_string ("precision-reason", NULL, NULL, NULL,
                                                           G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpTrainer:precision-plugin:
   *
   * The plugin. It can be exchanged while no run is on; [method@Trainer.set_precision_plugin] tells why not.
   */
  properties[PROP_PRECISION_PLUGIN] =
    g_param_spec_object ("precision-plugin", NULL, NULL, LP_TYPE_PRECISION_PLUGIN,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  install_precision_properties ();

  /**
   * LpTrainer:strategy:
   *
   * How many devices and processes work together; the default is one.
   */
  properties[PROP_STRATEGY] = g_param_spec_object ("strategy", NULL, NULL, LP_TYPE_STRATEGY,
                                                   G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * LpTrainer:current-epoch:
   *
   * The number of the epoch, from 0 on.
   */
  properties[PROP_CURRENT_EPOCH] = g_param_spec_int64 ("current-epoch", NULL, NULL, 0, G_MAXINT64, 0, readable);

  /**
   * LpTrainer:global-step:
   *
   * How many optimizer steps were made: each optimizer counts, so that two of them make 2 per window of batches, and steps
   * that the precision skipped count as well. What was applied is this less [property@Trainer:n-skipped-steps]; schedules of
   * the learning rate follow that, and move once for each window in which a step was applied.
   */
  properties[PROP_GLOBAL_STEP] = g_param_spec_int64 ("global-step", NULL, NULL, 0, G_MAXINT64, 0, readable);

  /**
   * LpTrainer:n-skipped-steps:
   *
   * How many of them were skipped because gradients were not finite.
   */
  properties[PROP_N_SKIPPED_STEPS] = g_param_spec_int64 ("n-skipped-steps", NULL, NULL, 0, G_MAXINT64, 0, readable);

  /**
   * LpTrainer:stage:
   *
   * The entry point that is running.
   */
  properties[PROP_STAGE] = g_param_spec_enum ("stage", NULL, NULL, LP_TYPE_STAGE, LP_STAGE_IDLE, readable);

  /**
   * LpTrainer:should-stop:
   *
   * Whether something asked the fit to end.
   */
  properties[PROP_SHOULD_STOP] = g_param_spec_boolean ("should-stop", NULL, NULL, FALSE, readable);

  /**
   * LpTrainer:interrupted:
   *
   * Whether the last run was ended by a signal, by cancelling or by an error.
   */
  properties[PROP_INTERRUPTED] = g_param_spec_boolean ("interrupted", NULL, NULL, FALSE, readable);

  g_object_class_install_properties (object_class, N_PROPS, properties);
  _lp_trainer_install_settings (object_class, N_PROPS);
}

static guint
add_signal (const char *name,
            guint       n_params,
            GType       first,
            GType       second)
{
  return g_signal_new (name, LP_TYPE_TRAINER, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, n_params, first, second);
}

static void
install_signals (void)
{
  /**
   * LpTrainer::fit-start:
   * @self: the trainer
   *
   * A fit starts.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_FIT_START] = add_signal ("fit-start", 0, G_TYPE_NONE, G_TYPE_NONE);

  /**
   * LpTrainer::fit-end:
   * @self: the trainer
   *
   * A fit has ended.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_FIT_END] = add_signal ("fit-end", 0, G_TYPE_NONE, G_TYPE_NONE);

  /**
   * LpTrainer::train-epoch-start:
   * @self: the trainer
   * @epoch: its number
   *
   * An epoch of training starts.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_TRAIN_EPOCH_START] = add_signal ("train-epoch-start", 1, G_TYPE_INT64, G_TYPE_NONE);

  /**
   * LpTrainer::train-epoch-end:
   * @self: the trainer
   * @epoch: its number
   *
   * An epoch of training has ended.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_TRAIN_EPOCH_END] = add_signal ("train-epoch-end", 1, G_TYPE_INT64, G_TYPE_NONE);

  /**
   * LpTrainer::train-batch-start:
   * @self: the trainer
   * @batch: the batch
   * @batch_idx: its number
   *
   * A batch is about to be trained with.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_TRAIN_BATCH_START] = add_signal ("train-batch-start", 2, LP_TYPE_BATCH, G_TYPE_INT64);

  /**
   * LpTrainer::train-batch-end:
   * @self: the trainer
   * @batch: the batch
   * @batch_idx: its number
   *
   * A batch was trained with.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_TRAIN_BATCH_END] = add_signal ("train-batch-end", 2, LP_TYPE_BATCH, G_TYPE_INT64);

  /**
   * LpTrainer::validation-start:
   * @self: the trainer
   *
   * A validation starts.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_VALIDATION_START] = add_signal ("validation-start", 0, G_TYPE_NONE, G_TYPE_NONE);

  /**
   * LpTrainer::validation-end:
   * @self: the trainer
   *
   * A validation has ended, and its metrics are known.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_VALIDATION_END] = add_signal ("validation-end", 0, G_TYPE_NONE, G_TYPE_NONE);

  /**
   * LpTrainer::eval-batch-end:
   * @self: the trainer
   * @batch: the batch
   * @batch_idx: its number
   *
   * A batch was validated or tested with, or predicted for.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_EVAL_BATCH_END] = add_signal ("eval-batch-end", 2, LP_TYPE_BATCH, G_TYPE_INT64);

  /**
   * LpTrainer::checkpoint-saved:
   * @self: the trainer
   * @path: where
   *
   * A checkpoint was written.
   */
  _lp_trainer_signals[LP_TRAINER_SIGNAL_CHECKPOINT_SAVED] = add_signal ("checkpoint-saved", 1, G_TYPE_STRING, G_TYPE_NONE);
}

static void
lp_trainer_class_init (LpTrainerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_trainer_get_property;
  object_class->set_property = lp_trainer_set_property;
  object_class->constructed = lp_trainer_constructed;
  object_class->dispose = lp_trainer_dispose;
  object_class->finalize = lp_trainer_finalize;

  install_properties (object_class);
  install_signals ();
}

static void
lp_trainer_init (LpTrainer *self)
{
  _lp_trainer_init_settings (self);
  _lp_precision_slot_init (&self->precision, G_OBJECT (self), &properties[PROP_PRECISION]);
  self->callbacks = g_ptr_array_new_with_free_func (g_object_unref);
  self->loggers = g_ptr_array_new_with_free_func (g_object_unref);
}

/**
 * lp_trainer_new:
 * @precision_request: (nullable): the name of a precision, or %NULL for 32-true
 * @error: return location for an error
 *
 * Creates a trainer.
 *
 * Returns: (transfer full): the trainer. Errors: %LP_PRECISION_ERROR_UNKNOWN, which lists near names, and the plugin's
 */
LpTrainer *
lp_trainer_new (const char  *precision_request,
                GError     **error)
{
  return g_initable_new (LP_TYPE_TRAINER, NULL, error, "precision-request", precision_request, NULL);
}

/**
 * lp_trainer_new_with_plugin: (constructor)
 * @precision_plugin: a plugin
 * @error: return location for an error
 *
 * Creates a trainer with a plugin.
 *
 * Returns: (transfer full): the trainer. Errors: the plugin's
 */
LpTrainer *
lp_trainer_new_with_plugin (LpPrecisionPlugin  *precision_plugin,
                            GError            **error)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (precision_plugin), NULL);

  return g_initable_new (LP_TYPE_TRAINER, NULL, error, "precision-plugin", precision_plugin, NULL);
}

/**
 * lp_trainer_dup_precision: (get-property precision)
 * @self: a trainer
 *
 * Gets the precision that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the precision; %NULL before there is a plugin
 */
char *
lp_trainer_dup_precision (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 0);
}

/**
 * lp_trainer_dup_amp_backend: (get-property amp-backend)
 * @self: a trainer
 *
 * Gets the backend of mixed precision that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the backend
 */
char *
lp_trainer_dup_amp_backend (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 1);
}

/**
 * lp_trainer_dup_amp_level: (get-property amp-level)
 * @self: a trainer
 *
 * Gets the level of the backend that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the level
 */
char *
lp_trainer_dup_amp_level (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 2);
}

/**
 * lp_trainer_dup_precision_state:
 * @self: a trainer
 *
 * Gets precision, backend and level as they were at one moment. Any thread may ask.
 *
 * Returns: (transfer full) (nullable): the three; %NULL before there is a plugin
 */
LpPrecisionState *
lp_trainer_dup_precision_state (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return _lp_precision_slot_dup_state (&self->precision);
}

/**
 * lp_trainer_dup_precision_request: (get-property precision-request)
 * @self: a trainer
 *
 * Gets the name that was asked for.
 *
 * Returns: (transfer full) (nullable): the name, or %NULL if nothing was asked
 */
char *
lp_trainer_dup_precision_request (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_strdup (self->precision.request);
}

/**
 * lp_trainer_dup_precision_reason: (get-property precision-reason)
 * @self: a trainer
 *
 * Gets which precision `auto` took and why, such as "32-true is the fastest precision that trains safely on cpu; not
 * bf16-mixed: cpu doesn't compute bf16 natively".
 *
 * Returns: (transfer full) (nullable): the reason, or %NULL if `auto` was not asked for
 */
char *
lp_trainer_dup_precision_reason (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_strdup (self->precision.reason);
}

/**
 * lp_trainer_dup_precision_plugin: (get-property precision-plugin)
 * @self: a trainer
 *
 * Gets the plugin. Any thread may ask.
 *
 * Returns: (transfer full) (nullable): the plugin
 */
LpPrecisionPlugin *
lp_trainer_dup_precision_plugin (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return _lp_precision_slot_dup_plugin (&self->precision);
}

/**
 * lp_trainer_set_precision_plugin: (set-property precision-plugin)
 * @self: a trainer
 * @precision_plugin: a plugin
 * @error: return location for an error
 *
 * Exchanges the plugin. What was asked for by name no longer counts.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE while a run is on, %LP_ERROR_ARGUMENT for no plugin, and the
 *   plugin's
 */
gboolean
lp_trainer_set_precision_plugin (LpTrainer          *self,
                                 LpPrecisionPlugin  *precision_plugin,
                                 GError            **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), FALSE);

  if (self->run.active)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The precision plugin can't be exchanged while a run is on");
      return FALSE;
    }
  if (precision_plugin == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "A trainer can't be without a precision plugin");
      return FALSE;
    }

  if (self->initialized)
    {
      if (G_IS_INITABLE (precision_plugin) && !g_initable_init (G_INITABLE (precision_plugin), NULL, error))
        return FALSE;
      g_clear_error (&self->init_error);
      g_clear_pointer (&self->precision.request, g_free);
    }
  _lp_precision_slot_exchange (&self->precision, precision_plugin);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PRECISION_PLUGIN]);

  return TRUE;
}
