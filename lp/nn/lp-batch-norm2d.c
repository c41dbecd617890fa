#include <lp/nn/lp-batch-norm2d.h>

#include <lp/nn/lp-init.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpBatchNorm2d:
 *
 * A layer that normalises each channel of `[N, C, H, W]` over the batch and its pixels.
 *
 * In training it uses the statistics of the batch and keeps running ones; else it uses the running ones. Its parameters are
 * `weight` and `bias`, its buffers `running_mean` and `running_var`, all `[C]`.
 *
 * S. Ioffe, C. Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift",
 * ICML 2015.
 */
struct _LpBatchNorm2d
{
  LpModule parent_instance;

  gint64   n_features;
  double   eps;
  double   momentum;
  gboolean affine;
};

G_DEFINE_FINAL_TYPE (LpBatchNorm2d, lp_batch_norm2d, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_N_FEATURES,
  PROP_EPS,
  PROP_MOMENTUM,
  PROP_AFFINE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_batch_norm2d_constructed (GObject *object)
{
  LpBatchNorm2d *self = LP_BATCH_NORM2D (object);
  LpModule *module = LP_MODULE (object);
  LpTensor *weight, *bias;

  G_OBJECT_CLASS (lp_batch_norm2d_parent_class)->constructed (object);

  if (!_lp_module_check_at_least (module, "number of channels", self->n_features, 1))
    return;

  if (self->affine)
    {
      weight = _lp_module_add_parameter (module, "weight", &self->n_features, 1);
      bias = _lp_module_add_parameter (module, "bias", &self->n_features, 1);
      if (weight != NULL && bias != NULL)
        {
          lp_init_constant (weight, 1, NULL);
          lp_init_constant (bias, 0, NULL);
        }
    }
  _lp_module_add_buffer (module, "running_mean", &self->n_features, 1, 0);
  _lp_module_add_buffer (module, "running_var", &self->n_features, 1, 1);
}

static LpTensor *
lp_batch_norm2d_forward (LpModule  *module,
                         LpTensor  *input,
                         GError   **error)
{
  LpBatchNorm2d *self = LP_BATCH_NORM2D (module);

  return lp_tensor_batch_norm (input, _lp_module_peek_parameter (module, 0), _lp_module_peek_parameter (module, 1),
                               _lp_module_peek_buffer (module, 0), _lp_module_peek_buffer (module, 1),
                               lp_module_get_training (module), self->momentum, self->eps, error);
}

static void
lp_batch_norm2d_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  LpBatchNorm2d *self = LP_BATCH_NORM2D (object);

  switch (prop_id)
    {
    case PROP_N_FEATURES:
      g_value_set_int64 (value, self->n_features);
      break;
    case PROP_EPS:
      g_value_set_double (value, self->eps);
      break;
    case PROP_MOMENTUM:
      g_value_set_double (value, self->momentum);
      break;
    case PROP_AFFINE:
      g_value_set_boolean (value, self->affine);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_batch_norm2d_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  LpBatchNorm2d *self = LP_BATCH_NORM2D (object);

  switch (prop_id)
    {
    case PROP_N_FEATURES:
      self->n_features = g_value_get_int64 (value);
      break;
    case PROP_EPS:
      self->eps = g_value_get_double (value);
      break;
    case PROP_MOMENTUM:
      self->momentum = g_value_get_double (value);
      break;
    case PROP_AFFINE:
      self->affine = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_batch_norm2d_class_init (LpBatchNorm2dClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_batch_norm2d_get_property;
  object_class->set_property = lp_batch_norm2d_set_property;
  object_class->constructed = lp_batch_norm2d_constructed;
  LP_MODULE_CLASS (klass)->forward = lp_batch_norm2d_forward;

  /**
   * LpBatchNorm2d:n-features: (getter get_n_features)
   *
   * The number of channels.
   */
  properties[PROP_N_FEATURES] =
    g_param_spec_int64 ("n-features", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpBatchNorm2d:eps: (getter get_eps)
   *
   * What is added to the variance.
   */
  properties[PROP_EPS] =
    g_param_spec_double ("eps", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 1e-5, flags);

  /**
   * LpBatchNorm2d:momentum: (getter get_momentum)
   *
   * The share of the new statistics in the running ones.
   */
  properties[PROP_MOMENTUM] =
    g_param_spec_double ("momentum", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0.1, flags);

  /**
   * LpBatchNorm2d:affine:
   *
   * Whether the result is scaled and shifted by parameters.
   */
  properties[PROP_AFFINE] =
    g_param_spec_boolean ("affine", NULL, NULL, TRUE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_batch_norm2d_init (LpBatchNorm2d *self)
{
}

/**
 * lp_batch_norm2d_new:
 * @n_features: number of channels
 *
 * Creates a layer with parameters. A number below 1 is reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpBatchNorm2d): the layer
 */
LpModule *
lp_batch_norm2d_new (gint64 n_features)
{
  return g_object_new (LP_TYPE_BATCH_NORM2D, "n-features", n_features, NULL);
}

/**
 * lp_batch_norm2d_new_full:
 * @n_features: number of channels
 * @eps: what is added to the variance
 * @momentum: share of the new statistics in the running ones
 * @affine: whether the result is scaled and shifted by parameters
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpBatchNorm2d): the layer
 */
LpModule *
lp_batch_norm2d_new_full (gint64   n_features,
                          double   eps,
                          double   momentum,
                          gboolean affine)
{
  return g_object_new (LP_TYPE_BATCH_NORM2D,
                       "n-features", n_features,
                       "eps", eps,
                       "momentum", momentum,
                       "affine", affine,
                       NULL);
}

/**
 * lp_batch_norm2d_get_n_features:
 * @self: a layer
 *
 * Gets the number of channels.
 *
 * Returns: the value
 */
gint64
lp_batch_norm2d_get_n_features (LpBatchNorm2d *self)
{
  g_return_val_if_fail (LP_IS_BATCH_NORM2D (self), 0);

  return self->n_features;
}

/**
 * lp_batch_norm2d_get_eps:
 * @self: a layer
 *
 * Gets what is added to the variance.
 *
 * Returns: the value
 */
double
lp_batch_norm2d_get_eps (LpBatchNorm2d *self)
{
  g_return_val_if_fail (LP_IS_BATCH_NORM2D (self), 0);

  return self->eps;
}

/**
 * lp_batch_norm2d_get_momentum:
 * @self: a layer
 *
 * Gets the share of the new statistics in the running ones.
 *
 * Returns: the value
 */
double
lp_batch_norm2d_get_momentum (LpBatchNorm2d *self)
{
  g_return_val_if_fail (LP_IS_BATCH_NORM2D (self), 0);

  return self->momentum;
}
