#include <lp/precision/lp-grad-scaler.h>

#include <math.h>

#include <lp/ops/lp-ops.h>
#include <lp/optim/lp-optimizer-private.h>
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
 * [method@GradScaler.step]; then once [method@GradScaler.update].
 */
struct _LpGradScaler
{
  GObject     parent_instance;

  double      init_scale;
  double      growth_factor;
  double      backoff_factor;
  gint        growth_interval;
  gboolean    enabled;

  float       scale;
  gboolean    started;      /* scale() was called, or state loaded */
  gint        growth_tracker;
  gint64      n_skipped;
  LpTensor   *scale_tensor;
  GHashTable *records;      /* LpOptimizer → Record, since the last update */
};

typedef struct
{
  LpScalerStage  stage;
  LpTensor      *found_inf;
} Record;

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
  PROP_ENABLED,
  PROP_SCALE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
record_free (gpointer data)
{
  Record *record = data;

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
    case PROP_ENABLED:
      g_value_set_boolean (value, self->enabled);
      break;
    case PROP_SCALE:
      g_value_set_double (value, lp_grad_scaler_get_scale (self));
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
lp_grad_scaler_class_init (LpGradScalerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_grad_scaler_get_property;
  object_class->set_property = lp_grad_scaler_set_property;
  object_class->finalize = lp_grad_scaler_finalize;

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
   * LpGradScaler:enabled: (getter get_enabled)
   *
   * Whether it does anything.
   */
  properties[PROP_ENABLED] = g_param_spec_boolean ("enabled", NULL, NULL, TRUE, flags);

  /**
   * LpGradScaler:scale: (getter get_scale)
   *
   * The scale.
   */
  properties[PROP_SCALE] = g_param_spec_double ("scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 65536,
                                                G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_grad_scaler_init (LpGradScaler *self)
{
  self->records = g_hash_table_new_full (NULL, NULL, g_object_unref, record_free);
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

static gboolean
fail (GError     **error,
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
lp_grad_scaler_new_full (double    init_scale,
                         double    growth_factor,
                         double    backoff_factor,
                         gint      growth_interval,
                         gboolean  enabled,
                         GError  **error)
{
  g_autoptr (LpGradScaler) self = NULL;

  if (!isfinite (init_scale) || !isfinite (growth_factor) || !isfinite (backoff_factor))
    {
      fail (error, "The scale and the factors of a gradient scaler are finite");
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
    return fail (error, "The initial scale of a gradient scaler is above 0 and fits in f32");
  if (!(self->growth_factor > 1 && isfinite (self->growth_factor)))
    return fail (error, "The growth factor of a gradient scaler is above 1");
  if (!(self->backoff_factor > 0 && self->backoff_factor < 1))
    return fail (error, "The backoff factor of a gradient scaler is between 0 and 1");
  if (self->growth_interval < 1)
    return fail (error, "The growth interval of a gradient scaler is at least 1");

  return TRUE;
}

static LpTensor *
peek_scale_tensor (LpGradScaler  *self,
                   LpDevice      *device,
                   GError       **error)
{
  if (self->scale_tensor != NULL && lp_tensor_get_device (self->scale_tensor) == device)
    return self->scale_tensor;

  g_clear_object (&self->scale_tensor);
  self->scale_tensor = lp_tensor_scalar (self->scale, lp_dtype_f32 (), device, error);

  return self->scale_tensor;
}

static void
change_scale (LpGradScaler *self,
              float         scale)
{
  if (self->scale == scale)
    return;

  self->scale = scale;
  g_clear_object (&self->scale_tensor);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SCALE]);
}

/**
 * lp_grad_scaler_scale:
 * @self: a scaler
 * @loss: a loss
 * @error: return location for an error
 *
 * Multiplies the loss by the scale, in float32 or wider.
 *
 * Returns: (transfer full): the scaled loss, or @loss itself if the scaler is not enabled
 */
LpTensor *
lp_grad_scaler_scale (LpGradScaler  *self,
                      LpTensor      *loss,
                      GError       **error)
{
  g_autoptr (LpTensor) wide = NULL;
  LpTensor *scale;

  if (loss == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (loss), NULL);

  if (!self->enabled)
    return g_object_ref (loss);
  if (!lp_grad_scaler_check (self, error))
    return NULL;

  scale = peek_scale_tensor (self, lp_tensor_get_device (loss), error);
  if (scale == NULL)
    return NULL;
  self->started = TRUE;
  if (lp_tensor_get_dtype (loss) == lp_dtype_f64 () || lp_tensor_get_dtype (loss) == lp_dtype_f32 ())
    wide = g_object_ref (loss);
  else
    wide = lp_tensor_to_dtype (loss, lp_dtype_f32 (), error);

  return lp_tensor_mul (wide, scale, error);
}

static Record *
get_record (LpGradScaler *self,
            LpOptimizer  *optimizer)
{
  return g_hash_table_lookup (self->records, optimizer);
}

static LpDevice *
find_gradients (LpOptimizer  *optimizer,
                GError      **error)
{
  g_autoptr (GPtrArray) parameters = lp_optimizer_dup_parameters (optimizer);
  LpDevice *device = NULL;

  for (guint i = 0; i < parameters->len; i++)
    {
      LpTensor *parameter = g_ptr_array_index (parameters, i);

      if (parameter->grad == NULL)
        continue;
      if (parameter->grad->array.scalar == LP_SCALAR_F16)
        {
          g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                       "The gradient of parameter %u is f16, which can't be unscaled: keep the weights in f32", i);
          return NULL;
        }
      device = lp_tensor_get_device (parameter);
    }

  if (device == NULL)
    fail (error, "No parameter of the optimizer has a gradient: there is nothing to unscale");

  return device;
}

/* Multiplies by the reciprocal, computed in f64; not at all when it is 1. */
static LpTensor *
unscale_into (LpGradScaler  *self,
              LpOptimizer   *optimizer,
              LpDevice      *device,
              GError       **error)
{
  float inverse = (float) (1 / (double) self->scale);
  g_autoptr (LpTensor) factor = NULL;
  g_autoptr (LpTensor) found_inf = lp_tensor_scalar (0, lp_dtype_f32 (), device, error);

  if (found_inf == NULL)
    return NULL;
  if (inverse != 1)
    {
      factor = lp_tensor_scalar (inverse, lp_dtype_f32 (), device, error);
      if (factor == NULL)
        return NULL;
    }

  if (!lp_optimizer_scale_gradients (optimizer, factor, found_inf, error))
    return NULL;

  return g_steal_pointer (&found_inf);
}

/**
 * lp_grad_scaler_unscale:
 * @self: a scaler
 * @optimizer: an optimizer
 * @error: return location for an error
 *
 * Gives the gradients of an optimizer their true values, and looks for those that are not finite.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER if no loss was scaled, if it was done already since
 *   the last update, for gradients in float16 and for no gradients at all
 */
gboolean
lp_grad_scaler_unscale (LpGradScaler  *self,
                        LpOptimizer   *optimizer,
                        GError       **error)
{
  LpDevice *device;
  LpTensor *found_inf;
  Record *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!self->enabled)
    return TRUE;
  if (!lp_grad_scaler_check (self, error))
    return FALSE;
  if (!self->started)
    return fail (error, "Gradients can't be unscaled before a loss was scaled");

  record = get_record (self, optimizer);
  if (record != NULL)
    return fail (error, record->stage == LP_SCALER_UNSCALED
                          ? "The gradients of the optimizer were unscaled already since the last update"
                          : "The optimizer has stepped already since the last update");
  device = find_gradients (optimizer, error);
  if (device == NULL)
    return FALSE;
  found_inf = unscale_into (self, optimizer, device, error);
  if (found_inf == NULL)
    return FALSE;

  record = g_new0 (Record, 1);
  record->stage = LP_SCALER_UNSCALED;
  record->found_inf = found_inf;
  g_hash_table_insert (self->records, g_object_ref (optimizer), record);

  return TRUE;
}

/**
 * lp_grad_scaler_step:
 * @self: a scaler
 * @optimizer: an optimizer
 * @closure: (nullable): must be %NULL, unless the scaler is not enabled
 * @error: return location for an error
 *
 * Has the optimizer step, unless a gradient is not finite. The gradients are unscaled first if they were not.
 *
 * Returns: what became of the step. Errors: %LP_PRECISION_ERROR_BAD_SCALER for a closure and for a second step without
 *   [method@GradScaler.update]; those of [method@GradScaler.unscale] and [method@Optimizer.step]
 */
LpStepResult
lp_grad_scaler_step (LpGradScaler   *self,
                     LpOptimizer    *optimizer,
                     LpStepClosure  *closure,
                     GError        **error)
{
  LpStepResult result;
  Record *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);

  if (!self->enabled)
    return lp_optimizer_step (optimizer, closure, error);
  if (closure != NULL)
    return fail (error, "An optimizer that computes its gradients again can't be used with a gradient scaler");

  record = get_record (self, optimizer);
  if (record != NULL && record->stage == LP_SCALER_STEPPED)
    return fail (error, "The optimizer has stepped already since the last update");
  if (record == NULL && !lp_grad_scaler_unscale (self, optimizer, error))
    return LP_STEP_FAILED;

  record = get_record (self, optimizer);
  lp_optimizer_set_found_inf (optimizer, record->found_inf);
  result = lp_optimizer_step (optimizer, NULL, error);
  if (result == LP_STEP_FAILED)
    return result;

  record->stage = LP_SCALER_STEPPED;
  if (result == LP_STEP_SKIPPED)
    self->n_skipped++;

  return result;
}

static gboolean
any_found_inf (LpGradScaler *self)
{
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, self->records);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    if (lp_tensor_get_item (((Record *) value)->found_inf, NULL) != 0)
      return TRUE;

  return FALSE;
}

