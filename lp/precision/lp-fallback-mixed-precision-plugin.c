#include <lp/precision/lp-fallback-mixed-precision-plugin.h>

#include <math.h>

#include <lp/precision/lp-mixed-precision-plugin-private.h>

/**
 * LpFallbackMixedPrecisionPlugin:
 *
 * Starts in `16-mixed` and goes on in `bf16-mixed` when the loss scale falls below
 * [property@FallbackMixedPrecisionPlugin:min-loss-scale], which means that no scale brings the run into the range of
 * float16.
 *
 * The change happens at the end of a step, between the update of the scale and the next batch. What the plugin reports
 * changes with it, and is notified. It is saved, and there is no way back but a checkpoint from before.
 *
 * The registry has it as `16-mixed-fallback`.
 */
typedef struct
{
  double   min_loss_scale;
  gboolean fallen;
} LpFallbackMixedPrecisionPluginPrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpFallbackMixedPrecisionPlugin, lp_fallback_mixed_precision_plugin,
                            LP_TYPE_MIXED_PRECISION_PLUGIN)

#define KEY_FALLEN "fallen-back"

enum
{
  PROP_0,
  PROP_MIN_LOSS_SCALE,
  PROP_FALLEN_BACK,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static inline LpFallbackMixedPrecisionPluginPrivate *
get_private (gpointer self)
{
  return lp_fallback_mixed_precision_plugin_get_instance_private (self);
}

static LpGradScaler *
peek_scaler (LpPrecisionPlugin *self)
{
  return _lp_mixed_precision_plugin_peek_any_scaler (LP_MIXED_PRECISION_PLUGIN (self));
}

static gboolean
set_fallen (LpPrecisionPlugin  *self,
            gboolean            fallen,
            GError            **error)
{
  LpFallbackMixedPrecisionPluginPrivate *priv = get_private (self);

  if (priv->fallen == fallen)
    return TRUE;

  priv->fallen = fallen;
  if (!lp_precision_plugin_update_state (self, fallen ? "bf16-mixed" : "16-mixed", "native", NULL, error))
    {
      priv->fallen = !fallen;
      return FALSE;
    }
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_FALLEN_BACK]);

  return TRUE;
}

static gboolean
check_bound (LpPrecisionPlugin  *self,
             GError            **error)
{
  double bound = get_private (self)->min_loss_scale;
  LpGradScaler *scaler = peek_scaler (self);

  if (!(bound > 0 && isfinite ((float) bound)))
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
                   "%s can't have the min-loss-scale %g: it is above 0 and fits in f32", G_OBJECT_TYPE_NAME (self), bound);
      return FALSE;
    }
  if (lp_grad_scaler_get_enabled (scaler) && lp_grad_scaler_get_min_scale (scaler) < bound &&
      lp_grad_scaler_get_init_scale (scaler) >= bound)
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER,
               "%s needs a scaler that starts at its min-loss-scale of %g or above and can fall below it",
               G_OBJECT_TYPE_NAME (self), bound);
  return FALSE;
}

static gboolean
lp_fallback_mixed_precision_plugin_validate (LpPrecisionPlugin   *self,
                                             LpPrecisionContext  *context,
                                             GError             **error)
{
  g_autofree char *precision = lp_precision_plugin_dup_precision (self);

  /* the parent has no scaler in bf16, where this one keeps it for the way back */
  if (get_private (self)->fallen)
    return LP_PRECISION_PLUGIN_CLASS (g_type_class_peek (LP_TYPE_PRECISION_PLUGIN))->validate (self, context, error);
  if (g_strcmp0 (precision, "bf16-mixed") == 0)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
                   "%s starts in 16-mixed; for bf16-mixed from the start take that", G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  return LP_PRECISION_PLUGIN_CLASS (lp_fallback_mixed_precision_plugin_parent_class)->validate (self, context, error) &&
         check_bound (self, error);
}

static gboolean
lp_fallback_mixed_precision_plugin_end_step (LpPrecisionPlugin  *self,
                                             GError            **error)
{
  LpFallbackMixedPrecisionPluginPrivate *priv = get_private (self);
  double scale;

  if (!LP_PRECISION_PLUGIN_CLASS (lp_fallback_mixed_precision_plugin_parent_class)->end_step (self, error))
    return FALSE;
  if (priv->fallen)
    return TRUE;

  scale = lp_grad_scaler_get_scale (peek_scaler (self));
  if (scale >= priv->min_loss_scale)
    return TRUE;

  g_message ("The loss scale fell to %g, below %g: the run goes on in bf16-mixed", scale, priv->min_loss_scale);

  return set_fallen (self, TRUE, error);
}

static LpState *
lp_fallback_mixed_precision_plugin_save_state (LpPrecisionPlugin  *self,
                                               GError            **error)
{
  LpState *state = lp_grad_scaler_save_state (peek_scaler (self));

  lp_state_set_value (state, KEY_FALLEN, g_variant_new_boolean (get_private (self)->fallen));

  return state;
}

/* A saved bound under which the scale can't fall would keep the run in float16 for ever. */
static gboolean
check_saved_bound (LpPrecisionPlugin  *self,
                   LpState            *state,
                   GError            **error)
{
  double bound = get_private (self)->min_loss_scale;
  g_autoptr (GVariant) value = lp_state_dup_value (state, "min_scale");

  if (value == NULL || !g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE) || !(g_variant_get_double (value) >= bound))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
               "The saved “min_scale” of the gradient scaler is %g, so the scale can't fall below the min-loss-scale of %g: give %s "
               "a larger one, or take 16-mixed", g_variant_get_double (value), bound, G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

