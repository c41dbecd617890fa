#include <lp/nn/lp-linear.h>

#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpLinear:
 *
 * A layer that multiplies by a matrix: `[..., in]` to `[..., out]`, y = x Wᵀ + b.
 *
 * Its parameters are `weight`, `[out, in]`, and `bias`, `[out]`. They are drawn uniformly from plus or minus 1 / sqrt (in),
 * with the default generator of the thread.
 */
typedef struct
{
  gint64   in_features;
  gint64   out_features;
  gboolean bias;
} LpLinearPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpLinear, lp_linear, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_IN_FEATURES,
  PROP_OUT_FEATURES,
  PROP_BIAS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* Both are drawn from U (-1 / sqrt (fan in), 1 / sqrt (fan in)): Kaiming-uniform with slope sqrt (5) for the weight. */
static void
lp_linear_constructed (GObject *object)
{
  LpLinearPrivate *priv = lp_linear_get_instance_private (LP_LINEAR (object));
  LpModule *module = LP_MODULE (object);
  gint64 dims[2] = { priv->out_features, priv->in_features };

  G_OBJECT_CLASS (lp_linear_parent_class)->constructed (object);

  if (!_lp_module_check_at_least (module, "number of input features", priv->in_features, 1) ||
      !_lp_module_check_at_least (module, "number of output features", priv->out_features, 1))
    return;

  _lp_module_fill (module, _lp_module_add_parameter (module, "weight", dims, 2), priv->in_features);
  if (priv->bias)
    _lp_module_fill (module, _lp_module_add_parameter (module, "bias", dims, 1), priv->in_features);
}

static LpTensor *
lp_linear_forward (LpModule  *module,
                   LpTensor  *input,
                   GError   **error)
{
  return lp_tensor_linear (input, _lp_module_peek_parameter (module, 0), _lp_module_peek_parameter (module, 1), error);
}

static void
lp_linear_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  LpLinearPrivate *priv = lp_linear_get_instance_private (LP_LINEAR (object));

  switch (prop_id)
    {
    case PROP_IN_FEATURES:
      g_value_set_int64 (value, priv->in_features);
      break;
    case PROP_OUT_FEATURES:
      g_value_set_int64 (value, priv->out_features);
      break;
    case PROP_BIAS:
      g_value_set_boolean (value, priv->bias);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_linear_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  LpLinearPrivate *priv = lp_linear_get_instance_private (LP_LINEAR (object));

  switch (prop_id)
    {
    case PROP_IN_FEATURES:
      priv->in_features = g_value_get_int64 (value);
      break;
    case PROP_OUT_FEATURES:
      priv->out_features = g_value_get_int64 (value);
      break;
    case PROP_BIAS:
      priv->bias = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_linear_class_init (LpLinearClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_linear_get_property;
  object_class->set_property = lp_linear_set_property;
  object_class->constructed = lp_linear_constructed;
  LP_MODULE_CLASS (klass)->forward = lp_linear_forward;

  /**
   * LpLinear:in-features: (getter get_in_features)
   *
   * The number of features that go in.
   */
  properties[PROP_IN_FEATURES] =
    g_param_spec_int64 ("in-features", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpLinear:out-features: (getter get_out_features)
   *
   * The number of features that come out.
   */
  properties[PROP_OUT_FEATURES] =
    g_param_spec_int64 ("out-features", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpLinear:bias:
   *
   * Whether a bias is added.
   */
  properties[PROP_BIAS] =
    g_param_spec_boolean ("bias", NULL, NULL, TRUE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_linear_init (LpLinear *self)
{
}

/**
 * lp_linear_new:
 * @in_features: features that go in
 * @out_features: features that come out
 *
 * Creates a layer with a bias. Sizes below 1 are reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpLinear): the layer
 */
LpModule *
lp_linear_new (gint64 in_features,
               gint64 out_features)
{
  return g_object_new (LP_TYPE_LINEAR, "in-features", in_features, "out-features", out_features, NULL);
}

/**
 * lp_linear_new_full:
 * @in_features: features that go in
 * @out_features: features that come out
 * @bias: whether a bias is added
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpLinear): the layer
 */
LpModule *
lp_linear_new_full (gint64   in_features,
                    gint64   out_features,
                    gboolean bias)
{
  return g_object_new (LP_TYPE_LINEAR, "in-features", in_features, "out-features", out_features, "bias", bias, NULL);
}

/**
 * lp_linear_get_in_features:
 * @self: a layer
 *
 * Gets the number of features that go in.
 *
 * Returns: the value
 */
gint64
lp_linear_get_in_features (LpLinear *self)
{
  LpLinearPrivate *priv = lp_linear_get_instance_private (self);

  g_return_val_if_fail (LP_IS_LINEAR (self), 0);

  return priv->in_features;
}

/**
 * lp_linear_get_out_features:
 * @self: a layer
 *
 * Gets the number of features that come out.
 *
 * Returns: the value
 */
gint64
lp_linear_get_out_features (LpLinear *self)
{
  LpLinearPrivate *priv = lp_linear_get_instance_private (self);

  g_return_val_if_fail (LP_IS_LINEAR (self), 0);

  return priv->out_features;
}

/**
 * lp_linear_get_weight:
 * @self: a layer
 *
 * Gets the weight, `[out, in]`.
 *
 * Returns: (transfer none) (nullable): the weight
 */
LpTensor *
lp_linear_get_weight (LpLinear *self)
{
  g_return_val_if_fail (LP_IS_LINEAR (self), NULL);

  return _lp_module_peek_parameter (LP_MODULE (self), 0);
}

/**
 * lp_linear_get_bias:
 * @self: a layer
 *
 * Gets the bias, `[out]`.
 *
 * Returns: (transfer none) (nullable): the bias
 */
LpTensor *
lp_linear_get_bias (LpLinear *self)
{
  g_return_val_if_fail (LP_IS_LINEAR (self), NULL);

  return _lp_module_peek_parameter (LP_MODULE (self), 1);
}
