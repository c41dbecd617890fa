#include <lp/precision/lp-delayed-scaling.h>

#include <lp/precision/lp-fp8-scaling-private.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpDelayedScaling:
 *
 * Scales a tensor by the maxima of the steps before, so that it is read once.
 *
 * The rules are those of NVIDIA's Transformer Engine: scales start at 1, and after each step a scale is computed anew from
 * the history of its operand.
 */
typedef struct
{
  guint           amax_history_length;
  LpAmaxAlgorithm amax_compute_algorithm;
  guint           interval;
} LpDelayedScalingPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpDelayedScaling, lp_delayed_scaling, LP_TYPE_FP8_RECIPE)

G_DEFINE_ENUM_TYPE (LpAmaxAlgorithm, lp_amax_algorithm,
                    G_DEFINE_ENUM_VALUE (LP_AMAX_MAX, "max"),
                    G_DEFINE_ENUM_VALUE (LP_AMAX_MOST_RECENT, "most-recent"))

enum
{
  PROP_0,
  PROP_AMAX_HISTORY_LENGTH,
  PROP_AMAX_COMPUTE_ALGORITHM,
  PROP_INTERVAL,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static inline LpDelayedScalingPrivate *
get_private (gpointer self)
{
  return lp_delayed_scaling_get_instance_private (self);
}

static guint
lp_delayed_scaling_get_history_length (LpFp8Recipe *recipe)
{
  return get_private (recipe)->amax_history_length;
}

static guint
lp_delayed_scaling_get_interval (LpFp8Recipe *recipe)
{
  return get_private (recipe)->interval;
}

static double
lp_delayed_scaling_reduce_history (LpFp8Recipe *recipe,
                                   LpTensor    *history)
{
  if (get_private (recipe)->amax_compute_algorithm == LP_AMAX_MOST_RECENT)
    return *(const float *) history->array.data;

  return LP_FP8_RECIPE_CLASS (lp_delayed_scaling_parent_class)->reduce_history (recipe, history);
}

static void
lp_delayed_scaling_get_property (GObject    *object,
                                 guint       prop_id,
                                 GValue     *value,
                                 GParamSpec *pspec)
{
  LpDelayedScalingPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_AMAX_HISTORY_LENGTH:
      g_value_set_uint (value, priv->amax_history_length);
      break;
    case PROP_AMAX_COMPUTE_ALGORITHM:
      g_value_set_enum (value, priv->amax_compute_algorithm);
      break;
    case PROP_INTERVAL:
      g_value_set_uint (value, priv->interval);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_delayed_scaling_set_property (GObject      *object,
                                 guint         prop_id,
                                 const GValue *value,
                                 GParamSpec   *pspec)
{
  LpDelayedScalingPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_AMAX_HISTORY_LENGTH:
      priv->amax_history_length = g_value_get_uint (value);
      break;
    case PROP_AMAX_COMPUTE_ALGORITHM:
      priv->amax_compute_algorithm = g_value_get_enum (value);
      break;
    case PROP_INTERVAL:
      priv->interval = g_value_get_uint (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_delayed_scaling_class_init (LpDelayedScalingClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpFp8RecipeClass *recipe_class = LP_FP8_RECIPE_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_delayed_scaling_get_property;
  object_class->set_property = lp_delayed_scaling_set_property;
  recipe_class->get_history_length = lp_delayed_scaling_get_history_length;
  recipe_class->get_interval = lp_delayed_scaling_get_interval;
  recipe_class->reduce_history = lp_delayed_scaling_reduce_history;

  /**
   * LpDelayedScaling:amax-history-length: (getter get_amax_history_length)
   *
   * How many maxima are kept per operand.
   */
  properties[PROP_AMAX_HISTORY_LENGTH] = g_param_spec_uint ("amax-history-length", NULL, NULL, 1, LP_FP8_MAX_HISTORY, 1024, flags);

  /**
   * LpDelayedScaling:amax-compute-algorithm: (getter get_amax_compute_algorithm)
   *
   * Which maximum of the history counts.
   */
  properties[PROP_AMAX_COMPUTE_ALGORITHM] =
    g_param_spec_enum ("amax-compute-algorithm", NULL, NULL, LP_TYPE_AMAX_ALGORITHM, LP_AMAX_MAX, flags);

  /**
   * LpDelayedScaling:interval:
   *
   * How many steps lie between two changes of a scale.
   */
  properties[PROP_INTERVAL] = g_param_spec_uint ("interval", NULL, NULL, 1, G_MAXINT, 1, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_delayed_scaling_init (LpDelayedScaling *self)
{
}

/**
 * lp_delayed_scaling_new:
 *
 * Creates a recipe: a history of 1024 steps, of which the largest counts, and no margin.
 *
 * Returns: (transfer full) (type LpDelayedScaling): the recipe
 */
LpFp8Recipe *
lp_delayed_scaling_new (void)
{
  return g_object_new (LP_TYPE_DELAYED_SCALING, NULL);
}

/**
 * lp_delayed_scaling_get_amax_history_length:
 * @self: a recipe
 *
 * Gets how many maxima are kept per operand.
 *
 * Returns: the number
 */
guint
lp_delayed_scaling_get_amax_history_length (LpDelayedScaling *self)
{
  g_return_val_if_fail (LP_IS_DELAYED_SCALING (self), 0);

  return get_private (self)->amax_history_length;
}

/**
 * lp_delayed_scaling_get_amax_compute_algorithm:
 * @self: a recipe
 *
 * Gets which maximum of the history counts.
 *
 * Returns: the algorithm
 */
LpAmaxAlgorithm
lp_delayed_scaling_get_amax_compute_algorithm (LpDelayedScaling *self)
{
  g_return_val_if_fail (LP_IS_DELAYED_SCALING (self), LP_AMAX_MAX);

  return get_private (self)->amax_compute_algorithm;
}
