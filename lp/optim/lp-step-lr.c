#include <lp/optim/lp-step-lr.h>

#include <math.h>

#include <lp/core/lp-error.h>

/**
 * LpStepLr:
 *
 * A schedule that multiplies the learning rate by a factor every so many steps.
 */
struct _LpStepLr
{
  LpLrScheduler parent_instance;

  gint64 step_size;
  double gamma;
};

G_DEFINE_FINAL_TYPE (LpStepLr, lp_step_lr, LP_TYPE_LR_SCHEDULER)

enum
{
  PROP_0,
  PROP_STEP_SIZE,
  PROP_GAMMA,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static double
lp_step_lr_get_factor (LpLrScheduler  *scheduler,
                       gint64          step,
                       GError        **error)
{
  LpStepLr *self = LP_STEP_LR (scheduler);

  if (self->step_size < 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The step size of a schedule is at least 1, not %" G_GINT64_FORMAT,
                   self->step_size);
      return 0;
    }

  return pow (self->gamma, (double) (step / self->step_size));
}

static void
lp_step_lr_get_property (GObject    *object,
                         guint       prop_id,
                         GValue     *value,
                         GParamSpec *pspec)
{
  LpStepLr *self = LP_STEP_LR (object);

  switch (prop_id)
    {
    case PROP_STEP_SIZE:
      g_value_set_int64 (value, self->step_size);
      break;
    case PROP_GAMMA:
      g_value_set_double (value, self->gamma);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_step_lr_set_property (GObject      *object,
                         guint         prop_id,
                         const GValue *value,
                         GParamSpec   *pspec)
{
  LpStepLr *self = LP_STEP_LR (object);

  switch (prop_id)
    {
    case PROP_STEP_SIZE:
      self->step_size = g_value_get_int64 (value);
      break;
    case PROP_GAMMA:
      self->gamma = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_step_lr_class_init (LpStepLrClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_step_lr_get_property;
  object_class->set_property = lp_step_lr_set_property;
  LP_LR_SCHEDULER_CLASS (klass)->get_factor = lp_step_lr_get_factor;

  /**
   * LpStepLr:step-size:
   *
   * The number of steps between two changes.
   */
  properties[PROP_STEP_SIZE] =
    g_param_spec_int64 ("step-size", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpStepLr:gamma:
   *
   * The factor.
   */
  properties[PROP_GAMMA] =
    g_param_spec_double ("gamma", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.1, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_step_lr_init (LpStepLr *self)
{
}

/**
 * lp_step_lr_new:
 * @optimizer: an optimizer
 * @step_size: steps between two changes
 * @gamma: the factor
 *
 * Creates a schedule.
 *
 * Returns: (transfer full) (type LpStepLr): the schedule
 */
LpLrScheduler *
lp_step_lr_new (LpOptimizer *optimizer,
                gint64       step_size,
                double       gamma)
{
  LpLrScheduler *self;

  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), NULL);

  self = g_object_new (LP_TYPE_STEP_LR,
                       "optimizer", optimizer,
                       "step-size", step_size,
                       "gamma", gamma,
                       NULL);
  lp_lr_scheduler_apply (self, NULL);

  return self;
}
