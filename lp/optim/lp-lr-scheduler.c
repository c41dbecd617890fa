#include <lp/optim/lp-lr-scheduler.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/optim/lp-optimizer-private.h>

/**
 * LpLrScheduler:
 *
 * How the learning rates of an optimizer change: a factor on the base learning rate of each group, as a closed form of
 * the step.
 *
 * A subclass overrides get_factor. The schedule of a program's own class takes effect with the first call of
 * [method@LrScheduler.apply] or [method@LrScheduler.step].
 */
typedef struct
{
  LpOptimizer  *optimizer;
  gint64        position;
  LpLrInterval  interval;
} LpLrSchedulerPrivate;

G_DEFINE_ENUM_TYPE (LpLrInterval, lp_lr_interval,
                    G_DEFINE_ENUM_VALUE (LP_LR_INTERVAL_STEP, "step"),
                    G_DEFINE_ENUM_VALUE (LP_LR_INTERVAL_EPOCH, "epoch"))

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpLrScheduler, lp_lr_scheduler, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_OPTIMIZER,
  PROP_INTERVAL,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static inline LpLrSchedulerPrivate *
get_private (LpLrScheduler *self)
{
  return lp_lr_scheduler_get_instance_private (self);
}

static double
lp_lr_scheduler_real_get_factor (LpLrScheduler  *self,
                                 gint64          step,
                                 GError        **error)
{
  return 1;
}

static void
lp_lr_scheduler_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  LpLrSchedulerPrivate *priv = get_private (LP_LR_SCHEDULER (object));

  switch (prop_id)
    {
    case PROP_OPTIMIZER:
      g_value_set_object (value, priv->optimizer);
      break;
    case PROP_INTERVAL:
      g_value_set_enum (value, priv->interval);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_lr_scheduler_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_OPTIMIZER:
      get_private (LP_LR_SCHEDULER (object))->optimizer = g_value_dup_object (value);
      break;
    case PROP_INTERVAL:
      lp_lr_scheduler_set_interval (LP_LR_SCHEDULER (object), g_value_get_enum (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_lr_scheduler_finalize (GObject *object)
{
  g_clear_object (&get_private (LP_LR_SCHEDULER (object))->optimizer);

  G_OBJECT_CLASS (lp_lr_scheduler_parent_class)->finalize (object);
}

static void
lp_lr_scheduler_class_init (LpLrSchedulerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_lr_scheduler_get_property;
  object_class->set_property = lp_lr_scheduler_set_property;
  object_class->finalize = lp_lr_scheduler_finalize;
  klass->get_factor = lp_lr_scheduler_real_get_factor;

  /**
   * LpLrScheduler:optimizer: (getter get_optimizer)
   *
   * The optimizer whose learning rates change.
   */
  properties[PROP_OPTIMIZER] =
    g_param_spec_object ("optimizer", NULL, NULL, LP_TYPE_OPTIMIZER,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * LpLrScheduler:interval: (getter get_interval) (setter set_interval)
   *
   * When a trainer moves the schedule on.
   */
  properties[PROP_INTERVAL] =
    g_param_spec_enum ("interval", NULL, NULL, LP_TYPE_LR_INTERVAL, LP_LR_INTERVAL_STEP,
                       G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_lr_scheduler_init (LpLrScheduler *self)
{
}

/**
 * lp_lr_scheduler_get_factor:
 * @self: a schedule
 * @step: a step, counted from 0
 * @error: return location for an error
 *
 * Gets what the base learning rates are multiplied by at a step.
 *
 * Returns: the factor, or 0 with an error. Errors: %LP_ERROR_ARGUMENT; %LP_ERROR_SUBCLASS for a factor that is negative
 *   or not finite
 */
double
lp_lr_scheduler_get_factor (LpLrScheduler  *self,
                            gint64          step,
                            GError        **error)
{
  GError *local = NULL;
  double factor;

  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), 0);

  factor = LP_LR_SCHEDULER_GET_CLASS (self)->get_factor (self, step, &local);
  if (local == NULL && !(isfinite (factor) && factor >= 0))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.get_factor returned %g; a factor is at least 0",
                 G_OBJECT_TYPE_NAME (self), factor);
  if (local == NULL)
    return factor;

  g_propagate_error (error, local);

  return 0;
}

/**
 * lp_lr_scheduler_apply:
 * @self: a schedule
 * @error: return location for an error
 *
 * Sets the learning rates for the current step.
 *
 * Returns: %TRUE on success. Errors: those of [method@LrScheduler.get_factor]
 */
gboolean
lp_lr_scheduler_apply (LpLrScheduler  *self,
                       GError        **error)
{
  LpLrSchedulerPrivate *priv;
  GError *local = NULL;
  double factor;

  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), FALSE);

  priv = get_private (self);
  if (priv->optimizer == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The %s has no optimizer", G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  factor = lp_lr_scheduler_get_factor (self, priv->position, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  for (guint i = 0; i < lp_optimizer_get_n_groups (priv->optimizer); i++)
    {
      LpParamGroup *group = lp_optimizer_get_group (priv->optimizer, i);

      lp_param_group_set_lr (group, lp_param_group_get_base_lr (group) * factor);
    }

  return TRUE;
}

/**
 * lp_lr_scheduler_step:
 * @self: a schedule
 * @error: return location for an error
 *
 * Moves on by one step and sets the learning rates.
 *
 * Returns: %TRUE on success. Errors: those of [method@LrScheduler.apply]
 */
gboolean
lp_lr_scheduler_step (LpLrScheduler  *self,
                      GError        **error)
{
  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), FALSE);

  get_private (self)->position++;

  return lp_lr_scheduler_apply (self, error);
}

