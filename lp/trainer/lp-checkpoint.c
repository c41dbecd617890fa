#include <string.h>

#include <lp/trainer/lp-checkpoint-private.h>

#include <lp/core/lp-exception.h>
#include <lp/data/lp-data-private.h>
#include <lp/data/lp-json-private.h>
#include <lp/data/lp-safetensors.h>

#define KEY "lp.checkpoint"
#define PREFIX "lp:"
#define FORMAT 1

void
_lp_checkpoint_init (LpCheckpoint *self)
{
  self->weights = lp_tensor_dict_new ();
  self->sections = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_object_unref);
}

void
_lp_checkpoint_clear (LpCheckpoint *self)
{
  g_clear_object (&self->weights);
  g_clear_pointer (&self->sections, g_hash_table_unref);
}

void
_lp_checkpoint_add (LpCheckpoint *self,
                    const char   *section,
                    LpState      *state)
{
  g_hash_table_insert (self->sections, g_strdup (section), state);
}

LpState *
_lp_checkpoint_lookup (LpCheckpoint *self,
                       const char   *section)
{
  return g_hash_table_lookup (self->sections, section);
}

static GList *
list_sections (LpCheckpoint *self)
{
  return g_list_sort (g_hash_table_get_keys (self->sections), (GCompareFunc) strcmp);
}

static char *
describe (LpCheckpoint *self)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;
  g_autoptr (GList) sections = list_sections (self);

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "format");
  json_builder_add_int_value (builder, FORMAT);
  json_builder_set_member_name (builder, "version");
  json_builder_add_string_value (builder, LP_VERSION_S);
  json_builder_set_member_name (builder, "sections");
  json_builder_begin_object (builder);
  for (GList *l = sections; l != NULL; l = l->next)
    {
      g_autoptr (GVariant) values = lp_state_dup_values (_lp_checkpoint_lookup (self, l->data));
      g_autofree char *text = g_variant_print (values, TRUE);

      json_builder_set_member_name (builder, l->data);
      json_builder_add_string_value (builder, text);
    }
  json_builder_end_object (builder);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return json_to_string (root, FALSE);
}

static void
add_tensors (LpTensorDict *target,
             LpTensorDict *source,
             const char   *prefix)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (source);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *name = g_strconcat (prefix, names[i], NULL);

      lp_tensor_dict_set (target, name, lp_tensor_dict_lookup (source, names[i]));
    }
}

gboolean
_lp_checkpoint_write (LpCheckpoint  *self,
                      const char    *path,
                      GError       **error)
{
  g_autoptr (LpTensorDict) all = lp_tensor_dict_new ();
  g_autoptr (GVariant) metadata = NULL;
  g_autoptr (GList) sections = list_sections (self);
  g_autofree char *description = describe (self);
  g_autofree char *folder = g_path_get_dirname (path);
  GVariantBuilder builder;

  /* a section whose key was not found is not written under another */
  if (!lp_check_exceptions (error))
    return FALSE;

  add_tensors (all, self->weights, "");
  for (GList *l = sections; l != NULL; l = l->next)
    {
      g_autofree char *prefix = g_strconcat (PREFIX, l->data, ".", NULL);

      add_tensors (all, lp_state_get_tensors (_lp_checkpoint_lookup (self, l->data)), prefix);
    }

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  g_variant_builder_add (&builder, "{ss}", KEY, description);
  metadata = g_variant_ref_sink (g_variant_builder_end (&builder));
  g_mkdir_with_parents (folder, 0777);

  return lp_save_safetensors (all, metadata, path, error);
}

static gboolean
read_section (LpCheckpoint  *self,
              const char    *path,
              const char    *name,
              JsonNode      *node,
              GError       **error)
{
  const char *text = JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;
  g_autoptr (GError) local = NULL;
  g_autoptr (GVariant) values = NULL;

  if (text != NULL)
    values = g_variant_parse (G_VARIANT_TYPE ("a{sv}"), text, NULL, NULL, &local);
  if (values == NULL)
    {
      _lp_set_format_error (error, path, "the state '%s' can't be read%s%s", name, local != NULL ? ": " : "",
                            local != NULL ? local->message : "");
      return FALSE;
    }

  _lp_checkpoint_add (self, name, lp_state_new_full (values, NULL));
  return TRUE;
}

