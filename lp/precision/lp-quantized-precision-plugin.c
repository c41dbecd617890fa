#include <lp/precision/lp-quantized-precision-plugin.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/autograd/lp-matmul-private.h>
#include <lp/core/lp-dtype-registry.h>
#include <lp/nn/lp-linear.h>
#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-int8-products-private.h>
#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpQuantizedPrecisionPlugin:
 *
 * Precisions `nf4`, `nf4-dq`, `fp4`, `fp4-dq`, `int8` and `int8-training`: the weights of [class@Linear] layers in 4 or 8 bits.
 *
 * With the 4-bit precisions weights are encoded once, see [class@BlockwiseDType], and frozen: they are decoded, a panel at a time,
 * whenever they are multiplied, and products are computed in [property@QuantizedPrecisionPlugin:compute-dtype]. This is the storage of
 * T. Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs" (2023). What is trained are the other parameters, adapters of
 * [class@LoraLinear] for example, put on before the run.
 *
 * With `int8` weights are encoded row by row, see [class@RowwiseDType], and frozen; inputs are quantized likewise as they come, but for
 * the columns in which a magnitude reaches [property@QuantizedPrecisionPlugin:threshold]: these are multiplied in float16. Gradients of
 * inputs use the decoded weight. This is T. Dettmers et al., "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale" (2022).
 *
 * With `int8-training` weights stay in float32 and are trained; both operands of all three products of a layer are quantized as they
 * come, along the axis that is summed.
 *
 * Sums of integers are exact and scaled once; those of more than 131,071 terms, which 32 bits may not hold, are computed from the
 * decoded values in float32.
 */
typedef struct
{
  char      **ignore_modules;
  char       *compute_dtype;
  double      threshold;
  GHashTable *sites;          /* paths of the layers that are quantized */
  LpCastPolicy *policy;
} LpQuantizedPrecisionPluginPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpQuantizedPrecisionPlugin, lp_quantized_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

enum { PROP_0, PROP_IGNORE_MODULES, PROP_COMPUTE_DTYPE, PROP_THRESHOLD, N_PROPS };

static GParamSpec *properties[N_PROPS];

static const char *const names[] = { "nf4", "nf4-dq", "fp4", "fp4-dq", "int8", "int8-training", NULL };

#define DEFAULT_THRESHOLD 6.0

static inline LpQuantizedPrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_quantized_precision_plugin_get_instance_private (self);
}

static gboolean
is_int8 (LpPrecisionPlugin *self)
{
  return g_str_has_prefix (_lp_precision_plugin_peek_precision (self), "int8");
}

static gboolean
trains_weights (LpPrecisionPlugin *self)
{
  return g_str_equal (_lp_precision_plugin_peek_precision (self), "int8-training");
}

/* The dtype that weights are stored in. */
static const char *
get_storage (LpPrecisionPlugin *self)
{
  if (trains_weights (self))
    return "f32";

  return is_int8 (self) ? "i8-rowwise" : _lp_precision_plugin_peek_precision (self);
}

static const char *
get_compute_dtype (LpPrecisionPlugin *self)
{
  const char *asked = get_private (self)->compute_dtype;

  if (asked != NULL)
    return asked;

  return is_int8 (self) ? "f16" : "bf16";
}

static gboolean
lp_quantized_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                              LpPrecisionState   *state,
                                              GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, NULL, error);
}

static gboolean
check_compute_dtype (LpPrecisionPlugin  *self,
                     GError            **error)
{
  const char *const allowed[] = { "bf16", "f16", "f32", NULL };
  const char *dtype = get_compute_dtype (self);

  if (is_int8 (self) ? g_str_equal (dtype, "f16") : g_strv_contains (allowed, dtype))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "%s computes in %s, not in “%s”: leave compute-dtype out, or use %s",
               _lp_precision_plugin_peek_precision (self), is_int8 (self) ? "8-bit integers and f16" : "bf16, f16 or f32", dtype,
               is_int8 (self) ? "nf4" : "one of these");
  return FALSE;
}

