#include <lp/nn/lp-conv2d.h>

#include <lp/core/lp-error.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpConv2d:
 *
 * A layer that convolves images: `[N, in, H, W]` to `[N, out, H', W']`, with
 * H' = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1 rounded down.
 *
 * Its parameters are `weight`, `[out, in / groups, kernel, kernel]`, and `bias`, `[out]`. They are drawn uniformly from plus
 * or minus 1 / sqrt (in / groups · kernel²), with the default generator of the thread.
 */
typedef struct
{
  gint64   in_channels;
  gint64   out_channels;
  gint     kernel_size;
  gint     stride;
  gint     padding;
  gint     dilation;
  gint     groups;
  gboolean bias;
} LpConv2dPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpConv2d, lp_conv2d, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_IN_CHANNELS,
  PROP_OUT_CHANNELS,
  PROP_KERNEL_SIZE,
  PROP_STRIDE,
  PROP_PADDING,
  PROP_DILATION,
  PROP_GROUPS,
  PROP_BIAS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* Both are drawn from U (-1 / sqrt (fan in), 1 / sqrt (fan in)): Kaiming-uniform with slope sqrt (5) for the weight. */
static gboolean
check_sizes (LpModule        *module,
             LpConv2dPrivate *priv)
{
  if (!_lp_module_check_at_least (module, "number of input channels", priv->in_channels, 1) ||
      !_lp_module_check_at_least (module, "number of output channels", priv->out_channels, 1) ||
      !_lp_module_check_at_least (module, "kernel size", priv->kernel_size, 1) ||
      !_lp_module_check_at_least (module, "stride", priv->stride, 1) ||
      !_lp_module_check_at_least (module, "padding", priv->padding, 0) ||
      !_lp_module_check_at_least (module, "dilation", priv->dilation, 1) ||
      !_lp_module_check_at_least (module, "number of groups", priv->groups, 1))
    return FALSE;

  if (priv->in_channels % priv->groups == 0 && priv->out_channels % priv->groups == 0)
    return TRUE;

  _lp_module_take_problem (module, g_error_new (LP_ERROR, LP_ERROR_ARGUMENT,
                                                "The %d groups of a %s don't divide its %" G_GINT64_FORMAT
                                                " and %" G_GINT64_FORMAT " channels", priv->groups,
                                                G_OBJECT_TYPE_NAME (module), priv->in_channels, priv->out_channels));
  return FALSE;
}

static void
lp_conv2d_constructed (GObject *object)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (LP_CONV2D (object));
  LpModule *module = LP_MODULE (object);
  gint64 dims[4] = { priv->out_channels, 0, priv->kernel_size, priv->kernel_size };
  gint64 fan_in;

  G_OBJECT_CLASS (lp_conv2d_parent_class)->constructed (object);

  if (!check_sizes (module, priv))
    return;

  dims[1] = priv->in_channels / priv->groups;
  fan_in = dims[1] * priv->kernel_size * priv->kernel_size;
  _lp_module_fill (module, _lp_module_add_parameter (module, "weight", dims, 4), fan_in);
  if (priv->bias)
    _lp_module_fill (module, _lp_module_add_parameter (module, "bias", dims, 1), fan_in);
}

static LpTensor *
lp_conv2d_forward (LpModule  *module,
                   LpTensor  *input,
                   GError   **error)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (LP_CONV2D (module));

  return lp_tensor_conv2d (input, _lp_module_peek_parameter (module, 0), _lp_module_peek_parameter (module, 1),
                           priv->stride, priv->padding, priv->dilation, priv->groups, error);
}

