#include <lp/precision/lp-fp8-precision-plugin.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/nn/lp-linear.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-delayed-scaling.h>
#include <lp/precision/lp-fp8-scaling-private.h>
#include <lp/precision/lp-precision-plugin-private.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpFp8PrecisionPlugin:
 *
 * Precisions `transformer-engine` and `transformer-engine-float16`: the products of linear layers in fp8, the rest as in
 * mixed precision, and weights in bfloat16 or float16.
 *
 * A [class@Fp8Recipe] says in which formats, and how operands are scaled. A layer takes part if the number of its inputs is
 * a multiple of 8 and that of its outputs a multiple of 16; others are named in a warning and compute in 16 bits, as
 * convolutions and other products do. A weight is quantized once per change, not once per use. Maxima count while
 * gradients are recorded; the scales change after [vfunc@PrecisionPlugin.backward].
 *
 * On a device without fp8 the operands are decoded, to bfloat16 where there is arithmetic for it and else to float32: both
 * are exact, and so are the products.
 */
typedef struct
{
  LpFp8Recipe *recipe;
  char        *weights_dtype;   /* NULL: the one of the name */
  LpStrategy  *strategy;        /* while attached */
  GPtrArray   *scalings;        /* in the order of the layers */
  GHashTable  *by_site;         /* of them */
  LpCastPolicy *policy;
} LpFp8PrecisionPluginPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpFp8PrecisionPlugin, lp_fp8_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

enum
{
  PROP_0,
  PROP_RECIPE,
  PROP_WEIGHTS_DTYPE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static const char *const names[] = { "transformer-engine", "transformer-engine-float16", NULL };

static inline LpFp8PrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_fp8_precision_plugin_get_instance_private (self);
}

/* What is not in fp8 is computed in. */
static LpDType *
peek_low_dtype (LpPrecisionPlugin *self)
{
  return g_strcmp0 (_lp_precision_plugin_peek_precision (self), names[1]) == 0 ? lp_dtype_f16 () : lp_dtype_bf16 ();
}

static LpDType *
peek_weights_dtype (LpPrecisionPlugin *self)
{
  return g_strcmp0 (get_private (self)->weights_dtype, "f32") == 0 ? lp_dtype_f32 () : peek_low_dtype (self);
}

static gboolean
check_weights_dtype (LpPrecisionPlugin  *self,
                     LpPrecisionState   *state,
                     GError            **error)
{
  const char *asked = get_private (self)->weights_dtype;
  const char *precision = lp_precision_state_get_precision (state);
  const char *named = g_strcmp0 (precision, names[1]) == 0 ? "f16" : "bf16";

  if (asked == NULL || g_str_equal (asked, "f32") || g_str_equal (asked, named))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT,
               "%s stores weights in %s or f32, not in %s: f16 is %s, bf16 is %s", precision, named, asked, names[1], names[0]);
  return FALSE;
}

static gboolean
lp_fp8_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                        LpPrecisionState   *state,
                                        GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error) && check_weights_dtype (self, state, error);
}

/* Few mantissa bits in the forward pass cost accuracy; the reference refuses that as well. */
static gboolean
lp_fp8_precision_plugin_validate (LpPrecisionPlugin   *self,
                                  LpPrecisionContext  *context,
                                  GError             **error)
{
  LpFp8Recipe *recipe = get_private (self)->recipe;
  g_autoptr (LpDType) dtype = NULL;

  if (!LP_PRECISION_PLUGIN_CLASS (lp_fp8_precision_plugin_parent_class)->validate (self, context, error))
    return FALSE;

  dtype = lp_fp8_recipe_get_dtype (recipe, LP_OPERAND_INPUT, error);
  if (dtype == NULL || !_lp_fp8_recipe_check (recipe, error))
    return FALSE;
  if (!g_str_equal (lp_dtype_get_name (dtype), "f8e5m2"))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
               "%s asks for inputs in f8e5m2, which has too few bits for the forward pass: use f8e4m3 there, and f8e5m2 for gradients",
               G_OBJECT_TYPE_NAME (recipe));
  return FALSE;
}

static LpPrecisionTraits *
lp_fp8_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                    GError            **error)
{
  const char *weights = lp_dtype_get_name (peek_weights_dtype (self));
  g_autoptr (LpDType) compute = lp_fp8_recipe_get_dtype (get_private (self)->recipe, LP_OPERAND_INPUT, error);

  if (compute == NULL)
    return NULL;

  return lp_precision_traits_new (weights, lp_dtype_get_name (compute), weights, weights, weights);
}

static LpDType *
lp_fp8_precision_plugin_get_default_dtype (LpPrecisionPlugin  *self,
                                           GError            **error)
{
  return g_object_ref (peek_weights_dtype (self));
}

