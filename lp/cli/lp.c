/* lp: what the library knows, for people and for machines. */

#include <locale.h>

#include <json-glib/json-glib.h>

#include <lp/lp.h>

static gboolean as_json;

static const GOptionEntry options[] = {
  { "json", 'j', 0, G_OPTION_ARG_NONE, &as_json, "Print JSON", NULL },
  { NULL }
};

/* A table: rows of strings, NULL-terminated, the first of them the head. */
static void
print_columns (GPtrArray *rows)
{
  gsize widths[8] = { 0 };

  for (guint r = 0; r < rows->len; r++)
    {
      char **row = g_ptr_array_index (rows, r);

      for (guint c = 0; row[c] != NULL; c++)
        widths[c] = MAX (widths[c], (gsize) g_utf8_strlen (row[c], -1));
    }
  for (guint r = 0; r < rows->len; r++)
    {
      char **row = g_ptr_array_index (rows, r);

      for (guint c = 0; row[c] != NULL; c++)
        g_print ("%s%*s", row[c], row[c + 1] != NULL ? (int) (widths[c] - g_utf8_strlen (row[c], -1) + 2) : 0, "");
      g_print ("\n");
    }
}

static void
print_json (JsonBuilder *builder)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (root, TRUE);

  g_print ("%s\n", text);
}

static void
add_string (JsonBuilder *builder,
            const char  *name,
            const char  *value)
{
  json_builder_set_member_name (builder, name);
  if (value != NULL)
    json_builder_add_string_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

static void
add_row (GPtrArray  *rows,
         const char *a,
         const char *b,
         const char *c,
         const char *d)
{
  const char *row[] = { a, b, c, d, NULL };

  g_ptr_array_add (rows, g_strdupv ((char **) row));
}

static const char *
or_dash (const char *text)
{
  return text != NULL && *text != '\0' ? text : "-";
}

/* What "auto" takes on each device that there is, and why. */
static GPtrArray *
dup_reasons (LpRegistry *registry)
{
  LpRegistry *devices = LP_REGISTRY (lp_device_registry_get_default ());
  GPtrArray *reasons = g_ptr_array_new_with_free_func (g_free);

  lp_registry_load_modules (devices);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (devices)); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (G_LIST_MODEL (devices), i);
      g_autoptr (LpDevice) device = lp_device_lookup (lp_registry_entry_get_name (entry), NULL);
      g_autoptr (LpPrecisionPlugin) plugin = NULL;
      g_autoptr (GError) error = NULL;
      char *reason = NULL;

      if (device == NULL)
        continue;
      plugin = lp_precision_registry_choose (LP_PRECISION_REGISTRY (registry), device, &reason, &error);
      g_ptr_array_add (reasons, plugin != NULL ? reason : g_strdup (error->message));
    }

  return reasons;
}

static void
add_strings (JsonBuilder  *builder,
             const char   *name,
             char        **values,
             gsize         n_values)
{
  json_builder_set_member_name (builder, name);
  json_builder_begin_array (builder);
  for (gsize i = 0; i < n_values; i++)
    json_builder_add_string_value (builder, values[i]);
  json_builder_end_array (builder);
}

static void
list_precisions (LpRegistry *registry)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_autoptr (GPtrArray) reasons = dup_reasons (registry);
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  lp_registry_load_modules (registry);
  add_row (rows, "NAME", "ALIASES", "ORIGIN", "DESCRIPTION");
  json_builder_begin_array (builder);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (G_LIST_MODEL (registry), i);
      g_auto (GStrv) aliases = lp_registry_entry_dup_aliases (entry);
      g_autofree char *joined = g_strjoinv (" ", aliases);
      const char *problem = lp_registry_entry_get_problem (entry);
      g_autofree char *broken = problem != NULL ? g_strdup_printf ("broken: %s", problem) : NULL;

      add_row (rows, lp_registry_entry_get_name (entry), or_dash (joined), or_dash (lp_registry_entry_get_origin (entry)),
               broken != NULL ? broken : or_dash (lp_registry_entry_get_description (entry)));
      json_builder_begin_object (builder);
      add_string (builder, "name", lp_registry_entry_get_name (entry));
      add_strings (builder, "aliases", aliases, g_strv_length (aliases));
      add_string (builder, "origin", lp_registry_entry_get_origin (entry));
      add_string (builder, "description", lp_registry_entry_get_description (entry));
      add_string (builder, "problem", problem);
      if (g_str_equal (lp_registry_entry_get_name (entry), "auto"))
        add_strings (builder, "reasons", (char **) reasons->pdata, reasons->len);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);

  if (as_json)
    {
      print_json (builder);
      return;
    }
  print_columns (rows);
  for (guint i = 0; i < reasons->len; i++)
    g_print ("\nauto: %s\n", (char *) reasons->pdata[i]);
}

