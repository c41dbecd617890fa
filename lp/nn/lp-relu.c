#include <lp/nn/lp-relu.h>

#include <lp/ops/lp-ops.h>

/**
 * LpReLU:
 *
 * A layer that replaces negative elements by zero.
 */
struct _LpReLU
{
  LpModule parent_instance;
};

G_DEFINE_FINAL_TYPE (LpReLU, lp_relu, LP_TYPE_MODULE)

static LpTensor *
lp_relu_forward (LpModule  *module,
                 LpTensor  *input,
                 GError   **error)
{
  return lp_tensor_relu (input, error);
}

static void
lp_relu_class_init (LpReLUClass *klass)
{
  LP_MODULE_CLASS (klass)->forward = lp_relu_forward;
}

static void
lp_relu_init (LpReLU *self)
{
}

/**
 * lp_relu_new:
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpReLU): the layer
 */
LpModule *
lp_relu_new (void)
{
  return g_object_new (LP_TYPE_RELU, NULL);
}
