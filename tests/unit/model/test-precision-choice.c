/* What the name "auto" takes. */

#include <string.h>

#include <lp/lp.h>

/* A precision that is the fastest, where it runs. */
typedef struct { LpPrecisionPlugin parent_instance; } Fastest;
typedef struct { LpPrecisionPluginClass parent_class; } FastestClass;

static GType fastest_get_type (void);

G_DEFINE_TYPE (Fastest, fastest, LP_TYPE_PRECISION_PLUGIN)

static gboolean unsupported;

static gboolean
fastest_supports (LpPrecisionPlugin *plugin, LpDevice *device, GError **error)
{
  if (unsupported)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "not here");

  return !unsupported;
}

static LpPrecisionTraits *
fastest_dup_traits (LpPrecisionPlugin *plugin, GError **error)
{
  return lp_precision_traits_new ("f32", "f32", "f32", "f32", "f32");
}

static void
fastest_class_init (FastestClass *klass)
{
  LP_PRECISION_PLUGIN_CLASS (klass)->supports = fastest_supports;
  LP_PRECISION_PLUGIN_CLASS (klass)->dup_traits = fastest_dup_traits;
}

static void
fastest_init (Fastest *self)
{
}

static void
test_auto (void)
{
  LpPrecisionRegistry *registry = lp_precision_registry_get_default ();
  LpDevice *device = lp_device_get_default ();
  gboolean has_bf16 = lp_device_computes_natively (device, lp_dtype_bf16 (), lp_dtype_bf16 (), lp_dtype_f32 ());
  g_autofree char *reason = NULL;
  g_autofree char *precision = NULL;
  g_autofree char *mine = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_precision_registry_choose (registry, device, &reason, &error);
  g_autoptr (LpPrecisionPlugin) named = lp_precision_registry_create (registry, "auto", NULL, &error);
  g_autoptr (LpPrecisionPlugin) other = NULL;
  g_autoptr (LpRegistryEntry) entry = NULL;

  g_assert_no_error (error);
  precision = lp_precision_plugin_dup_precision (plugin);
  g_assert_cmpstr (precision, ==, has_bf16 ? "bf16-mixed" : "32-true");
  g_assert_true (G_OBJECT_TYPE (named) == G_OBJECT_TYPE (plugin));
  g_assert_true (g_str_has_prefix (reason, precision));
  g_assert_true (has_bf16 || strstr (reason, "bf16-mixed: cpu doesn't compute bf16 natively") != NULL);

  /* one that is faster, and one that says it can't */
  entry = lp_registry_entry_new ("fastest", fastest_get_type (), NULL, NULL);
  lp_registry_entry_set_rank (entry, 9);
  g_assert_true (lp_registry_add (LP_REGISTRY (registry), entry, &error));
  other = lp_precision_registry_choose (registry, device, NULL, &error);
  g_assert_true (G_OBJECT_TYPE (other) == fastest_get_type ());
  g_clear_object (&other);
  unsupported = TRUE;
  other = lp_precision_registry_choose (registry, device, &mine, &error);
  g_assert_true (G_OBJECT_TYPE (other) == G_OBJECT_TYPE (plugin));
  g_assert_nonnull (strstr (mine, "not fastest: not here"));
  unsupported = FALSE;
  g_assert_true (lp_registry_remove (LP_REGISTRY (registry), "fastest"));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/precision-choice/auto", test_auto);

  return g_test_run ();
}
