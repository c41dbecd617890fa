#include <lp/precision/lp-grad-scaler-private.h>

#include <math.h>

#include <lp/precision/lp-precision-error.h>

/**
 * LpGradScaler:
 *
 * Keeps small gradients from vanishing in float16: the loss is multiplied by a scale, the gradients divided by it. A step
 * whose gradients overflow is skipped and the scale is lowered; after a number of good steps it is raised.
 *
 * P. Micikevicius et al., "Mixed Precision Training", ICLR 2018.
 *
 * For each optimizer the order is [method@GradScaler.scale] and backward, [method@GradScaler.unscale],
 * [method@GradScaler.step]; then once [method@GradScaler.update]. One scale serves all optimizers: an overflow in the
 * gradients of one skips its step alone, and lowers the scale for all. Clipping belongs between unscale and step.
 *
 * Unscaling, the check and the norm that clipping needs are one pass over the gradients. It writes them only if a program
 * has asked for one of them, or for an optimizer that can't scale gradients itself.
 *
 * An update multiplies the scale by [property@GradScaler:backoff-factor] if any gradient since the last one was not
 * finite, and by [property@GradScaler:growth-factor] after [property@GradScaler:growth-interval] good steps in a row; a
 * product that is not finite is not taken. With a [property@GradScaler:hysteresis] of n the first n − 1 bad steps without a
 * good one between them leave the scale alone.
 */
G_DEFINE_ENUM_TYPE (LpScalerStage, lp_scaler_stage,
                    G_DEFINE_ENUM_VALUE (LP_SCALER_READY, "ready"),
                    G_DEFINE_ENUM_VALUE (LP_SCALER_UNSCALED, "unscaled"),
                    G_DEFINE_ENUM_VALUE (LP_SCALER_STEPPED, "stepped"))

