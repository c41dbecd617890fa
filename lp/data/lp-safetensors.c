#include <string.h>

#include <json-glib/json-glib.h>

#include <lp/data/lp-safetensors.h>

#include <lp/core/lp-dtype-registry.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-text-private.h>
#include <lp/data/lp-data-private.h>
#include <lp/data/lp-json-private.h>
#include <lp/ops/lp-ops.h>

/* The format: https://github.com/huggingface/safetensors#format
 *
 * A dtype that the format does not have is stored as U8, and an entry of the metadata, "lp.encoded.NAME", tells dtype and
 * shape: {"dtype": "...", "shape": [...]}. */

#define MAX_HEADER ((guint64) 100000000)
/* Their entries and metadata have no more names than can be read. */
#define MAX_TENSORS 200000
#define METADATA "__metadata__"
#define ENCODED_PREFIX "lp.encoded."

static const struct
{
  const char *file_name;
  const char *name;
} dtypes[] = {
  { "F64", "f64" }, { "F32", "f32" }, { "F16", "f16" }, { "BF16", "bf16" }, { "I64", "i64" }, { "I32", "i32" },
  { "I16", "i16" }, { "I8", "i8" }, { "U8", "u8" }, { "BOOL", "bool" }, { "F8_E4M3", "f8e4m3" }, { "F8_E5M2", "f8e5m2" },
};

typedef struct
{
  const char *name;
  LpDType    *dtype;
  gint64      dims[LP_MAX_DIMS];
  guint       n_dims;
  guint64     begin, end;
} Entry;

static void
entry_clear (gpointer data)
{
  g_clear_object (&((Entry *) data)->dtype);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Entry, entry_clear)

/* An open file: the header and the bytes behind it. */
typedef struct
{
  const char *path;
  GBytes     *bytes;
  gsize       data_start;
  JsonParser *parser;
  JsonObject *root;
  GArray     *entries;
} Reader;

static void
reader_clear (Reader *reader)
{
  g_clear_pointer (&reader->bytes, g_bytes_unref);
  g_clear_object (&reader->parser);
  g_clear_pointer (&reader->entries, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Reader, reader_clear)

static gboolean
read_header (Reader  *reader,
             GError **error)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (reader->bytes, &size);
  guint64 length;

  if (size < 8)
    {
      _lp_set_format_error (error, reader->path, "has %" G_GSIZE_FORMAT " bytes; a safetensors file has at least 8", size);
      return FALSE;
    }

  memcpy (&length, data, 8);
  length = GUINT64_FROM_LE (length);
  if (length > MAX_HEADER || length > size - 8)
    {
      _lp_set_format_error (error, reader->path, "the header claims %" G_GUINT64_FORMAT " bytes, the file has %" G_GSIZE_FORMAT,
                            length, size);
      return FALSE;
    }
  if (length < 2 || data[8] != '{')
    {
      _lp_set_format_error (error, reader->path, "the header doesn't start with '{'");
      return FALSE;
    }

  reader->data_start = 8 + length;
  reader->parser = _lp_json_parse ((const char *) data + 8, length, 4, reader->path, error);
  if (reader->parser == NULL)
    return FALSE;
  reader->root = json_node_get_object (json_parser_get_root (reader->parser));

  return TRUE;
}

static gboolean
get_index (JsonArray *array,
           guint      index,
           gint64    *value)
{
  JsonNode *node = json_array_get_element (array, index);

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return FALSE;
  *value = json_node_get_int (node);

  return *value >= 0;
}