/* State of a plain mixed precision has not fallen. */
static gboolean
read_fallen (LpState   *state,
             gboolean  *fallen,
             GError   **error)
{
  g_autoptr (GVariant) value = lp_state_dup_value (state, KEY_FALLEN);
  g_autofree char *text = NULL;

  if (value == NULL || g_variant_is_of_type (value, G_VARIANT_TYPE_BOOLEAN))
    {
      *fallen = value != NULL && g_variant_get_boolean (value);
      return TRUE;
    }

  text = g_variant_print (value, FALSE);
  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE, "The saved “%s” is %s, which is not true or false", KEY_FALLEN, text);
  return FALSE;
}

static gboolean
lp_fallback_mixed_precision_plugin_load_state (LpPrecisionPlugin  *self,
                                               LpState            *state,
                                               GError            **error)
{
  gboolean fallen;

  return read_fallen (state, &fallen, error) && check_saved_bound (self, state, error) && lp_grad_scaler_load_state (peek_scaler (self), state, error) &&
         set_fallen (self, fallen, error);
}

static char *
lp_fallback_mixed_precision_plugin_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup ("fallback");
}

static char **
lp_fallback_mixed_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self)
{
  const char *const aliases[] = { "mixed", "apex", NULL };

  return g_strdupv ((char **) aliases);
}

static void
lp_fallback_mixed_precision_plugin_get_property (GObject    *object,
                                                 guint       prop_id,
                                                 GValue     *value,
                                                 GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_MIN_LOSS_SCALE:
      g_value_set_double (value, get_private (object)->min_loss_scale);
      break;
    case PROP_FALLEN_BACK:
      g_value_set_boolean (value, get_private (object)->fallen);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fallback_mixed_precision_plugin_set_property (GObject      *object,
                                                 guint         prop_id,
                                                 const GValue *value,
                                                 GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_MIN_LOSS_SCALE:
      get_private (object)->min_loss_scale = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fallback_mixed_precision_plugin_class_init (LpFallbackMixedPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  object_class->get_property = lp_fallback_mixed_precision_plugin_get_property;
  object_class->set_property = lp_fallback_mixed_precision_plugin_set_property;
  plugin_class->validate = lp_fallback_mixed_precision_plugin_validate;
  plugin_class->end_step = lp_fallback_mixed_precision_plugin_end_step;
  plugin_class->save_state = lp_fallback_mixed_precision_plugin_save_state;
  plugin_class->load_state = lp_fallback_mixed_precision_plugin_load_state;
  plugin_class->dup_state_id = lp_fallback_mixed_precision_plugin_dup_state_id;
  plugin_class->dup_state_aliases = lp_fallback_mixed_precision_plugin_dup_state_aliases;

  /**
   * LpFallbackMixedPrecisionPlugin:min-loss-scale: (getter get_min_loss_scale)
   *
   * The loss scale below which it goes on in bfloat16.
   */
  properties[PROP_MIN_LOSS_SCALE] =
    g_param_spec_double ("min-loss-scale", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 1,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  /**
   * LpFallbackMixedPrecisionPlugin:fallen-back: (getter has_fallen_back)
   *
   * Whether it has done so.
   */
  properties[PROP_FALLEN_BACK] = g_param_spec_boolean ("fallen-back", NULL, NULL, FALSE,
                                                       G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_fallback_mixed_precision_plugin_init (LpFallbackMixedPrecisionPlugin *self)
{
}

/**
 * lp_fallback_mixed_precision_plugin_new:
 * @min_loss_scale: the loss scale below which it goes on in bfloat16
 * @scaler: (nullable): scales the loss while in float16; %NULL for one with the usual values
 * @error: return location for an error
 *
 * Creates a plugin.
 *
 * Returns: (transfer full) (type LpFallbackMixedPrecisionPlugin): the plugin. Errors: %LP_PRECISION_ERROR_BAD_SCALER for a
 *   bound that is not above 0, and for a scaler that starts or ends on the wrong side of it
 */
LpPrecisionPlugin *
lp_fallback_mixed_precision_plugin_new (double         min_loss_scale,
                                        LpGradScaler  *scaler,
                                        GError       **error)
{
  return g_initable_new (LP_TYPE_FALLBACK_MIXED_PRECISION_PLUGIN, NULL, error,
                         "min-loss-scale", min_loss_scale,
                         "scaler", scaler,
                         NULL);
}

/**
 * lp_fallback_mixed_precision_plugin_get_min_loss_scale:
 * @self: a plugin
 *
 * Gets the loss scale below which it goes on in bfloat16.
 *
 * Returns: the scale
 */
double
lp_fallback_mixed_precision_plugin_get_min_loss_scale (LpFallbackMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_FALLBACK_MIXED_PRECISION_PLUGIN (self), 0);

  return get_private (self)->min_loss_scale;
}

/**
 * lp_fallback_mixed_precision_plugin_has_fallen_back: (get-property fallen-back)
 * @self: a plugin
 *
 * Finds out whether the plugin goes on in bfloat16.
 *
 * Returns: whether it does
 */
gboolean
lp_fallback_mixed_precision_plugin_has_fallen_back (LpFallbackMixedPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_FALLBACK_MIXED_PRECISION_PLUGIN (self), FALSE);

  return get_private (self)->fallen;
}
