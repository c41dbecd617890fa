#include <lp/precision/lp-half-precision-plugin.h>

#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpHalfPrecisionPlugin:
 *
 * Precisions `16-true` and `bf16-true`: weights and computation in float16 or bfloat16.
 *
 * The loss is not scaled: with float16 small gradients vanish.
 *
 * An update that is small beside the weight is lost when the weight is rounded to 16 bits. Two options help, both inside
 * the fused optimizers: [property@HalfPrecisionPlugin:master-weights] keeps float32 weights in the optimizer, and
 * [property@HalfPrecisionPlugin:stochastic-rounding] rounds up or down by chance, which is right on average and takes no
 * memory. The random numbers are counted by seed, parameter, step and element: the number of threads and an interruption
 * make no difference.
 */
typedef struct
{
  gboolean master_weights;
  gboolean stochastic_rounding;
} LpHalfPrecisionPluginPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpHalfPrecisionPlugin, lp_half_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

enum
{
  PROP_0,
  PROP_MASTER_WEIGHTS,
  PROP_STOCHASTIC_ROUNDING,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static const char *const names[] = { "16-true", "bf16-true", NULL };

static inline LpHalfPrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_half_precision_plugin_get_instance_private (self);
}

/* Follows what the plugin reports. */
static LpDType *
peek_dtype (LpPrecisionPlugin *self)
{
  const char *precision = _lp_precision_plugin_peek_precision (self);

  return g_strcmp0 (precision, "bf16-true") == 0 ? lp_dtype_bf16 () : lp_dtype_f16 ();
}

static gboolean
lp_half_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                         LpPrecisionState   *state,
                                         GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error);
}

static LpPrecisionTraits *
lp_half_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                     GError            **error)
{
  const char *name = lp_dtype_get_name (peek_dtype (self));

  const char *wide = get_private (self)->master_weights ? "f32" : name;

  return lp_precision_traits_new (name, name, wide, wide, wide);
}

static LpDType *
lp_half_precision_plugin_get_default_dtype (LpPrecisionPlugin  *self,
                                            GError            **error)
{
  return g_object_ref (peek_dtype (self));
}

static gboolean
lp_half_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                         LpModule           *module,
                                         GError            **error)
{
  return lp_module_to_dtype (module, peek_dtype (self), error);
}

static gboolean
lp_half_precision_plugin_convert_optimizer (LpPrecisionPlugin  *self,
                                            LpOptimizer        *optimizer,
                                            GError            **error)
{
  LpHalfPrecisionPluginPrivate *priv = get_private (self);

  for (guint i = 0; i < lp_optimizer_get_n_groups (optimizer); i++)
    {
      LpParamGroup *group = lp_optimizer_get_group (optimizer, i);

      if (priv->stochastic_rounding)
        lp_param_group_set_stochastic_rounding (group, TRUE);
      if (priv->master_weights && !lp_param_group_set_master_dtype (group, lp_dtype_f32 (), error))
        return FALSE;
    }

  return TRUE;
}

static LpTensor *
lp_half_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                        LpTensor           *tensor,
                                        GError            **error)
{
  return lp_tensor_to_dtype (tensor, peek_dtype (self), error);
}

static LpTensor *
lp_half_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                         LpTensor           *tensor,
                                         GError            **error)
{
  return _lp_precision_plugin_give_out (tensor, peek_dtype (self), error);
}

static char *
lp_half_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("half");
}

