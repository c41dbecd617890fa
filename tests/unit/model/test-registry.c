#include <lp/lp.h>

#include <lp/core/lp-registry-private.h>

#define LP_TYPE_TEST_REGISTRY (lp_test_registry_get_type ())
G_DECLARE_FINAL_TYPE (LpTestRegistry, lp_test_registry, LP, TEST_REGISTRY, LpRegistry)

struct _LpTestRegistry
{
  LpRegistry parent_instance;
};

G_DEFINE_FINAL_TYPE (LpTestRegistry, lp_test_registry, LP_TYPE_REGISTRY)

static void
lp_test_registry_class_init (LpTestRegistryClass *klass)
{
}

static void
lp_test_registry_init (LpTestRegistry *self)
{
}

static LpRegistry *
new_registry (void)
{
  return g_object_new (LP_TYPE_TEST_REGISTRY, "kind", "layer", "object-type", LP_TYPE_MODULE, NULL);
}

static void
add (LpRegistry *registry,
     const char *name,
     GType       type,
     GVariant   *values,
     int         rank)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new (name, type, values, "a layer");
  g_autoptr (GError) error = NULL;

  lp_registry_entry_set_rank (entry, rank);
  lp_registry_add (registry, entry, &error);
  g_assert_no_error (error);
}