G_DEFINE_FINAL_TYPE (LpGradScaler, lp_grad_scaler, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_INIT_SCALE,
  PROP_GROWTH_FACTOR,
  PROP_BACKOFF_FACTOR,
  PROP_GROWTH_INTERVAL,
  PROP_HYSTERESIS,
  PROP_MIN_SCALE,
  PROP_MAX_SCALE,
  PROP_ENABLED,
  PROP_SCALE,
  PROP_N_SKIPPED,
  PROP_LAST_RESULT,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
free_record (gpointer data)
{
  LpScalerRecord *record = data;

  g_clear_object (&record->found_inf);
  g_free (record);
}

static void
lp_grad_scaler_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  LpGradScaler *self = LP_GRAD_SCALER (object);

  switch (prop_id)
    {
    case PROP_INIT_SCALE:
      g_value_set_double (value, self->init_scale);
      break;
    case PROP_GROWTH_FACTOR:
      g_value_set_double (value, self->growth_factor);
      break;
    case PROP_BACKOFF_FACTOR:
      g_value_set_double (value, self->backoff_factor);
      break;
    case PROP_GROWTH_INTERVAL:
      g_value_set_int (value, self->growth_interval);
      break;
    case PROP_HYSTERESIS:
      g_value_set_int (value, self->hysteresis);
      break;
    case PROP_MIN_SCALE:
      g_value_set_double (value, self->min_scale);
      break;
    case PROP_MAX_SCALE:
      g_value_set_double (value, self->max_scale);
      break;
    case PROP_ENABLED:
      g_value_set_boolean (value, self->enabled);
      break;
    case PROP_SCALE:
      g_value_set_double (value, lp_grad_scaler_get_scale (self));
      break;
    case PROP_N_SKIPPED:
      g_value_set_int64 (value, self->n_skipped);
      break;
    case PROP_LAST_RESULT:
      g_value_set_enum (value, self->last_result);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_grad_scaler_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  LpGradScaler *self = LP_GRAD_SCALER (object);

  switch (prop_id)
    {
    case PROP_INIT_SCALE:
      self->init_scale = g_value_get_double (value);
      self->scale = self->init_scale;
      break;
    case PROP_GROWTH_FACTOR:
      self->growth_factor = g_value_get_double (value);
      break;
    case PROP_BACKOFF_FACTOR:
      self->backoff_factor = g_value_get_double (value);
      break;
    case PROP_GROWTH_INTERVAL:
      self->growth_interval = g_value_get_int (value);
      break;
    case PROP_HYSTERESIS:
      self->hysteresis = g_value_get_int (value);
      self->hysteresis_tracker = self->hysteresis;
      break;
    case PROP_MIN_SCALE:
      self->min_scale = g_value_get_double (value);
      break;
    case PROP_MAX_SCALE:
      self->max_scale = g_value_get_double (value);
      break;
    case PROP_ENABLED:
      self->enabled = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_grad_scaler_finalize (GObject *object)
{
  LpGradScaler *self = LP_GRAD_SCALER (object);

  g_clear_object (&self->scale_tensor);
  g_hash_table_unref (self->records);

  G_OBJECT_CLASS (lp_grad_scaler_parent_class)->finalize (object);
}

static void
install_options (void)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  /**
   * LpGradScaler:init-scale: (getter get_init_scale)
   *
   * The scale at the start.
   */
  properties[PROP_INIT_SCALE] =
    g_param_spec_double ("init-scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 65536, flags);

  /**
   * LpGradScaler:growth-factor: (getter get_growth_factor)
   *
   * What the scale is multiplied by after enough good steps; above 1.
   */
  properties[PROP_GROWTH_FACTOR] =
    g_param_spec_double ("growth-factor", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 2, flags);

  /**
   * LpGradScaler:backoff-factor: (getter get_backoff_factor)
   *
   * What the scale is multiplied by after an overflow; below 1.
   */
  properties[PROP_BACKOFF_FACTOR] =
    g_param_spec_double ("backoff-factor", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.5, flags);

  /**
   * LpGradScaler:growth-interval: (getter get_growth_interval)
   *
   * How many good steps in a row are enough.
   */
  properties[PROP_GROWTH_INTERVAL] = g_param_spec_int ("growth-interval", NULL, NULL, G_MININT, G_MAXINT, 2000, flags);

  /**
   * LpGradScaler:hysteresis: (getter get_hysteresis)
   *
   * How many bad steps without a good one between them it takes until the scale is lowered; at least 1.
   */
  properties[PROP_HYSTERESIS] = g_param_spec_int ("hysteresis", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  /**
   * LpGradScaler:min-scale: (getter get_min_scale)
   *
   * The scale is never lowered beyond this; 0 for no bound.
   */
  properties[PROP_MIN_SCALE] = g_param_spec_double ("min-scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpGradScaler:max-scale: (getter get_max_scale)
   *
   * The scale is never raised beyond this.
   */
  properties[PROP_MAX_SCALE] = g_param_spec_double ("max-scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, G_MAXFLOAT, flags);

  /**
   * LpGradScaler:enabled: (getter get_enabled)
   *
   * Whether it does anything.
   */
  properties[PROP_ENABLED] = g_param_spec_boolean ("enabled", NULL, NULL, TRUE, flags);
}

static void
install_outcomes (void)
{
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  /**
   * LpGradScaler:scale: (getter get_scale)
   *
   * The scale.
   */
  properties[PROP_SCALE] = g_param_spec_double ("scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 65536, flags);

  /**
   * LpGradScaler:n-skipped: (getter get_n_skipped)
   *
   * How many steps were skipped.
   */
  properties[PROP_N_SKIPPED] = g_param_spec_int64 ("n-skipped", NULL, NULL, 0, G_MAXINT64, 0, flags);

  /**
   * LpGradScaler:last-result: (getter get_last_result)
   *
   * What became of the last step; [enum@StepResult.failed] before the first.
   */
  properties[PROP_LAST_RESULT] =
    g_param_spec_enum ("last-result", NULL, NULL, LP_TYPE_STEP_RESULT, LP_STEP_FAILED, flags);
}

static void
lp_grad_scaler_class_init (LpGradScalerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_grad_scaler_get_property;
  object_class->set_property = lp_grad_scaler_set_property;
  object_class->finalize = lp_grad_scaler_finalize;
  install_options ();
  install_outcomes ();
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_grad_scaler_init (LpGradScaler *self)
{
  self->records = g_hash_table_new_full (NULL, NULL, g_object_unref, free_record);
}

/**
 * lp_grad_scaler_new:
 *
 * Creates a scaler with an initial scale of 65536, which doubles after 2000 good steps and halves after an overflow.
 *
 * Returns: (transfer full): the scaler
 */
LpGradScaler *
lp_grad_scaler_new (void)
{
  return g_object_new (LP_TYPE_GRAD_SCALER, NULL);
}

gboolean
_lp_grad_scaler_fail (GError     **error,
                      const char  *message)
{
  g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER, message);
  return FALSE;
}

/**
 * lp_grad_scaler_new_full:
 * @init_scale: the scale at the start
 * @growth_factor: what the scale is multiplied by after enough good steps
 * @backoff_factor: what the scale is multiplied by after an overflow
 * @growth_interval: how many good steps in a row are enough
 * @enabled: whether it does anything
 * @error: return location for an error
 *
 * Creates a scaler.
 *
 * Returns: (transfer full): the scaler. Errors: %LP_PRECISION_ERROR_BAD_SCALER for values that make no sense
 */
LpGradScaler *
lp_grad_scaler_new_full (double     init_scale,
                         double     growth_factor,
                         double     backoff_factor,
                         gint       growth_interval,
                         gboolean   enabled,
                         GError   **error)
{
  g_autoptr (LpGradScaler) self = NULL;

  if (!isfinite (init_scale) || !isfinite (growth_factor) || !isfinite (backoff_factor))
    {
      _lp_grad_scaler_fail (error, "The scale and the factors of a gradient scaler are finite");
      return NULL;
    }

  self = g_object_new (LP_TYPE_GRAD_SCALER,
                       "init-scale", init_scale,
                       "growth-factor", growth_factor,
                       "backoff-factor", backoff_factor,
                       "growth-interval", growth_interval,
                       "enabled", enabled,
                       NULL);

  return lp_grad_scaler_check (self, error) ? g_steal_pointer (&self) : NULL;
}

static gboolean
refuse (GError     **error,
        const char  *what,
        const char  *range,
        double       value)
{
  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER, "The %s of a gradient scaler is %s, not %g", what, range, value);
  return FALSE;
}

/**
 * lp_grad_scaler_check:
 * @self: a scaler
 * @error: return location for an error
 *
 * Finds out whether the values that the scaler was made with make sense. The other functions do this first.
 *
 * Returns: %TRUE if they do. Errors: %LP_PRECISION_ERROR_BAD_SCALER
 */
gboolean
lp_grad_scaler_check (LpGradScaler  *self,
                      GError       **error)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  if (!(self->init_scale > 0 && isfinite ((float) self->init_scale)))
    return refuse (error, "initial scale", "above 0 and fits in f32", self->init_scale);
  if (!(self->growth_factor > 1 && isfinite (self->growth_factor)))
    return refuse (error, "growth factor", "above 1", self->growth_factor);
  if (!(self->backoff_factor > 0 && self->backoff_factor < 1))
    return refuse (error, "backoff factor", "between 0 and 1", self->backoff_factor);
  if (self->growth_interval < 1)
    return refuse (error, "growth interval", "at least 1", self->growth_interval);
  if (self->hysteresis < 1)
    return refuse (error, "hysteresis", "at least 1", self->hysteresis);
  if (!self->loaded && !(self->min_scale >= 0 && self->min_scale <= self->init_scale && self->init_scale <= self->max_scale))
    return refuse (error, "initial scale", "from its min-scale to its max-scale", self->init_scale);

  return TRUE;
}

void
_lp_grad_scaler_change_scale (LpGradScaler *self,
                              float         scale)
{
  if (self->scale == scale)
    return;

  self->scale = scale;
  g_clear_object (&self->scale_tensor);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SCALE]);
}

void
_lp_grad_scaler_change_skipped (LpGradScaler *self,
                                gint64        n_skipped)
{
  if (self->n_skipped == n_skipped)
    return;

  self->n_skipped = n_skipped;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_N_SKIPPED]);
}

void
_lp_grad_scaler_count_result (LpGradScaler *self,
                              LpStepResult  result)
{
  _lp_grad_scaler_change_skipped (self, self->n_skipped + (result == LP_STEP_SKIPPED));
  if (self->last_result == result)
    return;

  self->last_result = result;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LAST_RESULT]);
}

