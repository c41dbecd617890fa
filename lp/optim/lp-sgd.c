#include <lp/optim/lp-sgd.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/optim/lp-optimizer-private.h>

/**
 * LpSgd:
 *
 * Stochastic gradient descent, with momentum and decay of the weights towards zero.
 *
 * With g the gradient plus the weight decay times the weight, and v the momentum, v = momentum · v + (1 - dampening) · g
 * (v = g in the first step), and the weight changes by -lr · v, or by -lr · (g + momentum · v) after Nesterov.
 * With momentum it keeps one moment per parameter, of the dtype that [class@ParamGroup] says.
 *
 * I. Sutskever et al., "On the Importance of Initialization and Momentum in Deep Learning", ICML 2013.
 */
struct _LpSgd
{
  LpOptimizer parent_instance;

  double   momentum;
  double   dampening;
  gboolean nesterov;
};

G_DEFINE_FINAL_TYPE (LpSgd, lp_sgd, LP_TYPE_OPTIMIZER)

enum
{
  PROP_0,
  PROP_MOMENTUM,
  PROP_DAMPENING,
  PROP_NESTEROV,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gboolean
check (LpSgd   *self,
       GError **error)
{
  if (!(isfinite (self->momentum) && self->momentum >= 0))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The momentum of an LpSgd is at least 0, not %g", self->momentum);
      return FALSE;
    }
  if (!isfinite (self->dampening))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The dampening of an LpSgd can't be %g", self->dampening);
      return FALSE;
    }
  if (self->nesterov && (self->momentum <= 0 || self->dampening != 0))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "Nesterov needs a momentum and no dampening");
      return FALSE;
    }

  return TRUE;
}

