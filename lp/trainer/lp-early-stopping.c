#include <math.h>

#include <lp/trainer/lp-early-stopping.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-monitor-callback-private.h>
#include <lp/trainer/lp-state-private.h>
#include <lp/trainer/lp-trainer.h>

/**
 * LpEarlyStopping:
 *
 * Ends a fit when a logged value has stopped getting better.
 *
 * It looks after each validation, or after each epoch of training if there is no validation. A value that is not finite
 * ends the fit as well. The epochs and steps that the trainer must make are made before.
 */
struct _LpEarlyStopping
{
  LpMonitorCallback parent_instance;

  double min_delta;
  guint patience;
  gboolean strict;
  gboolean check_finite;
  double stopping_threshold;
  double divergence_threshold;
  double best_score;
  gint64 stopped_epoch;
  char *stop_reason;
  guint    wait;
  gboolean has_best;
};

G_DEFINE_FINAL_TYPE (LpEarlyStopping, lp_early_stopping, LP_TYPE_MONITOR_CALLBACK)

enum
{
  PROP_0,
  PROP_MIN_DELTA,
  PROP_PATIENCE,
  PROP_STRICT,
  PROP_CHECK_FINITE,
  PROP_STOPPING_THRESHOLD,
  PROP_DIVERGENCE_THRESHOLD,
  PROP_BEST_SCORE,
  PROP_STOPPED_EPOCH,
  PROP_STOP_REASON,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* In this order: not finite, good enough, too bad, better, patience. */
static char *
judge (LpEarlyStopping *self,
       double           value)
{
  LpMonitorCallback *base = LP_MONITOR_CALLBACK (self);
  const char *monitor = _lp_monitor_callback_peek_monitor (base);

  if (self->check_finite && !isfinite (value))
    return g_strdup_printf ("%s is %g, which is not finite", monitor, value);
  if (self->stopping_threshold != G_MAXDOUBLE && _lp_monitor_callback_prefers (base, value, self->stopping_threshold, 0))
    return g_strdup_printf ("%s is %g, which is good enough", monitor, value);
  if (self->divergence_threshold != G_MAXDOUBLE && _lp_monitor_callback_prefers (base, self->divergence_threshold, value, 0))
    return g_strdup_printf ("%s is %g, which is too bad", monitor, value);

  if (!self->has_best || _lp_monitor_callback_prefers (base, value, self->best_score, self->min_delta))
    {
      self->has_best = TRUE;
      self->best_score = value;
      self->wait = 0;
      return NULL;
    }
  if (++self->wait < self->patience)
    return NULL;

  return g_strdup_printf ("%s has not been better than %g for %u looks", monitor, self->best_score, self->wait);
}

static void
look (LpEarlyStopping  *self,
      LpTrainer        *trainer,
      GError          **error)
{
  const char *monitor = _lp_monitor_callback_peek_monitor (LP_MONITOR_CALLBACK (self));
  char *reason;
  double value;

  if (self->stop_reason != NULL)
    return;
  if (!_lp_monitor_callback_look_up (LP_MONITOR_CALLBACK (self), trainer, &value))
    {
      if (self->strict)
        g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Early stopping looks at '%s', which was not logged",
                     monitor != NULL ? monitor : "");
      return;
    }

  reason = judge (self, value);
  if (reason == NULL)
    return;

  self->stop_reason = reason;
  self->stopped_epoch = lp_trainer_get_current_epoch (trainer);
  lp_trainer_stop (trainer);
}

static void
lp_early_stopping_on_validation_end (LpCallback  *callback,
                                     LpTrainer   *trainer,
                                     LpModel     *model,
                                     GError     **error)
{
  if (lp_trainer_get_stage (trainer) == LP_STAGE_FIT && !lp_trainer_get_sanity_checking (trainer))
    look (LP_EARLY_STOPPING (callback), trainer, error);
}

static void
lp_early_stopping_on_train_epoch_end (LpCallback  *callback,
                                      LpTrainer   *trainer,
                                      LpModel     *model,
                                      GError     **error)
{
  if (lp_trainer_get_num_val_batches (trainer) == 0)
    look (LP_EARLY_STOPPING (callback), trainer, error);
}