/**
 * lp_grad_scaler_get_scale:
 * @self: a scaler
 *
 * Gets the scale.
 *
 * Returns: the scale; 1 if the scaler is not enabled
 */
double
lp_grad_scaler_get_scale (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 1);

  return self->enabled ? self->scale : 1;
}

/**
 * lp_grad_scaler_get_init_scale:
 * @self: a scaler
 *
 * Gets the scale at the start.
 *
 * Returns: the scale
 */
double
lp_grad_scaler_get_init_scale (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 1);

  return self->init_scale;
}

/**
 * lp_grad_scaler_get_growth_factor:
 * @self: a scaler
 *
 * Gets what the scale is multiplied by after enough good steps.
 *
 * Returns: the factor
 */
double
lp_grad_scaler_get_growth_factor (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 1);

  return self->growth_factor;
}

/**
 * lp_grad_scaler_get_backoff_factor:
 * @self: a scaler
 *
 * Gets what the scale is multiplied by after an overflow.
 *
 * Returns: the factor
 */
double
lp_grad_scaler_get_backoff_factor (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 1);

  return self->backoff_factor;
}

/**
 * lp_grad_scaler_get_growth_interval:
 * @self: a scaler
 *
 * Gets how many good steps in a row are enough.
 *
 * Returns: the number of steps
 */