static gboolean
lp_sgd_step_group (LpOptimizer   *optimizer,
                   LpParamGroup  *group,
                   GError       **error)
{
  LpSgd *self = LP_SGD (optimizer);

  if (!check (self, error))
    return FALSE;

  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);
      LpSgdArgs args = { { 0 } };

      if (!slot->present)
        continue;
      if (!_lp_optimizer_fill_args (optimizer, group, i, self->momentum != 0 ? 1 : 0, &args.common, error))
        return FALSE;

      args.momentum = self->momentum;
      args.dampening = self->dampening;
      args.nesterov = self->nesterov;
      args.first = slot->step == 0;
      if (!_lp_tensor_get_kernels (slot->parameter)->sgd (&args, error) ||
          !_lp_param_group_finish_slot (group, i, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
lp_sgd_scales_gradients (LpOptimizer *optimizer)
{
  return TRUE;
}

static void
lp_sgd_get_property (GObject    *object,
                     guint       prop_id,
                     GValue     *value,
                     GParamSpec *pspec)
{
  LpSgd *self = LP_SGD (object);

  switch (prop_id)
    {
    case PROP_MOMENTUM:
      g_value_set_double (value, self->momentum);
      break;
    case PROP_DAMPENING:
      g_value_set_double (value, self->dampening);
      break;
    case PROP_NESTEROV:
      g_value_set_boolean (value, self->nesterov);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_sgd_set_property (GObject      *object,
                     guint         prop_id,
                     const GValue *value,
                     GParamSpec   *pspec)
{
  LpSgd *self = LP_SGD (object);

  switch (prop_id)
    {
    case PROP_MOMENTUM:
      lp_sgd_set_momentum (self, g_value_get_double (value));
      break;
    case PROP_DAMPENING:
      lp_sgd_set_dampening (self, g_value_get_double (value));
      break;
    case PROP_NESTEROV:
      lp_sgd_set_nesterov (self, g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_sgd_class_init (LpSgdClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpOptimizerClass *optimizer_class = LP_OPTIMIZER_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = lp_sgd_get_property;
  object_class->set_property = lp_sgd_set_property;
  optimizer_class->step_group = lp_sgd_step_group;
  optimizer_class->scales_gradients = lp_sgd_scales_gradients;

  /**
   * LpSgd:momentum: (getter get_momentum) (setter set_momentum)
   *
   * How much of the last change is kept.
   */
  properties[PROP_MOMENTUM] = g_param_spec_double ("momentum", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpSgd:dampening: (getter get_dampening) (setter set_dampening)
   *
   * The share of the gradient that does not go into the momentum.
   */
  properties[PROP_DAMPENING] = g_param_spec_double ("dampening", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpSgd:nesterov: (getter get_nesterov) (setter set_nesterov)
   *
   * Whether the gradient is looked at ahead.
   */
  properties[PROP_NESTEROV] = g_param_spec_boolean ("nesterov", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_sgd_init (LpSgd *self)
{
}

/**
 * lp_sgd_new:
 * @parameters: (element-type LpTensor): parameters
 * @lr: the learning rate
 *
 * Creates an optimizer without momentum and weight decay. What is wrong with the parameters is reported by its first
 * use.
 *
 * Returns: (transfer full) (type LpSgd): the optimizer
 */
LpOptimizer *
lp_sgd_new (GPtrArray *parameters,
            double     lr)
{
  return lp_sgd_new_full (parameters, lr, 0, 0, 0, FALSE);
}

/**
 * lp_sgd_new_full:
 * @parameters: (element-type LpTensor): parameters
 * @lr: the learning rate
 * @momentum: how much of the last change is kept
 * @dampening: the share of the gradient that does not go into the momentum
 * @weight_decay: the weight decay
 * @nesterov: whether the gradient is looked at ahead
 *
 * Creates an optimizer. What is wrong with the arguments is reported by its first use.
 *
 * Returns: (transfer full) (type LpSgd): the optimizer
 */
LpOptimizer *
lp_sgd_new_full (GPtrArray *parameters,
                 double     lr,
                 double     momentum,
                 double     dampening,
                 double     weight_decay,
                 gboolean   nesterov)
{
  LpParamGroup *group;
  LpSgd *self;

  g_return_val_if_fail (parameters != NULL, NULL);

  self = g_object_new (LP_TYPE_SGD, NULL);
  self->momentum = momentum;
  self->dampening = dampening;
  self->nesterov = !!nesterov;
  group = lp_param_group_new (parameters, lr);
  lp_param_group_set_weight_decay (group, weight_decay);
  _lp_optimizer_take_group (LP_OPTIMIZER (self), group);

  return LP_OPTIMIZER (self);
}

/**
 * lp_sgd_get_momentum:
 * @self: an optimizer
 *
 * Gets how much of the last change is kept.
 *
 * Returns: the value
 */
double
lp_sgd_get_momentum (LpSgd *self)
{
  g_return_val_if_fail (LP_IS_SGD (self), 0);

  return self->momentum;
}

/**
 * lp_sgd_set_momentum:
 * @self: an optimizer
 * @momentum: the value
 *
 * Sets how much of the last change is kept. A value outside its range is reported by the next step.
 */
void
lp_sgd_set_momentum (LpSgd  *self,
                     double  momentum)
{
  g_return_if_fail (LP_IS_SGD (self));

  if (self->momentum == momentum)
    return;

  self->momentum = momentum;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MOMENTUM]);
}

/**
 * lp_sgd_get_dampening:
 * @self: an optimizer
 *
 * Gets the share of the gradient that does not go into the momentum.
 *
 * Returns: the value
 */
double
lp_sgd_get_dampening (LpSgd *self)
{
  g_return_val_if_fail (LP_IS_SGD (self), 0);

  return self->dampening;
}

/**
 * lp_sgd_set_dampening:
 * @self: an optimizer
 * @dampening: the value
 *
 * Sets the share of the gradient that does not go into the momentum. A value outside its range is reported by the next step.
 */
void
lp_sgd_set_dampening (LpSgd  *self,
                      double  dampening)
{
  g_return_if_fail (LP_IS_SGD (self));

  if (self->dampening == dampening)
    return;

  self->dampening = dampening;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_DAMPENING]);
}

/**
 * lp_sgd_get_nesterov:
 * @self: an optimizer
 *
 * Gets whether the gradient is looked at ahead.
 *
 * Returns: the value
 */
gboolean
lp_sgd_get_nesterov (LpSgd *self)
{
  g_return_val_if_fail (LP_IS_SGD (self), FALSE);

  return self->nesterov;
}

/**
 * lp_sgd_set_nesterov:
 * @self: an optimizer
 * @nesterov: the value
 *
 * Sets whether the gradient is looked at ahead. A value outside its range is reported by the next step.
 */
void
lp_sgd_set_nesterov (LpSgd    *self,
                     gboolean  nesterov)
{
  g_return_if_fail (LP_IS_SGD (self));

  if (self->nesterov == nesterov)
    return;

  self->nesterov = nesterov;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_NESTEROV]);
}
