#include <lp/nn/lp-pool2d.h>

#include <lp/nn/lp-module-private.h>

/**
 * LpPool2d:
 *
 * What layers have in common that make one value of each window of `[N, C, H, W]`. Padded places don't count.
 */
typedef struct
{
  gint kernel_size;
  gint stride;
  gint padding;
} LpPool2dPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpPool2d, lp_pool2d, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_KERNEL_SIZE,
  PROP_STRIDE,
  PROP_PADDING,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_pool2d_constructed (GObject *object)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (LP_POOL2D (object));
  LpModule *module = LP_MODULE (object);

  G_OBJECT_CLASS (lp_pool2d_parent_class)->constructed (object);

  if (!_lp_module_check_at_least (module, "kernel size", priv->kernel_size, 1) ||
      !_lp_module_check_at_least (module, "stride", priv->stride, 0) ||
      !_lp_module_check_at_least (module, "padding", priv->padding, 0))
    return;
  if (priv->stride == 0)
    priv->stride = priv->kernel_size;
}

static void
lp_pool2d_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (LP_POOL2D (object));

  switch (prop_id)
    {
    case PROP_KERNEL_SIZE:
      g_value_set_int (value, priv->kernel_size);
      break;
    case PROP_STRIDE:
      g_value_set_int (value, priv->stride);
      break;
    case PROP_PADDING:
      g_value_set_int (value, priv->padding);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_pool2d_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (LP_POOL2D (object));

  switch (prop_id)
    {
    case PROP_KERNEL_SIZE:
      priv->kernel_size = g_value_get_int (value);
      break;
    case PROP_STRIDE:
      priv->stride = g_value_get_int (value);
      break;
    case PROP_PADDING:
      priv->padding = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_pool2d_class_init (LpPool2dClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_pool2d_get_property;
  object_class->set_property = lp_pool2d_set_property;
  object_class->constructed = lp_pool2d_constructed;

  /**
   * LpPool2d:kernel-size: (getter get_kernel_size)
   *
   * The height and width of the window.
   */
  properties[PROP_KERNEL_SIZE] =
    g_param_spec_int ("kernel-size", NULL, NULL, G_MININT, G_MAXINT, 2, flags);

  /**
   * LpPool2d:stride: (getter get_stride)
   *
   * The step from one window to the next; 0 for the size of the window.
   */
  properties[PROP_STRIDE] =
    g_param_spec_int ("stride", NULL, NULL, G_MININT, G_MAXINT, 0, flags);

  /**
   * LpPool2d:padding: (getter get_padding)
   *
   * The rows and columns around the image.
   */
  properties[PROP_PADDING] =
    g_param_spec_int ("padding", NULL, NULL, G_MININT, G_MAXINT, 0, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_pool2d_init (LpPool2d *self)
{
}

/**
 * lp_pool2d_get_kernel_size:
 * @self: a layer
 *
 * Gets the height and width of the window.
 *
 * Returns: the value
 */
gint
lp_pool2d_get_kernel_size (LpPool2d *self)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_POOL2D (self), 0);

  return priv->kernel_size;
}

/**
 * lp_pool2d_get_stride:
 * @self: a layer
 *
 * Gets the step from one window to the next; 0 for the size of the window.
 *
 * Returns: the value
 */
gint
lp_pool2d_get_stride (LpPool2d *self)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_POOL2D (self), 0);

  return priv->stride;
}

/**
 * lp_pool2d_get_padding:
 * @self: a layer
 *
 * Gets the rows and columns around the image.
 *
 * Returns: the value
 */
gint
lp_pool2d_get_padding (LpPool2d *self)
{
  LpPool2dPrivate *priv = lp_pool2d_get_instance_private (self);

  g_return_val_if_fail (LP_IS_POOL2D (self), 0);

  return priv->padding;
}
