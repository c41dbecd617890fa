#include <lp/precision/lp-apex-mixed-precision-plugin.h>

#include <math.h>

#include <lp/nn/lp-batch-norm2d.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-grad-scaler-private.h>
#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpApexMixedPrecisionPlugin:
 *
 * The optimization levels of NVIDIA's apex, with float16.
 *
 * | level | reports | weights | operations | norms | masters | loss scale |
 * |---|---|---|---|---|---|---|
 * | `O0` | `32-true` | float32 | as stored | – | – | 1 |
 * | `O1` | `16-mixed` | as built | by [class@CastPolicy] | – | – | dynamic |
 * | `O2` | `16-mixed` | float16 | by [class@CastPolicy] | float32 | float32 | dynamic |
 * | `O3` | `16-true` | float16 | as stored | float16 | – | 1 |
 *
 * The default is `O2`, where apex has no policy for operations but a model that gives float32: here the policy has losses
 * computed in float32, and lets float32 norms stand between layers in float16. Gradients of weights with masters are
 * float32, and so unscaled and clipped as they are.
 *
 * A dynamic loss scale is a [class@GradScaler] from 65536 up to 2^24, or the program's own. `O0` and `O3` don't scale
 * unless [property@ApexMixedPrecisionPlugin:loss-scale] says so. The other overrides are for `O0`, `O2` and `O3`: `O1`
 * leaves the model alone.
 *
 * The registry has the levels as `apex-O0`, `apex-O1`, `apex-O2` and `apex-O3`; `apex` is `apex-O2`.
 */
typedef struct
{
  LpGradScaler   *scaler;
  gboolean        own;              /* made by the plugin */
  char           *loss_scale;
  LpApexOverride  master_weights;
  LpApexOverride  keep_batchnorm_fp32;
  LpCastPolicy   *policy;
} LpApexMixedPrecisionPluginPrivate;

G_DEFINE_ENUM_TYPE (LpApexOverride, lp_apex_override,
                    G_DEFINE_ENUM_VALUE (LP_APEX_OVERRIDE_NONE, "none"),
                    G_DEFINE_ENUM_VALUE (LP_APEX_OVERRIDE_OFF, "off"),
                    G_DEFINE_ENUM_VALUE (LP_APEX_OVERRIDE_ON, "on"))

G_DEFINE_TYPE_WITH_PRIVATE (LpApexMixedPrecisionPlugin, lp_apex_mixed_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

enum
{
  PROP_0,
  PROP_SCALER,
  PROP_LOSS_SCALE,
  PROP_MASTER_WEIGHTS,
  PROP_KEEP_BATCHNORM_FP32,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

typedef struct
{
  const char *name;
  const char *precision;
  gboolean    half;         /* weights in f16 */
  gboolean    policy;
  gboolean    keep_norms;
  gboolean    masters;
  gboolean    dynamic;
} Level;

/* Where several levels report one precision, the first of them is the default for it. */
static const Level levels[] = {
  { "O2", "16-mixed", TRUE, TRUE, TRUE, TRUE, TRUE },
  { "O0", "32-true", FALSE, FALSE, FALSE, FALSE, FALSE },
  { "O1", "16-mixed", FALSE, TRUE, FALSE, FALSE, TRUE },
  { "O3", "16-true", TRUE, FALSE, FALSE, FALSE, FALSE },
};

static inline LpApexMixedPrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_apex_mixed_precision_plugin_get_instance_private (self);
}

static const Level *
find_level (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (levels); i++)
    if (g_strcmp0 (levels[i].name, name) == 0)
      return &levels[i];

  return NULL;
}

static const Level *
peek_level (gpointer self)
{
  const Level *level = find_level (_lp_precision_plugin_peek_amp_level (self));

  return level != NULL ? level : &levels[0];
}

static gboolean
resolve (LpApexOverride override,
         gboolean       of_level)
{
  return override == LP_APEX_OVERRIDE_NONE ? of_level : override == LP_APEX_OVERRIDE_ON;
}

static gboolean
has_masters (gpointer self)
{
  const Level *level = peek_level (self);

  return level->half && resolve (get_private (self)->master_weights, level->masters);
}

static gboolean
is_dynamic (gpointer self)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (self);

  if (priv->scaler != NULL && !priv->own)
    return TRUE;

  return priv->loss_scale != NULL ? g_str_equal (priv->loss_scale, "dynamic") : peek_level (self)->dynamic;
}

