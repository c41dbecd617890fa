#include <lp/optim/lp-cosine-lr.h>

#include <math.h>

#include <lp/core/lp-error.h>

/**
 * LpCosineLr:
 *
 * A schedule that takes the learning rate down along half a cosine, and leaves it there.
 *
 * I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017.
 */
struct _LpCosineLr
{
  LpLrScheduler parent_instance;

  gint64 n_steps;
  double min_factor;
};

G_DEFINE_FINAL_TYPE (LpCosineLr, lp_cosine_lr, LP_TYPE_LR_SCHEDULER)

enum
{
  PROP_0,
  PROP_N_STEPS,
  PROP_MIN_FACTOR,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static double
lp_cosine_lr_get_factor (LpLrScheduler  *scheduler,
                         gint64          step,
                         GError        **error)
{
  LpCosineLr *self = LP_COSINE_LR (scheduler);
  double progress;

  if (self->n_steps < 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The steps of a schedule are at least 1, not %" G_GINT64_FORMAT,
                   self->n_steps);
      return 0;
    }
  progress = MIN ((double) step / self->n_steps, 1);

  return self->min_factor + (1 - self->min_factor) * (1 + cos (G_PI * progress)) / 2;
}

static void
lp_cosine_lr_get_property (GObject    *object,
                           guint       prop_id,
                           GValue     *value,
                           GParamSpec *pspec)
{
  LpCosineLr *self = LP_COSINE_LR (object);

  switch (prop_id)
    {
    case PROP_N_STEPS:
      g_value_set_int64 (value, self->n_steps);
      break;
    case PROP_MIN_FACTOR:
      g_value_set_double (value, self->min_factor);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_cosine_lr_set_property (GObject      *object,
                           guint         prop_id,
                           const GValue *value,
                           GParamSpec   *pspec)
{
  LpCosineLr *self = LP_COSINE_LR (object);

  switch (prop_id)
    {
    case PROP_N_STEPS:
      self->n_steps = g_value_get_int64 (value);
      break;
    case PROP_MIN_FACTOR:
      self->min_factor = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_cosine_lr_class_init (LpCosineLrClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_cosine_lr_get_property;
  object_class->set_property = lp_cosine_lr_set_property;
  LP_LR_SCHEDULER_CLASS (klass)->get_factor = lp_cosine_lr_get_factor;

  /**
   * LpCosineLr:n-steps:
   *
   * The number of steps until the end.
   */
  properties[PROP_N_STEPS] =
    g_param_spec_int64 ("n-steps", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpCosineLr:min-factor:
   *
   * The factor at the end.
   */
  properties[PROP_MIN_FACTOR] =
    g_param_spec_double ("min-factor", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_cosine_lr_init (LpCosineLr *self)
{
}

/**
 * lp_cosine_lr_new:
 * @optimizer: an optimizer
 * @n_steps: steps until the end
 * @min_factor: factor at the end, such as 0
 *
 * Creates a schedule.
 *
 * Returns: (transfer full) (type LpCosineLr): the schedule
 */
LpLrScheduler *
lp_cosine_lr_new (LpOptimizer *optimizer,
                  gint64       n_steps,
                  double       min_factor)
{
  LpLrScheduler *self;

  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), NULL);

  self = g_object_new (LP_TYPE_COSINE_LR,
                       "optimizer", optimizer,
                       "n-steps", n_steps,
                       "min-factor", min_factor,
                       NULL);
  lp_lr_scheduler_apply (self, NULL);

  return self;
}