/**
 * lp_grad_scaler_update:
 * @self: a scaler
 * @error: return location for an error
 *
 * Lowers or raises the scale, once after all optimizers of a step.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER if nothing was unscaled since the last update
 */
gboolean
lp_grad_scaler_update (LpGradScaler  *self,
                       GError       **error)
{
  float grown = (float) (self->scale * self->growth_factor);

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  if (!self->enabled)
    return TRUE;
  if (g_hash_table_size (self->records) == 0)
    return fail (error, "A gradient scaler can't be updated before gradients were unscaled");

  if (any_found_inf (self))
    {
      change_scale (self, (float) (self->scale * self->backoff_factor));
      self->growth_tracker = 0;
    }
  else if (++self->growth_tracker == self->growth_interval)
    {
      if (isfinite (grown))
        change_scale (self, grown);
      self->growth_tracker = 0;
    }
  g_hash_table_remove_all (self->records);

  return TRUE;
}

/**
 * lp_grad_scaler_set_scale:
 * @self: a scaler
 * @scale: the scale
 * @error: return location for an error
 *
 * Sets the scale, in place of [method@GradScaler.update].
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_SCALER for a scale that is not above 0 and finite
 */
gboolean
lp_grad_scaler_set_scale (LpGradScaler  *self,
                          double         scale,
                          GError       **error)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  if (!(scale > 0 && (float) scale > 0 && isfinite ((float) scale)))
    return fail (error, "The scale of a gradient scaler is above 0 and fits in f32");

  change_scale (self, (float) scale);
  g_hash_table_remove_all (self->records);

  return TRUE;
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
 * lp_grad_scaler_get_stage:
 * @self: a scaler
 * @optimizer: an optimizer
 *
 * Gets how far an optimizer is since the last update.
 *
 * Returns: the stage
 */