static gboolean
is_ignored (LpPrecisionPlugin *self,
            const char        *path)
{
  char **ignored = get_private (self)->ignore_modules;

  for (guint i = 0; ignored != NULL && ignored[i] != NULL; i++)
    if (g_str_has_prefix (path, ignored[i]))
      return TRUE;

  return FALSE;
}

/* The layers to quantize. */
static GPtrArray *
find_layers (LpPrecisionPlugin  *self,
             LpModule           *module,
             GError            **error)
{
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (module);
  g_auto (GStrv) paths = lp_module_dup_module_names (module);

  for (guint i = 0; i < modules->len; i++)
    if (LP_IS_LINEAR (modules->pdata[i]) && !is_ignored (self, paths[i]) && lp_linear_get_weight (modules->pdata[i]) != NULL)
      g_ptr_array_add (layers, g_object_ref (modules->pdata[i]));
  if (layers->len > 0)
    return g_steal_pointer (&layers);

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
               "%s stores the weights of LpLinear layers, and the %s has none%s: use another precision, or add one",
               _lp_precision_plugin_peek_precision (self), G_OBJECT_TYPE_NAME (module),
               get_private (self)->ignore_modules != NULL ? " that ignore-modules leaves" : "");
  return NULL;
}

static gboolean
lp_quantized_precision_plugin_validate (LpPrecisionPlugin   *self,
                                        LpPrecisionContext  *context,
                                        GError             **error)
{
  LpModule *module = lp_precision_context_get_module (context);
  g_autoptr (GPtrArray) layers = NULL;

  if (!LP_PRECISION_PLUGIN_CLASS (lp_quantized_precision_plugin_parent_class)->validate (self, context, error)
      || !check_compute_dtype (self, error))
    return FALSE;
  if (module != NULL)
    layers = find_layers (self, module, error);

  return module == NULL || layers != NULL;
}

static LpPrecisionTraits *
lp_quantized_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                          GError            **error)
{
  return lp_precision_traits_new (get_storage (self), is_int8 (self) ? "i8" : get_compute_dtype (self), "f32", "f32", "f32");
}

static gboolean
encode_weight (LpModule  *layer,
               LpDType   *dtype,
               GError   **error)
{
  LpTensor *weight = lp_linear_get_weight (LP_LINEAR (layer));
  g_autoptr (LpTensor) plain = NULL;
  g_autoptr (LpTensor) encoded = NULL;

  if (lp_tensor_get_dtype (weight) != dtype)
    {
      plain = lp_tensor_detach (weight);
      encoded = lp_tensor_to_dtype (plain, dtype, error);
      if (encoded == NULL || !lp_module_set_parameter (layer, "weight", encoded, error))
        return FALSE;
    }
  lp_tensor_set_requires_grad (lp_linear_get_weight (LP_LINEAR (layer)), FALSE);

  return TRUE;
}

static gboolean
lp_quantized_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                              LpModule           *module,
                                              GError            **error)
{
  LpQuantizedPrecisionPluginPrivate *priv = get_private (self);
  g_autoptr (GPtrArray) layers = find_layers (self, module, error);
  g_autoptr (LpDType) dtype = NULL;

  if (layers == NULL)
    return FALSE;
  dtype = lp_dtype_lookup (get_storage (self), error);
  if (dtype == NULL)
    return FALSE;

  g_hash_table_remove_all (priv->sites);
  for (guint i = 0; i < layers->len; i++)
    {
      if (!trains_weights (self) && !encode_weight (layers->pdata[i], dtype, error))
        return FALSE;
      g_hash_table_add (priv->sites, g_strdup (lp_module_get_path (layers->pdata[i])));
    }

  return TRUE;
}

static LpCastPolicy *
lp_quantized_precision_plugin_get_cast_policy (LpPrecisionPlugin  *self,
                                               GError            **error)
{
  LpQuantizedPrecisionPluginPrivate *priv = get_private (self);
  g_autoptr (LpDType) dtype = NULL;

  if (is_int8 (self) || g_str_equal (get_compute_dtype (self), "f32"))
    return NULL;
  if (priv->policy == NULL)
    {
      dtype = lp_dtype_lookup (get_compute_dtype (self), error);
      priv->policy = dtype != NULL ? lp_cast_policy_new (dtype) : NULL;
    }

  return priv->policy != NULL ? g_object_ref (priv->policy) : NULL;
}