static gboolean
read_shape (const char  *path,
            const char  *name,
            JsonNode    *node,
            Entry       *entry,
            GError     **error)
{
  JsonArray *shape = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (shape == NULL)
    {
      _lp_set_format_error (error, path, "tensor '%s' has no shape", name);
      return FALSE;
    }
  if (json_array_get_length (shape) > LP_MAX_DIMS)
    {
      _lp_set_format_error (error, path, "tensor '%s' has %u axes; at most %d can be read", name,
                            json_array_get_length (shape), LP_MAX_DIMS);
      return FALSE;
    }

  entry->n_dims = json_array_get_length (shape);
  for (guint i = 0; i < entry->n_dims; i++)
    if (!get_index (shape, i, &entry->dims[i]))
      {
        _lp_set_format_error (error, path, "extent %u of tensor '%s' is not a whole number from 0 on", i, name);
        return FALSE;
      }

  return TRUE;
}

static gboolean
read_dtype (Reader      *reader,
            JsonObject  *object,
            Entry       *entry,
            GError     **error)
{
  JsonNode *node = json_object_get_member (object, "dtype");
  const char *name = node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_string (node) : NULL;

  if (name == NULL)
    {
      _lp_set_format_error (error, reader->path, "tensor '%s' has no dtype", entry->name);
      return FALSE;
    }

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    if (strcmp (name, dtypes[i].file_name) == 0 && entry->dtype == NULL)
      entry->dtype = lp_dtype_lookup (dtypes[i].name, NULL);
  if (entry->dtype == NULL)
    {
      _lp_set_format_error (error, reader->path, "tensor '%s' is of dtype %s, which can't be read", entry->name, name);
      return FALSE;
    }

  return TRUE;
}

static gboolean
check_entry_size (Reader  *reader,
                  Entry   *entry,
                  GError **error)
{
  guint64 bits = lp_dtype_get_bits (entry->dtype);
  gboolean too_large = FALSE;

  for (guint i = 0; i < entry->n_dims; i++)
    too_large |= __builtin_mul_overflow (bits, (guint64) entry->dims[i], &bits);
  if (!too_large && entry->end >= entry->begin && bits % 8 == 0 && bits / 8 == entry->end - entry->begin)
    return TRUE;

  _lp_set_format_error (error, reader->path, "the shape of tensor '%s' doesn't need the bytes from %" G_GUINT64_FORMAT
                        " to %" G_GUINT64_FORMAT " that it is given", entry->name, entry->begin, entry->end);
  return FALSE;
}

static gboolean
read_entry (Reader      *reader,
            const char  *name,
            JsonNode    *node,
            GError     **error)
{
  g_auto (Entry) entry = { .name = name };
  JsonNode *offsets_node;
  JsonArray *offsets;
  JsonObject *object;
  gint64 begin, end;

  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      _lp_set_format_error (error, reader->path, "tensor '%s' is not described by an object", name);
      return FALSE;
    }
  object = json_node_get_object (node);

  offsets_node = json_object_get_member (object, "data_offsets");
  offsets = offsets_node != NULL && JSON_NODE_HOLDS_ARRAY (offsets_node) ? json_node_get_array (offsets_node) : NULL;
  if (offsets == NULL || json_array_get_length (offsets) != 2 || !get_index (offsets, 0, &begin) ||
      !get_index (offsets, 1, &end))
    {
      _lp_set_format_error (error, reader->path, "tensor '%s' has no data_offsets of two whole numbers", name);
      return FALSE;
    }
  entry.begin = begin;
  entry.end = end;

  if (!read_dtype (reader, object, &entry, error) ||
      !read_shape (reader->path, name, json_object_get_member (object, "shape"), &entry, error) ||
      !check_entry_size (reader, &entry, error))
    return FALSE;

  g_array_append_val (reader->entries, entry);
  entry.dtype = NULL;
  return TRUE;
}

static int
compare_begin (gconstpointer a,
               gconstpointer b)
{
  const Entry *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;

  return 0;
}