gint
lp_grad_scaler_get_growth_interval (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->growth_interval;
}

/**
 * lp_grad_scaler_get_growth_tracker:
 * @self: a scaler
 *
 * Gets how many good steps there were in a row.
 *
 * Returns: the number of steps
 */
gint
lp_grad_scaler_get_growth_tracker (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->growth_tracker;
}

/**
 * lp_grad_scaler_get_enabled:
 * @self: a scaler
 *
 * Gets whether the scaler does anything.
 *
 * Returns: whether it does
 */
gboolean
lp_grad_scaler_get_enabled (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  return self->enabled;
}

/**
 * lp_grad_scaler_get_n_skipped:
 * @self: a scaler
 *
 * Counts the steps that were skipped.
 *
 * Returns: their number
 */
gint64
lp_grad_scaler_get_n_skipped (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->n_skipped;
}

/**
 * lp_grad_scaler_get_hysteresis:
 * @self: a scaler
 *
 * Gets how many bad steps without a good one between them it takes until the scale is lowered.
 *
 * Returns: the number of steps
 */
gint
lp_grad_scaler_get_hysteresis (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->hysteresis;
}

/**
 * lp_grad_scaler_get_min_scale:
 * @self: a scaler
 *
 * Gets what the scale is never lowered beyond.
 *
 * Returns: the bound, 0 for none
 */
double
lp_grad_scaler_get_min_scale (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->min_scale;
}

/**
 * lp_grad_scaler_get_max_scale:
 * @self: a scaler
 *
 * Gets what the scale is never raised beyond.
 *
 * Returns: the bound
 */
double
lp_grad_scaler_get_max_scale (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), 0);

  return self->max_scale;
}

/**
 * lp_grad_scaler_get_last_result:
 * @self: a scaler
 *
 * Gets what became of the last step.
 *
 * Returns: the result; %LP_STEP_FAILED before the first
 */
LpStepResult
lp_grad_scaler_get_last_result (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), LP_STEP_FAILED);

  return self->last_result;
}