/* Of a scale that never changes; 0 for text that is none. */
static double
get_static_scale (gpointer self)
{
  const char *text = get_private (self)->loss_scale;
  char *end = NULL;
  double scale;

  if (text == NULL)
    return 1;

  scale = g_ascii_strtod (text, &end);

  return end != text && *end == '\0' && isfinite ((float) scale) && (float) scale > 0 ? scale : 0;
}

/* NULL when the scale is not dynamic. */
static LpGradScaler *
peek_scaler (LpPrecisionPlugin *self)
{
  return is_dynamic (self) ? get_private (self)->scaler : NULL;
}

static gboolean
lp_apex_mixed_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                               LpPrecisionState   *state,
                                               GError            **error)
{
  const char *backend = lp_precision_state_get_amp_backend (state);
  const char *precision = lp_precision_state_get_precision (state);
  const char *name = lp_precision_state_get_amp_level (state);
  const Level *level = find_level (name);

  if (!_lp_precision_plugin_check_backend (self, backend, "apex", error))
    return FALSE;
  if (precision != NULL && g_str_has_prefix (precision, "bf16"))
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
                   "%s has no precision “%s”: apex knows float16 only; take bf16-mixed or bf16-true without it",
                   G_OBJECT_TYPE_NAME (self), precision);
      return FALSE;
    }
  if (level == NULL)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_LEVEL,
                   "%s has no amp level “%s”; it has “O0”, “O1”, “O2” and “O3”", G_OBJECT_TYPE_NAME (self),
                   name != NULL ? name : "");
      return FALSE;
    }
  if (g_strcmp0 (precision, level->precision) != 0)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
                   "%s has no precision “%s” at the amp level %s, which is “%s”: leave one of the two out",
                   G_OBJECT_TYPE_NAME (self), precision != NULL ? precision : "", level->name, level->precision);
      return FALSE;
    }

  return TRUE;
}

static gboolean
check_overrides (LpPrecisionPlugin  *self,
                 GError            **error)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (self);
  gboolean overridden = priv->master_weights != LP_APEX_OVERRIDE_NONE || priv->keep_batchnorm_fp32 != LP_APEX_OVERRIDE_NONE;

  if (overridden && g_str_equal (peek_level (self)->name, "O1"))
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT,
                   "%s can't have %s at the amp level O1, which leaves the model alone: leave it out, or take O2",
                   G_OBJECT_TYPE_NAME (self),
                   priv->master_weights != LP_APEX_OVERRIDE_NONE ? "master-weights" : "keep-batchnorm-fp32");
      return FALSE;
    }
  if (priv->scaler != NULL && !priv->own && priv->loss_scale != NULL)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT,
                   "%s has a scaler and the loss-scale “%s”; only one of the two can be", G_OBJECT_TYPE_NAME (self),
                   priv->loss_scale);
      return FALSE;
    }
  if (!is_dynamic (self) && get_static_scale (self) == 0)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                   "%s can't have the loss-scale “%s”: it is “dynamic” or a number above 0", G_OBJECT_TYPE_NAME (self),
                   priv->loss_scale);
      return FALSE;
    }

  return peek_scaler (self) == NULL || lp_grad_scaler_check (peek_scaler (self), error);
}

static gboolean
lp_apex_mixed_precision_plugin_validate (LpPrecisionPlugin   *self,
                                         LpPrecisionContext  *context,
                                         GError             **error)
{
  LpModule *module = lp_precision_context_get_module (context);

  if (!LP_PRECISION_PLUGIN_CLASS (lp_apex_mixed_precision_plugin_parent_class)->validate (self, context, error) ||
      !check_overrides (self, error))
    return FALSE;

  return module == NULL || peek_level (self)->half || !is_dynamic (self) ||
         _lp_precision_plugin_check_no_f16 (self, module, error);
}

static LpPrecisionTraits *
lp_apex_mixed_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                           GError            **error)
{
  const Level *level = peek_level (self);
  const char *storage = level->half ? "f16" : "f32";
  const char *wide = has_masters (self) ? "f32" : storage;

  return lp_precision_traits_new (storage, level->policy ? "f16" : storage, wide, wide, wide);
}

/* The parameters and buffers of all batch norms. */
static GPtrArray *
dup_norm_tensors (LpModule *module)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (module);
  GPtrArray *tensors = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; i < modules->len; i++)
    {
      LpModule *candidate = g_ptr_array_index (modules, i);

      if (!LP_IS_BATCH_NORM2D (candidate))
        continue;
      g_ptr_array_extend_and_steal (tensors, lp_module_dup_parameters (candidate));
      g_ptr_array_extend_and_steal (tensors, lp_module_dup_buffers (candidate));
    }

  return tensors;
}

