#include <lp/nn/lp-flatten.h>

#include <lp/ops/lp-ops.h>

/**
 * LpFlatten:
 *
 * A layer that makes one axis of several: `[N, C, H, W]` to `[N, C · H · W]`.
 */
struct _LpFlatten
{
  LpModule parent_instance;

  gint start_axis;
};

G_DEFINE_FINAL_TYPE (LpFlatten, lp_flatten, LP_TYPE_MODULE)

enum
{
  PROP_0,
  PROP_START_AXIS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static LpTensor *
lp_flatten_forward (LpModule  *module,
                    LpTensor  *input,
                    GError   **error)
{
  return lp_tensor_flatten (input, LP_FLATTEN (module)->start_axis, error);
}

static void
lp_flatten_get_property (GObject    *object,
                         guint       prop_id,
                         GValue     *value,
                         GParamSpec *pspec)
{
  LpFlatten *self = LP_FLATTEN (object);

  switch (prop_id)
    {
    case PROP_START_AXIS:
      g_value_set_int (value, self->start_axis);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_flatten_set_property (GObject      *object,
                         guint         prop_id,
                         const GValue *value,
                         GParamSpec   *pspec)
{
  LpFlatten *self = LP_FLATTEN (object);

  switch (prop_id)
    {
    case PROP_START_AXIS:
      self->start_axis = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_flatten_class_init (LpFlattenClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_flatten_get_property;
  object_class->set_property = lp_flatten_set_property;
  LP_MODULE_CLASS (klass)->forward = lp_flatten_forward;

  /**
   * LpFlatten:start-axis: (getter get_start_axis)
   *
   * The first axis that is flattened; negative ones count from the end.
   */
  properties[PROP_START_AXIS] =
    g_param_spec_int ("start-axis", NULL, NULL, G_MININT, G_MAXINT, 1, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_flatten_init (LpFlatten *self)
{
}

/**
 * lp_flatten_new:
 *
 * Creates a layer that keeps the first axis.
 *
 * Returns: (transfer full) (type LpFlatten): the layer
 */
LpModule *
lp_flatten_new (void)
{
  return g_object_new (LP_TYPE_FLATTEN, NULL);
}

/**
 * lp_flatten_new_full:
 * @start_axis: first axis that is flattened; negative ones count from the end
 *
 * Creates a layer.
 *
 * Returns: (transfer full) (type LpFlatten): the layer
 */
LpModule *
lp_flatten_new_full (gint start_axis)
{
  return g_object_new (LP_TYPE_FLATTEN, "start-axis", start_axis, NULL);
}

/**
 * lp_flatten_get_start_axis:
 * @self: a layer
 *
 * Gets the first axis that is flattened; negative ones count from the end.
 *
 * Returns: the value
 */
gint
lp_flatten_get_start_axis (LpFlatten *self)
{
  g_return_val_if_fail (LP_IS_FLATTEN (self), 0);

  return self->start_axis;
}
