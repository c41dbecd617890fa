#include <lp/precision/lp-precision-plugin-private.h>


/**
 * LpPrecisionPlugin:
 *
 * How numbers are stored, computed, scaled, clipped and saved.
 *
 * Every virtual function has a default that does the plain 32-bit thing, so a useful plugin overrides one or two. What
 * the plugin reports in [property@PrecisionPlugin:precision], [property@PrecisionPlugin:amp-backend] and
 * [property@PrecisionPlugin:amp-level] belongs to it alone: it is given when the plugin is made, and later only the
 * plugin itself changes it, with [method@PrecisionPlugin.update_state].
 *
 * A plugin is used through the public functions, which check what an override gives back: success with an error,
 * failure without one, a tensor of another shape or device. One that breaks the contract gives %LP_ERROR_SUBCLASS,
 * naming its type.
 *
 * A plugin is a [iface@Gio.Initable]. If it was not initialised, the first function called does it and gives its error.
 *
 * Before training [method@PrecisionPlugin.convert_module] gets the model, and [method@PrecisionPlugin.convert_optimizer]
 * each optimizer of it. In one step the order is: [method@PrecisionPlugin.convert_input], the model inside
 * [method@PrecisionPlugin.push_scope] and [method@PrecisionPlugin.pop_scope], [method@PrecisionPlugin.scale_loss],
 * [method@PrecisionPlugin.backward], and, at the end of an accumulation window, for each optimizer
 * [method@PrecisionPlugin.unscale_gradients], [method@PrecisionPlugin.clip_gradients] and
 * [method@PrecisionPlugin.optimizer_step], then once [method@PrecisionPlugin.end_step].
 */

typedef LpPrecisionPluginData LpPrecisionPluginPrivate;

static void initable_init (GInitableIface *iface);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (LpPrecisionPlugin, lp_precision_plugin, G_TYPE_OBJECT,
                                  G_ADD_PRIVATE (LpPrecisionPlugin)
                                  g_type_add_class_private (g_define_type_id, sizeof (LpPrecisionPluginClassData));
                                  G_IMPLEMENT_INTERFACE (G_TYPE_INITABLE, initable_init))

enum
{
  PROP_0,
  PROP_PRECISION,
  PROP_AMP_BACKEND,
  PROP_AMP_LEVEL,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

LpPrecisionPluginData *
_lp_precision_plugin_get_data (LpPrecisionPlugin *self)
{
  return lp_precision_plugin_get_instance_private (self);
}

LpPrecisionPluginClassData *
_lp_precision_plugin_class_get_data (LpPrecisionPluginClass *klass)
{
  return G_TYPE_CLASS_GET_PRIVATE (klass, LP_TYPE_PRECISION_PLUGIN, LpPrecisionPluginClassData);
}

static LpPrecisionState *
peek_state (LpPrecisionPlugin *self)
{
  return g_atomic_pointer_get (&_lp_precision_plugin_get_data (self)->state);
}

const char *
_lp_precision_plugin_peek_precision (LpPrecisionPlugin *self)
{
  return lp_precision_state_get_precision (peek_state (self));
}

const char *
_lp_precision_plugin_peek_amp_level (LpPrecisionPlugin *self)
{
  return lp_precision_state_get_amp_level (peek_state (self));
}

/* The object. */

static void
lp_precision_plugin_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  LpPrecisionState *state = peek_state (LP_PRECISION_PLUGIN (object));

  if (state == NULL)
    return;

