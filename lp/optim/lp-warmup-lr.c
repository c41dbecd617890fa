#include <lp/optim/lp-warmup-lr.h>

#include <lp/core/lp-error.h>

/**
 * LpWarmupLr:
 *
 * A schedule that takes the learning rate up in a straight line, and then follows another one, whose steps are counted
 * from there.
 */
struct _LpWarmupLr
{
  LpLrScheduler parent_instance;

  gint64 n_steps;
  double start_factor;
  LpLrScheduler *after;
};

G_DEFINE_FINAL_TYPE (LpWarmupLr, lp_warmup_lr, LP_TYPE_LR_SCHEDULER)

enum
{
  PROP_0,
  PROP_N_STEPS,
  PROP_START_FACTOR,
  PROP_AFTER,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static double
lp_warmup_lr_get_factor (LpLrScheduler  *scheduler,
                         gint64          step,
                         GError        **error)
{
  LpWarmupLr *self = LP_WARMUP_LR (scheduler);

  if (self->n_steps < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The steps of a warm-up are at least 0, not %" G_GINT64_FORMAT,
                   self->n_steps);
      return 0;
    }
  if (step < self->n_steps)
    return self->start_factor + (1 - self->start_factor) * step / self->n_steps;

  return self->after != NULL ? lp_lr_scheduler_get_factor (self->after, step - self->n_steps, error) : 1;
}

static void
lp_warmup_lr_get_property (GObject    *object,
                           guint       prop_id,
                           GValue     *value,
                           GParamSpec *pspec)
{
  LpWarmupLr *self = LP_WARMUP_LR (object);

  switch (prop_id)
    {
    case PROP_N_STEPS:
      g_value_set_int64 (value, self->n_steps);
      break;
    case PROP_START_FACTOR:
      g_value_set_double (value, self->start_factor);
      break;
    case PROP_AFTER:
      g_value_set_object (value, self->after);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_warmup_lr_set_property (GObject      *object,
                           guint         prop_id,
                           const GValue *value,
                           GParamSpec   *pspec)
{
  LpWarmupLr *self = LP_WARMUP_LR (object);

  switch (prop_id)
    {
    case PROP_N_STEPS:
      self->n_steps = g_value_get_int64 (value);
      break;
    case PROP_START_FACTOR:
      self->start_factor = g_value_get_double (value);
      break;
    case PROP_AFTER:
      self->after = g_value_dup_object (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_warmup_lr_finalize (GObject *object)
{
  g_clear_object (&LP_WARMUP_LR (object)->after);

  G_OBJECT_CLASS (lp_warmup_lr_parent_class)->finalize (object);
}

static void
lp_warmup_lr_class_init (LpWarmupLrClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_warmup_lr_get_property;
  object_class->set_property = lp_warmup_lr_set_property;
  object_class->finalize = lp_warmup_lr_finalize;
  LP_LR_SCHEDULER_CLASS (klass)->get_factor = lp_warmup_lr_get_factor;

  /**
   * LpWarmupLr:n-steps:
   *
   * The number of steps until the full learning rate.
   */
  properties[PROP_N_STEPS] =
    g_param_spec_int64 ("n-steps", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpWarmupLr:start-factor:
   *
   * The factor at the start.
   */
  properties[PROP_START_FACTOR] =
    g_param_spec_double ("start-factor", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpWarmupLr:after:
   *
   * The schedule that follows, if any. Its own optimizer doesn't matter.
   */
  properties[PROP_AFTER] =
    g_param_spec_object ("after", NULL, NULL, LP_TYPE_LR_SCHEDULER, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_warmup_lr_init (LpWarmupLr *self)
{
}

/**
 * lp_warmup_lr_new:
 * @optimizer: an optimizer
 * @n_steps: steps until the full learning rate
 * @start_factor: factor at the start, such as 0.1
 * @after: (nullable): the schedule that follows
 *
 * Creates a schedule.
 *
 * Returns: (transfer full) (type LpWarmupLr): the schedule
 */
LpLrScheduler *
lp_warmup_lr_new (LpOptimizer   *optimizer,
                  gint64         n_steps,
                  double         start_factor,
                  LpLrScheduler *after)
{
  LpLrScheduler *self;

  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), NULL);

  self = g_object_new (LP_TYPE_WARMUP_LR,
                       "optimizer", optimizer,
                       "n-steps", n_steps,
                       "start-factor", start_factor,
                       "after", after,
                       NULL);
  lp_lr_scheduler_apply (self, NULL);

  return self;
}