static LpCastPolicy *
lp_fp8_precision_plugin_get_cast_policy (LpPrecisionPlugin  *self,
                                         GError            **error)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (self);

  if (priv->policy == NULL)
    priv->policy = lp_cast_policy_new (peek_low_dtype (self));

  return g_object_ref (priv->policy);
}

/* A layer that goes on with another run keeps its scales. */
static gboolean
add_scalings (LpFp8PrecisionPluginPrivate  *priv,
              LpModule                     *layer,
              GError                      **error)
{
  static const char *const slots[] = {
    [LP_OPERAND_INPUT] = "input", [LP_OPERAND_WEIGHT] = "weight", [LP_OPERAND_GRAD_OUTPUT] = "grad-output"
  };

  for (guint role = 0; role < G_N_ELEMENTS (slots); role++)
    {
      g_autofree char *site = g_strconcat (lp_module_get_path (layer), ":", slots[role], NULL);
      LpFp8Scaling *scaling = g_hash_table_lookup (priv->by_site, site);

      if (scaling != NULL && _lp_fp8_scaling_is_of (scaling, layer))
        continue;
      if (scaling != NULL)
        {
          g_hash_table_remove (priv->by_site, site);
          g_ptr_array_remove (priv->scalings, scaling);
        }
      scaling = _lp_fp8_scaling_new (priv->recipe, site, role, layer, error);
      if (scaling == NULL)
        return FALSE;
      g_ptr_array_add (priv->scalings, scaling);
      g_hash_table_insert (priv->by_site, scaling->site, scaling);
    }

  return TRUE;
}

typedef struct
{
  LpFp8PrecisionPluginPrivate *priv;
  GString                     *left_out;
  GError                      *error;
} Search;

static gboolean
consider (LpModule   *module,
          const char *path,
          gpointer    user_data)
{
  Search *search = user_data;
  gint64 n_in, n_out;

  if (!LP_IS_LINEAR (module))
    return TRUE;

  n_in = lp_linear_get_in_features (LP_LINEAR (module));
  n_out = lp_linear_get_out_features (LP_LINEAR (module));
  if (n_in % 8 == 0 && n_out % 16 == 0)
    return add_scalings (search->priv, module, &search->error);

  g_string_append_printf (search->left_out, "%s“%s” (%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT ")",
                          search->left_out->len > 0 ? ", " : "", path, n_in, n_out);
  return TRUE;
}

static gboolean
lp_fp8_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                        LpModule           *module,
                                        GError            **error)
{
  g_autoptr (GString) left_out = g_string_new (NULL);
  Search search = { get_private (self), left_out, NULL };

  if (!lp_module_to_dtype (module, peek_weights_dtype (self), error))
    return FALSE;

  _lp_module_walk (module, consider, &search);
  if (search.error != NULL)
    {
      g_propagate_error (error, search.error);
      return FALSE;
    }
  if (left_out->len > 0)
    g_warning ("In %s, fp8 takes multiples of 8 inputs and of 16 outputs; these layers compute in %s: %s",
               _lp_precision_plugin_peek_precision (self), lp_dtype_get_name (peek_low_dtype (self)), left_out->str);

  return TRUE;
}

static LpTensor *
lp_fp8_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                       LpTensor           *tensor,
                                       GError            **error)
{
  return lp_tensor_to_dtype (tensor, peek_weights_dtype (self), error);
}

static LpTensor *
lp_fp8_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                        LpTensor           *tensor,
                                        GError            **error)
{
  return _lp_precision_plugin_give_out (tensor, peek_low_dtype (self), error);
}

static LpTensor *
lp_fp8_precision_plugin_quantize_operand (LpPrecisionPlugin  *self,
                                          LpOperand          *operand,
                                          GError            **error)
{
  LpFp8Scaling *scaling = g_hash_table_lookup (get_private (self)->by_site, lp_operand_get_site (operand));
  const gboolean record = lp_operand_get_gemm (operand) != LP_GEMM_FORWARD || lp_grad_mode_is_enabled ();

  if (scaling == NULL)
    return g_object_ref (lp_operand_get_tensor (operand));

  return _lp_fp8_scaling_quantize (scaling, operand, record, error);
}