static void
lp_half_precision_plugin_get_property (GObject    *object,
                                       guint       prop_id,
                                       GValue     *value,
                                       GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_MASTER_WEIGHTS:
      g_value_set_boolean (value, get_private (object)->master_weights);
      break;
    case PROP_STOCHASTIC_ROUNDING:
      g_value_set_boolean (value, get_private (object)->stochastic_rounding);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_half_precision_plugin_set_property (GObject      *object,
                                       guint         prop_id,
                                       const GValue *value,
                                       GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_MASTER_WEIGHTS:
      get_private (object)->master_weights = g_value_get_boolean (value);
      break;
    case PROP_STOCHASTIC_ROUNDING:
      get_private (object)->stochastic_rounding = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_half_precision_plugin_constructed (GObject *object)
{
  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "16-true", NULL);

  G_OBJECT_CLASS (lp_half_precision_plugin_parent_class)->constructed (object);
}

static void
lp_half_precision_plugin_class_init (LpHalfPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_half_precision_plugin_get_property;
  object_class->set_property = lp_half_precision_plugin_set_property;
  object_class->constructed = lp_half_precision_plugin_constructed;
  plugin_class->validate_state = lp_half_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_half_precision_plugin_dup_traits;
  plugin_class->get_default_dtype = lp_half_precision_plugin_get_default_dtype;
  plugin_class->convert_module = lp_half_precision_plugin_convert_module;
  plugin_class->convert_optimizer = lp_half_precision_plugin_convert_optimizer;
  plugin_class->convert_input = lp_half_precision_plugin_convert_input;
  plugin_class->convert_output = lp_half_precision_plugin_convert_output;
  plugin_class->dup_state_id = lp_half_precision_plugin_dup_state_id;

  /**
   * LpHalfPrecisionPlugin:master-weights: (getter get_master_weights)
   *
   * Whether the optimizer keeps weights in float32, of which the stored ones are copies. Gradients are float32 then.
   */
  properties[PROP_MASTER_WEIGHTS] = g_param_spec_boolean ("master-weights", NULL, NULL, FALSE, flags);

  /**
   * LpHalfPrecisionPlugin:stochastic-rounding: (getter get_stochastic_rounding)
   *
   * Whether updated weights are rounded up or down by chance.
   */
  properties[PROP_STOCHASTIC_ROUNDING] = g_param_spec_boolean ("stochastic-rounding", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_half_precision_plugin_init (LpHalfPrecisionPlugin *self)
{
}

/**
 * lp_half_precision_plugin_new:
 * @precision: `16-true` or `bf16-true`
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpHalfPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED for another
 *   precision
 */
LpPrecisionPlugin *
lp_half_precision_plugin_new (const char  *precision,
                              GError     **error)
{
  return g_initable_new (LP_TYPE_HALF_PRECISION_PLUGIN, NULL, error, "precision", precision, NULL);
}

/**
 * lp_half_precision_plugin_new_full:
 * @precision: `16-true` or `bf16-true`
 * @master_weights: whether the optimizer keeps weights in float32
 * @stochastic_rounding: whether updated weights are rounded by chance
 * @error: return location for an error
 *
 * Creates a plugin with options.
 *
 * Returns: (transfer full) (type LpHalfPrecisionPlugin): the plugin. Errors: as for [ctor@HalfPrecisionPlugin.new]
 */
LpPrecisionPlugin *
lp_half_precision_plugin_new_full (const char  *precision,
                                   gboolean     master_weights,
                                   gboolean     stochastic_rounding,
                                   GError     **error)
{
  return g_initable_new (LP_TYPE_HALF_PRECISION_PLUGIN, NULL, error,
                         "precision", precision,
                         "master-weights", master_weights,
                         "stochastic-rounding", stochastic_rounding,
                         NULL);
}

/**
 * lp_half_precision_plugin_get_master_weights:
 * @self: a plugin
 *
 * Gets whether the optimizer keeps weights in float32.
 *
 * Returns: whether it does
 */
gboolean
lp_half_precision_plugin_get_master_weights (LpHalfPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_HALF_PRECISION_PLUGIN (self), FALSE);

  return get_private (self)->master_weights;
}

/**
 * lp_half_precision_plugin_get_stochastic_rounding:
 * @self: a plugin
 *
 * Gets whether updated weights are rounded up or down by chance.
 *
 * Returns: whether they are
 */
gboolean
lp_half_precision_plugin_get_stochastic_rounding (LpHalfPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_HALF_PRECISION_PLUGIN (self), FALSE);

  return get_private (self)->stochastic_rounding;
}