/* What comes out of a step goes on in the dtype of the program. */
static LpTensor *
lp_quantized_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                              LpTensor           *tensor,
                                              GError            **error)
{
  LpDType *dtype = lp_tensor_get_dtype (tensor);

  if (dtype != lp_dtype_f16 () && dtype != lp_dtype_bf16 ())
    return g_object_ref (tensor);

  return lp_tensor_to_dtype (tensor, lp_default_dtype_get (), error);
}

/* Whether the product is one of a layer that was converted. */
static gboolean
is_ours (LpPrecisionPlugin *self,
         LpMatmul          *matmul)
{
  const char *site = lp_operand_get_site (lp_matmul_get_left (matmul));
  g_autofree char *path = g_strndup (site, strrchr (site, ':') - site);

  return g_hash_table_contains (get_private (self)->sites, path);
}

static LpTensor *
lp_quantized_precision_plugin_matmul (LpPrecisionPlugin  *self,
                                      LpMatmul           *matmul,
                                      GError            **error)
{
  if (LP_PRECISION_PLUGIN_GET_CLASS (self)->matmul == lp_quantized_precision_plugin_matmul)
    _lp_matmul_fuse_bias (matmul);
  if (!is_int8 (self) || !is_ours (self, matmul))
    return LP_PRECISION_PLUGIN_CLASS (lp_quantized_precision_plugin_parent_class)->matmul (self, matmul, error);
  if (trains_weights (self))
    return _lp_int8_training_product (matmul, error);

  return _lp_int8_product (matmul, get_private (self)->threshold, error);
}

static char *
lp_quantized_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("quantized");
}

static void
lp_quantized_precision_plugin_constructed (GObject *object)
{
  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "nf4", NULL);

  G_OBJECT_CLASS (lp_quantized_precision_plugin_parent_class)->constructed (object);
}

static void
lp_quantized_precision_plugin_finalize (GObject *object)
{
  LpQuantizedPrecisionPluginPrivate *priv = get_private (object);

  g_strfreev (priv->ignore_modules);
  g_free (priv->compute_dtype);
  g_hash_table_unref (priv->sites);
  g_clear_object (&priv->policy);

  G_OBJECT_CLASS (lp_quantized_precision_plugin_parent_class)->finalize (object);
}