static void
lp_conv2d_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (LP_CONV2D (object));

  switch (prop_id)
    {
    case PROP_IN_CHANNELS:
      g_value_set_int64 (value, priv->in_channels);
      break;
    case PROP_OUT_CHANNELS:
      g_value_set_int64 (value, priv->out_channels);
      break;
    case PROP_KERNEL_SIZE:
      g_value_set_int (value, priv->kernel_size);
      break;
    case PROP_STRIDE:
      g_value_set_int (value, priv->stride);
      break;
    case PROP_PADDING:
      g_value_set_int (value, priv->padding);
      break;
    case PROP_DILATION:
      g_value_set_int (value, priv->dilation);
      break;
    case PROP_GROUPS:
      g_value_set_int (value, priv->groups);
      break;
    case PROP_BIAS:
      g_value_set_boolean (value, priv->bias);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_conv2d_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (LP_CONV2D (object));

  switch (prop_id)
    {
    case PROP_IN_CHANNELS:
      priv->in_channels = g_value_get_int64 (value);
      break;
    case PROP_OUT_CHANNELS:
      priv->out_channels = g_value_get_int64 (value);
      break;
    case PROP_KERNEL_SIZE:
      priv->kernel_size = g_value_get_int (value);
      break;
    case PROP_STRIDE:
      priv->stride = g_value_get_int (value);
      break;
    case PROP_PADDING:
      priv->padding = g_value_get_int (value);
      break;
    case PROP_DILATION:
      priv->dilation = g_value_get_int (value);
      break;
    case PROP_GROUPS:
      priv->groups = g_value_get_int (value);
      break;
    case PROP_BIAS:
      priv->bias = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_conv2d_class_init (LpConv2dClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_conv2d_get_property;
  object_class->set_property = lp_conv2d_set_property;
  object_class->constructed = lp_conv2d_constructed;
  LP_MODULE_CLASS (klass)->forward = lp_conv2d_forward;

  /**
   * LpConv2d:in-channels: (getter get_in_channels)
   *
   * The number of channels that go in.
   */
  properties[PROP_IN_CHANNELS] =
    g_param_spec_int64 ("in-channels", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpConv2d:out-channels: (getter get_out_channels)
   *
   * The number of channels that come out.
   */
  properties[PROP_OUT_CHANNELS] =
    g_param_spec_int64 ("out-channels", NULL, NULL, G_MININT64, G_MAXINT64, 1, flags);

  /**
   * LpConv2d:kernel-size: (getter get_kernel_size)
   *
   * The height and width of the kernel.
   */
  properties[PROP_KERNEL_SIZE] =
    g_param_spec_int ("kernel-size", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  /**
   * LpConv2d:stride: (getter get_stride)
   *
   * The step from one output to the next.
   */
  properties[PROP_STRIDE] =
    g_param_spec_int ("stride", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  /**
   * LpConv2d:padding: (getter get_padding)
   *
   * The rows and columns of zeros on each side.
   */
  properties[PROP_PADDING] =
    g_param_spec_int ("padding", NULL, NULL, G_MININT, G_MAXINT, 0, flags);

  /**
   * LpConv2d:dilation: (getter get_dilation)
   *
   * The distance between the points of the kernel.
   */
  properties[PROP_DILATION] =
    g_param_spec_int ("dilation", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  /**
   * LpConv2d:groups: (getter get_groups)
   *
   * The number of groups that channels are split into.
   */
  properties[PROP_GROUPS] =
    g_param_spec_int ("groups", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  /**
   * LpConv2d:bias:
   *
   * Whether a bias is added.
   */
  properties[PROP_BIAS] =
    g_param_spec_boolean ("bias", NULL, NULL, TRUE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_conv2d_init (LpConv2d *self)
{
}

/**
 * lp_conv2d_new:
 * @in_channels: channels that go in
 * @out_channels: channels that come out
 * @kernel_size: height and width of the kernel
 *
 * Creates a layer with a bias, a stride of 1 and no padding. Impossible sizes are reported by [method@Module.check] and by
 * forward.
 *
 * Returns: (transfer full) (type LpConv2d): the layer
 */
LpModule *
lp_conv2d_new (gint64 in_channels,
               gint64 out_channels,
               gint   kernel_size)
{
  return g_object_new (LP_TYPE_CONV2D,
                       "in-channels", in_channels,
                       "out-channels", out_channels,
                       "kernel-size", kernel_size,
                       NULL);
}

/**
 * lp_conv2d_new_full:
 * @in_channels: channels that go in
 * @out_channels: channels that come out
 * @kernel_size: height and width of the kernel
 * @stride: step from one output to the next
 * @padding: rows and columns of zeros on each side
 * @dilation: distance between the points of the kernel
 * @groups: groups that channels are split into
 * @bias: whether a bias is added
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpConv2d): the layer
 */
LpModule *
lp_conv2d_new_full (gint64   in_channels,
                    gint64   out_channels,
                    gint     kernel_size,
                    gint     stride,
                    gint     padding,
                    gint     dilation,
                    gint     groups,
                    gboolean bias)
{
  return g_object_new (LP_TYPE_CONV2D,
                       "in-channels", in_channels,
                       "out-channels", out_channels,
                       "kernel-size", kernel_size,
                       "stride", stride,
                       "padding", padding,
                       "dilation", dilation,
                       "groups", groups,
                       "bias", bias,
                       NULL);
}

/**
 * lp_conv2d_get_in_channels:
 * @self: a layer
 *
 * Gets the number of channels that go in.
 *
 * Returns: the value
 */
gint64
lp_conv2d_get_in_channels (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->in_channels;
}

/**
 * lp_conv2d_get_out_channels:
 * @self: a layer
 *
 * Gets the number of channels that come out.
 *
 * Returns: the value
 */
gint64
lp_conv2d_get_out_channels (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->out_channels;
}

/**
 * lp_conv2d_get_kernel_size:
 * @self: a layer
 *
 * Gets the height and width of the kernel.
 *
 * Returns: the value
 */
gint
lp_conv2d_get_kernel_size (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->kernel_size;
}

/**
 * lp_conv2d_get_stride:
 * @self: a layer
 *
 * Gets the step from one output to the next.
 *
 * Returns: the value
 */
gint
lp_conv2d_get_stride (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->stride;
}

/**
 * lp_conv2d_get_padding:
 * @self: a layer
 *
 * Gets the rows and columns of zeros on each side.
 *
 * Returns: the value
 */
gint
lp_conv2d_get_padding (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->padding;
}

/**
 * lp_conv2d_get_dilation:
 * @self: a layer
 *
 * Gets the distance between the points of the kernel.
 *
 * Returns: the value
 */
gint
lp_conv2d_get_dilation (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->dilation;
}

/**
 * lp_conv2d_get_groups:
 * @self: a layer
 *
 * Gets the number of groups that channels are split into.
 *
 * Returns: the value
 */
gint
lp_conv2d_get_groups (LpConv2d *self)
{
  LpConv2dPrivate *priv = lp_conv2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_CONV2D (self), 0);

  return priv->groups;
}

/**
 * lp_conv2d_get_weight:
 * @self: a layer
 *
 * Gets the weight, `[out, in / groups, kernel, kernel]`.
 *
 * Returns: (transfer none) (nullable): the weight
 */
LpTensor *
lp_conv2d_get_weight (LpConv2d *self)
{
  g_return_val_if_fail (LP_IS_CONV2D (self), NULL);

  return _lp_module_peek_parameter (LP_MODULE (self), 0);
}

/**
 * lp_conv2d_get_bias:
 * @self: a layer
 *
 * Gets the bias, `[out]`.
 *
 * Returns: (transfer none) (nullable): the bias
 */
LpTensor *
lp_conv2d_get_bias (LpConv2d *self)
{
  g_return_val_if_fail (LP_IS_CONV2D (self), NULL);

  return _lp_module_peek_parameter (LP_MODULE (self), 1);
}