LpScalerStage
lp_grad_scaler_get_stage (LpGradScaler *self,
                          LpOptimizer  *optimizer)
{
  Record *record;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), LP_SCALER_READY);

  record = get_record (self, optimizer);

  return record != NULL ? record->stage : LP_SCALER_READY;
}

/**
 * lp_grad_scaler_get_pending:
 * @self: a scaler
 *
 * Finds out whether gradients were unscaled since the last update, so that one is due.
 *
 * Returns: whether they were
 */
gboolean
lp_grad_scaler_get_pending (LpGradScaler *self)
{
  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);

  return g_hash_table_size (self->records) > 0;
}

/**
 * lp_grad_scaler_save_state:
 * @self: a scaler
 *
 * Gets what the scaler needs to go on after a restart.
 *
 * Returns: (transfer full): the state, which is empty if the scaler is not enabled
 */
LpState *
lp_grad_scaler_save_state (LpGradScaler *self)
{
  LpState *state;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), NULL);

  state = lp_state_new ();
  if (!self->enabled)
    return state;

  lp_state_set_value (state, "scale", g_variant_new_double (self->scale));
  lp_state_set_value (state, "growth_factor", g_variant_new_double (self->growth_factor));
  lp_state_set_value (state, "backoff_factor", g_variant_new_double (self->backoff_factor));
  lp_state_set_value (state, "growth_interval", g_variant_new_int64 (self->growth_interval));
  lp_state_set_value (state, "_growth_tracker", g_variant_new_int64 (self->growth_tracker));
  lp_state_set_value (state, "n_skipped", g_variant_new_int64 (self->n_skipped));

  return state;
}

static gboolean
read_state (LpState *state,
            double   values[6])
{
  static const char *const names[5] = { "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker" };

  for (guint i = 0; i < 5; i++)
    if (!_lp_state_get_number (state, names[i], &values[i]))
      return FALSE;
  if (!_lp_state_get_number (state, "n_skipped", &values[5]))
    values[5] = 0;

  return (float) values[0] > 0 && isfinite ((float) values[0]) && values[1] > 1 && isfinite (values[1]) &&
         values[2] > 0 && values[2] < 1 && values[3] >= 1 && values[3] <= G_MAXINT &&
         values[4] >= 0 && values[4] < values[3] && values[5] >= 0;
}

/**
 * lp_grad_scaler_load_state:
 * @self: a scaler
 * @state: what [method@GradScaler.save_state] gave
 * @error: return location for an error
 *
 * Takes saved state back. A scaler that is not enabled ignores it.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_STATE for state that is empty or makes no sense
 */
gboolean
lp_grad_scaler_load_state (LpGradScaler  *self,
                           LpState       *state,
                           GError       **error)
{
  double values[6];

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!self->enabled)
    return TRUE;
  if (!read_state (state, values))
    {
      g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                           "The saved state of the gradient scaler is empty or makes no sense");
      return FALSE;
    }

  self->growth_factor = values[1];
  self->backoff_factor = values[2];
  self->growth_interval = values[3];
  self->growth_tracker = values[4];
  self->n_skipped = values[5];
  self->started = TRUE;
  g_hash_table_remove_all (self->records);
  change_scale (self, (float) values[0]);

  return TRUE;
}