/**
 * lp_lr_scheduler_get_optimizer:
 * @self: a schedule
 *
 * Gets the optimizer whose learning rates change.
 *
 * Returns: (transfer none) (nullable): the optimizer
 */
LpOptimizer *
lp_lr_scheduler_get_optimizer (LpLrScheduler *self)
{
  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), NULL);

  return get_private (self)->optimizer;
}

/**
 * lp_lr_scheduler_get_position:
 * @self: a schedule
 *
 * Gets the current step, counted from 0.
 *
 * Returns: the step
 */
gint64
lp_lr_scheduler_get_position (LpLrScheduler *self)
{
  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), 0);

  return get_private (self)->position;
}

/**
 * lp_lr_scheduler_get_interval:
 * @self: a schedule
 *
 * Gets when a trainer moves the schedule on.
 *
 * Returns: the interval
 */
LpLrInterval
lp_lr_scheduler_get_interval (LpLrScheduler *self)
{
  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), LP_LR_INTERVAL_STEP);

  return get_private (self)->interval;
}

/**
 * lp_lr_scheduler_set_interval:
 * @self: a schedule
 * @interval: the interval
 *
 * Sets when a trainer moves the schedule on.
 */
void
lp_lr_scheduler_set_interval (LpLrScheduler *self,
                              LpLrInterval   interval)
{
  LpLrSchedulerPrivate *priv;

  g_return_if_fail (LP_IS_LR_SCHEDULER (self));

  priv = get_private (self);
  if (priv->interval == interval)
    return;

  priv->interval = interval;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_INTERVAL]);
}

/**
 * lp_lr_scheduler_save_state:
 * @self: a schedule
 *
 * Gets what the schedule needs to go on after a restart.
 *
 * Returns: (transfer full): the state
 */
LpState *
lp_lr_scheduler_save_state (LpLrScheduler *self)
{
  LpState *state;

  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), NULL);

  state = lp_state_new ();
  lp_state_set_value (state, "position", g_variant_new_int64 (get_private (self)->position));

  return state;
}

/**
 * lp_lr_scheduler_load_state:
 * @self: a schedule
 * @state: what [method@LrScheduler.save_state] gave
 * @error: return location for an error
 *
 * Takes saved state back and sets the learning rates.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_FORMAT, and those of [method@LrScheduler.apply]
 */
gboolean
lp_lr_scheduler_load_state (LpLrScheduler  *self,
                            LpState        *state,
                            GError        **error)
{
  gint64 position;

  g_return_val_if_fail (LP_IS_LR_SCHEDULER (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!_lp_state_get_count (state, "position", &position))
    {
      g_autoptr (GVariant) value = lp_state_dup_value (state, "position");
      g_autofree char *text = value != NULL ? g_variant_print (value, FALSE) : g_strdup ("missing");

      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The saved “position” of a %s is %s, which is not a count of steps",
                   G_OBJECT_TYPE_NAME (self), text);
      return FALSE;
    }
  get_private (self)->position = position;

  return lp_lr_scheduler_apply (self, error);
}