static gboolean
lp_apex_mixed_precision_plugin_convert_module (LpPrecisionPlugin  *self,
                                               LpModule           *module,
                                               GError            **error)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (self);
  const Level *level = peek_level (self);
  g_autoptr (GPtrArray) norms = NULL;

  if (g_str_equal (level->name, "O1"))
    return TRUE;
  if (!level->half)
    return lp_module_to_dtype (module, lp_dtype_f32 (), error);
  if (!resolve (priv->keep_batchnorm_fp32, level->keep_norms))
    return lp_module_to_dtype (module, lp_dtype_f16 (), error);

  norms = dup_norm_tensors (module);

  return _lp_module_to_dtype_except (module, lp_dtype_f16 (), norms, error);
}

static gboolean
lp_apex_mixed_precision_plugin_convert_optimizer (LpPrecisionPlugin  *self,
                                                  LpOptimizer        *optimizer,
                                                  GError            **error)
{
  if (!has_masters (self))
    return TRUE;

  for (guint i = 0; i < lp_optimizer_get_n_groups (optimizer); i++)
    if (!lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, i), lp_dtype_f32 (), error))
      return FALSE;

  return TRUE;
}

static LpTensor *
lp_apex_mixed_precision_plugin_convert_input (LpPrecisionPlugin  *self,
                                              LpTensor           *tensor,
                                              GError            **error)
{
  const Level *level = peek_level (self);

  if (g_str_equal (level->name, "O1"))
    return g_object_ref (tensor);

  return lp_tensor_to_dtype (tensor, level->half ? lp_dtype_f16 () : lp_dtype_f32 (), error);
}

static LpTensor *
lp_apex_mixed_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                               LpTensor           *tensor,
                                               GError            **error)
{
  return _lp_precision_plugin_give_out (tensor, lp_dtype_f16 (), error);
}

static LpCastPolicy *
lp_apex_mixed_precision_plugin_get_cast_policy (LpPrecisionPlugin  *self,
                                                GError            **error)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (self);

  if (!peek_level (self)->policy)
    return NULL;
  if (priv->policy == NULL)
    priv->policy = lp_cast_policy_new (lp_dtype_f16 ());

  return g_object_ref (priv->policy);
}

static LpTensor *
lp_apex_mixed_precision_plugin_scale_loss (LpPrecisionPlugin  *self,
                                           LpTensor           *loss,
                                           GError            **error)
{
  double scale = get_static_scale (self);
  g_autoptr (LpTensor) wide = NULL;

  if (is_dynamic (self))
    return lp_grad_scaler_scale (peek_scaler (self), loss, error);
  if (scale == 1)
    return g_object_ref (loss);

  wide = lp_tensor_get_dtype (loss) == lp_dtype_f16 () ? lp_tensor_to_dtype (loss, lp_dtype_f32 (), error)
                                                       : g_object_ref (loss);

  return lp_tensor_scale (wide, scale, error);
}

static gboolean
lp_apex_mixed_precision_plugin_unscale_gradients (LpPrecisionPlugin  *self,
                                                  LpOptimizer        *optimizer,
                                                  GError            **error)
{
  double scale = get_static_scale (self);
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpTensor) factor = NULL;

  if (is_dynamic (self))
    return lp_grad_scaler_unscale (peek_scaler (self), optimizer, error);
  if (scale == 1)
    return TRUE;

  parameters = lp_optimizer_dup_parameters (optimizer);
  factor = lp_tensor_scalar (1 / scale, lp_dtype_f32 (),
                             parameters->len > 0 ? lp_tensor_get_device (parameters->pdata[0]) : NULL, error);

  return factor != NULL && lp_optimizer_scale_gradients (optimizer, factor, NULL, error);
}

static LpStepResult
lp_apex_mixed_precision_plugin_optimizer_step (LpPrecisionPlugin  *self,
                                               LpOptimizer        *optimizer,
                                               LpStepClosure      *closure,
                                               GError            **error)
{
  if (is_dynamic (self))
    return lp_grad_scaler_step (peek_scaler (self), optimizer, closure, error);
  if (closure == NULL || get_static_scale (self) == 1)
    return lp_optimizer_step (optimizer, closure, error);

  g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                       "An optimizer that computes its gradients again can't be used with a loss scale: use a precision that "
                       "scales nothing, such as bf16-mixed or apex's O0");
  return LP_STEP_FAILED;
}