/* The GType and its ancestors, the nearest first. */
static char *
describe_type (GType type)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (; type != G_TYPE_INVALID; type = g_type_parent (type))
    g_string_append_printf (text, "%s%s", text->len > 0 ? " < " : "", g_type_name (type));

  return g_strdup (text->str);
}

static char *
describe_value (GObject    *object,
                GParamSpec *pspec)
{
  g_auto (GValue) value = G_VALUE_INIT;
  g_auto (GValue) text = G_VALUE_INIT;

  g_value_init (&value, pspec->value_type);
  g_object_get_property (object, pspec->name, &value);
  if (G_VALUE_HOLDS_STRING (&value))
    return g_strdup (or_dash (g_value_get_string (&value)));
  if (G_VALUE_HOLDS (&value, G_TYPE_STRV))
    {
      g_autofree char *joined = g_value_get_boxed (&value) != NULL ? g_strjoinv (" ", g_value_get_boxed (&value)) : NULL;

      return g_strdup (or_dash (joined));
    }
  if (G_VALUE_HOLDS_OBJECT (&value))
    return g_strdup (g_value_get_object (&value) != NULL ? G_OBJECT_TYPE_NAME (g_value_get_object (&value)) : "-");

  g_value_init (&text, G_TYPE_STRING);

  return g_value_transform (&value, &text) ? g_value_dup_string (&text) : g_strdup ("?");
}

static gboolean
show_precision (LpRegistry  *registry,
                const char  *name,
                GError     **error)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_lookup (registry, name, error);
  g_autoptr (GObject) plugin = entry != NULL ? lp_registry_create (registry, name, NULL, error) : NULL;
  g_autoptr (LpPrecisionTraits) traits = plugin != NULL ? lp_precision_plugin_dup_traits (LP_PRECISION_PLUGIN (plugin), error) : NULL;
  g_autofree GParamSpec **pspecs = NULL;
  g_autofree char *types = NULL;
  g_autofree char *aliases = NULL;
  g_auto (GStrv) alias_list = NULL;
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  guint n_pspecs;

  if (traits == NULL)
    return FALSE;

  types = describe_type (G_OBJECT_TYPE (plugin));
  alias_list = lp_registry_entry_dup_aliases (entry);
  aliases = g_strjoinv (" ", alias_list);
  pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (plugin), &n_pspecs);

  add_row (rows, "name", lp_registry_entry_get_name (entry), NULL, NULL);
  add_row (rows, "aliases", or_dash (aliases), NULL, NULL);
  add_row (rows, "description", or_dash (lp_registry_entry_get_description (entry)), NULL, NULL);
  add_row (rows, "origin", or_dash (lp_registry_entry_get_origin (entry)), NULL, NULL);
  add_row (rows, "type", types, NULL, NULL);
  add_row (rows, "storage", or_dash (lp_precision_traits_get_storage (traits)), NULL, NULL);
  add_row (rows, "compute", or_dash (lp_precision_traits_get_compute (traits)), NULL, NULL);
  add_row (rows, "gradient", or_dash (lp_precision_traits_get_gradient (traits)), NULL, NULL);
  add_row (rows, "master", or_dash (lp_precision_traits_get_master (traits)), NULL, NULL);
  add_row (rows, "moments", or_dash (lp_precision_traits_get_moments (traits)), NULL, NULL);
  add_row (rows, "reduce", or_dash (lp_precision_traits_get_reduce (traits)), NULL, NULL);
  for (guint i = 0; i < n_pspecs; i++)
    if (pspecs[i]->flags & G_PARAM_READABLE)
      {
        g_autofree char *value = describe_value (plugin, pspecs[i]);
        g_autofree char *label = g_strconcat ("property ", pspecs[i]->name, NULL);

        add_row (rows, label, value, NULL, NULL);
      }

  if (!as_json)
    {
      print_columns (rows);
      return TRUE;
    }

  json_builder_begin_object (builder);
  for (guint i = 0; i < rows->len; i++)
    {
      char **row = g_ptr_array_index (rows, i);

      add_string (builder, row[0], g_str_equal (row[1], "-") ? NULL : row[1]);
    }
  json_builder_end_object (builder);
  print_json (builder);

  return TRUE;
}