/* A run resumed after the decision ends where the first one would have. */
static void
lp_early_stopping_on_train_start (LpCallback  *callback,
                                  LpTrainer   *trainer,
                                  LpModel     *model,
                                  GError     **error)
{
  if (LP_EARLY_STOPPING (callback)->stop_reason != NULL)
    lp_trainer_stop (trainer);
}

static LpState *
lp_early_stopping_save_state (LpCallback  *callback,
                              GError     **error)
{
  LpEarlyStopping *self = LP_EARLY_STOPPING (callback);
  LpState *state = lp_state_new ();

  lp_state_set_value (state, "wait", g_variant_new_uint32 (self->wait));
  lp_state_set_value (state, "has-best", g_variant_new_boolean (self->has_best));
  lp_state_set_value (state, "best-score", g_variant_new_double (self->best_score));
  lp_state_set_value (state, "stopped-epoch", g_variant_new_int64 (self->stopped_epoch));
  if (self->stop_reason != NULL)
    lp_state_set_value (state, "stop-reason", g_variant_new_string (self->stop_reason));

  return state;
}

static void
lp_early_stopping_load_state (LpCallback  *callback,
                              LpState     *state,
                              GError     **error)
{
  LpEarlyStopping *self = LP_EARLY_STOPPING (callback);

  g_free (self->stop_reason);
  self->stop_reason = _lp_state_dup_string (state, "stop-reason");
  if (!_lp_state_get (state, "wait", "u", &self->wait, error) ||
      !_lp_state_get (state, "has-best", "b", &self->has_best, error) ||
      !_lp_state_get (state, "best-score", "d", &self->best_score, error))
    return;
  _lp_state_get_at_least (state, "stopped-epoch", -1, &self->stopped_epoch, error);
}

