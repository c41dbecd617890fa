#include <lp/trainer/lp-fabric.h>

#include <lp/core/lp-error.h>
#include <lp/parallel/lp-single-strategy.h>
#include <lp/trainer/lp-checkpoint-private.h>
#include <lp/trainer/lp-trainer-private.h>

/**
 * LpFabric:
 *
 * The precision and device handling of [class@Trainer] for loops that the user writes.
 *
 * Set up the module, then the optimizers. In a step: convert the batch, compute the loss between
 * [method@Fabric.begin_autocast] and [method@Fabric.end_autocast], then [method@Fabric.backward],
 * [method@Fabric.clip_gradients] if wanted, and [method@Fabric.optimizer_step].
 */
struct _LpFabric
{
  GObject             parent_instance;

  LpPrecisionSlot     precision;
  gboolean            initialized;
  GError             *init_error;

  LpStrategy         *strategy;
  LpDevice           *device;
  LpPrecisionContext *context;
  gboolean            attached;
  LpPrecisionPlugin  *plugin;       /* while attached */
  GPtrArray          *modules;
  GPtrArray          *optimizers;
  GPtrArray          *unscaled;     /* not owned */
};

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
      if (_lp_precision_slot_resolve (&self->precision, &self->init_error))
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
   * The name of a precision, looked up in the registry; %NULL if nothing was asked.
   */
  properties[PROP_PRECISION_REQUEST] = g_param_spec_string ("precision-request", NULL, NULL, NULL, construct);

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
lp_fabric_new (const char *precision_request,
               GError **error)
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
lp_fabric_new_with_plugin (LpPrecisionPlugin *precision_plugin,
                           GError **error)
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
    }

  return self->attached;
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
lp_fabric_begin_init (LpFabric *self,
                      GError **error)
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
lp_fabric_end_init (LpFabric *self,
                    GError **error)
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
lp_fabric_setup_module (LpFabric *self,
                        LpModule *module,
                        GError **error)
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
lp_fabric_setup_optimizer (LpFabric *self,
                           LpOptimizer *optimizer,
                           GError **error)
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
  if (!lp_precision_plugin_validate (self->plugin, self->context, error))
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
lp_fabric_close (LpFabric *self,
                 GError **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  if (!self->attached)
    return TRUE;

  self->attached = FALSE;
  plugin = g_steal_pointer (&self->plugin);
  g_clear_object (&self->context);

  return lp_precision_plugin_detach (plugin, error);
}

static gboolean
require_attached (LpFabric  *self,
                  GError   **error)
{
  if (!self->attached)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "No module was set up");

  return self->attached;
}

/**
 * lp_fabric_convert_batch:
 * @self: a fabric
 * @batch: a batch
 * @error: return location for an error
 *
 * Converts the floating tensors of a batch for the precision, and brings it to the device.
 *
 * Returns: (transfer full): the batch. Errors: %LP_ERROR_STATE before a module was set up, and the precision's
 */
LpBatch *
lp_fabric_convert_batch (LpFabric *self,
                         LpBatch *batch,
                         GError **error)
{
  g_autoptr (LpBatch) converted = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  if (!require_attached (self, error))
    return NULL;
  converted = _lp_precision_convert_batch (self->plugin, batch, error);

  return converted != NULL ? lp_batch_to_device (converted, self->device, error) : NULL;
}

/**
 * lp_fabric_forward:
 * @self: a fabric
 * @module: a module that was set up
 * @input: its input
 * @error: return location for an error
 *
 * Computes a module's output the way the precision does: the input converted, the scope entered, the output converted back.
 *
 * Returns: (transfer full): the output. Errors: %LP_ERROR_STATE before a module was set up, the precision's and the module's
 */
LpTensor *
lp_fabric_forward (LpFabric *self,
                   LpModule *module,
                   LpTensor *input,
                   GError **error)
{
  g_autoptr (LpTensor) converted = NULL;
  g_autoptr (LpTensor) output = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (LP_IS_MODULE (module), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (input), NULL);

  if (!require_attached (self, error))
    return NULL;
  converted = lp_dtype_is_floating (lp_tensor_get_dtype (input))
              ? lp_precision_plugin_convert_input (self->plugin, input, error)
              : g_object_ref (input);
  if (converted == NULL || !lp_precision_plugin_push_scope (self->plugin, error))
    return NULL;
  output = lp_module_forward (module, converted, error);
  lp_precision_plugin_pop_scope (self->plugin);
  if (output == NULL || !lp_dtype_is_floating (lp_tensor_get_dtype (output)))
    return g_steal_pointer (&output);

  return lp_precision_plugin_convert_output (self->plugin, output, error);
}

