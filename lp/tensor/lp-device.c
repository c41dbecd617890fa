#include <lp/tensor/lp-device-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-registry-private.h>

/**
 * LpDevice:
 *
 * Where tensors live and operations run: an allocator and a table of kernels, found by name.
 */
typedef struct
{
  char *name;
  gint64 used, peak;   /* bytes, atomic */
} LpDevicePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpDevice, lp_device, G_TYPE_OBJECT)

/**
 * LpDeviceRegistry:
 *
 * The devices that are known by name.
 */
struct _LpDeviceRegistry
{
  LpRegistry parent_instance;
};

G_DEFINE_FINAL_TYPE (LpDeviceRegistry, lp_device_registry, LP_TYPE_REGISTRY)

enum { PROP_0, PROP_NAME, N_PROPS };

static GParamSpec *properties[N_PROPS];

static GHashTable *devices;    /* name → LpDevice, made on first use and kept */
static GMutex devices_lock;

#define PRIV(self) ((LpDevicePrivate *) lp_device_get_instance_private (self))

static struct
{
  const char *name;
  LpDevice *(* create) (void);
  const char *description;
} builtins[4];

static guint n_builtins;

void
_lp_device_add_builtin (const char *name,
                        LpDevice   *(* create) (void),
                        const char *description)
{
  g_assert (n_builtins < G_N_ELEMENTS (builtins));

  builtins[n_builtins].name = name;
  builtins[n_builtins].create = create;
  builtins[n_builtins].description = description;
  n_builtins++;
}

static GObject *
create_builtin (const char  *name,
                GVariant    *config,
                gpointer     user_data,
                GError     **error)
{
  return G_OBJECT (builtins[GPOINTER_TO_UINT (user_data)].create ());
}

static void
lp_device_registry_class_init (LpDeviceRegistryClass *klass)
{
}

static void
lp_device_registry_init (LpDeviceRegistry *self)
{
}

static gboolean
lp_device_real_synchronize (LpDevice  *self,
                            GError   **error)
{
  return TRUE;
}

static gboolean
lp_device_real_computes_natively (LpDevice *self,
                                  LpDType  *a,
                                  LpDType  *b,
                                  LpDType  *result)
{
  return FALSE;
}

static char *
lp_device_real_dup_description (LpDevice *self)
{
  return g_strdup (PRIV (self)->name);
}

static void
lp_device_finalize (GObject *object)
{
  g_free (PRIV (LP_DEVICE (object))->name);

  G_OBJECT_CLASS (lp_device_parent_class)->finalize (object);
}

static void
lp_device_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, PRIV (LP_DEVICE (object))->name);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_device_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_NAME:
      PRIV (LP_DEVICE (object))->name = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_device_class_init (LpDeviceClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->finalize = lp_device_finalize;
  object_class->get_property = lp_device_get_property;
  object_class->set_property = lp_device_set_property;
  klass->synchronize = lp_device_real_synchronize;
  klass->computes_natively = lp_device_real_computes_natively;
  klass->dup_description = lp_device_real_dup_description;

  /**
   * LpDevice:name: (getter get_name)
   *
   * The name, such as `cpu`.
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, "unnamed",
                                               G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);
  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_device_init (LpDevice *self)
{
}

/**
 * lp_device_registry_get_default:
 *
 * Gets the registry of devices.
 *
 * Returns: (transfer none): the registry
 */
LpDeviceRegistry *
lp_device_registry_get_default (void)
{
  static gsize instance;

  if (g_once_init_enter (&instance))
    {
      LpDeviceRegistry *self = g_object_new (LP_TYPE_DEVICE_REGISTRY, "kind", "device", "object-type", LP_TYPE_DEVICE, NULL);

      for (guint i = 0; i < n_builtins; i++)
        {
          g_autoptr (LpRegistryEntry) entry =
            lp_registry_entry_new_factory (builtins[i].name, builtins[i].description,
                                           create_builtin, GUINT_TO_POINTER (i), NULL);

          _lp_registry_add_builtin (LP_REGISTRY (self), entry);
        }
      g_once_init_leave (&instance, (gsize) self);
    }

  return (LpDeviceRegistry *) instance;
}

/**
 * lp_device_lookup:
 * @name: the name of a device, such as `cpu`
 * @error: return location for an error
 *
 * Gets a device by name. A name has one device for the life of the process.
 *
 * Returns: (transfer full): the device. Errors: %LP_ERROR_UNKNOWN, and what the device reports
 */
LpDevice *
lp_device_lookup (const char  *name,
                  GError     **error)
{
  LpDevice *device, *first;

  g_return_val_if_fail (name != NULL, NULL);

  g_mutex_lock (&devices_lock);
  device = devices != NULL ? g_hash_table_lookup (devices, name) : NULL;
  if (device != NULL)
    g_object_ref (device);
  g_mutex_unlock (&devices_lock);
  if (device != NULL)
    return device;

  /* made without the lock: a factory may be anybody's code */
  device = LP_DEVICE (lp_registry_create (LP_REGISTRY (lp_device_registry_get_default ()), name, NULL, error));
  if (device == NULL)
    return NULL;

  g_mutex_lock (&devices_lock);
  if (devices == NULL)
    devices = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
  first = g_hash_table_lookup (devices, name);
  if (first != NULL)
    g_set_object (&device, first);
  else
    g_hash_table_insert (devices, g_strdup (name), g_object_ref (device));
  g_mutex_unlock (&devices_lock);

  return device;
}

/**
 * lp_device_get_default:
 *
 * Gets the device of tensors that are created without one: the CPU.
 *
 * Returns: (transfer none): the device
 */
LpDevice *
lp_device_get_default (void)
{
  static gsize cpu;

  if (g_once_init_enter (&cpu))
    {
      g_autoptr (GError) error = NULL;
      LpDevice *device = lp_device_lookup ("cpu", &error);

      if (device == NULL)
        g_error ("The device cpu is missing: %s", error->message);
      g_once_init_leave (&cpu, (gsize) device);
    }

  return (LpDevice *) cpu;
}

/**
 * lp_device_get_name: (get-property name)
 * @self: a device
 *
 * Gets the name.
 *
 * Returns: (transfer none): the name
 */
const char *
lp_device_get_name (LpDevice *self)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), NULL);

  return PRIV (self)->name;
}

