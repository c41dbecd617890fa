#include <lp/trainer/lp-trainer-private.h>

#include <lp/precision/lp-precision-registry.h>

/* A binding can't write to a read-only property, and a writable copy can go stale. So the owner's getters ask the plugin
 * each time, and the bindings end in this object, which stores nothing and only notifies on the owner. */

#define LP_TYPE_PRECISION_CONDUIT (lp_precision_conduit_get_type ())

G_DECLARE_FINAL_TYPE (LpPrecisionConduit, lp_precision_conduit, LP, PRECISION_CONDUIT, GObject)

struct _LpPrecisionConduit
{
  GObject      parent_instance;

  GObject     *owner;          /* owns the conduit */
  GParamSpec **pspecs;
};

G_DEFINE_FINAL_TYPE (LpPrecisionConduit, lp_precision_conduit, G_TYPE_OBJECT)

static const char *names[3] = { "precision", "amp-backend", "amp-level" };

static void
lp_precision_conduit_set_property (GObject      *object,
                                   guint         prop_id,
                                   const GValue *value,
                                   GParamSpec   *pspec)
{
  LpPrecisionConduit *self = LP_PRECISION_CONDUIT (object);

  if (self->owner != NULL)
    g_object_notify_by_pspec (self->owner, self->pspecs[prop_id - 1]);
}

static void
lp_precision_conduit_class_init (LpPrecisionConduitClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->set_property = lp_precision_conduit_set_property;
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    g_object_class_install_property (object_class, i + 1,
                                     g_param_spec_string (names[i], NULL, NULL, NULL,
                                                          G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
}

static void
lp_precision_conduit_init (LpPrecisionConduit *self)
{
}

void
_lp_precision_slot_init (LpPrecisionSlot  *slot,
                         GObject          *owner,
                         GParamSpec      **pspecs)
{
  LpPrecisionConduit *conduit = g_object_new (LP_TYPE_PRECISION_CONDUIT, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    slot->pspecs[i] = pspecs[i];
  conduit->owner = owner;
  conduit->pspecs = slot->pspecs;

  slot->owner = owner;
  slot->home = g_thread_self ();
  slot->conduit = G_OBJECT (conduit);
  g_mutex_init (&slot->lock);
}

static void
unbind (LpPrecisionSlot *slot)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (slot->bindings[i] != NULL)
      {
        g_binding_unbind (slot->bindings[i]);
        g_clear_object (&slot->bindings[i]);
      }
}

static void
bind (LpPrecisionSlot   *slot,
      LpPrecisionPlugin *plugin)
{
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    slot->bindings[i] = g_object_ref (g_object_bind_property (plugin, names[i], slot->conduit, names[i],
                                                              G_BINDING_SYNC_CREATE));
}

void
_lp_precision_slot_clear (LpPrecisionSlot *slot)
{
  g_autoptr (LpPrecisionPlugin) plugin = NULL;

  unbind (slot);
  if (slot->conduit != NULL)
    LP_PRECISION_CONDUIT (slot->conduit)->owner = NULL;
  g_clear_object (&slot->conduit);

  g_mutex_lock (&slot->lock);
  plugin = g_steal_pointer (&slot->plugin);
  g_mutex_unlock (&slot->lock);
  g_clear_pointer (&slot->request, g_free);
  g_clear_pointer (&slot->reason, g_free);
}

LpPrecisionPlugin *
_lp_precision_slot_dup_plugin (LpPrecisionSlot *slot)
{
  LpPrecisionPlugin *plugin;

  g_mutex_lock (&slot->lock);
  plugin = slot->plugin != NULL ? g_object_ref (slot->plugin) : NULL;
  g_mutex_unlock (&slot->lock);

  return plugin;
}

/* The pointer first, then the bindings: whoever is notified reads the new plugin. */
void
_lp_precision_slot_exchange (LpPrecisionSlot   *slot,
                             LpPrecisionPlugin *plugin)
{
  g_autoptr (LpPrecisionPlugin) former = NULL;

  g_object_freeze_notify (slot->owner);
  if (slot->reason != NULL)
    {
      g_clear_pointer (&slot->reason, g_free);
      g_object_notify (slot->owner, "precision-reason");
    }

  g_mutex_lock (&slot->lock);
  former = slot->plugin;
  slot->plugin = plugin != NULL ? g_object_ref (plugin) : NULL;
  g_mutex_unlock (&slot->lock);

  unbind (slot);
  if (plugin != NULL)
    bind (slot, plugin);
  else
    for (guint i = 0; i < G_N_ELEMENTS (names); i++)
      g_object_notify_by_pspec (slot->owner, slot->pspecs[i]);

  g_object_thaw_notify (slot->owner);
}

static gboolean
choose (LpPrecisionSlot  *slot,
        LpStrategy       *strategy,
        GError          **error)
{
  g_autoptr (LpDevice) device = lp_strategy_dup_device (strategy, error);
  g_autoptr (LpPrecisionPlugin) plugin = NULL;
  char *reason = NULL;

  if (device != NULL)
    plugin = lp_precision_registry_choose (lp_precision_registry_get_default (), device, &reason, error);
  if (plugin == NULL)
    return FALSE;

  g_message ("%s", reason);
  _lp_precision_slot_exchange (slot, plugin);
  slot->reason = reason;

  return TRUE;
}

gboolean
_lp_precision_slot_resolve (LpPrecisionSlot  *slot,
                            LpStrategy       *strategy,
                            GError          **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (slot);

  if (plugin != NULL && slot->request != NULL)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT,
                   "Precision '%s' was asked for, and a %s was given as well; only one of the two can be", slot->request,
                   G_OBJECT_TYPE_NAME (plugin));
      return FALSE;
    }

  if (plugin != NULL)
    return !G_IS_INITABLE (plugin) || g_initable_init (G_INITABLE (plugin), NULL, error);
  if (g_strcmp0 (slot->request, "auto") == 0)
    return choose (slot, strategy, error);

  plugin = lp_precision_registry_create (lp_precision_registry_get_default (),
                                         slot->request != NULL ? slot->request : "32-true", NULL, error);
  if (plugin == NULL)
    return FALSE;

  _lp_precision_slot_exchange (slot, plugin);
  return TRUE;
}