/* The tensors cover the bytes exactly. */
static gboolean
check_cover (Reader  *reader,
             GError **error)
{
  guint64 available = g_bytes_get_size (reader->bytes) - reader->data_start;
  guint64 position = 0;

  g_array_sort (reader->entries, compare_begin);
  for (guint i = 0; i < reader->entries->len; i++)
    {
      Entry *entry = &g_array_index (reader->entries, Entry, i);

      if (entry->begin != position || entry->end > available)
        {
          _lp_set_format_error (error, reader->path, "tensor '%s' lies from byte %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT
                                ", but it must start at %" G_GUINT64_FORMAT " and end by %" G_GUINT64_FORMAT, entry->name,
                                entry->begin, entry->end, position, available);
          return FALSE;
        }
      position = entry->end;
    }
  if (position == available)
    return TRUE;

  _lp_set_format_error (error, reader->path, "the tensors end at byte %" G_GUINT64_FORMAT ", but there are %" G_GUINT64_FORMAT
                        " bytes", position, available);
  return FALSE;
}

static gboolean
check_metadata (Reader  *reader,
                GError **error)
{
  JsonNode *node = json_object_get_member (reader->root, METADATA);
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;

  if (node == NULL)
    return TRUE;
  if (!JSON_NODE_HOLDS_OBJECT (node))
    {
      _lp_set_format_error (error, reader->path, METADATA " is not an object");
      return FALSE;
    }

  json_object_iter_init (&iter, json_node_get_object (node));
  while (json_object_iter_next (&iter, &name, &value))
    if (!JSON_NODE_HOLDS_VALUE (value) || json_node_get_value_type (value) != G_TYPE_STRING)
      {
        _lp_set_format_error (error, reader->path, "the metadata '%s' is not a string", name);
        return FALSE;
      }

  return TRUE;
}

static gboolean
open_reader (Reader  *reader,
             GError **error)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  reader->bytes = _lp_map_file (reader->path, error);
  if (reader->bytes == NULL || !read_header (reader, error) || !check_metadata (reader, error))
    return FALSE;

  reader->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (reader->entries, entry_clear);
  json_object_iter_init (&iter, reader->root);
  while (json_object_iter_next (&iter, &name, &node))
    if (strcmp (name, METADATA) != 0 && !read_entry (reader, name, node, error))
      return FALSE;

  return check_cover (reader, error);
}

static const char *
lookup_metadata (Reader     *reader,
                 const char *name)
{
  JsonNode *node = json_object_get_member (reader->root, METADATA);

  if (node == NULL || !json_object_has_member (json_node_get_object (node), name))
    return NULL;

  return json_object_get_string_member (json_node_get_object (node), name);
}

static LpDType *
lookup_dtype (Reader      *reader,
              Entry       *entry,
              const char  *name,
              GError     **error)
{
  GError *local = NULL;
  LpDType *dtype = lp_dtype_lookup (name, &local);
  g_autofree char *tensor = NULL;
  g_autofree char *problem = NULL;

  if (dtype != NULL)
    return dtype;

  tensor = _lp_shorten (entry->name);
  problem = _lp_shorten (local->message);
  g_set_error (error, local->domain, local->code,
               "%s: tensor '%s': %s. A dtype of a program's own has to be in the LpDTypeRegistry before the file is read",
               reader->path, tensor, problem);
  g_error_free (local);

  return NULL;
}

/* Puts back the dtype and shape of a tensor that was stored as plain bytes. */
static gboolean
restore_encoded (Reader  *reader,
                 Entry   *entry,
                 GError **error)
{
  g_autofree char *key = g_strconcat (ENCODED_PREFIX, entry->name, NULL);
  const char *text = lookup_metadata (reader, key);
  g_autoptr (JsonParser) parser = NULL;
  JsonObject *object;
  JsonNode *dtype;

  if (text == NULL)
    return TRUE;

  parser = _lp_json_parse (text, strlen (text), 4, reader->path, error);
  if (parser == NULL)
    return FALSE;
  object = json_node_get_object (json_parser_get_root (parser));
  dtype = json_object_get_member (object, "dtype");
  if (dtype == NULL || !JSON_NODE_HOLDS_VALUE (dtype) || json_node_get_string (dtype) == NULL)
    {
      _lp_set_format_error (error, reader->path, "the metadata '%s' names no dtype", key);
      return FALSE;
    }

  g_clear_object (&entry->dtype);
  entry->dtype = lookup_dtype (reader, entry, json_node_get_string (dtype), error);

  return entry->dtype != NULL &&
         read_shape (reader->path, entry->name, json_object_get_member (object, "shape"), entry, error);
}