static gboolean
run_precisions (int      n_names,
                char   **names,
                GError **error)
{
  LpRegistry *registry = LP_REGISTRY (lp_precision_registry_get_default ());

  if (n_names == 0)
    list_precisions (registry);
  for (int i = 0; i < n_names; i++)
    if (!show_precision (registry, names[i], error))
      return FALSE;

  return TRUE;
}

static gboolean
run_devices (int      n_names,
             char   **names,
             GError **error)
{
  LpRegistry *registry = LP_REGISTRY (lp_device_registry_get_default ());
  g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  lp_registry_load_modules (registry);
  add_row (rows, "NAME", "ORIGIN", "DESCRIPTION", NULL);
  json_builder_begin_array (builder);
  for (guint i = 0; i < g_list_model_get_n_items (G_LIST_MODEL (registry)); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (G_LIST_MODEL (registry), i);
      g_autoptr (GError) problem = NULL;
      g_autoptr (LpDevice) device = lp_device_lookup (lp_registry_entry_get_name (entry), &problem);
      g_autofree char *description = device != NULL ? lp_device_dup_description (device)
                                                    : g_strdup_printf ("broken: %s", problem->message);

      add_row (rows, lp_registry_entry_get_name (entry), or_dash (lp_registry_entry_get_origin (entry)), description, NULL);
      json_builder_begin_object (builder);
      add_string (builder, "name", lp_registry_entry_get_name (entry));
      add_string (builder, "origin", lp_registry_entry_get_origin (entry));
      add_string (builder, "description", description);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);

  if (as_json)
    print_json (builder);
  else
    print_columns (rows);

  return TRUE;
}

static gboolean
run_version (int      n_names,
             char   **names,
             GError **error)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  if (!as_json)
    {
      g_print ("lp %s\n", LP_VERSION_S);
      return TRUE;
    }
  json_builder_begin_object (builder);
  add_string (builder, "version", LP_VERSION_S);
  json_builder_end_object (builder);
  print_json (builder);

  return TRUE;
}

static const struct
{
  const char *name;
  gboolean (* run) (int n_names, char **names, GError **error);
  const char *help;
} commands[] = {
  { "precisions", run_precisions, "precisions [NAME...]  the precisions there are, or all about some" },
  { "devices", run_devices, "devices               the devices there are" },
  { "version", run_version, "version               the version of the library" },
};

int
main (int    argc,
      char **argv)
{
  g_autoptr (GOptionContext) context = g_option_context_new ("COMMAND");
  g_autoptr (GString) summary = g_string_new ("Commands:");
  g_autoptr (GError) error = NULL;
  g_autofree char *help = NULL;

  setlocale (LC_ALL, "");
  for (gsize i = 0; i < G_N_ELEMENTS (commands); i++)
    g_string_append_printf (summary, "\n  %s", commands[i].help);
  g_option_context_set_summary (context, summary->str);
  g_option_context_add_main_entries (context, options, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      g_printerr ("lp: %s\n", error->message);
      return 2;
    }

  for (gsize i = 0; argc > 1 && i < G_N_ELEMENTS (commands); i++)
    {
      if (!g_str_equal (argv[1], commands[i].name))
        continue;
      if (commands[i].run (argc - 2, argv + 2, &error))
        return 0;
      g_printerr ("lp: %s\n", error->message);
      return 1;
    }

  help = g_option_context_get_help (context, TRUE, NULL);
  g_printerr ("%s", help);
  return 2;
}
