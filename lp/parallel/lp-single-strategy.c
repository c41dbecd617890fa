#include <lp/parallel/lp-single-strategy.h>

/**
 * LpSingleStrategy:
 *
 * One process on one device.
 */
struct _LpSingleStrategy
{
  LpStrategy  parent_instance;

  LpDevice   *device;
};

G_DEFINE_FINAL_TYPE (LpSingleStrategy, lp_single_strategy, LP_TYPE_STRATEGY)

enum
{
  PROP_0,
  PROP_DEVICE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static LpDevice *
lp_single_strategy_dup_device (LpStrategy  *strategy,
                               GError     **error)
{
  LpSingleStrategy *self = LP_SINGLE_STRATEGY (strategy);

  return g_object_ref (self->device != NULL ? self->device : lp_device_get_default ());
}

static void
lp_single_strategy_get_property (GObject    *object,
                                 guint       prop_id,
                                 GValue     *value,
                                 GParamSpec *pspec)
{
  LpSingleStrategy *self = LP_SINGLE_STRATEGY (object);

  switch (prop_id)
    {
    case PROP_DEVICE:
      g_value_set_object (value, self->device);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_single_strategy_set_property (GObject      *object,
                                 guint         prop_id,
                                 const GValue *value,
                                 GParamSpec   *pspec)
{
  LpSingleStrategy *self = LP_SINGLE_STRATEGY (object);

  switch (prop_id)
    {
    case PROP_DEVICE:
      self->device = g_value_dup_object (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_single_strategy_finalize (GObject *object)
{
  LpSingleStrategy *self = LP_SINGLE_STRATEGY (object);

  g_clear_object (&self->device);

  G_OBJECT_CLASS (lp_single_strategy_parent_class)->finalize (object);
}

static void
lp_single_strategy_class_init (LpSingleStrategyClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_single_strategy_get_property;
  object_class->set_property = lp_single_strategy_set_property;
  object_class->finalize = lp_single_strategy_finalize;
  LP_STRATEGY_CLASS (klass)->dup_device = lp_single_strategy_dup_device;

  /**
   * LpSingleStrategy:device:
   *
   * The device; %NULL for the default one.
   */
  properties[PROP_DEVICE] = g_param_spec_object ("device", NULL, NULL, LP_TYPE_DEVICE,
                                                 G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_single_strategy_init (LpSingleStrategy *self)
{
}

/**
 * lp_single_strategy_new:
 * @device: (nullable): a device; %NULL for the default one
 *
 * Creates the strategy of one process.
 *
 * Returns: (transfer full) (type LpSingleStrategy): the strategy
 */
LpStrategy *
lp_single_strategy_new (LpDevice *device)
{
  g_return_val_if_fail (device == NULL || LP_IS_DEVICE (device), NULL);

  return g_object_new (LP_TYPE_SINGLE_STRATEGY, "device", device, NULL);
}