static LpTensor *
make_tensor (Reader  *reader,
             Entry   *entry,
             GError **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autofree char *name = NULL;
  LpTensor *tensor;

  if (!restore_encoded (reader, entry, error))
    return NULL;

  bytes = g_bytes_new_from_bytes (reader->bytes, reader->data_start + entry->begin, entry->end - entry->begin);
  tensor = lp_tensor_new_from_bytes (bytes, entry->dims, entry->n_dims, entry->dtype, error);
  if (tensor != NULL)
    return tensor;

  name = _lp_shorten (entry->name);
  g_prefix_error (error, "%s: tensor '%s': ", reader->path, name);

  return NULL;
}

/**
 * lp_load_safetensors:
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Opens a safetensors file. Nothing is copied: the tensors are read-only, and the file stays mapped while they live. The
 * file must not be changed in place meanwhile; replacing it by renaming, as [func@save_safetensors] does, is fine.
 *
 * Returns: (transfer full): the tensors, in the order in which they lie in the file. Errors: %LP_ERROR_IO,
 *   %LP_ERROR_FORMAT, %LP_ERROR_UNKNOWN for a dtype that nobody registered
 */
LpTensorDict *
lp_load_safetensors (const char  *path,
                     GError     **error)
{
  g_auto (Reader) reader = { .path = path };
  g_autoptr (LpTensorDict) tensors = NULL;

  g_return_val_if_fail (path != NULL, NULL);

  if (!open_reader (&reader, error))
    return NULL;

  tensors = lp_tensor_dict_new ();
  for (guint i = 0; i < reader.entries->len; i++)
    {
      Entry *entry = &g_array_index (reader.entries, Entry, i);
      g_autoptr (LpTensor) tensor = make_tensor (&reader, entry, error);

      if (tensor == NULL)
        return NULL;
      lp_tensor_dict_set (tensors, entry->name, tensor);
    }

  return g_steal_pointer (&tensors);
}

/**
 * lp_load_safetensors_metadata:
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Reads the metadata of a safetensors file.
 *
 * Returns: (transfer full): the metadata, an `a{ss}`. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT
 */
GVariant *
lp_load_safetensors_metadata (const char  *path,
                              GError     **error)
{
  g_auto (Reader) reader = { .path = path };
  GVariantBuilder builder;
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  g_return_val_if_fail (path != NULL, NULL);

  if (!open_reader (&reader, error))
    return NULL;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{ss}"));
  node = json_object_get_member (reader.root, METADATA);
  if (node != NULL)
    {
      json_object_iter_init (&iter, json_node_get_object (node));
      while (json_object_iter_next (&iter, &name, &node))
        g_variant_builder_add (&builder, "{ss}", name, json_node_get_string (node));
    }

  return g_variant_ref_sink (g_variant_builder_end (&builder));
}

static const char *
find_file_dtype (LpDType *dtype)
{
  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    if (strcmp (lp_dtype_get_name (dtype), dtypes[i].name) == 0)
      return dtypes[i].file_name;

  return NULL;
}

static void
add_dims (JsonBuilder *builder,
          LpTensor    *tensor)
{
  json_builder_set_member_name (builder, "shape");
  json_builder_begin_array (builder);
  for (guint i = 0; i < lp_tensor_get_n_dims (tensor); i++)
    json_builder_add_int_value (builder, lp_tensor_get_dim (tensor, i));
  json_builder_end_array (builder);
}