/**
 * lp_device_dup_description:
 * @self: a device
 *
 * Gets a line for people: the model, what it computes with.
 *
 * Returns: (transfer full): the text
 */
char *
lp_device_dup_description (LpDevice *self)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), NULL);

  return LP_DEVICE_GET_CLASS (self)->dup_description (self);
}

/**
 * lp_device_computes_natively:
 * @self: a device
 * @a: the dtype of the left operand
 * @b: the dtype of the right operand
 * @result: the dtype of the result
 *
 * Asks whether a matrix product of these dtypes runs without decoding operands to a wider dtype.
 *
 * Returns: whether it does
 */
gboolean
lp_device_computes_natively (LpDevice *self,
                             LpDType  *a,
                             LpDType  *b,
                             LpDType  *result)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), FALSE);

  return LP_DEVICE_GET_CLASS (self)->computes_natively (self, a, b, result);
}

/**
 * lp_device_synchronize:
 * @self: a device
 * @error: return location for an error
 *
 * Waits until all that was started on the device is done.
 *
 * Returns: whether nothing failed
 */
gboolean
lp_device_synchronize (LpDevice  *self,
                       GError   **error)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), FALSE);

  return LP_DEVICE_GET_CLASS (self)->synchronize (self, error);
}

/**
 * lp_device_get_used_bytes:
 * @self: a device
 *
 * Gets the bytes that tensors hold now.
 *
 * Returns: the bytes
 */
gint64
lp_device_get_used_bytes (LpDevice *self)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), 0);

  return __atomic_load_n (&PRIV (self)->used, __ATOMIC_RELAXED);
}

/**
 * lp_device_get_peak_bytes:
 * @self: a device
 *
 * Gets the most bytes that tensors held at once since [method@Device.reset_peak_bytes].
 *
 * Returns: the bytes
 */
gint64
lp_device_get_peak_bytes (LpDevice *self)
{
  g_return_val_if_fail (LP_IS_DEVICE (self), 0);

  return __atomic_load_n (&PRIV (self)->peak, __ATOMIC_RELAXED);
}

/**
 * lp_device_reset_peak_bytes:
 * @self: a device
 *
 * Starts the count of [method@Device.get_peak_bytes] again.
 */
void
lp_device_reset_peak_bytes (LpDevice *self)
{
  g_return_if_fail (LP_IS_DEVICE (self));

  __atomic_store_n (&PRIV (self)->peak, lp_device_get_used_bytes (self), __ATOMIC_RELAXED);
}

const LpKernelTable *
_lp_device_get_kernels (LpDevice *self)
{
  return ((LpDeviceClass *) ((GTypeInstance *) self)->g_class)->kernels;
}

gpointer
_lp_device_allocate (LpDevice  *self,
                     gsize      size,
                     GError   **error)
{
  LpDevicePrivate *priv = PRIV (self);
  gpointer data = ((LpDeviceClass *) ((GTypeInstance *) self)->g_class)->allocate (self, size, error);
  gint64 used;

  if (data == NULL)
    return NULL;

  used = __atomic_add_fetch (&priv->used, size, __ATOMIC_RELAXED);
  if (used > __atomic_load_n (&priv->peak, __ATOMIC_RELAXED))
    __atomic_store_n (&priv->peak, used, __ATOMIC_RELAXED);

  return data;
}

void
_lp_device_release (LpDevice *self,
                    gpointer  data,
                    gsize     size)
{
  __atomic_sub_fetch (&PRIV (self)->used, size, __ATOMIC_RELAXED);
  ((LpDeviceClass *) ((GTypeInstance *) self)->g_class)->release (self, data, size);
}

void
_lp_device_trim (LpDevice *self)
{
  LpDeviceClass *klass = (LpDeviceClass *) ((GTypeInstance *) self)->g_class;

  if (klass->trim != NULL)
    klass->trim (self);
}
