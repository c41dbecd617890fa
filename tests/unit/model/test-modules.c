#include <glib/gstdio.h>
#include <string.h>

#include <lp/lp.h>

#include "../../test-folder.h"

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

/* Of another LP, earlier or later, or of nobody knows which: nothing of theirs is called. */
static void
test_abi (void)
{
  static const struct { const char *name; int abi; } rows[] = {
    { "test-old", LP_MODULE_ABI + 1 }, { "test-older", LP_MODULE_ABI - 1 }, { "test-silent", -1 },
  };
  g_autofree char *own = g_strdup_printf ("and this is %d; build it again", LP_MODULE_ABI);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autofree char *theirs = g_strdup_printf ("module ABI %d", rows[i].abi);
      g_autoptr (GError) error = NULL;

      g_assert_null (lp_precision_registry_create (lp_precision_registry_get_default (), rows[i].name, NULL, &error));
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_MISSING_DEPENDENCY);
      g_assert_nonnull (strstr (error->message, rows[i].abi >= 0 ? theirs : "exports no lp_module_abi"));
      g_assert_true (rows[i].abi < 0 || strstr (error->message, own) != NULL);
    }
}

/* Copies of a module that end early are told from whole ones without loading them. */
static void
test_cut_short (void)
{
  g_autofree char *before = g_strdup (g_getenv ("LP_MODULE_PATH"));
  g_autofree char *whole = g_build_filename (before, "lp-precision-test-good.so", NULL);
  g_autofree char *folder = g_get_current_dir ();
  g_autofree char *text = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (whole, &text, &size, NULL));
  g_setenv ("LP_MODULE_PATH", folder, TRUE);
  {
    const gsize sizes[] = { 0, 3, 40, 64, 300, size / 4, size / 2, size - 1, size };

    for (gsize i = 0; i < G_N_ELEMENTS (sizes); i++)
      {
        g_autofree char *name = g_strdup_printf ("test-cut-%u", (guint) i);
        g_autofree char *base = g_strdup_printf ("lp-precision-%s.so", name);
        g_autofree char *path = g_build_filename (folder, base, NULL);
        g_autoptr (GError) error = NULL;

        g_assert_true (g_file_set_contents (path, text, (gssize) sizes[i], NULL));
        g_assert_null (lp_precision_registry_create (lp_precision_registry_get_default (), name, NULL, &error));
        g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_MISSING_DEPENDENCY);
        g_test_message ("%" G_GSIZE_FORMAT " bytes: %s", sizes[i], error->message);
        g_assert_nonnull (strstr (error->message, sizes[i] < size ? "it is cut short" : "it exports no lp_module_precision_test_cut"));
        g_unlink (path);
      }
  }
  g_setenv ("LP_MODULE_PATH", before, TRUE);
}

/* Modules are built against these structures. When one changes, LP_MODULE_ABI does, and then this table. */
static void
test_class_structures (void)
{
#define SLOTS(type, parent) (G_STRUCT_OFFSET (type, padding) - sizeof (parent)) / sizeof (gpointer), sizeof (type)
  const struct { const char *name; gsize n_slots, size, known_slots, known_size; } rows[] = {
    { "LpPrecisionPluginClass", SLOTS (LpPrecisionPluginClass, GObjectClass), 27, 480 },
    { "LpModuleClass", SLOTS (LpModuleClass, GObjectClass), 1, 272 },
    { "LpModelClass", SLOTS (LpModelClass, LpModuleClass), 45, 736 },
    { "LpOptimizerClass", SLOTS (LpOptimizerClass, GObjectClass), 4, 232 },
    { "LpDTypeClass", SLOTS (LpDTypeClass, GObjectClass), 3, 224 },
    { "LpStrategyClass", SLOTS (LpStrategyClass, GObjectClass), 6, 248 },
    { "LpFp8RecipeClass", SLOTS (LpFp8RecipeClass, GObjectClass), 5, 240 },
  };
#undef SLOTS

  g_assert_cmpint (LP_MODULE_ABI, ==, 3);
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_test_message ("%s: %u slots, %u bytes", rows[i].name, (guint) rows[i].n_slots, (guint) rows[i].size);
      g_assert_cmpuint (rows[i].n_slots, ==, rows[i].known_slots);
      g_assert_cmpuint (rows[i].size, ==, rows[i].known_size);
    }
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

  /* a list has all of them, with what is wrong */
  lp_registry_load_modules (registry);
  g_assert_null (lp_registry_entry_get_problem (find_entry (registry, "test-good")));
  g_assert_nonnull (strstr (lp_registry_entry_get_problem (find_entry (registry, "test-empty")),
                            "lp_module_precision_test_empty_register"));
  g_assert_nonnull (strstr (lp_registry_entry_get_problem (find_entry (registry, "test-failing")), "no such hardware"));
  g_assert_nonnull (strstr (lp_registry_entry_get_problem (find_entry (registry, "test-taken")), "“bf16-mixed” already"));

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
  g_test_add_func ("/modules/abi", test_abi);
  g_test_add_func ("/modules/cut-short", test_cut_short);
  g_test_add_func ("/modules/class-structures", test_class_structures);

  return test_run_in_folder ();
}