static char *
describe_encoded (LpTensor *tensor)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "dtype");
  json_builder_add_string_value (builder, lp_dtype_get_name (lp_tensor_get_dtype (tensor)));
  add_dims (builder, tensor);
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return json_to_string (root, FALSE);
}

/* The object for metadata is there if there is some. */
static void
add_metadatum (JsonBuilder *builder,
               gboolean    *opened,
               const char  *key,
               const char  *value)
{
  if (!*opened)
    {
      json_builder_set_member_name (builder, METADATA);
      json_builder_begin_object (builder);
      *opened = TRUE;
    }
  json_builder_set_member_name (builder, key);
  json_builder_add_string_value (builder, value);
}

static void
add_metadata (JsonBuilder   *builder,
              LpTensorDict  *tensors,
              char         **names,
              GVariant      *metadata)
{
  GVariantIter iter;
  const char *key, *value;
  gboolean opened = FALSE;

  if (metadata != NULL)
    {
      g_variant_iter_init (&iter, metadata);
      while (g_variant_iter_next (&iter, "{&s&s}", &key, &value))
        add_metadatum (builder, &opened, key, value);
    }

  for (guint i = 0; names[i] != NULL; i++)
    {
      LpTensor *tensor = lp_tensor_dict_lookup (tensors, names[i]);
      g_autofree char *member = NULL;
      g_autofree char *description = NULL;

      if (find_file_dtype (lp_tensor_get_dtype (tensor)) != NULL)
        continue;
      member = g_strconcat (ENCODED_PREFIX, names[i], NULL);
      description = describe_encoded (tensor);
      add_metadatum (builder, &opened, member, description);
    }

  if (opened)
    json_builder_end_object (builder);
}

static void
add_entry (JsonBuilder *builder,
           const char  *name,
           LpTensor    *tensor,
           gint64       begin,
           gint64       end)
{
  const char *dtype = find_file_dtype (lp_tensor_get_dtype (tensor));

  json_builder_set_member_name (builder, name);
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "dtype");
  json_builder_add_string_value (builder, dtype != NULL ? dtype : "U8");
  if (dtype != NULL)
    add_dims (builder, tensor);
  else
    {
      json_builder_set_member_name (builder, "shape");
      json_builder_begin_array (builder);
      json_builder_add_int_value (builder, end - begin);
      json_builder_end_array (builder);
    }
  json_builder_set_member_name (builder, "data_offsets");
  json_builder_begin_array (builder);
  json_builder_add_int_value (builder, begin);
  json_builder_add_int_value (builder, end);
  json_builder_end_array (builder);
  json_builder_end_object (builder);
}

/* Larger elements first, then by name, so that all of them are aligned. */
static int
compare_names (gconstpointer a,
               gconstpointer b,
               gpointer      user_data)
{
  const char *x = *(const char *const *) a, *y = *(const char *const *) b;
  LpDType *dx = lp_tensor_get_dtype (lp_tensor_dict_lookup (user_data, x));
  LpDType *dy = lp_tensor_get_dtype (lp_tensor_dict_lookup (user_data, y));
  guint bits_x = find_file_dtype (dx) != NULL ? lp_dtype_get_bits (dx) : 8;
  guint bits_y = find_file_dtype (dy) != NULL ? lp_dtype_get_bits (dy) : 8;

  return bits_x != bits_y ? (bits_x > bits_y ? -1 : 1) : strcmp (x, y);
}

static GBytes *
make_header (JsonBuilder *builder)
{
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (root, FALSE);
  gsize length = strlen (text);
  gsize padded = (length + 7) / 8 * 8;
  guint64 length_le = GUINT64_TO_LE ((guint64) padded);
  guint8 *header = g_malloc (8 + padded);

  memcpy (header, &length_le, 8);
  memcpy (header + 8, text, length);
  memset (header + 8 + length, ' ', padded - length);

  return g_bytes_new_take (header, 8 + padded);
}

