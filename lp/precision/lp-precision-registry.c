#include <lp/precision/lp-precision-registry-private.h>

#include <lp/core/lp-registry-private.h>
#include <lp/precision/lp-apex-mixed-precision-plugin.h>
#include <lp/precision/lp-double-precision-plugin.h>
#include <lp/precision/lp-fallback-mixed-precision-plugin.h>
#include <lp/precision/lp-fp8-precision-plugin.h>
#include <lp/precision/lp-full-precision-plugin.h>
#include <lp/precision/lp-half-precision-plugin.h>
#include <lp/precision/lp-mixed-precision-plugin.h>
#include <lp/precision/lp-quantized-precision-plugin.h>

/**
 * LpPrecisionRegistry:
 *
 * The precisions that are known by name. Programs and modules add theirs.
 *
 * The name `auto` is the fastest precision that trains safely on the device, see [method@PrecisionRegistry.choose]. Entries
 * take part in that with a rank above 0.
 */
struct _LpPrecisionRegistry
{
  LpRegistry parent_instance;
};

G_DEFINE_FINAL_TYPE (LpPrecisionRegistry, lp_precision_registry, LP_TYPE_REGISTRY)

static void
lp_precision_registry_class_init (LpPrecisionRegistryClass *klass)
{
}

static void
lp_precision_registry_init (LpPrecisionRegistry *self)
{
  _lp_registry_set_errors (LP_REGISTRY (self), LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN,
                           LP_PRECISION_ERROR_MISSING_DEPENDENCY);
}

static void
add (LpPrecisionRegistry *self,
     const char          *name,
     const char          *alias,
     GType                type,
     int                  rank,
     const char          *description)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new (name, type, NULL, description);

  lp_registry_entry_set_rank (entry, rank);
  if (alias != NULL)
    lp_registry_entry_add_alias (entry, alias);
  _lp_registry_add_builtin (LP_REGISTRY (self), entry);
}

/* Under a name that is not the precision it reports. */
static void
add_fallback (LpPrecisionRegistry *self)
{
  GVariantDict values = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (LpRegistryEntry) entry = NULL;

  g_variant_dict_insert (&values, "precision", "s", "16-mixed");
  entry = lp_registry_entry_new ("16-mixed-fallback", LP_TYPE_FALLBACK_MIXED_PRECISION_PLUGIN, g_variant_dict_end (&values),
                                 "16-mixed that becomes bf16-mixed when the loss scale collapses");
  _lp_registry_add_builtin (LP_REGISTRY (self), entry);
}

static void
add_apex (LpPrecisionRegistry *self,
          const char          *name,
          const char          *alias,
          const char          *precision,
          const char          *level,
          const char          *description)
{
  GVariantDict values = G_VARIANT_DICT_INIT (NULL);
  g_autoptr (LpRegistryEntry) entry = NULL;

  g_variant_dict_insert (&values, "precision", "s", precision);
  g_variant_dict_insert (&values, "amp-level", "s", level);
  entry = lp_registry_entry_new (name, LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, g_variant_dict_end (&values), description);
  if (alias != NULL)
    lp_registry_entry_add_alias (entry, alias);
  _lp_registry_add_builtin (LP_REGISTRY (self), entry);
}

static void
add_quantized (LpPrecisionRegistry *self)
{
  static const char *const quantized[][2] = {
    { "nf4", "Weights of linear layers frozen in nf4, products in bf16" },
    { "nf4-dq", "Weights of linear layers frozen in nf4 with 8-bit scales, products in bf16" },
    { "fp4", "Weights of linear layers frozen in the 4-bit floats of bitsandbytes, products in bf16" },
    { "fp4-dq", "Weights of linear layers frozen in fp4 with 8-bit scales, products in bf16" },
    { "int8", "Weights of linear layers frozen in 8 bits, inputs in 8 bits but for outliers" },
    { "int8-training", "Weights in f32, the three products of linear layers in 8 bits" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (quantized); i++)
    add (self, quantized[i][0], NULL, LP_TYPE_QUANTIZED_PRECISION_PLUGIN, 0, quantized[i][1]);
}

static void
add_auto (LpPrecisionRegistry *self)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new_factory ("auto", "The fastest precision that trains safely on the device",
                                                                     _lp_precision_create_auto, NULL, NULL);

  _lp_registry_add_builtin (LP_REGISTRY (self), entry);
}