static char *
lp_apex_mixed_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("apex");
}

/* All of them save a scaler. */
static char **
lp_apex_mixed_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self)
{
  const char *const aliases[] = { "ApexMixedPrecisionPlugin", "mixed", "fallback", NULL };

  return g_strdupv ((char **) aliases);
}

static void
lp_apex_mixed_precision_plugin_get_property (GObject    *object,
                                             guint       prop_id,
                                             GValue     *value,
                                             GParamSpec *pspec)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_SCALER:
      g_value_set_object (value, peek_scaler (LP_PRECISION_PLUGIN (object)));
      break;
    case PROP_LOSS_SCALE:
      g_value_set_string (value, priv->loss_scale);
      break;
    case PROP_MASTER_WEIGHTS:
      g_value_set_enum (value, priv->master_weights);
      break;
    case PROP_KEEP_BATCHNORM_FP32:
      g_value_set_enum (value, priv->keep_batchnorm_fp32);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_apex_mixed_precision_plugin_set_property (GObject      *object,
                                             guint         prop_id,
                                             const GValue *value,
                                             GParamSpec   *pspec)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_SCALER:
      priv->scaler = g_value_dup_object (value);
      break;
    case PROP_LOSS_SCALE:
      priv->loss_scale = g_value_dup_string (value);
      break;
    case PROP_MASTER_WEIGHTS:
      priv->master_weights = g_value_get_enum (value);
      break;
    case PROP_KEEP_BATCHNORM_FP32:
      priv->keep_batchnorm_fp32 = g_value_get_enum (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

/* A level that was left out follows from the precision, and the other way round. */
static void
set_defaults (LpPrecisionPlugin *self)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);
  const Level *level = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (levels) && data->amp_level == NULL; i++)
    if (data->precision == NULL || g_str_equal (data->precision, levels[i].precision))
      data->amp_level = levels[i].name;
  if (data->amp_level == NULL)
    data->amp_level = levels[0].name;
  data->amp_level = g_intern_string (data->amp_level);

  level = find_level (data->amp_level);
  _lp_precision_plugin_set_defaults (self, level != NULL ? level->precision : levels[0].precision, "apex");
}

static void
lp_apex_mixed_precision_plugin_constructed (GObject *object)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (object);

  set_defaults (LP_PRECISION_PLUGIN (object));

  G_OBJECT_CLASS (lp_apex_mixed_precision_plugin_parent_class)->constructed (object);

  priv->own = priv->scaler == NULL;
  if (priv->own && is_dynamic (object))
    priv->scaler = g_object_new (LP_TYPE_GRAD_SCALER, "max-scale", 0x1p24, NULL);
  if (priv->scaler != NULL)
    _lp_grad_scaler_allow_f16 (priv->scaler);
}