static GBytes *
get_bytes (LpTensor    *tensor,
           const char  *name,
           GError     **error)
{
  if (lp_tensor_get_factor (tensor) == 1)
    return lp_tensor_dup_bytes (tensor, error);

  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "“%s” is a scaled tensor, whose factor has no place in a safetensors file: "
               "convert it to a dtype without one", name);
  return NULL;
}

/* A file has dtypes by name: one that goes by the name of another would be read as that one. */
static gboolean
check_dtype (LpTensor    *tensor,
             const char  *name,
             GError     **error)
{
  LpDType *dtype = lp_tensor_get_dtype (tensor);
  g_autoptr (LpDType) named = lp_dtype_is_native (dtype) ? g_object_ref (dtype) : lp_dtype_lookup (lp_dtype_get_name (dtype), NULL);

  if (named == NULL || named == dtype
      || (G_OBJECT_TYPE (named) == G_OBJECT_TYPE (dtype) && lp_dtype_get_bits (named) == lp_dtype_get_bits (dtype)
          && lp_dtype_get_block_size (named) == lp_dtype_get_block_size (dtype)
          && lp_dtype_get_flat (named) == lp_dtype_get_flat (dtype)))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "“%s” is in the dtype “%s” of %s, but the name “%s” is taken by another one of %s, as which "
               "a file would be read: give the dtype a name of its own", name, lp_dtype_get_name (dtype), G_OBJECT_TYPE_NAME (dtype),
               lp_dtype_get_name (dtype), G_OBJECT_TYPE_NAME (named));
  return FALSE;
}

/**
 * lp_save_safetensors:
 * @tensors: tensors
 * @metadata: (nullable): an `a{ss}`
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Writes a safetensors file of at most 200000 tensors. It appears whole, or the one of that name stays as it was.
 *
 * Returns: whether it was written. Errors: %LP_ERROR_IO, %LP_ERROR_MEMORY, %LP_ERROR_ARGUMENT for metadata of another type,
 *   for a dtype that goes by the name of another and for too many tensors
 */
gboolean
lp_save_safetensors (LpTensorDict  *tensors,
                     GVariant      *metadata,
                     const char    *path,
                     GError       **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_auto (GStrv) names = NULL;
  gint64 position = 0;

  g_return_val_if_fail (LP_IS_TENSOR_DICT (tensors), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  if (metadata != NULL && !g_variant_is_of_type (metadata, G_VARIANT_TYPE ("a{ss}")))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Metadata of a safetensors file is of type a{ss}, not %s",
                   g_variant_get_type_string (metadata));
      return FALSE;
    }
  if (lp_tensor_dict_lookup (tensors, METADATA) != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "A tensor can't be called " METADATA " in a safetensors file");
      return FALSE;
    }

  if (lp_tensor_dict_get_size (tensors) > MAX_TENSORS)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "A safetensors file takes at most %d tensors, not %u: write several files", MAX_TENSORS,
                   lp_tensor_dict_get_size (tensors));
      return FALSE;
    }

  names = lp_tensor_dict_dup_names (tensors);
  g_qsort_with_data (names, g_strv_length (names), sizeof (char *), compare_names, tensors);

  json_builder_begin_object (builder);
  add_metadata (builder, tensors, names, metadata);
  for (guint i = 0; names[i] != NULL; i++)
    {
      LpTensor *tensor = lp_tensor_dict_lookup (tensors, names[i]);
      GBytes *bytes = check_dtype (tensor, names[i], error) ? get_bytes (tensor, names[i], error) : NULL;
      gint64 size;

      if (bytes == NULL)
        return FALSE;
      size = g_bytes_get_size (bytes);
      g_ptr_array_add (parts, bytes);
      add_entry (builder, names[i], tensor, position, position + size);
      position += size;
    }
  json_builder_end_object (builder);
  g_ptr_array_insert (parts, 0, make_header (builder));

  return _lp_write_file (path, parts, error);
}
