#include <lp/optim/lp-adamw.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/optim/lp-optimizer-private.h>

/**
 * LpAdamW:
 *
 * Adam with decay of the weights that is decoupled from the gradient.
 *
 * I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", ICLR 2019.
 *
 * It keeps two moments per parameter, of the dtype that [class@ParamGroup] says.
 */
struct _LpAdamW
{
  LpOptimizer parent_instance;

  double   beta1;
  double   beta2;
  double   eps;
};

G_DEFINE_FINAL_TYPE (LpAdamW, lp_adamw, LP_TYPE_OPTIMIZER)

enum
{
  PROP_0,
  PROP_BETA1,
  PROP_BETA2,
  PROP_EPS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gboolean
check (LpAdamW  *self,
       GError  **error)
{
  if (self->beta1 >= 0 && self->beta1 < 1 && self->beta2 >= 0 && self->beta2 < 1 && isfinite (self->eps) && self->eps >= 0)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
               "An LpAdamW needs betas in [0, 1) and an eps of at least 0, not %g, %g and %g", self->beta1, self->beta2,
               self->eps);
  return FALSE;
}

static gboolean
lp_adamw_step_group (LpOptimizer   *optimizer,
                     LpParamGroup  *group,
                     GError       **error)
{
  LpAdamW *self = LP_ADAMW (optimizer);

  if (!check (self, error))
    return FALSE;

  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);
      LpAdamWArgs args = { { 0 } };

      if (!slot->present)
        continue;
      if (!_lp_optimizer_fill_args (optimizer, group, i, LP_N_MOMENTS, &args.common, error))
        return FALSE;

      args.beta1 = self->beta1;
      args.beta2 = self->beta2;
      args.eps = self->eps;
      args.step = slot->step + 1;
      if (!_lp_tensor_get_kernels (slot->parameter)->adamw (&args, error) ||
          !_lp_param_group_finish_slot (group, i, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
lp_adamw_scales_gradients (LpOptimizer *optimizer)
{
  return TRUE;
}

static void
lp_adamw_get_property (GObject    *object,
                       guint       prop_id,
                       GValue     *value,
                       GParamSpec *pspec)
{
  LpAdamW *self = LP_ADAMW (object);

  switch (prop_id)
    {
    case PROP_BETA1:
      g_value_set_double (value, self->beta1);
      break;
    case PROP_BETA2:
      g_value_set_double (value, self->beta2);
      break;
    case PROP_EPS:
      g_value_set_double (value, self->eps);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_adamw_set_property (GObject      *object,
                       guint         prop_id,
                       const GValue *value,
                       GParamSpec   *pspec)
{
  LpAdamW *self = LP_ADAMW (object);

  switch (prop_id)
    {
    case PROP_BETA1:
      lp_adamw_set_beta1 (self, g_value_get_double (value));
      break;
    case PROP_BETA2:
      lp_adamw_set_beta2 (self, g_value_get_double (value));
      break;
    case PROP_EPS:
      lp_adamw_set_eps (self, g_value_get_double (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_adamw_class_init (LpAdamWClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpOptimizerClass *optimizer_class = LP_OPTIMIZER_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = lp_adamw_get_property;
  object_class->set_property = lp_adamw_set_property;
  optimizer_class->step_group = lp_adamw_step_group;
  optimizer_class->scales_gradients = lp_adamw_scales_gradients;

  /**
   * LpAdamW:beta1: (getter get_beta1) (setter set_beta1)
   *
   * The decay of the mean of the gradients.
   */
  properties[PROP_BETA1] = g_param_spec_double ("beta1", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.9, flags);

  /**
   * LpAdamW:beta2: (getter get_beta2) (setter set_beta2)
   *
   * The decay of the mean of their squares.
   */
  properties[PROP_BETA2] = g_param_spec_double ("beta2", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.999, flags);

  /**
   * LpAdamW:eps: (getter get_eps) (setter set_eps)
   *
   * What is added to the denominator.
   */
  properties[PROP_EPS] = g_param_spec_double ("eps", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 1e-8, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_adamw_init (LpAdamW *self)
{
  self->beta1 = 0.9;
  self->beta2 = 0.999;
  self->eps = 1e-8;
}

/**
 * lp_adamw_new:
 * @parameters: (element-type LpTensor): parameters
 * @lr: the learning rate
 *
 * Creates an optimizer with betas of 0.9 and 0.999, an eps of 1e-8 and a weight decay of 0.01. What is wrong with the
 * parameters is reported by its first use.
 *
 * Returns: (transfer full) (type LpAdamW): the optimizer
 */
LpOptimizer *
lp_adamw_new (GPtrArray *parameters,
              double     lr)
{
  return lp_adamw_new_full (parameters, lr, 0.9, 0.999, 1e-8, 0.01);
}

/**
 * lp_adamw_new_full:
 * @parameters: (element-type LpTensor): parameters
 * @lr: the learning rate
 * @beta1: the decay of the mean of the gradients
 * @beta2: the decay of the mean of their squares
 * @eps: what is added to the denominator
 * @weight_decay: the weight decay
 *
 * Creates an optimizer. What is wrong with the arguments is reported by its first use.
 *
 * Returns: (transfer full) (type LpAdamW): the optimizer
 */
LpOptimizer *
lp_adamw_new_full (GPtrArray *parameters,
                   double     lr,
                   double     beta1,
                   double     beta2,
                   double     eps,
                   double     weight_decay)
{
  LpParamGroup *group;
  LpAdamW *self;

  g_return_val_if_fail (parameters != NULL, NULL);

  self = g_object_new (LP_TYPE_ADAMW, NULL);
  self->beta1 = beta1;
  self->beta2 = beta2;
  self->eps = eps;
  group = lp_param_group_new (parameters, lr);
  lp_param_group_set_weight_decay (group, weight_decay);
  _lp_optimizer_take_group (LP_OPTIMIZER (self), group);

  return LP_OPTIMIZER (self);
}

/**
 * lp_adamw_get_beta1:
 * @self: an optimizer
 *
 * Gets the decay of the mean of the gradients.
 *
 * Returns: the value
 */
double
lp_adamw_get_beta1 (LpAdamW *self)
{
  g_return_val_if_fail (LP_IS_ADAMW (self), 0);

  return self->beta1;
}

/**
 * lp_adamw_set_beta1:
 * @self: an optimizer
 * @beta1: the value
 *
 * Sets the decay of the mean of the gradients. A value outside its range is reported by the next step.
 */
void
lp_adamw_set_beta1 (LpAdamW *self,
                    double   beta1)
{
  g_return_if_fail (LP_IS_ADAMW (self));

  if (self->beta1 == beta1)
    return;

  self->beta1 = beta1;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BETA1]);
}

/**
 * lp_adamw_get_beta2:
 * @self: an optimizer
 *
 * Gets the decay of the mean of their squares.
 *
 * Returns: the value
 */
double
lp_adamw_get_beta2 (LpAdamW *self)
{
  g_return_val_if_fail (LP_IS_ADAMW (self), 0);

  return self->beta2;
}

/**
 * lp_adamw_set_beta2:
 * @self: an optimizer
 * @beta2: the value
 *
 * Sets the decay of the mean of their squares. A value outside its range is reported by the next step.
 */
void
lp_adamw_set_beta2 (LpAdamW *self,
                    double   beta2)
{
  g_return_if_fail (LP_IS_ADAMW (self));

  if (self->beta2 == beta2)
    return;

  self->beta2 = beta2;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_BETA2]);
}

/**
 * lp_adamw_get_eps:
 * @self: an optimizer
 *
 * Gets what is added to the denominator.
 *
 * Returns: the value
 */
double
lp_adamw_get_eps (LpAdamW *self)
{
  g_return_val_if_fail (LP_IS_ADAMW (self), 0);

  return self->eps;
}

/**
 * lp_adamw_set_eps:
 * @self: an optimizer
 * @eps: the value
 *
 * Sets what is added to the denominator. A value outside its range is reported by the next step.
 */
void
lp_adamw_set_eps (LpAdamW *self,
                  double   eps)
{
  g_return_if_fail (LP_IS_ADAMW (self));

  if (self->eps == eps)
    return;

  self->eps = eps;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_EPS]);
}