/* By property on the home thread, so that a subclass that overrides one is followed; elsewhere the record is read, which
 * never runs anybody's code. */
char *
_lp_precision_slot_dup_value (LpPrecisionSlot *slot,
                              guint            index)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (slot);
  g_autoptr (LpPrecisionState) state = NULL;
  g_auto (GValue) value = G_VALUE_INIT;

  if (plugin == NULL)
    return NULL;

  if (g_thread_self () == slot->home)
    {
      g_object_get_property (G_OBJECT (plugin), names[index], &value);
      return g_value_dup_string (&value);
    }

  state = lp_precision_plugin_dup_state (plugin);
  switch (index)
    {
    case 0:
      return g_strdup (lp_precision_state_get_precision (state));
    case 1:
      return g_strdup (lp_precision_state_get_amp_backend (state));
    default:
      return g_strdup (lp_precision_state_get_amp_level (state));
    }
}

LpPrecisionState *
_lp_precision_slot_dup_state (LpPrecisionSlot *slot)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (slot);

  return plugin != NULL ? lp_precision_plugin_dup_state (plugin) : NULL;
}

static LpTensor *
convert_tensor (LpTensor  *tensor,
                gpointer   plugin,
                GError   **error)
{
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    return g_object_ref (tensor);

  return lp_precision_plugin_convert_input (plugin, tensor, error);
}

LpBatch *
_lp_precision_convert_batch (LpPrecisionPlugin  *plugin,
                             LpBatch            *batch,
                             GError            **error)
{
  return lp_batch_map (batch, convert_tensor, plugin, error);
}