static LpPrecisionRegistry *
create_default (void)
{
  LpPrecisionRegistry *self = g_object_new (LP_TYPE_PRECISION_REGISTRY,
                                            "kind", "precision",
                                            "object-type", LP_TYPE_PRECISION_PLUGIN,
                                            "name-property", "precision",
                                            NULL);

  add (self, "32-true", "32", LP_TYPE_FULL_PRECISION_PLUGIN, 1, "Weights and computation in f32");
  add (self, "64-true", "64", LP_TYPE_DOUBLE_PRECISION_PLUGIN, 0, "Weights and computation in f64");
  add (self, "16-true", NULL, LP_TYPE_HALF_PRECISION_PLUGIN, 0, "Weights and computation in f16, losses not scaled");
  add (self, "bf16-true", NULL, LP_TYPE_HALF_PRECISION_PLUGIN, 0, "Weights and computation in bf16");
  add (self, "16-mixed", "16", LP_TYPE_MIXED_PRECISION_PLUGIN, 2, "Weights in f32, products in f16, losses scaled");
  add (self, "bf16-mixed", "bf16", LP_TYPE_MIXED_PRECISION_PLUGIN, 3, "Weights in f32, products in bf16");
  add_auto (self);
  add_fallback (self);
  add_apex (self, "apex-O0", NULL, "32-true", "O0", "Apex's level O0: everything in f32");
  add_apex (self, "apex-O1", NULL, "16-mixed", "O1", "Apex's level O1: weights as they are, products in f16, losses scaled");
  add_apex (self, "apex-O2", "apex", "16-mixed", "O2",
            "Apex's level O2: weights in f16 with f32 masters, norms in f32, losses scaled");
  add_apex (self, "apex-O3", NULL, "16-true", "O3", "Apex's level O3: everything in f16, losses not scaled");
  add (self, "transformer-engine", NULL, LP_TYPE_FP8_PRECISION_PLUGIN, 0, "Weights in bf16, products of linear layers in fp8");
  add (self, "transformer-engine-float16", NULL, LP_TYPE_FP8_PRECISION_PLUGIN, 0, "Weights in f16, products of linear layers in fp8");
  add_quantized (self);

  return self;
}

/**
 * lp_precision_registry_get_default:
 *
 * Gets the registry of precisions.
 *
 * Returns: (transfer none): the registry
 */
LpPrecisionRegistry *
lp_precision_registry_get_default (void)
{
  static gsize instance;

  if (g_once_init_enter (&instance))
    g_once_init_leave (&instance, (gsize) create_default ());

  return (LpPrecisionRegistry *) instance;
}

/**
 * lp_precision_registry_create:
 * @self: a registry
 * @name: a name or an alias, such as `16-mixed`
 * @config: (nullable): an `a{sv}` of property values of the plugin
 * @error: return location for an error
 *
 * Makes the plugin behind a name and initialises it. A floating @config is taken.
 *
 * Returns: (transfer full): the plugin. Errors: %LP_PRECISION_ERROR_UNKNOWN, which lists near names;
 *   %LP_PRECISION_ERROR_MISSING_DEPENDENCY for a module that can't be loaded; those of [method@Registry.create] and of
 *   the plugin
 */
LpPrecisionPlugin *
lp_precision_registry_create (LpPrecisionRegistry  *self,
                              const char           *name,
                              GVariant             *config,
                              GError              **error)
{
  GObject *plugin;

  g_return_val_if_fail (LP_IS_PRECISION_REGISTRY (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  plugin = lp_registry_create (LP_REGISTRY (self), name, config, error);

  return plugin != NULL ? LP_PRECISION_PLUGIN (plugin) : NULL;
}