static void
lp_quantized_precision_plugin_get_property (GObject    *object,
                                            guint       prop_id,
                                            GValue     *value,
                                            GParamSpec *pspec)
{
  LpQuantizedPrecisionPluginPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_IGNORE_MODULES:
      g_value_set_boxed (value, priv->ignore_modules);
      break;
    case PROP_COMPUTE_DTYPE:
      g_value_set_string (value, get_compute_dtype (LP_PRECISION_PLUGIN (object)));
      break;
    case PROP_THRESHOLD:
      g_value_set_double (value, priv->threshold);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_quantized_precision_plugin_set_property (GObject      *object,
                                            guint         prop_id,
                                            const GValue *value,
                                            GParamSpec   *pspec)
{
  LpQuantizedPrecisionPluginPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_IGNORE_MODULES:
      priv->ignore_modules = g_value_dup_boxed (value);
      break;
    case PROP_COMPUTE_DTYPE:
      priv->compute_dtype = g_value_dup_string (value);
      break;
    case PROP_THRESHOLD:
      priv->threshold = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_quantized_precision_plugin_class_init (LpQuantizedPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->constructed = lp_quantized_precision_plugin_constructed;
  object_class->finalize = lp_quantized_precision_plugin_finalize;
  object_class->get_property = lp_quantized_precision_plugin_get_property;
  object_class->set_property = lp_quantized_precision_plugin_set_property;
  plugin_class->validate = lp_quantized_precision_plugin_validate;
  plugin_class->validate_state = lp_quantized_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_quantized_precision_plugin_dup_traits;
  plugin_class->convert_module = lp_quantized_precision_plugin_convert_module;
  plugin_class->convert_output = lp_quantized_precision_plugin_convert_output;
  plugin_class->get_cast_policy = lp_quantized_precision_plugin_get_cast_policy;
  plugin_class->matmul = lp_quantized_precision_plugin_matmul;
  plugin_class->dup_state_id = lp_quantized_precision_plugin_dup_state_id;

  /**
   * LpQuantizedPrecisionPlugin:ignore-modules: (getter dup_ignore_modules)
   *
   * Beginnings of paths of modules: layers whose path begins so keep their weights as they are.
   */
  properties[PROP_IGNORE_MODULES] = g_param_spec_boxed ("ignore-modules", NULL, NULL, G_TYPE_STRV, flags);

  /**
   * LpQuantizedPrecisionPlugin:compute-dtype: (getter get_compute_dtype)
   *
   * What products are computed in: `bf16`, which is the default, `f16` or `f32` for weights in 4 bits. With `int8` and `int8-training` it is
   * that of the columns that stay out of the integers, `f16`, and nothing else.
   */
  properties[PROP_COMPUTE_DTYPE] = g_param_spec_string ("compute-dtype", NULL, NULL, NULL, flags);

  /**
   * LpQuantizedPrecisionPlugin:threshold: (getter get_threshold)
   *
   * With `int8`: the magnitude from which on a column of the input stays out of the integers; 0 for none.
   */
  properties[PROP_THRESHOLD] = g_param_spec_double ("threshold", NULL, NULL, 0, G_MAXDOUBLE, DEFAULT_THRESHOLD, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_quantized_precision_plugin_init (LpQuantizedPrecisionPlugin *self)
{
  get_private (self)->sites = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

/**
 * lp_quantized_precision_plugin_new:
 * @precision: `nf4`, `nf4-dq`, `fp4`, `fp4-dq`, `int8` or `int8-training`
 * @ignore_modules: (array zero-terminated=1) (nullable): beginnings of paths of modules that are left as they are
 * @compute_dtype: (nullable): what products are computed in, or %NULL for the default
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpQuantizedPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED for another precision
 *   and for a dtype in which it doesn't compute
 */
LpPrecisionPlugin *
lp_quantized_precision_plugin_new (const char          *precision,
                                   const char * const  *ignore_modules,
                                   const char          *compute_dtype,
                                   GError             **error)
{
  return g_initable_new (LP_TYPE_QUANTIZED_PRECISION_PLUGIN, NULL, error,
                         "precision", precision,
                         "ignore-modules", ignore_modules,
                         "compute-dtype", compute_dtype,
                         NULL);
}

/**
 * lp_quantized_precision_plugin_dup_ignore_modules: (get-property ignore-modules)
 * @self: a plugin
 *
 * Gets the beginnings of paths of modules that are left as they are.
 *
 * Returns: (transfer full) (array zero-terminated=1) (nullable): the beginnings
 */
char **
lp_quantized_precision_plugin_dup_ignore_modules (LpQuantizedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_QUANTIZED_PRECISION_PLUGIN (self), NULL);

  return g_strdupv (get_private (self)->ignore_modules);
}

/**
 * lp_quantized_precision_plugin_get_compute_dtype: (get-property compute-dtype)
 * @self: a plugin
 *
 * Gets what products are computed in.
 *
 * Returns: (transfer none): the name of a dtype
 */
const char *
lp_quantized_precision_plugin_get_compute_dtype (LpQuantizedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_QUANTIZED_PRECISION_PLUGIN (self), NULL);

  return get_compute_dtype (LP_PRECISION_PLUGIN (self));
}

/**
 * lp_quantized_precision_plugin_get_threshold: (get-property threshold)
 * @self: a plugin
 *
 * Gets the magnitude from which on a column of the input stays out of the integers.
 *
 * Returns: the magnitude, 0 if all columns go in
 */
double
lp_quantized_precision_plugin_get_threshold (LpQuantizedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_QUANTIZED_PRECISION_PLUGIN (self), 0);

  return get_private (self)->threshold;
}
