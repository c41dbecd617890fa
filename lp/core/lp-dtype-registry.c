#include <lp/core/lp-dtype-registry.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-registry-private.h>

/**
 * LpDTypeRegistry:
 *
 * The dtypes that are known by name.
 */
struct _LpDTypeRegistry
{
  LpRegistry  parent_instance;

  GMutex      lock;
  GHashTable *dtypes;   /* name → the one LpDType of that name */
};

G_DEFINE_FINAL_TYPE (LpDTypeRegistry, lp_dtype_registry, LP_TYPE_REGISTRY)

static const char *const descriptions[LP_N_SCALARS] = {
  NULL, "IEEE 754 binary64", "IEEE 754 binary32", "IEEE 754 binary16", "bfloat16", "signed 64-bit integers",
  "signed 32-bit integers", "signed 16-bit integers", "signed 8-bit integers", "unsigned 8-bit integers", "truth values"
};

static void
lp_dtype_registry_finalize (GObject *object)
{
  LpDTypeRegistry *self = LP_DTYPE_REGISTRY (object);

  g_hash_table_unref (self->dtypes);
  g_mutex_clear (&self->lock);

  G_OBJECT_CLASS (lp_dtype_registry_parent_class)->finalize (object);
}

static void
lp_dtype_registry_class_init (LpDTypeRegistryClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_dtype_registry_finalize;
}

static void
lp_dtype_registry_init (LpDTypeRegistry *self)
{
  g_mutex_init (&self->lock);
  self->dtypes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
}

static GObject *
get_native (const char  *name,
            GVariant    *config,
            gpointer     user_data,
            GError     **error)
{
  return G_OBJECT (g_object_ref (_lp_dtype_from_scalar (GPOINTER_TO_INT (user_data))));
}

/**
 * lp_dtype_registry_get_default:
 *
 * Gets the registry of dtypes.
 *
 * Returns: (transfer none): the registry
 */
LpDTypeRegistry *
lp_dtype_registry_get_default (void)
{
  static gsize instance;

  if (g_once_init_enter (&instance))
    {
      LpDTypeRegistry *self = g_object_new (LP_TYPE_DTYPE_REGISTRY, "kind", "dtype", "object-type", LP_TYPE_DTYPE, NULL);

      for (LpScalar i = LP_SCALAR_F64; i < LP_N_SCALARS; i++)
        {
          g_autoptr (LpRegistryEntry) entry =
            lp_registry_entry_new_factory (lp_dtype_get_name (_lp_dtype_from_scalar (i)), descriptions[i],
                                           get_native, GINT_TO_POINTER (i), NULL);

          _lp_registry_add_builtin (LP_REGISTRY (self), entry);
        }
      g_once_init_leave (&instance, (gsize) self);
    }

  return (LpDTypeRegistry *) instance;
}

/**
 * lp_dtype_lookup:
 * @name: the name of a dtype, such as `f32`
 * @error: return location for an error
 *
 * Gets a dtype by name. A name stands for one object for the life of the process.
 *
 * Returns: (transfer full): the dtype. Errors: %LP_ERROR_UNKNOWN, which lists near names
 */
LpDType *
lp_dtype_lookup (const char  *name,
                 GError     **error)
{
  LpDTypeRegistry *self = lp_dtype_registry_get_default ();
  LpDType *dtype, *first;

  g_return_val_if_fail (name != NULL, NULL);

  g_mutex_lock (&self->lock);
  dtype = g_hash_table_lookup (self->dtypes, name);
  if (dtype != NULL)
    g_object_ref (dtype);
  g_mutex_unlock (&self->lock);
  if (dtype != NULL)
    return dtype;

  /* made without the lock: a factory may be anybody's code */
  dtype = LP_DTYPE (lp_registry_create (LP_REGISTRY (self), name, NULL, error));
  if (dtype == NULL)
    return NULL;

  g_mutex_lock (&self->lock);
  first = g_hash_table_lookup (self->dtypes, name);
  if (first != NULL)
    g_set_object (&dtype, first);
  else
    g_hash_table_insert (self->dtypes, g_strdup (name), g_object_ref (dtype));
  g_mutex_unlock (&self->lock);

  return dtype;
}
