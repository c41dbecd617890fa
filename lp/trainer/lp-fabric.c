#include <lp/trainer/lp-fabric-private.h>

#include <lp/core/lp-error.h>
#include <lp/parallel/lp-single-strategy.h>

/**
 * LpFabric:
 *
 * The precision and device handling of [class@Trainer] for loops that the user writes.
 *
 * Set up the module, then the optimizers. In a step: convert the batch, compute the loss between
 * [method@Fabric.begin_autocast] and [method@Fabric.end_autocast], then [method@Fabric.backward],
 * [method@Fabric.clip_gradients] if wanted, and [method@Fabric.optimizer_step].
 */
static void initable_iface_init (GInitableIface *iface);

G_DEFINE_FINAL_TYPE_WITH_CODE (LpFabric, lp_fabric, G_TYPE_OBJECT,
                               G_IMPLEMENT_INTERFACE (G_TYPE_INITABLE, initable_iface_init))

enum
{
  PROP_0,
  PROP_PRECISION,
  PROP_AMP_BACKEND,
  PROP_AMP_LEVEL,
  PROP_PRECISION_REQUEST,
  PROP_PRECISION_REASON,
  PROP_PRECISION_PLUGIN,
  PROP_STRATEGY,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gboolean
lp_fabric_initable_init (GInitable     *initable,
                         GCancellable  *cancellable,
                         GError       **error)
{
  LpFabric *self = LP_FABRIC (initable);

  if (!self->initialized)
    {
      self->initialized = TRUE;
      if (_lp_precision_slot_resolve (&self->precision, self->strategy, &self->init_error))
        self->device = lp_strategy_dup_device (self->strategy, &self->init_error);
    }
  if (self->init_error == NULL)
    return TRUE;

  if (error != NULL)
    *error = g_error_copy (self->init_error);
  return FALSE;
}

static void
initable_iface_init (GInitableIface *iface)
{
  iface->init = lp_fabric_initable_init;
}

static void
lp_fabric_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  LpFabric *self = LP_FABRIC (object);

