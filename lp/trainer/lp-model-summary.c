#include <string.h>

#include <lp/trainer/lp-model.h>

typedef struct
{
  gint64 n_parameters, n_trainable, n_bytes;
} Count;

static gboolean
belongs_to (const char *path,
            const char *module)
{
  gsize length = strlen (module);

  return length == 0 || (strncmp (path, module, length) == 0 && path[length] == '.');
}

/* The bytes are those of the tensors, whatever a precision calls itself. */
static Count
count (LpModule   *root,
       const char *module)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (root);
  g_auto (GStrv) names = lp_module_dup_parameter_names (root);
  Count result = { 0, };

  for (guint i = 0; names[i] != NULL && i < parameters->len; i++)
    {
      LpTensor *tensor = g_ptr_array_index (parameters, i);

      if (!belongs_to (names[i], module))
        continue;
      result.n_parameters += lp_tensor_get_n_elements (tensor);
      result.n_bytes += lp_tensor_get_n_bytes (tensor);
      if (lp_tensor_get_requires_grad (tensor))
        result.n_trainable += lp_tensor_get_n_elements (tensor);
    }

  return result;
}

static int
get_depth (const char *path)
{
  int depth = 1;

  for (const char *p = path; *p != '\0'; p++)
    depth += *p == '.';

  return depth;
}

static gint64
count_buffer_bytes (LpModule *root)
{
  g_autoptr (GPtrArray) buffers = lp_module_dup_buffers (root);
  gint64 n_bytes = 0;

  for (guint i = 0; i < buffers->len; i++)
    n_bytes += lp_tensor_get_n_bytes (g_ptr_array_index (buffers, i));

  return n_bytes;
}

static void
append_dtypes (GString  *text,
               LpModule *root)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (root);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < parameters->len; i++)
    {
      const char *name = lp_dtype_get_name (lp_tensor_get_dtype (g_ptr_array_index (parameters, i)));

      if (g_hash_table_add (seen, (gpointer) name))
        g_string_append_printf (text, "%s%s", g_hash_table_size (seen) > 1 ? ", " : "", name);
    }
}

/**
 * lp_model_summarize:
 * @self: a model
 * @max_depth: how many levels of modules to list; -1 is all
 *
 * Describes what a model is made of: its modules, how many parameters they have, and the bytes that these take in memory.
 *
 * Returns: (transfer full): lines of text
 */
char *
lp_model_summarize (LpModel *self,
                    gint     max_depth)
{
  LpModule *root = LP_MODULE (self);
  GString *text = g_string_new (NULL);
  g_autoptr (GPtrArray) modules = NULL;
  g_auto (GStrv) names = NULL;
  Count total;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);

  modules = lp_module_dup_modules (root);
  names = lp_module_dup_module_names (root);
  g_string_append_printf (text, "%-28s %-20s %12s %14s\n", "Name", "Type", "Parameters", "Bytes");
  for (guint i = 0; names[i] != NULL && i < modules->len; i++)
    {
      Count counted;

      if (*names[i] == '\0' || (max_depth >= 0 && get_depth (names[i]) > max_depth))
        continue;
      counted = count (root, names[i]);
      g_string_append_printf (text, "%-28s %-20s %12" G_GINT64_FORMAT " %14" G_GINT64_FORMAT "\n", names[i],
                              G_OBJECT_TYPE_NAME (g_ptr_array_index (modules, i)), counted.n_parameters, counted.n_bytes);
    }

  total = count (root, "");
  g_string_append_printf (text, "%" G_GINT64_FORMAT " parameters, %" G_GINT64_FORMAT " of them trained, stored as ",
                          total.n_parameters, total.n_trainable);
  append_dtypes (text, root);
  g_string_append_printf (text, ": %" G_GINT64_FORMAT " bytes, and %" G_GINT64_FORMAT " in buffers\n", total.n_bytes,
                          count_buffer_bytes (root));

  return g_string_free (text, FALSE);
}
