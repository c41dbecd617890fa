#include <lp/nn/lp-dropout.h>

#include <lp/core/lp-error.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpDropout:
 *
 * A layer that, in training, sets each element to zero with a probability and scales the others up.
 *
 * N. Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014.
 */
struct _LpDropout
{
  LpModule parent_instance;

  double p;
};

G_DEFINE_FINAL_TYPE (LpDropout, lp_dropout, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_P,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_dropout_constructed (GObject *object)
{
  LpDropout *self = LP_DROPOUT (object);

  G_OBJECT_CLASS (lp_dropout_parent_class)->constructed (object);

  if (!(self->p >= 0 && self->p <= 1))
    _lp_module_take_problem (LP_MODULE (object), g_error_new (LP_ERROR, LP_ERROR_ARGUMENT,
                                                              "The probability of a %s is in [0, 1], not %g",
                                                              G_OBJECT_TYPE_NAME (object), self->p));
}

static LpTensor *
lp_dropout_forward (LpModule  *module,
                    LpTensor  *input,
                    GError   **error)
{
  return lp_tensor_dropout (input, LP_DROPOUT (module)->p, lp_module_get_training (module), error);
}

static void
lp_dropout_get_property (GObject    *object,
                         guint       prop_id,
                         GValue     *value,
                         GParamSpec *pspec)
{
  LpDropout *self = LP_DROPOUT (object);

  switch (prop_id)
    {
    case PROP_P:
      g_value_set_double (value, self->p);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dropout_set_property (GObject      *object,
                         guint         prop_id,
                         const GValue *value,
                         GParamSpec   *pspec)
{
  LpDropout *self = LP_DROPOUT (object);

  switch (prop_id)
    {
    case PROP_P:
      self->p = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dropout_class_init (LpDropoutClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_dropout_get_property;
  object_class->set_property = lp_dropout_set_property;
  object_class->constructed = lp_dropout_constructed;
  LP_MODULE_CLASS (klass)->forward = lp_dropout_forward;

  /**
   * LpDropout:p: (getter get_p)
   *
   * The probability, in [0, 1].
   */
  properties[PROP_P] =
    g_param_spec_double ("p", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.5, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_dropout_init (LpDropout *self)
{
}

/**
 * lp_dropout_new:
 * @p: probability that an element becomes zero
 *
 * Creates a layer. A value outside [0, 1] is reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpDropout): the layer
 */
LpModule *
lp_dropout_new (double p)
{
  return g_object_new (LP_TYPE_DROPOUT, "p", p, NULL);
}

/**
 * lp_dropout_get_p:
 * @self: a layer
 *
 * Gets the probability, in [0, 1].
 *
 * Returns: the value
 */
double
lp_dropout_get_p (LpDropout *self)
{
  g_return_val_if_fail (LP_IS_DROPOUT (self), 0);

  return self->p;
}