  switch (prop_id)
    {
    case PROP_PRECISION:
    case PROP_AMP_BACKEND:
    case PROP_AMP_LEVEL:
      g_value_take_string (value, _lp_precision_slot_dup_value (&self->precision, prop_id - PROP_PRECISION));
      break;
    case PROP_PRECISION_REQUEST:
      g_value_set_string (value, self->precision.request);
      break;
    case PROP_PRECISION_REASON:
      g_value_set_string (value, self->precision.reason);
      break;
    case PROP_PRECISION_PLUGIN:
      g_value_take_object (value, _lp_precision_slot_dup_plugin (&self->precision));
      break;
    case PROP_STRATEGY:
      g_value_set_object (value, self->strategy);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fabric_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  LpFabric *self = LP_FABRIC (object);

  switch (prop_id)
    {
    case PROP_PRECISION_REQUEST:
      self->precision.request = g_value_dup_string (value);
      break;
    case PROP_PRECISION_PLUGIN:
      if (g_value_get_object (value) != NULL)
        _lp_precision_slot_exchange (&self->precision, g_value_get_object (value));
      break;
    case PROP_STRATEGY:
      self->strategy = g_value_dup_object (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fabric_constructed (GObject *object)
{
  LpFabric *self = LP_FABRIC (object);

  if (self->strategy == NULL)
    self->strategy = lp_single_strategy_new (NULL);

  G_OBJECT_CLASS (lp_fabric_parent_class)->constructed (object);
}

static void
lp_fabric_dispose (GObject *object)
{
  LpFabric *self = LP_FABRIC (object);
  g_autoptr (GError) error = NULL;

  if (!lp_fabric_close (self, &error))
    g_warning ("%s", error->message);
  g_ptr_array_set_size (self->modules, 0);
  g_ptr_array_set_size (self->optimizers, 0);
  g_clear_object (&self->strategy);
  g_clear_object (&self->device);
  _lp_precision_slot_clear (&self->precision);

  G_OBJECT_CLASS (lp_fabric_parent_class)->dispose (object);
}

static void
lp_fabric_finalize (GObject *object)
{
  LpFabric *self = LP_FABRIC (object);

  g_ptr_array_unref (self->modules);
  g_ptr_array_unref (self->optimizers);
  g_ptr_array_unref (self->unscaled);
  g_clear_error (&self->init_error);
  g_mutex_clear (&self->precision.lock);

  G_OBJECT_CLASS (lp_fabric_parent_class)->finalize (object);
}

static void
lp_fabric_class_init (LpFabricClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  const GParamFlags construct = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_fabric_get_property;
  object_class->set_property = lp_fabric_set_property;
  object_class->constructed = lp_fabric_constructed;
  object_class->dispose = lp_fabric_dispose;
  object_class->finalize = lp_fabric_finalize;

  /**
   * LpFabric:precision:
   *
   * The precision that the plugin reports.
   */
  properties[PROP_PRECISION] = g_param_spec_string ("precision", NULL, NULL, NULL, readable);

  /**
   * LpFabric:amp-backend:
   *
   * The backend of mixed precision that the plugin reports, or %NULL.
   */
  properties[PROP_AMP_BACKEND] = g_param_spec_string ("amp-backend", NULL, NULL, NULL, readable);

  /**
   * LpFabric:amp-level:
   *
   * The level of the backend that the plugin reports, or %NULL.
   */
  properties[PROP_AMP_LEVEL] = g_param_spec_string ("amp-level", NULL, NULL, NULL, readable);

  /**
   * LpFabric:precision-request:
   *
   * The name of a precision, looked up in the registry; `auto` for the fastest that trains safely on the device; %NULL if
   * nothing was asked.
   */
  properties[PROP_PRECISION_REQUEST] = g_param_spec_string ("precision-request", NULL, NULL, NULL, construct);

  /**
   * LpFabric:precision-reason:
   *
   * Which precision `auto` took and why; %NULL if it was not asked for.
   */
  properties[PROP_PRECISION_REASON] = g_param_spec_string ("precision-reason", NULL, NULL, NULL, readable);

  /**
   * LpFabric:precision-plugin:
   *
   * The plugin.
   */
  properties[PROP_PRECISION_PLUGIN] =
    g_param_spec_object ("precision-plugin", NULL, NULL, LP_TYPE_PRECISION_PLUGIN, construct);

  /**
   * LpFabric:strategy:
   *
   * How many devices and processes work together; the default is one.
   */
  properties[PROP_STRATEGY] = g_param_spec_object ("strategy", NULL, NULL, LP_TYPE_STRATEGY, construct);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_fabric_init (LpFabric *self)
{
  _lp_precision_slot_init (&self->precision, G_OBJECT (self), &properties[PROP_PRECISION]);
  self->modules = g_ptr_array_new_with_free_func (g_object_unref);
  self->optimizers = g_ptr_array_new_with_free_func (g_object_unref);
  self->unscaled = g_ptr_array_new ();
}

/**
 * lp_fabric_new:
 * @precision_request: (nullable): the name of a precision, or %NULL for 32-true
 * @error: return location for an error
 *
 * Creates a fabric.
 *
 * Returns: (transfer full): the fabric. Errors: %LP_PRECISION_ERROR_UNKNOWN, which lists near names, and the plugin's
 */
LpFabric *
lp_fabric_new (const char  *precision_request,
               GError     **error)
{
  return g_initable_new (LP_TYPE_FABRIC, NULL, error, "precision-request", precision_request, NULL);
}

/**
 * lp_fabric_new_with_plugin: (constructor)
 * @precision_plugin: a plugin
 * @error: return location for an error
 *
 * Creates a fabric with a plugin.
 *
 * Returns: (transfer full): the fabric. Errors: the plugin's
 */
LpFabric *
lp_fabric_new_with_plugin (LpPrecisionPlugin  *precision_plugin,
                           GError            **error)
{
  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (precision_plugin), NULL);

  return g_initable_new (LP_TYPE_FABRIC, NULL, error, "precision-plugin", precision_plugin, NULL);
}

/**
 * lp_fabric_dup_precision: (get-property precision)
 * @self: a fabric
 *
 * Gets the precision that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the precision
 */
char *
lp_fabric_dup_precision (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 0);
}

/**
 * lp_fabric_dup_amp_backend: (get-property amp-backend)
 * @self: a fabric
 *
 * Gets the backend of mixed precision that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the backend
 */
char *
lp_fabric_dup_amp_backend (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 1);
}

/**
 * lp_fabric_dup_amp_level: (get-property amp-level)
 * @self: a fabric
 *
 * Gets the level of the backend that the plugin reports.
 *
 * Returns: (transfer full) (nullable): the level
 */
char *
lp_fabric_dup_amp_level (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return _lp_precision_slot_dup_value (&self->precision, 2);
}

/**
 * lp_fabric_dup_precision_request: (get-property precision-request)
 * @self: a fabric
 *
 * Gets the name that was asked for.
 *
 * Returns: (transfer full) (nullable): the name, or %NULL if nothing was asked
 */
char *
lp_fabric_dup_precision_request (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return g_strdup (self->precision.request);
}

/**
 * lp_fabric_dup_precision_reason: (get-property precision-reason)
 * @self: a fabric
 *
 * Gets which precision `auto` took and why.
 *
 * Returns: (transfer full) (nullable): the reason, or %NULL if `auto` was not asked for
 */
char *
lp_fabric_dup_precision_reason (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return g_strdup (self->precision.reason);
}

/**
 * lp_fabric_dup_precision_plugin: (get-property precision-plugin)
 * @self: a fabric
 *
 * Gets the plugin.
 *
 * Returns: (transfer full) (nullable): the plugin
 */
LpPrecisionPlugin *
lp_fabric_dup_precision_plugin (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return _lp_precision_slot_dup_plugin (&self->precision);
}

/**
 * lp_fabric_get_device:
 * @self: a fabric
 *
 * Gets the device that everything is brought to.
 *
 * Returns: (transfer none) (nullable): the device
 */
LpDevice *
lp_fabric_get_device (LpFabric *self)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);

