#include <lp/precision/lp-precision-traits.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-dtype-registry.h>

/**
 * LpPrecisionTraits:
 *
 * The names of the dtypes that a precision really uses.
 */
struct _LpPrecisionTraits
{
  GObject     parent_instance;

  const char *storage;
  const char *compute;
  const char *gradient;
  const char *master;
  const char *reduce;
};

G_DEFINE_FINAL_TYPE (LpPrecisionTraits, lp_precision_traits, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_STORAGE,
  PROP_COMPUTE,
  PROP_GRADIENT,
  PROP_MASTER,
  PROP_REDUCE,
  PROP_MOMENTS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_precision_traits_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  LpPrecisionTraits *self = LP_PRECISION_TRAITS (object);

  switch (prop_id)
    {
    case PROP_STORAGE:
      g_value_set_interned_string (value, self->storage);
      break;
    case PROP_COMPUTE:
      g_value_set_interned_string (value, self->compute);
      break;
    case PROP_GRADIENT:
      g_value_set_interned_string (value, self->gradient);
      break;
    case PROP_MASTER:
      g_value_set_interned_string (value, self->master);
      break;
    case PROP_REDUCE:
      g_value_set_interned_string (value, self->reduce);
      break;
    case PROP_MOMENTS:
      g_value_set_interned_string (value, lp_precision_traits_get_moments (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_precision_traits_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  LpPrecisionTraits *self = LP_PRECISION_TRAITS (object);
  const char *name = g_intern_string (g_value_get_string (value));

  switch (prop_id)
    {
    case PROP_STORAGE:
      self->storage = name;
      break;
    case PROP_COMPUTE:
      self->compute = name;
      break;
    case PROP_GRADIENT:
      self->gradient = name;
      break;
    case PROP_MASTER:
      self->master = name;
      break;
    case PROP_REDUCE:
      self->reduce = name;
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_precision_traits_class_init (LpPrecisionTraitsClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_precision_traits_get_property;
  object_class->set_property = lp_precision_traits_set_property;

  /**
   * LpPrecisionTraits:storage: (getter get_storage)
   *
   * The dtype that weights are stored in.
   */
  properties[PROP_STORAGE] = g_param_spec_string ("storage", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionTraits:compute: (getter get_compute)
   *
   * The dtype that products are computed in.
   */
  properties[PROP_COMPUTE] = g_param_spec_string ("compute", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionTraits:gradient: (getter get_gradient)
   *
   * The dtype of gradients.
   */
  properties[PROP_GRADIENT] = g_param_spec_string ("gradient", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionTraits:master: (getter get_master)
   *
   * The dtype of the weights that optimizers update.
   */
  properties[PROP_MASTER] = g_param_spec_string ("master", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionTraits:reduce: (getter get_reduce)
   *
   * The dtype in which gradients are summed up over processes.
   */
  properties[PROP_REDUCE] = g_param_spec_string ("reduce", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionTraits:moments: (getter get_moments)
   *
   * The dtype of the moments that optimizers keep of the gradients. It follows from that of the masters.
   */
  properties[PROP_MOMENTS] = g_param_spec_string ("moments", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_precision_traits_init (LpPrecisionTraits *self)
{
}

/**
 * lp_precision_traits_new:
 * @storage: (nullable): the dtype that weights are stored in
 * @compute: (nullable): the dtype that products are computed in
 * @gradient: (nullable): the dtype of gradients
 * @master: (nullable): the dtype of the weights that optimizers update
 * @reduce: (nullable): the dtype in which gradients are summed up over processes
 *
 * Creates traits from names of dtypes.
 *
 * Returns: (transfer full): the traits
 */
LpPrecisionTraits *
lp_precision_traits_new (const char *storage,
                         const char *compute,
                         const char *gradient,
                         const char *master,
                         const char *reduce)
{
  return g_object_new (LP_TYPE_PRECISION_TRAITS,
                       "storage", storage,
                       "compute", compute,
                       "gradient", gradient,
                       "master", master,
                       "reduce", reduce,
                       NULL);
}

/**
 * lp_precision_traits_get_storage:
 * @self: traits
 *
 * Gets the dtype that weights are stored in.
 *
 * Returns: (transfer none) (nullable): the name of a dtype
 */
const char *
lp_precision_traits_get_storage (LpPrecisionTraits *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  return self->storage;
}

/**
 * lp_precision_traits_get_compute:
 * @self: traits
 *
 * Gets the dtype that products are computed in.
 *
 * Returns: (transfer none) (nullable): the name of a dtype
 */
const char *
lp_precision_traits_get_compute (LpPrecisionTraits *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  return self->compute;
}

/**
 * lp_precision_traits_get_gradient:
 * @self: traits
 *
 * Gets the dtype of gradients.
 *
 * Returns: (transfer none) (nullable): the name of a dtype
 */
const char *
lp_precision_traits_get_gradient (LpPrecisionTraits *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  return self->gradient;
}

/**
 * lp_precision_traits_get_master:
 * @self: traits
 *
 * Gets the dtype of the weights that optimizers update.
 *
 * Returns: (transfer none) (nullable): the name of a dtype
 */
const char *
lp_precision_traits_get_master (LpPrecisionTraits *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  return self->master;
}

/**
 * lp_precision_traits_get_reduce:
 * @self: traits
 *
 * Gets the dtype in which gradients are summed up over processes.
 *
 * Returns: (transfer none) (nullable): the name of a dtype
 */
const char *
lp_precision_traits_get_reduce (LpPrecisionTraits *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  return self->reduce;
}

/**
 * lp_precision_traits_get_moments:
 * @self: traits
 *
 * Gets the dtype of the moments that LP's optimizers keep of the gradients: that of the masters for float64 and bfloat16,
 * bfloat16 for float16 masters, float32 for all others.
 *
 * Returns: (transfer none) (nullable): the name of a dtype; %NULL where nothing is said of masters
 */
const char *
lp_precision_traits_get_moments (LpPrecisionTraits *self)
{
  g_autoptr (LpDType) master = NULL;

  g_return_val_if_fail (LP_IS_PRECISION_TRAITS (self), NULL);

  if (self->master == NULL)
    return NULL;
  master = lp_dtype_lookup (self->master, NULL);

  return lp_dtype_get_name (master != NULL ? _lp_dtype_get_moment_dtype (master) : lp_dtype_f32 ());
}
