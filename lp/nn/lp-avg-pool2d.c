#include <lp/nn/lp-avg-pool2d.h>

#include <lp/ops/lp-ops.h>

/**
 * LpAvgPool2d:
 *
 * A layer that gives the mean of each window of `[N, C, H, W]`. Padded places don't count.
 */
struct _LpAvgPool2d
{
  LpPool2d parent_instance;
};

G_DEFINE_FINAL_TYPE (LpAvgPool2d, lp_avg_pool2d, LP_TYPE_POOL2D)

static LpTensor *
lp_avg_pool2d_forward (LpModule  *module,
                       LpTensor  *input,
                       GError   **error)
{
  LpPool2d *self = LP_POOL2D (module);

  return lp_tensor_avg_pool2d (input, lp_pool2d_get_kernel_size (self), lp_pool2d_get_stride (self),
                               lp_pool2d_get_padding (self), error);
}

static void
lp_avg_pool2d_class_init (LpAvgPool2dClass *klass)
{
  LP_MODULE_CLASS (klass)->forward = lp_avg_pool2d_forward;
}

static void
lp_avg_pool2d_init (LpAvgPool2d *self)
{
}

/**
 * lp_avg_pool2d_new:
 * @kernel_size: height and width of the window
 *
 * Creates a layer whose windows don't overlap. A size below 1 is reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpAvgPool2d): the layer
 */
LpModule *
lp_avg_pool2d_new (gint kernel_size)
{
  return g_object_new (LP_TYPE_AVG_POOL2D, "kernel-size", kernel_size, NULL);
}

/**
 * lp_avg_pool2d_new_full:
 * @kernel_size: height and width of the window
 * @stride: step from one window to the next; 0 for the size of the window
 * @padding: rows and columns around the image
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpAvgPool2d): the layer
 */
LpModule *
lp_avg_pool2d_new_full (gint kernel_size,
                        gint stride,
                        gint padding)
{
  return g_object_new (LP_TYPE_AVG_POOL2D, "kernel-size", kernel_size, "stride", stride, "padding", padding, NULL);
}
