#include <lp/nn/lp-gelu.h>

#include <lp/ops/lp-ops.h>

/**
 * LpGELU:
 *
 * A layer that multiplies each element by the normal distribution function at it.
 *
 * D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", 2016.
 */
struct _LpGELU
{
  LpModule parent_instance;

  gboolean approximate;
};

G_DEFINE_FINAL_TYPE (LpGELU, lp_gelu, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_APPROXIMATE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static LpTensor *
lp_gelu_forward (LpModule  *module,
                 LpTensor  *input,
                 GError   **error)
{
  return lp_tensor_gelu (input, LP_GELU (module)->approximate, error);
}

static void
lp_gelu_get_property (GObject    *object,
                      guint       prop_id,
                      GValue     *value,
                      GParamSpec *pspec)
{
  LpGELU *self = LP_GELU (object);

  switch (prop_id)
    {
    case PROP_APPROXIMATE:
      g_value_set_boolean (value, self->approximate);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_gelu_set_property (GObject      *object,
                      guint         prop_id,
                      const GValue *value,
                      GParamSpec   *pspec)
{
  LpGELU *self = LP_GELU (object);

  switch (prop_id)
    {
    case PROP_APPROXIMATE:
      self->approximate = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_gelu_class_init (LpGELUClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_gelu_get_property;
  object_class->set_property = lp_gelu_set_property;
  LP_MODULE_CLASS (klass)->forward = lp_gelu_forward;

  /**
   * LpGELU:approximate: (getter get_approximate)
   *
   * Whether the tanh form is used.
   */
  properties[PROP_APPROXIMATE] =
    g_param_spec_boolean ("approximate", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_gelu_init (LpGELU *self)
{
}

/**
 * lp_gelu_new:
 *
 * Creates a layer of the exact form.
 *
 * Returns: (transfer full) (type LpGELU): the layer
 */
LpModule *
lp_gelu_new (void)
{
  return g_object_new (LP_TYPE_GELU, NULL);
}

/**
 * lp_gelu_new_full:
 * @approximate: whether the tanh form is used
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpGELU): the layer
 */
LpModule *
lp_gelu_new_full (gboolean approximate)
{
  return g_object_new (LP_TYPE_GELU, "approximate", approximate, NULL);
}

/**
 * lp_gelu_get_approximate:
 * @self: a layer
 *
 * Gets whether the tanh form is used.
 *
 * Returns: the value
 */
gboolean
lp_gelu_get_approximate (LpGELU *self)
{
  g_return_val_if_fail (LP_IS_GELU (self), FALSE);

  return self->approximate;
}
