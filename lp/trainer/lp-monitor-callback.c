#include <lp/trainer/lp-monitor-callback-private.h>

#include <lp/trainer/lp-trainer.h>

/**
 * LpMonitorCallback:
 *
 * What callbacks have in common that look at a logged value: its name, and which values are better.
 */
typedef struct
{
  char          *monitor;
  LpMonitorMode  mode;
} LpMonitorCallbackPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpMonitorCallback, lp_monitor_callback, LP_TYPE_CALLBACK)

enum
{
  PROP_0,
  PROP_MONITOR,
  PROP_MODE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static inline LpMonitorCallbackPrivate *
get_private (gpointer self)
{
  return lp_monitor_callback_get_instance_private (self);
}

const char *
_lp_monitor_callback_peek_monitor (LpMonitorCallback *self)
{
  return get_private (self)->monitor;
}

gboolean
_lp_monitor_callback_look_up (LpMonitorCallback *self,
                              LpTrainer         *trainer,
                              double            *value)
{
  const char *monitor = get_private (self)->monitor;
  g_autoptr (GVariant) metrics = NULL;

  if (monitor == NULL)
    return FALSE;
  metrics = lp_trainer_dup_callback_metrics (trainer);

  return g_variant_lookup (metrics, monitor, "d", value);
}

gboolean
_lp_monitor_callback_prefers (LpMonitorCallback *self,
                              double             value,
                              double             than,
                              double             margin)
{
  return get_private (self)->mode == LP_MONITOR_MIN ? value < than - margin : value > than + margin;
}

/* One per monitored value may have state. */
static char *
lp_monitor_callback_dup_state_key (LpCallback *callback)
{
  LpMonitorCallbackPrivate *priv = get_private (callback);

  return g_strdup_printf ("%s.%s.%s", G_OBJECT_TYPE_NAME (callback), priv->monitor != NULL ? priv->monitor : "",
                          priv->mode == LP_MONITOR_MIN ? "min" : "max");
}

static void
lp_monitor_callback_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  LpMonitorCallbackPrivate *priv = get_private (object);

  switch (prop_id)
    {
    case PROP_MONITOR:
      g_value_set_string (value, priv->monitor);
      break;
    case PROP_MODE:
      g_value_set_enum (value, priv->mode);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_monitor_callback_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  LpMonitorCallback *self = LP_MONITOR_CALLBACK (object);

  switch (prop_id)
    {
    case PROP_MONITOR:
      lp_monitor_callback_set_monitor (self, g_value_get_string (value));
      break;
    case PROP_MODE:
      lp_monitor_callback_set_mode (self, g_value_get_enum (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_monitor_callback_finalize (GObject *object)
{
  g_free (get_private (object)->monitor);

  G_OBJECT_CLASS (lp_monitor_callback_parent_class)->finalize (object);
}

static void
lp_monitor_callback_class_init (LpMonitorCallbackClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = lp_monitor_callback_get_property;
  object_class->set_property = lp_monitor_callback_set_property;
  object_class->finalize = lp_monitor_callback_finalize;
  LP_CALLBACK_CLASS (klass)->dup_state_key = lp_monitor_callback_dup_state_key;

  /**
   * LpMonitorCallback:monitor:
   *
   * The name of a logged value, or %NULL for none.
   */
  properties[PROP_MONITOR] = g_param_spec_string ("monitor", NULL, NULL, NULL, flags);

  /**
   * LpMonitorCallback:mode:
   *
   * Which values are better.
   */
  properties[PROP_MODE] = g_param_spec_enum ("mode", NULL, NULL, LP_TYPE_MONITOR_MODE, LP_MONITOR_MIN, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_monitor_callback_init (LpMonitorCallback *self)
{
}

/**
 * lp_monitor_callback_dup_monitor:
 * @self: a callback
 *
 * Gets the name of the logged value that it looks at.
 *
 * Returns: (transfer full) (nullable): the name, or %NULL for none
 */
char *
lp_monitor_callback_dup_monitor (LpMonitorCallback *self)
{
  g_return_val_if_fail (LP_IS_MONITOR_CALLBACK (self), NULL);

  return g_strdup (get_private (self)->monitor);
}

/**
 * lp_monitor_callback_set_monitor:
 * @self: a callback
 * @monitor: (nullable): the name, or %NULL for none
 *
 * Sets the name of the logged value that it looks at.
 */
void
lp_monitor_callback_set_monitor (LpMonitorCallback *self,
                                 const char        *monitor)
{
  LpMonitorCallbackPrivate *priv;

  g_return_if_fail (LP_IS_MONITOR_CALLBACK (self));

  priv = get_private (self);
  if (g_strcmp0 (priv->monitor, monitor) == 0)
    return;

  g_free (priv->monitor);
  priv->monitor = g_strdup (monitor);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MONITOR]);
}

/**
 * lp_monitor_callback_get_mode:
 * @self: a callback
 *
 * Gets which values are better.
 *
 * Returns: the mode
 */
LpMonitorMode
lp_monitor_callback_get_mode (LpMonitorCallback *self)
{
  g_return_val_if_fail (LP_IS_MONITOR_CALLBACK (self), LP_MONITOR_MIN);

  return get_private (self)->mode;
}

/**
 * lp_monitor_callback_set_mode:
 * @self: a callback
 * @mode: the mode
 *
 * Sets which values are better.
 */
void
lp_monitor_callback_set_mode (LpMonitorCallback *self,
                              LpMonitorMode      mode)
{
  LpMonitorCallbackPrivate *priv;

  g_return_if_fail (LP_IS_MONITOR_CALLBACK (self));

  priv = get_private (self);
  if (priv->mode == mode)
    return;

  priv->mode = mode;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MODE]);
}