static void
test_create (void)
{
  g_autoptr (LpRegistry) registry = new_registry ();
  g_autoptr (GError) error = NULL;
  g_autoptr (GObject) layer = NULL;

  add (registry, "drop", LP_TYPE_DROPOUT, g_variant_new_parsed ("{'p': <0.25>}"), 0);

  layer = lp_registry_create (registry, "drop", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (lp_dropout_get_p (LP_DROPOUT (layer)), ==, 0.25);
  g_clear_object (&layer);

  /* values of the caller go first, and integers do for doubles */
  layer = lp_registry_create (registry, "drop", g_variant_new_parsed ("{'p': <1>}"), &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (lp_dropout_get_p (LP_DROPOUT (layer)), ==, 1);
  g_clear_object (&layer);

  g_assert_null (lp_registry_create (registry, "drop", g_variant_new_parsed ("{'q': <1>}"), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (lp_registry_create (registry, "drop", g_variant_new_parsed ("{'p': <'much'>}"), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (lp_registry_create (registry, "drop", g_variant_new_string ("p"), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_unknown (void)
{
  g_autoptr (LpRegistry) registry = new_registry ();
  g_autoptr (GError) error = NULL;

  add (registry, "linear", LP_TYPE_LINEAR, NULL, 0);
  add (registry, "dropout", LP_TYPE_DROPOUT, NULL, 0);

  g_assert_null (lp_registry_lookup (registry, "Lineer", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_assert_nonnull (strstr (error->message, "did you mean “linear”?"));
  g_assert_nonnull (strstr (error->message, "“dropout”"));
  g_clear_error (&error);

  g_assert_null (lp_registry_lookup (registry, "../../x", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_clear_error (&error);
  g_assert_null (lp_registry_lookup (registry, "", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_clear_error (&error);
  g_assert_null (lp_registry_lookup (registry, "\xff\xfe", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
}

static void
test_edit_distance (void)
{
  g_assert_cmpuint (_lp_edit_distance ("", ""), ==, 0);
  g_assert_cmpuint (_lp_edit_distance ("abc", ""), ==, 3);
  g_assert_cmpuint (_lp_edit_distance ("kitten", "sitting"), ==, 3);
  g_assert_cmpuint (_lp_edit_distance ("BF16-Mixed", "bf16-mixed"), ==, 0);
  g_assert_cmpuint (_lp_edit_distance ("16-mixd", "16-mixed"), ==, 1);
}

static void
count_changes (GListModel *model,
               guint       position,
               guint       removed,
               guint       added,
               gpointer    user_data)
{
  (*(guint *) user_data) += removed + added;
}

static void
test_rank (void)
{
  g_autoptr (LpRegistry) registry = new_registry ();
  g_autoptr (LpRegistryEntry) same = lp_registry_entry_new ("layer", LP_TYPE_RELU, NULL, NULL);
  g_autoptr (LpRegistryEntry) found = NULL;
  g_autoptr (GError) error = NULL;
  guint changes = 0;

  g_signal_connect (registry, "items-changed", G_CALLBACK (count_changes), &changes);
  add (registry, "layer", LP_TYPE_RELU, NULL, 0);
  add (registry, "layer", LP_TYPE_GELU, NULL, 10);
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (registry)), ==, 2);

  g_assert_false (lp_registry_add (registry, same, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_EXISTS);

  found = lp_registry_lookup (registry, "layer", NULL);
  g_assert_true (lp_registry_entry_get_gtype (found) == LP_TYPE_GELU);
  g_assert_cmpstr (lp_registry_entry_get_origin (found), ==, "program");
  g_clear_object (&found);

  g_assert_true (lp_registry_remove (registry, "layer"));
  found = lp_registry_lookup (registry, "layer", NULL);
  g_assert_true (lp_registry_entry_get_gtype (found) == LP_TYPE_RELU);
  g_assert_true (lp_registry_remove (registry, "layer"));
  g_assert_false (lp_registry_remove (registry, "layer"));
  g_assert_cmpuint (changes, ==, 4);
}

static void
test_wrong_type (void)
{
  g_autoptr (LpRegistry) registry = new_registry ();
  g_autoptr (LpRegistryEntry) other = lp_registry_entry_new ("other", LP_TYPE_SGD, NULL, NULL);
  g_autoptr (LpRegistryEntry) abstract = lp_registry_entry_new ("abstract", LP_TYPE_MODULE, NULL, NULL);
  g_autoptr (LpRegistryEntry) nameless = lp_registry_entry_new ("", LP_TYPE_RELU, NULL, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_registry_add (registry, other, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_registry_add (registry, abstract, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_registry_add (registry, nameless, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
expect_refused (LpRegistry *registry,
                const char *name,
                const char *alias,
                int         code)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new (name, LP_TYPE_RELU, NULL, NULL);
  g_autoptr (GError) error = NULL;
  guint n = g_list_model_get_n_items (G_LIST_MODEL (registry));

  if (alias != NULL)
    lp_registry_entry_add_alias (entry, alias);
  g_assert_false (lp_registry_add (registry, entry, &error));
  g_assert_error (error, LP_ERROR, code);
  g_assert_true (g_utf8_validate (error->message, -1, NULL));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (registry)), ==, n);
}

static void
test_names (void)
{
  static const char *const bad[] = { "", " ", "a b", "a\tb", "a\n", "\x7f", "a\xc2\xa0", "\xff\xfe" };
  g_autoptr (LpRegistry) registry = new_registry ();

  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      expect_refused (registry, bad[i], NULL, LP_ERROR_ARGUMENT);
      expect_refused (registry, "good", bad[i], LP_ERROR_ARGUMENT);
    }
}

/* A name is one entry's, or that of entries of the same canonical name. */
static void
test_taken_names (void)
{
  g_autoptr (LpRegistry) registry = new_registry ();
  g_autoptr (LpRegistryEntry) first = lp_registry_entry_new ("first", LP_TYPE_RELU, NULL, NULL);
  g_autoptr (LpRegistryEntry) better = lp_registry_entry_new ("first", LP_TYPE_GELU, NULL, NULL);

  lp_registry_entry_add_alias (first, "nick");
  g_assert_true (lp_registry_add (registry, first, NULL));
  expect_refused (registry, "nick", NULL, LP_ERROR_EXISTS);
  expect_refused (registry, "second", "nick", LP_ERROR_EXISTS);
  expect_refused (registry, "second", "first", LP_ERROR_EXISTS);

  lp_registry_entry_add_alias (better, "nick");
  lp_registry_entry_set_rank (better, 1);
  g_assert_true (lp_registry_add (registry, better, NULL));

  /* nobody would ever reach it */
  expect_refused (registry, "first", NULL, LP_ERROR_EXISTS);
}

typedef struct
{
  gboolean fail;
  GType    type;
  gboolean destroyed;
} Factory;

static GObject *
make (const char  *name,
      GVariant    *config,
      gpointer     user_data,
      GError     **error)
{
  Factory *factory = user_data;

  if (factory->fail)
    g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "mine");

  return factory->type != G_TYPE_NONE ? g_object_new (factory->type, NULL) : NULL;
}

static void
note_destroyed (gpointer user_data)
{
  ((Factory *) user_data)->destroyed = TRUE;
}

static void
test_factory (void)
{
  LpRegistry *registry = new_registry ();
  Factory factory = { FALSE, LP_TYPE_RELU, FALSE };
  LpRegistryEntry *entry = lp_registry_entry_new_factory ("made", NULL, make, &factory, note_destroyed);
  g_autoptr (GError) error = NULL;
  GObject *object;

  g_assert_true (lp_registry_add (registry, entry, NULL));
  g_object_unref (entry);

  object = lp_registry_create (registry, "made", NULL, &error);
  g_assert_no_error (error);
  g_assert_true (LP_IS_RELU (object));
  g_object_unref (object);

  factory.type = LP_TYPE_STATE;
  g_assert_null (lp_registry_create (registry, "made", NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_clear_error (&error);

  factory.type = G_TYPE_NONE;
  g_assert_null (lp_registry_create (registry, "made", NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_clear_error (&error);

  factory.fail = TRUE;
  g_assert_null (lp_registry_create (registry, "made", NULL, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_FAILED);

  g_assert_finalize_object (registry);
  g_assert_true (factory.destroyed);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/registry/create", test_create);
  g_test_add_func ("/registry/unknown", test_unknown);
  g_test_add_func ("/registry/edit-distance", test_edit_distance);
  g_test_add_func ("/registry/rank", test_rank);
  g_test_add_func ("/registry/wrong-type", test_wrong_type);
  g_test_add_func ("/registry/names", test_names);
  g_test_add_func ("/registry/taken-names", test_taken_names);
  g_test_add_func ("/registry/factory", test_factory);

  return g_test_run ();
}