  switch (prop_id)
    {
    case PROP_PRECISION:
      g_value_set_interned_string (value, lp_precision_state_get_precision (state));
      break;
    case PROP_AMP_BACKEND:
      g_value_set_interned_string (value, lp_precision_state_get_amp_backend (state));
      break;
    case PROP_AMP_LEVEL:
      g_value_set_interned_string (value, lp_precision_state_get_amp_level (state));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_precision_plugin_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (LP_PRECISION_PLUGIN (object));

  switch (prop_id)
    {
    case PROP_PRECISION:
      data->precision = g_intern_string (g_value_get_string (value));
      break;
    case PROP_AMP_BACKEND:
      data->amp_backend = g_intern_string (g_value_get_string (value));
      break;
    case PROP_AMP_LEVEL:
      data->amp_level = g_intern_string (g_value_get_string (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

/* Readers on other threads may still look at the record before: it is kept. Takes @state. */
static void
publish (LpPrecisionPlugin *self,
         LpPrecisionState  *state)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  g_mutex_lock (&data->lock);
  g_ptr_array_add (data->states, state);
  g_atomic_pointer_set (&data->state, state);
  g_mutex_unlock (&data->lock);
}

void
_lp_precision_plugin_set_defaults (LpPrecisionPlugin *self,
                                   const char        *precision,
                                   const char        *amp_backend)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  if (data->precision == NULL)
    data->precision = g_intern_string (precision);
  if (data->amp_backend == NULL)
    data->amp_backend = g_intern_string (amp_backend);
}

static void
lp_precision_plugin_constructed (GObject *object)
{
  LpPrecisionPlugin *self = LP_PRECISION_PLUGIN (object);
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  G_OBJECT_CLASS (lp_precision_plugin_parent_class)->constructed (object);

  publish (self, lp_precision_state_new (data->precision, data->amp_backend, data->amp_level));
}

static void
lp_precision_plugin_finalize (GObject *object)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (LP_PRECISION_PLUGIN (object));

  g_ptr_array_unref (data->states);
  g_array_unref (data->marks);
  g_array_unref (data->scopes);
  g_clear_object (&data->scope);
  g_mutex_clear (&data->lock);

  G_OBJECT_CLASS (lp_precision_plugin_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  /**
   * LpPrecisionPlugin:precision: (getter dup_precision)
   *
   * The name of the precision, such as `16-mixed`.
   */
  properties[PROP_PRECISION] = g_param_spec_string ("precision", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionPlugin:amp-backend: (getter dup_amp_backend)
   *
   * What does the mixing of precisions, such as `native`; %NULL where nothing is mixed.
   */
  properties[PROP_AMP_BACKEND] = g_param_spec_string ("amp-backend", NULL, NULL, NULL, flags);

  /**
   * LpPrecisionPlugin:amp-level: (getter dup_amp_level)
   *
   * The level of a backend that has levels, such as `O2`.
   */
  properties[PROP_AMP_LEVEL] = g_param_spec_string ("amp-level", NULL, NULL, NULL, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_precision_plugin_class_init (LpPrecisionPluginClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_precision_plugin_get_property;
  object_class->set_property = lp_precision_plugin_set_property;
  object_class->constructed = lp_precision_plugin_constructed;
  object_class->finalize = lp_precision_plugin_finalize;
  install_properties (object_class);

  _lp_precision_plugin_class_set_defaults (klass);
}

static void
lp_precision_plugin_init (LpPrecisionPlugin *self)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  g_mutex_init (&data->lock);
  data->states = g_ptr_array_new_with_free_func ((GDestroyNotify) lp_precision_state_unref);
  data->marks = g_array_new (FALSE, FALSE, sizeof (LpInitMark));
  data->scopes = g_array_new (FALSE, FALSE, sizeof (LpPushedScope));
}

/* Initialisation. */

gboolean
_lp_precision_plugin_ensure_init (LpPrecisionPlugin  *self,
                                  GError            **error)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);
  g_autoptr (LpPrecisionContext) context = NULL;

  if (G_LIKELY (data->initialised || data->initialising))
    return TRUE;

  context = lp_precision_context_new ();
  data->initialising = TRUE;
  data->initialised = lp_precision_plugin_validate (self, context, error);
  data->initialising = FALSE;

  return data->initialised;
}

static gboolean
lp_precision_plugin_initable_init (GInitable     *initable,
                                   GCancellable  *cancellable,
                                   GError       **error)
{
  return _lp_precision_plugin_ensure_init (LP_PRECISION_PLUGIN (initable), error);
}

static void
initable_init (GInitableIface *iface)
{
  iface->init = lp_precision_plugin_initable_init;
}

static char *
dup_property (LpPrecisionPlugin *self,
              const char        *name)
{
  char *value = NULL;

  g_object_get (self, name, &value, NULL);

  return value;
}

/**
 * lp_precision_plugin_dup_precision:
 * @self: a plugin
 *
 * Gets the name of the precision.
 *
 * Returns: (transfer full) (nullable): the precision, such as `16-mixed`
 */
char *
lp_precision_plugin_dup_precision (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  return dup_property (self, "precision");
}

/**
 * lp_precision_plugin_dup_amp_backend:
 * @self: a plugin
 *
 * Gets what does the mixing of precisions.
 *
 * Returns: (transfer full) (nullable): the backend, such as `native`
 */
char *
lp_precision_plugin_dup_amp_backend (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  return dup_property (self, "amp-backend");
}

/**
 * lp_precision_plugin_dup_amp_level:
 * @self: a plugin
 *
 * Gets the level of the backend.
 *
 * Returns: (transfer full) (nullable): the level, such as `O2`
 */
char *
lp_precision_plugin_dup_amp_level (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  return dup_property (self, "amp-level");
}

/**
 * lp_precision_plugin_dup_state:
 * @self: a plugin
 *
 * Gets the three reported values as they are at one moment. May be called from any thread.
 *
 * Returns: (transfer full): the values
 */
LpPrecisionState *
lp_precision_plugin_dup_state (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  return lp_precision_state_ref (peek_state (self));
}

/**
 * lp_precision_plugin_update_state: (attributes protected=true)
 * @self: a plugin
 * @precision: the new precision
 * @amp_backend: (nullable): the new backend
 * @amp_level: (nullable): the new level
 * @error: return location for an error
 *
 * Changes what the plugin reports, for example because it goes on in another precision. Only the plugin itself calls
 * this. The three values are checked by [vfunc@PrecisionPlugin.validate_state], change together, and are notified.
 *
 * Returns: %TRUE on success. Errors: those of the check; %LP_PRECISION_ERROR_UNKNOWN if @precision is empty
 */
gboolean
lp_precision_plugin_update_state (LpPrecisionPlugin  *self,
                                  const char         *precision,
                                  const char         *amp_backend,
                                  const char         *amp_level,
                                  GError            **error)
{
  g_autoptr (LpPrecisionState) state = NULL;
  LpPrecisionState *old;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (precision != NULL, FALSE);

  if (precision[0] == '\0')
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN, "The new precision of %s has no name", G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  state = lp_precision_state_new (precision, amp_backend, amp_level);
  if (!lp_precision_plugin_validate_state (self, state, error))
    return FALSE;

  old = peek_state (self);
  if (lp_precision_state_equal (old, state))
    return TRUE;

  g_object_freeze_notify (G_OBJECT (self));
  publish (self, lp_precision_state_ref (state));
  if (lp_precision_state_get_precision (old) != lp_precision_state_get_precision (state))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PRECISION]);
  if (lp_precision_state_get_amp_backend (old) != lp_precision_state_get_amp_backend (state))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_AMP_BACKEND]);
  if (lp_precision_state_get_amp_level (old) != lp_precision_state_get_amp_level (state))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_AMP_LEVEL]);
  g_object_thaw_notify (G_OBJECT (self));

  return TRUE;
}

/**
 * lp_precision_plugin_is_attached:
 * @self: a plugin
 *
 * Finds out whether a run uses the plugin.
 *
 * Returns: whether it is attached
 */
gboolean
lp_precision_plugin_is_attached (LpPrecisionPlugin *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  return g_atomic_int_get (&_lp_precision_plugin_get_data (self)->attached) != 0;
}
