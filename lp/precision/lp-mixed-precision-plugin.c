#include <lp/precision/lp-mixed-precision-plugin-private.h>

#include <lp/precision/lp-precision-plugin-private.h>

/**
 * LpMixedPrecisionPlugin:
 *
 * Precisions `16-mixed` and `bf16-mixed`: weights in float32; products in float16 or bfloat16 and the operations that
 * need it in float32, as [class@CastPolicy] says.
 *
 * With `16-mixed` the loss is scaled by a [class@GradScaler], the program's own if it gives one. `bf16-mixed` has none.
 */
typedef struct
{
  LpGradScaler *scaler;
  gboolean      own;        /* made by the plugin */
  LpCastPolicy *policies[2];
} LpMixedPrecisionPluginPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpMixedPrecisionPlugin, lp_mixed_precision_plugin, LP_TYPE_PRECISION_PLUGIN)

enum
{
  PROP_0,
  PROP_SCALER,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static const char *const names[] = { "16-mixed", "bf16-mixed", NULL };

static inline LpMixedPrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_mixed_precision_plugin_get_instance_private (self);
}

static gboolean
is_bf16 (LpPrecisionPlugin *self)
{
  return g_strcmp0 (_lp_precision_plugin_peek_precision (self), "bf16-mixed") == 0;
}

static LpDType *
peek_low_dtype (LpPrecisionPlugin *self)
{
  return is_bf16 (self) ? lp_dtype_bf16 () : lp_dtype_f16 ();
}

LpGradScaler *
_lp_mixed_precision_plugin_peek_any_scaler (LpMixedPrecisionPlugin *self)
{
  return get_private (self)->scaler;
}

/* NULL with bfloat16. */
static LpGradScaler *
peek_scaler (LpPrecisionPlugin *self)
{
  return is_bf16 (self) ? NULL : get_private (self)->scaler;
}

static gboolean
lp_mixed_precision_plugin_validate_state (LpPrecisionPlugin  *self,
                                          LpPrecisionState   *state,
                                          GError            **error)
{
  return _lp_precision_plugin_check_names (self, state, names, "native", error);
}

static gboolean
lp_mixed_precision_plugin_validate (LpPrecisionPlugin   *self,
                                    LpPrecisionContext  *context,
                                    GError             **error)
{
  LpMixedPrecisionPluginPrivate *priv = get_private (self);
  LpModule *module = lp_precision_context_get_module (context);

  if (!LP_PRECISION_PLUGIN_CLASS (lp_mixed_precision_plugin_parent_class)->validate (self, context, error))
    return FALSE;

  if (is_bf16 (self))
    {
      if (priv->scaler == NULL || priv->own)
        return TRUE;

      g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                           "bf16-mixed has no use for a gradient scaler: leave it out, or use 16-mixed");
      return FALSE;
    }
  if (priv->scaler != NULL && !lp_grad_scaler_check (priv->scaler, error))
    return FALSE;

  return module == NULL || _lp_precision_plugin_check_no_f16 (self, module, error);
}

static LpPrecisionTraits *
lp_mixed_precision_plugin_dup_traits (LpPrecisionPlugin  *self,
                                      GError            **error)
{
  return lp_precision_traits_new ("f32", lp_dtype_get_name (peek_low_dtype (self)), "f32", "f32", "f32");
}

static LpCastPolicy *
lp_mixed_precision_plugin_get_cast_policy (LpPrecisionPlugin  *self,
                                           GError            **error)
{
  LpCastPolicy **policy = &get_private (self)->policies[is_bf16 (self)];

  if (*policy == NULL)
    *policy = lp_cast_policy_new (peek_low_dtype (self));

  return g_object_ref (*policy);
}

static LpTensor *
lp_mixed_precision_plugin_convert_output (LpPrecisionPlugin  *self,
                                          LpTensor           *tensor,
                                          GError            **error)
{
  return _lp_precision_plugin_give_out (tensor, peek_low_dtype (self), error);
}

static char *
lp_mixed_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("mixed");
}

/* The names under which Lightning's plugins saved the state of their scaler, and relatives that save one. */
static char **
lp_mixed_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self)
{
  const char *const aliases[] = {
    "MixedPrecision", "MixedPrecisionPlugin", "NativeMixedPrecisionPlugin", "native_amp_scaling_state", "apex", "fallback", NULL
  };

  return g_strdupv ((char **) aliases);
}

