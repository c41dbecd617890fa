#include <lp/core/lp-dtype-registry.h>

#include <lp/core/lp-blockwise-dtype.h>
#include <lp/core/lp-dtype-living-private.h>
#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-float-dtype.h>
#include <lp/core/lp-microscaling-dtype.h>
#include <lp/core/lp-registry-private.h>
#include <lp/core/lp-rowwise-dtype.h>

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

/* Dtypes whose properties say all. */
static const struct
{
  const char *name;
  GType     (* get_type) (void);
  const char *properties;
  const char *description;
} encoded[] = {
  { "f8e4m3", lp_float_dtype_get_type, "{'format': <'e4m3'>}", "8-bit floats, 4 of exponent, saturating at 448" },
  { "f8e5m2", lp_float_dtype_get_type, "{'format': <'e5m2'>}", "8-bit floats, 5 of exponent, saturating at 57344" },
  { "e2m1", lp_float_dtype_get_type, "{'format': <'e2m1'>}", "4-bit floats of OCP, saturating at 6" },
  { "mxfp8-e4m3", lp_microscaling_dtype_get_type, "{'format': <'e4m3'>}", "e4m3 in blocks of 32, scaled by a power of two" },
  { "mxfp8-e5m2", lp_microscaling_dtype_get_type, "{'format': <'e5m2'>}", "e5m2 in blocks of 32, scaled by a power of two" },
  { "mxfp6-e2m3", lp_microscaling_dtype_get_type, "{'format': <'e2m3'>}", "e2m3 in blocks of 32, scaled by a power of two" },
  { "mxfp6-e3m2", lp_microscaling_dtype_get_type, "{'format': <'e3m2'>}", "e3m2 in blocks of 32, scaled by a power of two" },
  { "mxfp4", lp_microscaling_dtype_get_type, "{'format': <'e2m1'>}", "e2m1 in blocks of 32, scaled by a power of two" },
  { "nvfp4", lp_microscaling_dtype_get_type, "{'format': <'e2m1'>, 'scale-format': <'e4m3'>}",
    "e2m1 in blocks of 16, scaled by an e4m3 number, and a scale of the tensor" },
  { "nf4", lp_blockwise_dtype_get_type, "{'code': <'nf4'>}", "4-bit quantiles of a normal distribution, blocks of 64" },
  { "nf4-dq", lp_blockwise_dtype_get_type, "{'code': <'nf4'>, 'double-quantized': <true>}", "nf4 with 8-bit scales of blocks" },
  { "fp4", lp_blockwise_dtype_get_type, "{'code': <'fp4'>}", "4-bit floats of bitsandbytes, blocks of 64" },
  { "fp4-dq", lp_blockwise_dtype_get_type, "{'code': <'fp4'>, 'double-quantized': <true>}", "fp4 with 8-bit scales of blocks" },
  { "i8-dynamic", lp_blockwise_dtype_get_type, "{'code': <'dynamic'>}", "8-bit dynamic map, blocks of 256" },
  { "i8-rowwise", lp_rowwise_dtype_get_type, "@a{sv} {}", "8-bit integers with a scale per row" },
};

static void
add_encoded (LpRegistry *registry)
{
  for (gsize i = 0; i < G_N_ELEMENTS (encoded); i++)
    {
      g_autoptr (GVariant) values = g_variant_ref_sink (g_variant_new_parsed (encoded[i].properties));
      g_autoptr (LpRegistryEntry) entry =
        lp_registry_entry_new (encoded[i].name, encoded[i].get_type (), values, encoded[i].description);

      _lp_registry_add_builtin (registry, entry);
    }
}

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
      add_encoded (LP_REGISTRY (self));
      g_once_init_leave (&instance, (gsize) self);
    }

  return (LpDTypeRegistry *) instance;
}

/**
 * lp_dtype_lookup:
 * @name: the name of a dtype, such as `f32`
 * @error: return location for an error
 *
 * Gets a dtype by name. A name of the registry stands for one object for the life of the process. Dtypes that a program made
 * without registering them are found by their [property@DType:name] for as long as somebody holds them.
 *
 * Returns: (transfer full): the dtype. Errors: %LP_ERROR_UNKNOWN, which lists near names
 */
LpDType *
lp_dtype_lookup (const char  *name,
                 GError     **error)
{
  LpDTypeRegistry *self = lp_dtype_registry_get_default ();
  LpDType *dtype, *first;
  GError *local = NULL;

  g_return_val_if_fail (name != NULL, NULL);

  g_mutex_lock (&self->lock);
  dtype = g_hash_table_lookup (self->dtypes, name);
  if (dtype != NULL)
    g_object_ref (dtype);
  g_mutex_unlock (&self->lock);
  if (dtype != NULL)
    return dtype;

  /* made without the lock: a factory may be anybody's code */
  dtype = LP_DTYPE (lp_registry_create (LP_REGISTRY (self), name, NULL, &local));
  if (dtype == NULL)
    {
      dtype = _lp_dtype_find_living (name);
      if (dtype != NULL)
        g_error_free (local);
      else
        g_propagate_error (error, local);
      return dtype;
    }

  g_mutex_lock (&self->lock);
  first = g_hash_table_lookup (self->dtypes, name);
  if (first != NULL)
    g_set_object (&dtype, first);
  else
    g_hash_table_insert (self->dtypes, g_strdup (name), g_object_ref (dtype));
  g_mutex_unlock (&self->lock);

  return dtype;
}