/**
 * lp_fabric_begin_autocast:
 * @self: a fabric
 * @error: return location for an error
 *
 * Enters the scope of the precision on this thread: what is computed until [method@Fabric.end_autocast] is computed its
 * way. Every entry that succeeded needs its end.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE before a module was set up, and the precision's
 */
gboolean
lp_fabric_begin_autocast (LpFabric *self,
                          GError **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);

  return require_attached (self, error) && lp_precision_plugin_push_scope (self->plugin, error);
}

/**
 * lp_fabric_end_autocast:
 * @self: a fabric
 *
 * Leaves the scope of the precision.
 */
void
lp_fabric_end_autocast (LpFabric *self)
{
  g_return_if_fail (LP_IS_FABRIC (self));
  g_return_if_fail (self->attached);

  lp_precision_plugin_pop_scope (self->plugin);
}

/**
 * lp_fabric_backward:
 * @self: a fabric
 * @loss: a loss
 * @error: return location for an error
 *
 * Computes the gradients of a loss, which are scaled if the precision scales.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE before a module was set up, and the precision's
 */
gboolean
lp_fabric_backward (LpFabric *self,
                    LpTensor *loss,
                    GError **error)
{
  g_autoptr (LpTensor) scaled = NULL;

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (loss), FALSE);

  if (!require_attached (self, error))
    return FALSE;
  scaled = lp_precision_plugin_scale_loss (self->plugin, loss, error);

  return scaled != NULL && lp_precision_plugin_backward (self->plugin, scaled, self->optimizers, error);
}

static gboolean
unscale (LpFabric     *self,
         LpOptimizer  *optimizer,
         GError      **error)
{
  if (!require_attached (self, error))
    return FALSE;
  if (!g_ptr_array_find (self->optimizers, optimizer, NULL))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The optimizer was not set up");
      return FALSE;
    }
  if (g_ptr_array_find (self->unscaled, optimizer, NULL))
    return TRUE;
  if (!lp_precision_plugin_unscale_gradients (self->plugin, optimizer, error))
    return FALSE;

  g_ptr_array_add (self->unscaled, optimizer);
  return TRUE;
}

/**
 * lp_fabric_clip_gradients:
 * @self: a fabric
 * @optimizer: an optimizer that was set up
 * @value: what to clip at, above 0
 * @algorithm: how
 * @error: return location for an error
 *
 * Clips gradients, after giving them their true values.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE for an optimizer that was not set up, %LP_ERROR_ARGUMENT, and the
 *   precision's
 */
gboolean
lp_fabric_clip_gradients (LpFabric *self,
                          LpOptimizer *optimizer,
                          double value,
                          LpClipAlgorithm algorithm,
                          GError **error)
{
  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), FALSE);

  if (!(value > 0))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Gradients are clipped at a number above 0, not at %g", value);
      return FALSE;
    }

  return unscale (self, optimizer, error) &&
         lp_precision_plugin_clip_gradients (self->plugin, optimizer, value, algorithm, error);
}

/**
 * lp_fabric_optimizer_step:
 * @self: a fabric
 * @optimizer: an optimizer that was set up
 * @error: return location for an error
 *
 * Makes a step of an optimizer, the way the precision does. It doesn't clear the gradients.
 *
 * Returns: what became of the step; %LP_STEP_FAILED with an error. Errors: %LP_ERROR_STATE for an optimizer that was not
 *   set up, and the precision's
 */
LpStepResult
lp_fabric_optimizer_step (LpFabric *self,
                          LpOptimizer *optimizer,
                          GError **error)
{
  LpStepResult result;

  g_return_val_if_fail (LP_IS_FABRIC (self), LP_STEP_FAILED);
  g_return_val_if_fail (LP_IS_OPTIMIZER (optimizer), LP_STEP_FAILED);

  if (!unscale (self, optimizer, error))
    return LP_STEP_FAILED;
  result = lp_precision_plugin_optimizer_step (self->plugin, optimizer, NULL, error);
  if (result == LP_STEP_FAILED)
    return LP_STEP_FAILED;

  g_ptr_array_remove (self->unscaled, optimizer);
  if (!lp_precision_plugin_end_step (self->plugin, error))
    return LP_STEP_FAILED;

  return result;
}

