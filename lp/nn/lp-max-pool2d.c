#include <lp/nn/lp-max-pool2d.h>

#include <lp/ops/lp-ops.h>

/**
 * LpMaxPool2d:
 *
 * A layer that gives the largest value of each window of `[N, C, H, W]`. Padded places don't count.
 */
struct _LpMaxPool2d
{
  LpPool2d parent_instance;
};

G_DEFINE_FINAL_TYPE (LpMaxPool2d, lp_max_pool2d, LP_TYPE_POOL2D)

static LpTensor *
lp_max_pool2d_forward (LpModule  *module,
                       LpTensor  *input,
                       GError   **error)
{
  LpPool2d *self = LP_POOL2D (module);

  return lp_tensor_max_pool2d (input, lp_pool2d_get_kernel_size (self), lp_pool2d_get_stride (self),
                               lp_pool2d_get_padding (self), error);
}

static void
lp_max_pool2d_class_init (LpMaxPool2dClass *klass)
{
  LP_MODULE_CLASS (klass)->forward = lp_max_pool2d_forward;
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