static void
lp_mixed_precision_plugin_get_property (GObject    *object,
                                        guint       prop_id,
                                        GValue     *value,
                                        GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_SCALER:
      g_value_set_object (value, lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (object)));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_mixed_precision_plugin_set_property (GObject      *object,
                                        guint         prop_id,
                                        const GValue *value,
                                        GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_SCALER:
      get_private (object)->scaler = g_value_dup_object (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_mixed_precision_plugin_constructed (GObject *object)
{
  LpMixedPrecisionPluginPrivate *priv = get_private (object);

  _lp_precision_plugin_set_defaults (LP_PRECISION_PLUGIN (object), "16-mixed", "native");

  G_OBJECT_CLASS (lp_mixed_precision_plugin_parent_class)->constructed (object);

  priv->own = priv->scaler == NULL;
  if (priv->own && !is_bf16 (LP_PRECISION_PLUGIN (object)))
    priv->scaler = lp_grad_scaler_new ();
}

static void
lp_mixed_precision_plugin_finalize (GObject *object)
{
  LpMixedPrecisionPluginPrivate *priv = get_private (object);

  g_clear_object (&priv->scaler);
  g_clear_object (&priv->policies[0]);
  g_clear_object (&priv->policies[1]);

  G_OBJECT_CLASS (lp_mixed_precision_plugin_parent_class)->finalize (object);
}

static void
lp_mixed_precision_plugin_class_init (LpMixedPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  object_class->get_property = lp_mixed_precision_plugin_get_property;
  object_class->set_property = lp_mixed_precision_plugin_set_property;
  object_class->constructed = lp_mixed_precision_plugin_constructed;
  object_class->finalize = lp_mixed_precision_plugin_finalize;
  _lp_precision_plugin_class_set_scaler (plugin_class, peek_scaler);
  plugin_class->validate = lp_mixed_precision_plugin_validate;
  plugin_class->validate_state = lp_mixed_precision_plugin_validate_state;
  plugin_class->dup_traits = lp_mixed_precision_plugin_dup_traits;
  plugin_class->get_cast_policy = lp_mixed_precision_plugin_get_cast_policy;
  plugin_class->convert_output = lp_mixed_precision_plugin_convert_output;
  plugin_class->dup_state_id = lp_mixed_precision_plugin_dup_state_id;
  plugin_class->dup_state_aliases = lp_mixed_precision_plugin_dup_state_aliases;

  /**
   * LpMixedPrecisionPlugin:scaler: (getter get_scaler)
   *
   * What scales the loss with `16-mixed`: the one given, or one with the usual values.
   */
  properties[PROP_SCALER] = g_param_spec_object ("scaler", NULL, NULL, LP_TYPE_GRAD_SCALER,
                                                 G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_mixed_precision_plugin_init (LpMixedPrecisionPlugin *self)
{
}

/**
 * lp_mixed_precision_plugin_new:
 * @precision: `16-mixed` or `bf16-mixed`
 * @scaler: (nullable): scales the loss with `16-mixed`; %NULL for one with the usual values
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpMixedPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_UNSUPPORTED for
 *   another precision, %LP_PRECISION_ERROR_BAD_SCALER for a scaler with `bf16-mixed`
 */
LpPrecisionPlugin *
lp_mixed_precision_plugin_new (const char    *precision,
                               LpGradScaler  *scaler,
                               GError       **error)
{
  return g_initable_new (LP_TYPE_MIXED_PRECISION_PLUGIN, NULL, error,
                         "precision", precision,
                         "scaler", scaler,
                         NULL);
}

/**
 * lp_mixed_precision_plugin_get_scaler:
 * @self: a plugin
 *
 * Gets what scales the loss.
 *
 * Returns: (transfer none) (nullable): the scaler, or %NULL with `bf16-mixed`
 */
LpGradScaler *
lp_mixed_precision_plugin_get_scaler (LpMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_MIXED_PRECISION_PLUGIN (self), NULL);

  return peek_scaler (LP_PRECISION_PLUGIN (self));
}