/* A rank where a layer didn't run takes the maxima of the others. */
static gboolean
share_maxima (LpFp8PrecisionPluginPrivate  *priv,
              GError                      **error)
{
  gint64 n = priv->scalings->len;
  g_autoptr (LpTensor) mine = NULL;
  g_autoptr (LpTensor) all = NULL;

  if (priv->strategy == NULL || lp_strategy_get_world_size (priv->strategy) == 1 ||
      lp_fp8_recipe_get_history_length (priv->recipe) == 0)
    return TRUE;

  mine = lp_tensor_zeros (&n, 1, lp_dtype_f32 (), NULL, error);
  if (mine == NULL)
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    ((float *) mine->array.data)[i] = *(float *) ((LpFp8Scaling *) g_ptr_array_index (priv->scalings, i))->history->array.data;
  all = lp_strategy_all_reduce (priv->strategy, mine, LP_REDUCE_OP_MAX, error);
  if (all == NULL)
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    {
      LpFp8Scaling *scaling = g_ptr_array_index (priv->scalings, i);
      const float amax = ((const float *) all->array.data)[i];

      *(float *) scaling->history->array.data = amax;
      scaling->ran = scaling->ran || amax > 0;
    }

  return TRUE;
}

static gboolean
lp_fp8_precision_plugin_backward (LpPrecisionPlugin  *self,
                                  LpTensor           *loss,
                                  GPtrArray          *optimizers,
                                  GError            **error)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (self);

  if (!LP_PRECISION_PLUGIN_CLASS (lp_fp8_precision_plugin_parent_class)->backward (self, loss, optimizers, error) ||
      !share_maxima (priv, error))
    return FALSE;

  for (guint i = 0; i < priv->scalings->len; i++)
    if (!_lp_fp8_scaling_update (g_ptr_array_index (priv->scalings, i), error))
      return FALSE;

  return TRUE;
}

static LpState *
lp_fp8_precision_plugin_save_state (LpPrecisionPlugin  *self,
                                    GError            **error)
{
  return _lp_fp8_scalings_save (get_private (self)->scalings, error);
}

static gboolean
lp_fp8_precision_plugin_load_state (LpPrecisionPlugin  *self,
                                    LpState            *state,
                                    GError            **error)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (self);

  return _lp_fp8_scalings_load (priv->scalings, priv->by_site, state, error);
}

static gboolean
lp_fp8_precision_plugin_attach (LpPrecisionPlugin   *self,
                                LpPrecisionContext  *context,
                                GError             **error)
{
  g_set_object (&get_private (self)->strategy, lp_precision_context_get_strategy (context));

  return LP_PRECISION_PLUGIN_CLASS (lp_fp8_precision_plugin_parent_class)->attach (self, context, error);
}

static gboolean
lp_fp8_precision_plugin_detach (LpPrecisionPlugin  *self,
                                GError            **error)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (self);

  g_clear_object (&priv->strategy);

  return LP_PRECISION_PLUGIN_CLASS (lp_fp8_precision_plugin_parent_class)->detach (self, error);
}

static char *
lp_fp8_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("fp8");
}

static char **
lp_fp8_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self)
{
  const char *const aliases[] = { "TransformerEnginePrecision", NULL };

  return g_strdupv ((char **) aliases);
}

static void
lp_fp8_precision_plugin_get_property (GObject    *object,
                                      guint       prop_id,
                                      GValue     *value,
                                      GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_RECIPE:
      g_value_set_object (value, get_private (object)->recipe);
      break;
    case PROP_WEIGHTS_DTYPE:
      g_value_take_string (value, lp_fp8_precision_plugin_dup_weights_dtype (LP_FP8_PRECISION_PLUGIN (object)));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fp8_precision_plugin_set_property (GObject      *object,
                                      guint         prop_id,
                                      const GValue *value,
                                      GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_RECIPE:
      get_private (object)->recipe = g_value_dup_object (value);
      break;
    case PROP_WEIGHTS_DTYPE:
      get_private (object)->weights_dtype = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fp8_precision_plugin_constructed (GObject *object)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (object);

  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), names[0], NULL);
  if (priv->recipe == NULL)
    priv->recipe = lp_delayed_scaling_new ();

  G_OBJECT_CLASS (lp_fp8_precision_plugin_parent_class)->constructed (object);
}

static void
lp_fp8_precision_plugin_finalize (GObject *object)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (object);

  g_clear_object (&priv->recipe);
  g_clear_object (&priv->strategy);
  g_clear_object (&priv->policy);
  g_free (priv->weights_dtype);
  g_hash_table_unref (priv->by_site);
  g_ptr_array_unref (priv->scalings);

  G_OBJECT_CLASS (lp_fp8_precision_plugin_parent_class)->finalize (object);
}