  return self->device;
}

static gboolean
ensure_attached (LpFabric  *self,
                 LpModule  *module,
                 GError   **error)
{
  if (!g_initable_init (G_INITABLE (self), NULL, error))
    return FALSE;
  if (self->attached)
    return TRUE;

  self->plugin = _lp_precision_slot_dup_plugin (&self->precision);
  self->context = lp_precision_context_new ();
  lp_precision_context_set_device (self->context, self->device);
  lp_precision_context_set_strategy (self->context, self->strategy);
  if (module != NULL)
    lp_precision_context_set_module (self->context, module);
  self->attached = lp_precision_plugin_attach (self->plugin, self->context, error);
  if (!self->attached)
    {
      g_clear_object (&self->context);
      g_clear_object (&self->plugin);
      return FALSE;
    }
  _lp_precision_plugin_hold (self->plugin);

  return TRUE;
}

/**
 * lp_fabric_begin_init:
 * @self: a fabric
 * @error: return location for an error
 *
 * Makes what is built from now on have the dtype of the precision, until [method@Fabric.end_init].
 *
 * Returns: whether it could. Errors: the precision's
 */
gboolean
lp_fabric_begin_init (LpFabric  *self,
                      GError   **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  return ensure_attached (self, NULL, error) && lp_precision_plugin_begin_init (self->plugin, error);
}

/**
 * lp_fabric_end_init:
 * @self: a fabric
 * @error: return location for an error
 *
 * Ends what [method@Fabric.begin_init] began.
 *
 * Returns: whether it could. Errors: the precision's
 */
gboolean
lp_fabric_end_init (LpFabric  *self,
                    GError   **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  return ensure_attached (self, NULL, error) && lp_precision_plugin_end_init (self->plugin, error);
}

/**
 * lp_fabric_setup_module:
 * @self: a fabric
 * @module: a module
 * @error: return location for an error
 *
 * Converts a module for the precision and brings it to the device. Do this before its optimizer is made.
 *
 * Returns: whether it could. Errors: the precision's, and %LP_ERROR_STATE for a module that was set up before
 */
gboolean
lp_fabric_setup_module (LpFabric  *self,
                        LpModule  *module,
                        GError   **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_MODULE (module), FALSE);

  if (g_ptr_array_find (self->modules, module, NULL))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The module was set up before");
      return FALSE;
    }
  if (!ensure_attached (self, module, error) || !lp_precision_plugin_convert_module (self->plugin, module, error) ||
      !lp_module_to_device (module, self->device, error))
    return FALSE;

  g_ptr_array_add (self->modules, g_object_ref (module));
  return TRUE;
}

/**
 * lp_fabric_setup_optimizer:
 * @self: a fabric
 * @optimizer: an optimizer of a module that was set up
 * @error: return location for an error
 *
 * Makes an optimizer known to the precision.
 *
 * Returns: whether it could. Errors: the precision's, and %LP_ERROR_STATE for an optimizer that was set up before
 */
gboolean
lp_fabric_setup_optimizer (LpFabric     *self,
                           LpOptimizer  *optimizer,
                           GError      **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (g_ptr_array_find (self->optimizers, optimizer, NULL))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The optimizer was set up before");
      return FALSE;
    }
  if (!ensure_attached (self, NULL, error))
    return FALSE;

  lp_precision_context_add_optimizer (self->context, optimizer);
  if (!lp_precision_plugin_validate (self->plugin, self->context, error) ||
      !lp_precision_plugin_convert_optimizer (self->plugin, optimizer, error))
    return FALSE;

  g_ptr_array_add (self->optimizers, g_object_ref (optimizer));
  return TRUE;
}

/**
 * lp_fabric_close:
 * @self: a fabric
 * @error: return location for an error
 *
 * Lets go of the precision plugin, which can then be used elsewhere. Dropping the fabric does so as well.
 *
 * Returns: whether it could. Errors: the plugin's
 */
gboolean
lp_fabric_close (LpFabric  *self,
                 GError   **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  if (!self->attached)
    return TRUE;

  self->attached = FALSE;
  _lp_precision_plugin_release (self->plugin);
  plugin = g_steal_pointer (&self->plugin);
  g_clear_object (&self->context);

  return lp_precision_plugin_detach (plugin, error);
}