static void
lp_early_stopping_get_property (GObject    *object,
                                guint       prop_id,
                                GValue     *value,
                                GParamSpec *pspec)
{
  LpEarlyStopping *self = LP_EARLY_STOPPING (object);

  switch (prop_id)
    {
    case PROP_MIN_DELTA:
      g_value_set_double (value, self->min_delta);
      break;
    case PROP_PATIENCE:
      g_value_set_uint (value, self->patience);
      break;
    case PROP_STRICT:
      g_value_set_boolean (value, self->strict);
      break;
    case PROP_CHECK_FINITE:
      g_value_set_boolean (value, self->check_finite);
      break;
    case PROP_STOPPING_THRESHOLD:
      g_value_set_double (value, self->stopping_threshold);
      break;
    case PROP_DIVERGENCE_THRESHOLD:
      g_value_set_double (value, self->divergence_threshold);
      break;
    case PROP_BEST_SCORE:
      g_value_set_double (value, self->best_score);
      break;
    case PROP_STOPPED_EPOCH:
      g_value_set_int64 (value, self->stopped_epoch);
      break;
    case PROP_STOP_REASON:
      g_value_set_string (value, self->stop_reason);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_early_stopping_set_property (GObject      *object,
                                guint         prop_id,
                                const GValue *value,
                                GParamSpec   *pspec)
{
  LpEarlyStopping *self = LP_EARLY_STOPPING (object);

  switch (prop_id)
    {
    case PROP_MIN_DELTA:
      lp_early_stopping_set_min_delta (self, g_value_get_double (value));
      break;
    case PROP_PATIENCE:
      lp_early_stopping_set_patience (self, g_value_get_uint (value));
      break;
    case PROP_STRICT:
      lp_early_stopping_set_strict (self, g_value_get_boolean (value));
      break;
    case PROP_CHECK_FINITE:
      lp_early_stopping_set_check_finite (self, g_value_get_boolean (value));
      break;
    case PROP_STOPPING_THRESHOLD:
      lp_early_stopping_set_stopping_threshold (self, g_value_get_double (value));
      break;
    case PROP_DIVERGENCE_THRESHOLD:
      lp_early_stopping_set_divergence_threshold (self, g_value_get_double (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_early_stopping_finalize (GObject *object)
{
  LpEarlyStopping *self = LP_EARLY_STOPPING (object);

  g_free (self->stop_reason);

  G_OBJECT_CLASS (lp_early_stopping_parent_class)->finalize (object);
}

static void
lp_early_stopping_class_init (LpEarlyStoppingClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readwrite = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;
  LpCallbackClass *callback_class = LP_CALLBACK_CLASS (klass);

  object_class->get_property = lp_early_stopping_get_property;
  object_class->set_property = lp_early_stopping_set_property;
  object_class->finalize = lp_early_stopping_finalize;

  callback_class->on_validation_end = lp_early_stopping_on_validation_end;
  callback_class->on_train_epoch_end = lp_early_stopping_on_train_epoch_end;
  callback_class->on_train_start = lp_early_stopping_on_train_start;
  callback_class->save_state = lp_early_stopping_save_state;
  callback_class->load_state = lp_early_stopping_load_state;

  /**
   * LpEarlyStopping:min-delta:
   *
   * By how much a value must be better to count.
   */
  properties[PROP_MIN_DELTA] = g_param_spec_double ("min-delta", NULL, NULL, 0, G_MAXDOUBLE, 0, readwrite);

  /**
   * LpEarlyStopping:patience:
   *
   * How many looks without a better value end the fit.
   */
  properties[PROP_PATIENCE] = g_param_spec_uint ("patience", NULL, NULL, 1, G_MAXUINT, 3, readwrite);

  /**
   * LpEarlyStopping:strict:
   *
   * Whether a missing value is an error.
   */
  properties[PROP_STRICT] = g_param_spec_boolean ("strict", NULL, NULL, TRUE, readwrite);

  /**
   * LpEarlyStopping:check-finite:
   *
   * Whether a value that is not finite ends the fit.
   */
  properties[PROP_CHECK_FINITE] = g_param_spec_boolean ("check-finite", NULL, NULL, TRUE, readwrite);

  /**
   * LpEarlyStopping:stopping-threshold:
   *
   * The value that is good enough to end the fit; the largest double is none.
   */
  properties[PROP_STOPPING_THRESHOLD] = g_param_spec_double ("stopping-threshold", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, G_MAXDOUBLE, readwrite);

  /**
   * LpEarlyStopping:divergence-threshold:
   *
   * The value that is bad enough to end the fit; the largest double is none.
   */
  properties[PROP_DIVERGENCE_THRESHOLD] = g_param_spec_double ("divergence-threshold", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, G_MAXDOUBLE, readwrite);

  /**
   * LpEarlyStopping:best-score:
   *
   * The best value so far.
   */
  properties[PROP_BEST_SCORE] = g_param_spec_double ("best-score", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, readable);

  /**
   * LpEarlyStopping:stopped-epoch:
   *
   * The epoch in which it ended the fit; -1 if it did not.
   */
  properties[PROP_STOPPED_EPOCH] = g_param_spec_int64 ("stopped-epoch", NULL, NULL, -1, G_MAXINT64, -1, readable);

  /**
   * LpEarlyStopping:stop-reason:
   *
   * Why it ended the fit, or %NULL if it did not.
   */
  properties[PROP_STOP_REASON] = g_param_spec_string ("stop-reason", NULL, NULL, NULL, readable);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_early_stopping_init (LpEarlyStopping *self)
{
  self->patience = 3;
  self->strict = TRUE;
  self->check_finite = TRUE;
  self->stopping_threshold = G_MAXDOUBLE;
  self->divergence_threshold = G_MAXDOUBLE;
  self->stopped_epoch = -1;
}

/**
 * lp_early_stopping_new:
 * @monitor: the name of a logged value
 * @mode: which values are better
 * @patience: how many looks without a better value end the fit, at least 1
 *
 * Creates an early stopping.
 *
 * Returns: (transfer full): the callback
 */
LpCallback *
lp_early_stopping_new (const char    *monitor,
                       LpMonitorMode  mode,
                       guint          patience)
{
  g_return_val_if_fail (monitor != NULL, NULL);
  g_return_val_if_fail (patience > 0, NULL);

  return g_object_new (LP_TYPE_EARLY_STOPPING, "monitor", monitor, "mode", mode, "patience", patience, NULL);
}

/**
 * lp_early_stopping_get_min_delta:
 * @self: an early stopping
 *
 * Gets by how much a value must be better to count.
 *
 * Returns: the value
 */
double
lp_early_stopping_get_min_delta (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->min_delta;
}

/**
 * lp_early_stopping_set_min_delta:
 * @self: an early stopping
 * @min_delta: the value
 *
 * Sets by how much a value must be better to count.
 */
void
lp_early_stopping_set_min_delta (LpEarlyStopping *self,
                                 double           min_delta)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->min_delta == min_delta)
    return;

  self->min_delta = min_delta;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MIN_DELTA]);
}

/**
 * lp_early_stopping_get_patience:
 * @self: an early stopping
 *
 * Gets how many looks without a better value end the fit.
 *
 * Returns: the value
 */
guint
lp_early_stopping_get_patience (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->patience;
}

/**
 * lp_early_stopping_set_patience:
 * @self: an early stopping
 * @patience: the value
 *
 * Sets how many looks without a better value end the fit.
 */
void
lp_early_stopping_set_patience (LpEarlyStopping *self,
                                guint            patience)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->patience == patience)
    return;

  self->patience = patience;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PATIENCE]);
}

