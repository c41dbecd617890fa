#include <lp/nn/lp-max-pool2d.h>

#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpMaxPool2d:
 *
 * A layer that gives the largest value of each window of `[N, C, H, W]`. Padded places don't count.
 */
struct _LpMaxPool2d
{
  LpModule parent_instance;

  gint kernel_size;
  gint stride;
  gint padding;
};

G_DEFINE_FINAL_TYPE (LpMaxPool2d, lp_max_pool2d, LP_TYPE_MODULE)

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
lp_max_pool2d_constructed (GObject *object)
{
  LpMaxPool2d *self = LP_MAX_POOL2D (object);
  LpModule *module = LP_MODULE (object);

  G_OBJECT_CLASS (lp_max_pool2d_parent_class)->constructed (object);

  if (!_lp_module_check_at_least (module, "kernel size", self->kernel_size, 1) ||
      !_lp_module_check_at_least (module, "stride", self->stride, 0) ||
      !_lp_module_check_at_least (module, "padding", self->padding, 0))
    return;
  if (self->stride == 0)
    self->stride = self->kernel_size;
}

static LpTensor *
lp_max_pool2d_forward (LpModule  *module,
                      LpTensor  *input,
                      GError   **error)
{
  LpMaxPool2d *self = LP_MAX_POOL2D (module);

  return lp_tensor_max_pool2d (input, self->kernel_size, self->stride, self->padding, error);
}

static void
lp_max_pool2d_get_property (GObject    *object,
                            guint       prop_id,
                            GValue     *value,
                            GParamSpec *pspec)
{
  LpMaxPool2d *self = LP_MAX_POOL2D (object);

  switch (prop_id)
    {
    case PROP_KERNEL_SIZE:
      g_value_set_int (value, self->kernel_size);
      break;
    case PROP_STRIDE:
      g_value_set_int (value, self->stride);
      break;
    case PROP_PADDING:
      g_value_set_int (value, self->padding);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_max_pool2d_set_property (GObject      *object,
                            guint         prop_id,
                            const GValue *value,
                            GParamSpec   *pspec)
{
  LpMaxPool2d *self = LP_MAX_POOL2D (object);

  switch (prop_id)
    {
    case PROP_KERNEL_SIZE:
      self->kernel_size = g_value_get_int (value);
      break;
    case PROP_STRIDE:
      self->stride = g_value_get_int (value);
      break;
    case PROP_PADDING:
      self->padding = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_max_pool2d_class_init (LpMaxPool2dClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_max_pool2d_get_property;
  object_class->set_property = lp_max_pool2d_set_property;
  object_class->constructed = lp_max_pool2d_constructed;
  LP_MODULE_CLASS (klass)->forward = lp_max_pool2d_forward;

  /**
   * LpMaxPool2d:kernel-size: (getter get_kernel_size)
   *
   * The height and width of the window.
   */
  properties[PROP_KERNEL_SIZE] =
    g_param_spec_int ("kernel-size", NULL, NULL, G_MININT, G_MAXINT, 2, flags);

  /**
   * LpMaxPool2d:stride: (getter get_stride)
   *
   * The step from one window to the next; 0 for the size of the window.
   */
  properties[PROP_STRIDE] =
    g_param_spec_int ("stride", NULL, NULL, G_MININT, G_MAXINT, 0, flags);

  /**
   * LpMaxPool2d:padding: (getter get_padding)
   *
   * The rows and columns around the image.
   */
  properties[PROP_PADDING] =
    g_param_spec_int ("padding", NULL, NULL, G_MININT, G_MAXINT, 0, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_max_pool2d_init (LpMaxPool2d *self)
{
}

/**
 * lp_max_pool2d_new:
 * @kernel_size: height and width of the window
 *
 * Creates a layer whose windows don't overlap. A size below 1 is reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpMaxPool2d): the layer
 */
LpModule *
lp_max_pool2d_new (gint kernel_size)
{
  return g_object_new (LP_TYPE_MAX_POOL2D, "kernel-size", kernel_size, NULL);
}

/**
 * lp_max_pool2d_new_full:
 * @kernel_size: height and width of the window
 * @stride: step from one window to the next; 0 for the size of the window
 * @padding: rows and columns around the image
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpMaxPool2d): the layer
 */
LpModule *
lp_max_pool2d_new_full (gint kernel_size,
                        gint stride,
                        gint padding)
{
  return g_object_new (LP_TYPE_MAX_POOL2D, "kernel-size", kernel_size, "stride", stride, "padding", padding, NULL);
}

/**
 * lp_max_pool2d_get_kernel_size:
 * @self: a layer
 *
 * Gets the height and width of the window.
 *
 * Returns: the value
 */
gint
lp_max_pool2d_get_kernel_size (LpMaxPool2d *self)
{
  g_return_val_if_fail (LP_IS_MAX_POOL2D (self), 0);

  return self->kernel_size;
}

/**
 * lp_max_pool2d_get_stride:
 * @self: a layer
 *
 * Gets the step from one window to the next; 0 for the size of the window.
 *
 * Returns: the value
 */
gint
lp_max_pool2d_get_stride (LpMaxPool2d *self)
{
  g_return_val_if_fail (LP_IS_MAX_POOL2D (self), 0);

  return self->stride;
}

/**
 * lp_max_pool2d_get_padding:
 * @self: a layer
 *
 * Gets the rows and columns around the image.
 *
 * Returns: the value
 */
gint
lp_max_pool2d_get_padding (LpMaxPool2d *self)
{
  g_return_val_if_fail (LP_IS_MAX_POOL2D (self), 0);

  return self->padding;
}