static char *
name_part (const char *kind,
           guint       index)
{
  return g_strdup_printf ("%s.%u", kind, index);
}

static gboolean
save_parts (LpFabric      *self,
            LpCheckpoint  *checkpoint,
            GError       **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (&self->precision);
  LpState *state;

  for (guint i = 0; i < self->modules->len; i++)
    {
      g_autofree char *name = name_part ("module", i);
      g_autoptr (LpTensorDict) weights = lp_module_dup_state_dict (g_ptr_array_index (self->modules, i));

      _lp_checkpoint_add (checkpoint, name, lp_state_new_full (NULL, weights));
    }
  for (guint i = 0; i < self->optimizers->len; i++)
    {
      g_autofree char *name = name_part ("optimizer", i);

      state = lp_optimizer_save_state (g_ptr_array_index (self->optimizers, i), error);
      if (state == NULL)
        return FALSE;
      _lp_checkpoint_add (checkpoint, name, state);
    }

  state = lp_precision_plugin_save_state (plugin, error);
  if (state == NULL)
    return FALSE;
  _lp_checkpoint_add (checkpoint, "plugin", state);

  return TRUE;
}

/**
 * lp_fabric_save:
 * @self: a fabric
 * @path: (type filename): a file; missing folders are made
 * @extra: (nullable): what else to save
 * @error: return location for an error
 *
 * Writes a checkpoint of all modules and optimizers that were set up, and of the precision. It appears whole, or the one of
 * that name stays as it was.
 *
 * Returns: whether it was written. Errors: %LP_ERROR_IO, and those of what is saved
 */
gboolean
lp_fabric_save (LpFabric *self,
                const char *path,
                LpState *extra,
                GError **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (extra == NULL || LP_IS_STATE (extra), FALSE);

  if (!g_initable_init (G_INITABLE (self), NULL, error))
    return FALSE;

  _lp_checkpoint_init (&checkpoint);
  if (extra != NULL)
    _lp_checkpoint_add (&checkpoint, "extra", g_object_ref (extra));

  return save_parts (self, &checkpoint, error) && _lp_checkpoint_write (&checkpoint, path, error);
}

static gboolean
load_parts (LpFabric      *self,
            LpCheckpoint  *checkpoint,
            GError       **error)
{
  LpState *state;

  for (guint i = 0; i < self->modules->len; i++)
    {
      g_autofree char *name = name_part ("module", i);

      state = _lp_checkpoint_lookup (checkpoint, name);
      if (state != NULL && !lp_module_load_state_dict (g_ptr_array_index (self->modules, i), lp_state_get_tensors (state),
                                                       TRUE, error))
        return FALSE;
    }
  for (guint i = 0; i < self->optimizers->len; i++)
    {
      g_autofree char *name = name_part ("optimizer", i);

      state = _lp_checkpoint_lookup (checkpoint, name);
      if (state != NULL && !lp_optimizer_load_state (g_ptr_array_index (self->optimizers, i), state, error))
        return FALSE;
    }

  state = _lp_checkpoint_lookup (checkpoint, "plugin");

  return state == NULL || lp_precision_plugin_load_state (self->plugin, state, error);
}

/**
 * lp_fabric_load:
 * @self: a fabric
 * @path: (type filename): a file that [method@Fabric.save] wrote
 * @error: return location for an error
 *
 * Brings the modules and optimizers that were set up, and the precision, to what they were.
 *
 * Returns: (transfer full): the `extra` that was saved, empty if there was none. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT,
 *   %LP_ERROR_STATE before a module was set up, and those of what is loaded
 */
LpState *
lp_fabric_load (LpFabric *self,
                const char *path,
                GError **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };
  LpState *extra;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  if (!require_attached (self, error))
    return NULL;

  _lp_checkpoint_init (&checkpoint);
  if (!_lp_checkpoint_read (&checkpoint, path, error) || !load_parts (self, &checkpoint, error))
    return NULL;

  extra = _lp_checkpoint_lookup (&checkpoint, "extra");

  return extra != NULL ? g_object_ref (extra) : lp_state_new ();
}