static void
lp_fp8_precision_plugin_class_init (LpFp8PrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_fp8_precision_plugin_get_property;
  object_class->set_property = lp_fp8_precision_plugin_set_property;
  object_class->constructed = lp_fp8_precision_plugin_constructed;
  object_class->finalize = lp_fp8_precision_plugin_finalize;
  plugin_class->validate = lp_fp8_precision_plugin_validate;
  plugin_class->validate_state = lp_fp8_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_fp8_precision_plugin_dup_traits;
  plugin_class->get_default_dtype = lp_fp8_precision_plugin_get_default_dtype;
  plugin_class->get_cast_policy = lp_fp8_precision_plugin_get_cast_policy;
  plugin_class->convert_module = lp_fp8_precision_plugin_convert_module;
  plugin_class->convert_input = lp_fp8_precision_plugin_convert_input;
  plugin_class->convert_output = lp_fp8_precision_plugin_convert_output;
  plugin_class->quantize_operand = lp_fp8_precision_plugin_quantize_operand;
  plugin_class->backward = lp_fp8_precision_plugin_backward;
  plugin_class->save_state = lp_fp8_precision_plugin_save_state;
  plugin_class->load_state = lp_fp8_precision_plugin_load_state;
  plugin_class->attach = lp_fp8_precision_plugin_attach;
  plugin_class->detach = lp_fp8_precision_plugin_detach;
  plugin_class->dup_state_id = lp_fp8_precision_plugin_dup_state_id;
  plugin_class->dup_state_aliases = lp_fp8_precision_plugin_dup_state_aliases;

  /**
   * LpFp8PrecisionPlugin:recipe: (getter get_recipe)
   *
   * How operands are scaled: a [class@DelayedScaling] unless something else is given.
   */
  properties[PROP_RECIPE] = g_param_spec_object ("recipe", NULL, NULL, LP_TYPE_FP8_RECIPE, flags);

  /**
   * LpFp8PrecisionPlugin:weights-dtype: (getter dup_weights_dtype)
   *
   * What weights are stored in: `bf16` with `transformer-engine`, `f16` with `transformer-engine-float16`, or `f32`.
   */
  properties[PROP_WEIGHTS_DTYPE] = g_param_spec_string ("weights-dtype", NULL, NULL, NULL, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_fp8_precision_plugin_init (LpFp8PrecisionPlugin *self)
{
  LpFp8PrecisionPluginPrivate *priv = get_private (self);

  priv->scalings = g_ptr_array_new_with_free_func (_lp_fp8_scaling_free);
  priv->by_site = g_hash_table_new (g_str_hash, g_str_equal);
}

/**
 * lp_fp8_precision_plugin_new:
 * @precision: `transformer-engine` or `transformer-engine-float16`
 * @recipe: (nullable): how operands are scaled, or %NULL for a [class@DelayedScaling]
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpFp8PrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED for another
 *   precision
 */
LpPrecisionPlugin *
lp_fp8_precision_plugin_new (const char   *precision,
                             LpFp8Recipe  *recipe,
                             GError      **error)
{
  return g_initable_new (LP_TYPE_FP8_PRECISION_PLUGIN, NULL, error, "precision", precision, "recipe", recipe, NULL);
}

/**
 * lp_fp8_precision_plugin_get_recipe:
 * @self: a plugin
 *
 * Gets how operands are scaled.
 *
 * Returns: (transfer none): the recipe
 */
LpFp8Recipe *
lp_fp8_precision_plugin_get_recipe (LpFp8PrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_FP8_PRECISION_PLUGIN (self), NULL);

  return get_private (self)->recipe;
}

/**
 * lp_fp8_precision_plugin_dup_weights_dtype:
 * @self: a plugin
 *
 * Gets what weights are stored in.
 *
 * Returns: (transfer full): the name of a dtype
 */
char *
lp_fp8_precision_plugin_dup_weights_dtype (LpFp8PrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_FP8_PRECISION_PLUGIN (self), NULL);

  return g_strdup (lp_dtype_get_name (peek_weights_dtype (LP_PRECISION_PLUGIN (self))));
}

/**
 * lp_fp8_precision_plugin_get_scale:
 * @self: a plugin
 * @site: an operand, such as `layers.0:weight`: the path of the layer and `input`, `weight` or `grad-output`
 *
 * Gets what an operand is multiplied by before it is rounded.
 *
 * Returns: the scale; 0 for an operand that is not in fp8
 */
double
lp_fp8_precision_plugin_get_scale (LpFp8PrecisionPlugin *self,
                                   const char           *site)
{
  LpFp8Scaling *scaling;

  g_return_val_if_fail (LP_IS_FP8_PRECISION_PLUGIN (self), 0);
  g_return_val_if_fail (site != NULL, 0);

  scaling = g_hash_table_lookup (get_private (self)->by_site, site);

  return scaling != NULL ? scaling->scale : 0;
}