static void
lp_apex_mixed_precision_plugin_finalize (GObject *object)
{
  LpApexMixedPrecisionPluginPrivate *priv = get_private (object);

  g_clear_object (&priv->scaler);
  g_clear_object (&priv->policy);
  g_free (priv->loss_scale);

  G_OBJECT_CLASS (lp_apex_mixed_precision_plugin_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  /**
   * LpApexMixedPrecisionPlugin:scaler: (getter get_scaler)
   *
   * What scales the loss where the scale is dynamic: the one given, or one with the values of apex.
   */
  properties[PROP_SCALER] = g_param_spec_object ("scaler", NULL, NULL, LP_TYPE_GRAD_SCALER, flags);

  /**
   * LpApexMixedPrecisionPlugin:loss-scale: (getter get_loss_scale)
   *
   * `dynamic`, or a number that never changes; %NULL for what the level says.
   */
  properties[PROP_LOSS_SCALE] = g_param_spec_string ("loss-scale", NULL, NULL, NULL, flags);

  /**
   * LpApexMixedPrecisionPlugin:master-weights: (getter get_master_weights)
   *
   * Whether the optimizer keeps float32 weights where the stored ones are float16.
   */
  properties[PROP_MASTER_WEIGHTS] =
    g_param_spec_enum ("master-weights", NULL, NULL, LP_TYPE_APEX_OVERRIDE, LP_APEX_OVERRIDE_NONE, flags);

  /**
   * LpApexMixedPrecisionPlugin:keep-batchnorm-fp32: (getter get_keep_batchnorm_fp32)
   *
   * Whether batch norms stay in float32 where other weights are float16.
   */
  properties[PROP_KEEP_BATCHNORM_FP32] =
    g_param_spec_enum ("keep-batchnorm-fp32", NULL, NULL, LP_TYPE_APEX_OVERRIDE, LP_APEX_OVERRIDE_NONE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_apex_mixed_precision_plugin_class_init (LpApexMixedPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  object_class->get_property = lp_apex_mixed_precision_plugin_get_property;
  object_class->set_property = lp_apex_mixed_precision_plugin_set_property;
  object_class->constructed = lp_apex_mixed_precision_plugin_constructed;
  object_class->finalize = lp_apex_mixed_precision_plugin_finalize;
  install_properties (object_class);

  _lp_precision_plugin_class_set_scaler (plugin_class, peek_scaler);
  plugin_class->validate = lp_apex_mixed_precision_plugin_validate;
  plugin_class->validate_state = lp_apex_mixed_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_apex_mixed_precision_plugin_dup_traits;
  plugin_class->convert_module = lp_apex_mixed_precision_plugin_convert_module;
  plugin_class->convert_optimizer = lp_apex_mixed_precision_plugin_convert_optimizer;
  plugin_class->convert_input = lp_apex_mixed_precision_plugin_convert_input;
  plugin_class->convert_output = lp_apex_mixed_precision_plugin_convert_output;
  plugin_class->get_cast_policy = lp_apex_mixed_precision_plugin_get_cast_policy;
  plugin_class->scale_loss = lp_apex_mixed_precision_plugin_scale_loss;
  plugin_class->unscale_gradients = lp_apex_mixed_precision_plugin_unscale_gradients;
  plugin_class->optimizer_step = lp_apex_mixed_precision_plugin_optimizer_step;
  plugin_class->dup_state_id = lp_apex_mixed_precision_plugin_dup_state_id;
  plugin_class->dup_state_aliases = lp_apex_mixed_precision_plugin_dup_state_aliases;
}

static void
lp_apex_mixed_precision_plugin_init (LpApexMixedPrecisionPlugin *self)
{
}

/**
 * lp_apex_mixed_precision_plugin_new:
 * @amp_level: (nullable): `O0`, `O1`, `O2` or `O3`; %NULL for `O2`
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpApexMixedPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_BAD_LEVEL for
 *   another level
 */
LpPrecisionPlugin *
lp_apex_mixed_precision_plugin_new (const char  *amp_level,
                                    GError     **error)
{
  return g_initable_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, NULL, error, "amp-level", amp_level, NULL);
}

/**
 * lp_apex_mixed_precision_plugin_get_scaler:
 * @self: a plugin
 *
 * Gets what scales the loss where the scale is dynamic.
 *
 * Returns: (transfer none) (nullable): the scaler, or %NULL where the scale never changes
 */
LpGradScaler *
lp_apex_mixed_precision_plugin_get_scaler (LpApexMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_APEX_MIXED_PRECISION_PLUGIN (self), NULL);

  return peek_scaler (LP_PRECISION_PLUGIN (self));
}

/**
 * lp_apex_mixed_precision_plugin_get_loss_scale:
 * @self: a plugin
 *
 * Gets what overrides the loss scale of the level.
 *
 * Returns: (transfer none) (nullable): `dynamic` or a number, or %NULL if nothing does
 */
const char *
lp_apex_mixed_precision_plugin_get_loss_scale (LpApexMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_APEX_MIXED_PRECISION_PLUGIN (self), NULL);

  return get_private (self)->loss_scale;
}

/**
 * lp_apex_mixed_precision_plugin_get_master_weights:
 * @self: a plugin
 *
 * Gets whether the master weights of the level are overridden.
 *
 * Returns: whether they are
 */
LpApexOverride
lp_apex_mixed_precision_plugin_get_master_weights (LpApexMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_APEX_MIXED_PRECISION_PLUGIN (self), LP_APEX_OVERRIDE_NONE);

  return get_private (self)->master_weights;
}

/**
 * lp_apex_mixed_precision_plugin_get_keep_batchnorm_fp32:
 * @self: a plugin
 *
 * Gets whether it is overridden which dtype batch norms have at the level.
 *
 * Returns: whether it is
 */
LpApexOverride
lp_apex_mixed_precision_plugin_get_keep_batchnorm_fp32 (LpApexMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_APEX_MIXED_PRECISION_PLUGIN (self), LP_APEX_OVERRIDE_NONE);

  return get_private (self)->keep_batchnorm_fp32;
}