/**
 * lp_early_stopping_get_strict:
 * @self: an early stopping
 *
 * Gets whether a missing value is an error.
 *
 * Returns: the value
 */
gboolean
lp_early_stopping_get_strict (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->strict;
}

/**
 * lp_early_stopping_set_strict:
 * @self: an early stopping
 * @strict: the value
 *
 * Sets whether a missing value is an error.
 */
void
lp_early_stopping_set_strict (LpEarlyStopping *self,
                              gboolean         strict)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->strict == !!strict)
    return;

  self->strict = !!strict;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STRICT]);
}

/**
 * lp_early_stopping_get_check_finite:
 * @self: an early stopping
 *
 * Gets whether a value that is not finite ends the fit.
 *
 * Returns: the value
 */
gboolean
lp_early_stopping_get_check_finite (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->check_finite;
}

/**
 * lp_early_stopping_set_check_finite:
 * @self: an early stopping
 * @check_finite: the value
 *
 * Sets whether a value that is not finite ends the fit.
 */
void
lp_early_stopping_set_check_finite (LpEarlyStopping *self,
                                    gboolean         check_finite)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->check_finite == !!check_finite)
    return;

  self->check_finite = !!check_finite;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CHECK_FINITE]);
}

/**
 * lp_early_stopping_get_stopping_threshold:
 * @self: an early stopping
 *
 * Gets the value that is good enough to end the fit; the largest double is none.
 *
 * Returns: the value
 */
double
lp_early_stopping_get_stopping_threshold (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->stopping_threshold;
}

/**
 * lp_early_stopping_set_stopping_threshold:
 * @self: an early stopping
 * @stopping_threshold: the value
 *
 * Sets the value that is good enough to end the fit; the largest double is none.
 */
void
lp_early_stopping_set_stopping_threshold (LpEarlyStopping *self,
                                          double           stopping_threshold)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->stopping_threshold == stopping_threshold)
    return;

  self->stopping_threshold = stopping_threshold;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STOPPING_THRESHOLD]);
}

/**
 * lp_early_stopping_get_divergence_threshold:
 * @self: an early stopping
 *
 * Gets the value that is bad enough to end the fit; the largest double is none.
 *
 * Returns: the value
 */
double
lp_early_stopping_get_divergence_threshold (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->divergence_threshold;
}

/**
 * lp_early_stopping_set_divergence_threshold:
 * @self: an early stopping
 * @divergence_threshold: the value
 *
 * Sets the value that is bad enough to end the fit; the largest double is none.
 */
void
lp_early_stopping_set_divergence_threshold (LpEarlyStopping *self,
                                            double           divergence_threshold)
{
  g_return_if_fail (LP_IS_EARLY_STOPPING (self));

  if (self->divergence_threshold == divergence_threshold)
    return;

  self->divergence_threshold = divergence_threshold;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_DIVERGENCE_THRESHOLD]);
}

/**
 * lp_early_stopping_get_best_score:
 * @self: an early stopping
 *
 * Gets the best value so far.
 *
 * Returns: the value
 */
double
lp_early_stopping_get_best_score (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->best_score;
}

/**
 * lp_early_stopping_get_stopped_epoch:
 * @self: an early stopping
 *
 * Gets the epoch in which it ended the fit; -1 if it did not.
 *
 * Returns: the value
 */
gint64
lp_early_stopping_get_stopped_epoch (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), 0);

  return self->stopped_epoch;
}

/**
 * lp_early_stopping_dup_stop_reason:
 * @self: an early stopping
 *
 * Gets why it ended the fit, or %NULL if it did not.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_early_stopping_dup_stop_reason (LpEarlyStopping *self)
{
  g_return_val_if_fail (LP_IS_EARLY_STOPPING (self), NULL);

  return g_strdup (self->stop_reason);
}
