#include <lp/lp.h>

static LpRegistryEntry *
find_entry (LpRegistry *registry,
            const char *name)
{
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (G_LIST_MODEL (registry), i);

      if (g_str_equal (lp_registry_entry_get_name (entry), name))
        return entry;
    }

  return NULL;
}

static void
test_modules (void)
{
  LpRegistry *registry = LP_REGISTRY (lp_precision_registry_get_default ());
  g_autoptr (LpPrecisionPlugin) plugin = NULL;
  g_autoptr (LpRegistryEntry) entry = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (find_entry (registry, "test-good"));
  plugin = lp_precision_registry_create (lp_precision_registry_get_default (), "test-good", NULL, &error);
  g_assert_no_error (error);
  entry = lp_registry_lookup (registry, "test-alias", &error);
  g_assert_no_error (error);
  g_assert_true (g_str_has_suffix (lp_registry_entry_get_origin (entry), "/lp-precision-test-good.so"));
  g_assert_cmpstr (lp_registry_entry_get_origin (find_entry (registry, "32-true")), ==, "built-in");

  g_assert_null (lp_registry_lookup (registry, "test-old", &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_MISSING_DEPENDENCY);
  g_assert_nonnull (strstr (error->message, "ABI"));
  g_clear_error (&error);

  /* a list has all of them, with what is wrong */
  lp_registry_load_modules (registry);
  g_assert_null (lp_registry_entry_get_problem (find_entry (registry, "test-good")));
  g_assert_nonnull (strstr (lp_registry_entry_get_problem (find_entry (registry, "test-empty")),
                            "lp_module_precision_test_empty_register"));
  g_assert_nonnull (strstr (lp_registry_entry_get_problem (find_entry (registry, "test-failing")), "no such hardware"));

  /* nothing is loaded twice */
  lp_registry_load_modules (registry);
  g_assert_true (lp_registry_remove (registry, "test-good"));
  g_assert_null (lp_registry_lookup (registry, "test-good", NULL));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/modules/precision", test_modules);

  return g_test_run ();
}