static gboolean
read_sections (LpCheckpoint  *self,
               const char    *path,
               GVariant      *metadata,
               GError       **error)
{
  g_autoptr (JsonParser) parser = NULL;
  const char *text;
  JsonObject *root;
  JsonNode *node;
  JsonObjectIter iter;
  const char *name;

  if (!g_variant_lookup (metadata, KEY, "&s", &text))
    return TRUE;

  parser = _lp_json_parse (text, strlen (text), 4, path, error);
  if (parser == NULL)
    return FALSE;
  root = json_node_get_object (json_parser_get_root (parser));
  node = json_object_get_member (root, "format");
  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_int (node) != FORMAT)
    {
      _lp_set_format_error (error, path, "the checkpoint is not of format %d", FORMAT);
      return FALSE;
    }
  node = json_object_get_member (root, "sections");
  if (node == NULL || !JSON_NODE_HOLDS_OBJECT (node))
    {
      _lp_set_format_error (error, path, "the checkpoint has no sections");
      return FALSE;
    }

  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &name, &node))
    if (!read_section (self, path, name, node, error))
      return FALSE;

  return TRUE;
}

/* A section by a name that is the start of a longer text, with the hash of it, so that all starts of a text are looked up in one pass. */
typedef struct
{
  const char *name;
  gsize       length;
  guint       hash;
  LpState    *state;
} Section;

#define HASH_START 5381

static guint
hash_byte (guint hash,
           char  byte)
{
  return hash * 33 + (guchar) byte;
}

static guint
section_hash (gconstpointer section)
{
  return ((const Section *) section)->hash;
}

static gboolean
section_equal (gconstpointer a,
               gconstpointer b)
{
  const Section *x = a, *y = b;

  return x->length == y->length && memcmp (x->name, y->name, x->length) == 0;
}

static GHashTable *
index_sections (LpCheckpoint *self)
{
  GHashTable *index = g_hash_table_new_full (section_hash, section_equal, g_free, NULL);
  GHashTableIter iter;
  gpointer name, state;

  g_hash_table_iter_init (&iter, self->sections);
  while (g_hash_table_iter_next (&iter, &name, &state))
    {
      Section *section = g_new (Section, 1);

      *section = (Section) { name, strlen (name), HASH_START, state };
      for (gsize i = 0; i < section->length; i++)
        section->hash = hash_byte (section->hash, section->name[i]);
      g_hash_table_add (index, section);
    }

  return index;
}

/* The section is the longest name that fits: names of sections and tensors both may hold dots. */
static const Section *
find_section (GHashTable *index,
              const char *name)
{
  Section start = { .name = name, .hash = HASH_START };
  const Section *found = NULL;

  for (; name[start.length] != '\0'; start.length++)
    {
      const Section *section = name[start.length] == '.' ? g_hash_table_lookup (index, &start) : NULL;

      if (section != NULL)
        found = section;
      start.hash = hash_byte (start.hash, name[start.length]);
    }

  return found;
}

static gboolean
sort_tensor (LpCheckpoint  *self,
             GHashTable    *index,
             const char    *path,
             const char    *name,
             LpTensor      *tensor,
             GError       **error)
{
  const Section *section;

  if (!g_str_has_prefix (name, PREFIX))
    {
      lp_tensor_dict_set (self->weights, name, tensor);
      return TRUE;
    }

  section = find_section (index, name + strlen (PREFIX));
  if (section == NULL)
    {
      _lp_set_format_error (error, path, "the tensor '%s' belongs to no state", name);
      return FALSE;
    }
  lp_tensor_dict_set (lp_state_get_tensors (section->state), name + strlen (PREFIX) + section->length + 1, tensor);

  return TRUE;
}

gboolean
_lp_checkpoint_read (LpCheckpoint  *self,
                     const char    *path,
                     GError       **error)
{
  g_autoptr (LpTensorDict) all = lp_load_safetensors (path, error);
  g_autoptr (GVariant) metadata = all != NULL ? lp_load_safetensors_metadata (path, error) : NULL;
  g_autoptr (GHashTable) index = NULL;
  g_auto (GStrv) names = NULL;

  if (metadata == NULL || !read_sections (self, path, metadata, error))
    return FALSE;

  index = index_sections (self);
  names = lp_tensor_dict_dup_names (all);
  for (guint i = 0; names[i] != NULL; i++)
    if (!sort_tensor (self, index, path, names[i], lp_tensor_dict_lookup (all, names[i]), error))
      return FALSE;

  return TRUE;
}
