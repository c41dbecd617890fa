#include <lp/precision/lp-bitsandbytes.h>

#include <math.h>
#include <string.h>

#include <lp/core/lp-blockwise-dtype-private.h>
#include <lp/core/lp-codec-private.h>
#include <lp/core/lp-dtype-registry.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-text-private.h>
#include <lp/data/lp-json-private.h>

/* Weights in 4 bits under the names that bitsandbytes gives their parts in safetensors files. An encoded tensor of LP is the same parts one
 * after the other: codes, then absmax; or codes, the mean, the second absmax and the codes of the first. */

#define STATE_INFIX ".quant_state.bitsandbytes__"
#define MAX_DEPTH 4

static gboolean
add_part (LpTensorDict   *state,
          const char     *name,
          const char     *suffix,
          gconstpointer   data,
          gsize           size,
          const gint64   *dims,
          gsize           n_dims,
          LpDType        *dtype,
          GError        **error)
{
  g_autofree char *key = g_strconcat (name, suffix, NULL);
  g_autoptr (GBytes) bytes = g_bytes_new (data, size);
  g_autoptr (LpTensor) tensor = lp_tensor_new_from_bytes (bytes, dims, n_dims, dtype, error);

  if (tensor == NULL)
    return FALSE;
  lp_tensor_dict_set (state, key, tensor);

  return TRUE;
}

static gboolean
add_floats (LpTensorDict   *state,
            const char     *name,
            const char     *suffix,
            gconstpointer   data,
            gint64          n,
            GError        **error)
{
  return add_part (state, name, suffix, data, n * sizeof (float), &n, 1, lp_dtype_f32 (), error);
}

static char *
describe (LpTensor   *tensor,
          const char *code,
          gboolean    nested,
          float       offset)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autoptr (JsonNode) root = NULL;

  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "quant_type");
  json_builder_add_string_value (builder, code);
  json_builder_set_member_name (builder, "blocksize");
  json_builder_add_int_value (builder, lp_dtype_get_block_size (lp_tensor_get_dtype (tensor)));
  json_builder_set_member_name (builder, "dtype");
  json_builder_add_string_value (builder, "float32");
  json_builder_set_member_name (builder, "shape");
  json_builder_begin_array (builder);
  for (guint i = 0; i < lp_tensor_get_n_dims (tensor); i++)
    json_builder_add_int_value (builder, lp_tensor_get_dim (tensor, (int) i));
  json_builder_end_array (builder);
  if (nested)
    {
      json_builder_set_member_name (builder, "nested_blocksize");
      json_builder_add_int_value (builder, LP_BLOCKWISE_NESTED_BLOCK);
      json_builder_set_member_name (builder, "nested_dtype");
      json_builder_add_string_value (builder, "float32");
      json_builder_set_member_name (builder, "nested_offset");
      json_builder_add_double_value (builder, (double) offset);
    }
  json_builder_end_object (builder);
  root = json_builder_get_root (builder);

  return json_to_string (root, FALSE);
}

static const LpNibbleCode *
find_code (const char *name)
{
  for (int i = 0; i < LP_N_NIBBLES; i++)
    if (g_strcmp0 (_lp_nibble_codes[i].name, name) == 0)
      return &_lp_nibble_codes[i];

  return NULL;
}

static gboolean
pack_tensor (LpTensorDict        *state,
             const char          *name,
             LpTensor            *tensor,
             const LpNibbleCode  *code,
             GError             **error)
{
  LpBlockwiseDType *dtype = LP_BLOCKWISE_DTYPE (lp_tensor_get_dtype (tensor));
  const gboolean nested = lp_blockwise_dtype_get_double_quantized (dtype);
  const gint64 n = lp_tensor_get_n_elements (tensor), packed[] = { (n + 1) / 2, 1 };
  const gint64 n_blocks = _lp_blockwise_count_blocks (n, lp_dtype_get_block_size (LP_DTYPE (dtype)));
  const gint64 n_nested = _lp_blockwise_count_blocks (n_blocks, LP_BLOCKWISE_NESTED_BLOCK);
  g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (tensor, error);
  const guint8 *data = bytes != NULL ? g_bytes_get_data (bytes, NULL) : NULL, *absmax;
  g_autofree char *suffix = g_strconcat (STATE_INFIX, code->name, NULL);
  g_autofree char *text = NULL;
  float offset = 0;
  gint64 size;

  if (data == NULL)
    return FALSE;
  absmax = data + _lp_blockwise_absmax_offset (packed[0]);
  if (nested)
    memcpy (&offset, absmax, sizeof offset);
  text = describe (tensor, code->name, nested, offset);
  size = (gint64) strlen (text);
  if (!add_part (state, name, "", data, packed[0], packed, 2, lp_dtype_u8 (), error)
      || !add_floats (state, name, ".quant_map", code->values, 16, error)
      || !add_part (state, name, suffix, text, size, &size, 1, lp_dtype_u8 (), error))
    return FALSE;
  if (!nested)
    return add_floats (state, name, ".absmax", absmax, n_blocks, error);

  return add_floats (state, name, ".nested_absmax", absmax + sizeof (float), n_nested, error)
         && add_floats (state, name, ".nested_quant_map", _lp_dynamic_values, 256, error)
         && add_part (state, name, ".absmax", absmax + (1 + n_nested) * (gint64) sizeof (float), n_blocks, &n_blocks, 1, lp_dtype_u8 (), error);
}

/**
 * lp_bitsandbytes_pack:
 * @state: the state of a module
 * @error: return location for an error
 *
 * Takes tensors in [class@BlockwiseDType]s of 4 bits apart as bitsandbytes stores them in safetensors files: a weight `W` becomes `W`, the
 * codes in u8 of shape `[n / 2, 1]`, `W.absmax`, `W.quant_map` and `W.quant_state.bitsandbytes__nf4` (or `__fp4`), the last being JSON in u8;
 * double quantized, also `W.nested_absmax` and `W.nested_quant_map`. Other tensors stay as they are.
 *
 * Returns: (transfer full): the parts. Errors: %LP_ERROR_MEMORY
 */
LpTensorDict *
lp_bitsandbytes_pack (LpTensorDict  *state,
                      GError       **error)
{
  g_autoptr (LpTensorDict) result = lp_tensor_dict_new ();
  g_auto (GStrv) names = NULL;

  g_return_val_if_fail (LP_IS_TENSOR_DICT (state), NULL);

  names = lp_tensor_dict_dup_names (state);
  for (guint i = 0; names[i] != NULL; i++)
    {
      LpTensor *tensor = lp_tensor_dict_lookup (state, names[i]);
      LpDType *dtype = lp_tensor_get_dtype (tensor);
      const LpNibbleCode *code = LP_IS_BLOCKWISE_DTYPE (dtype) ? find_code (lp_blockwise_dtype_get_code (LP_BLOCKWISE_DTYPE (dtype))) : NULL;

      if (code == NULL)
        lp_tensor_dict_set (result, names[i], tensor);
      else if (!pack_tensor (result, names[i], tensor, code, error))
        return NULL;
    }

  return g_steal_pointer (&result);
}

typedef struct
{
  const char *name;
  char        code[8];
  gint64      dims[LP_MAX_DIMS];
  gsize       n_dims;
  gint64      n, block;
  gboolean    nested;
  float       offset;
} Packed;

static gboolean
fail (const char  *name,
      const char  *problem,
      GError     **error)
{
  g_autofree char *shortened = _lp_shorten (name);

  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The packed weight “%s” is broken: %s", shortened, problem);
  return FALSE;
}

static gboolean
read_int (JsonObject *object,
          const char *member,
          gint64      low,
          gint64      high,
          gint64     *value)
{
  JsonNode *node = json_object_get_member (object, member);

  if (node == NULL || !JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return FALSE;
  *value = json_node_get_int (node);

  return *value >= low && *value <= high;
}

static gboolean
read_dims (JsonObject *object,
           Packed     *packed)
{
  JsonNode *node = json_object_get_member (object, "shape");
  JsonArray *array = node != NULL && JSON_NODE_HOLDS_ARRAY (node) ? json_node_get_array (node) : NULL;

  if (array == NULL || json_array_get_length (array) > LP_MAX_DIMS)
    return FALSE;
  packed->n_dims = json_array_get_length (array);
  packed->n = 1;
  for (gsize i = 0; i < packed->n_dims; i++)
    {
      JsonNode *dim = json_array_get_element (array, i);

      if (!JSON_NODE_HOLDS_VALUE (dim) || json_node_get_value_type (dim) != G_TYPE_INT64)
        return FALSE;
      packed->dims[i] = json_node_get_int (dim);
      if (packed->dims[i] < 1 || __builtin_mul_overflow (packed->n, packed->dims[i], &packed->n))
        return FALSE;
    }

  return TRUE;
}

/* The names of PyTorch's dtypes that bitsandbytes puts there. */
static gboolean
is_dtype (JsonObject        *object,
          const char        *member,
          const char *const *known)
{
  JsonNode *node = json_object_get_member (object, member);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) && json_node_get_value_type (node) == G_TYPE_STRING
         && g_strv_contains (known, json_node_get_string (node));
}

/* What is subtracted before absmax is quantized is a mean of maxima. */
static gboolean
read_offset (JsonObject *object,
             float      *offset)
{
  JsonNode *node = json_object_get_member (object, "nested_offset");
  GType type = node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_get_value_type (node) : G_TYPE_NONE;

  if (type != G_TYPE_DOUBLE && type != G_TYPE_INT64)
    return FALSE;
  *offset = (float) json_node_get_double (node);

  return *offset >= 0 && isfinite (*offset);
}

static gboolean
read_nested (JsonObject  *object,
             Packed      *packed,
             GError     **error)
{
  static const char *const known[] = { "float32", NULL };
  gint64 block;

  packed->nested = json_object_has_member (object, "nested_blocksize");
  if (!packed->nested)
    return TRUE;
  if (!read_int (object, "nested_blocksize", LP_BLOCKWISE_NESTED_BLOCK, LP_BLOCKWISE_NESTED_BLOCK, &block))
    return fail (packed->name, "its nested_blocksize is not 256", error);
  if (!is_dtype (object, "nested_dtype", known))
    return fail (packed->name, "its nested_dtype is not float32", error);
  if (!read_offset (object, &packed->offset))
    return fail (packed->name, "its nested_offset is not a finite number from 0 on", error);

  return TRUE;
}

static JsonParser *
parse_description (LpTensor  *tensor,
                   Packed    *packed,
                   GError   **error)
{
  g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (tensor, error);
  g_autofree char *name = _lp_shorten (packed->name);
  g_autofree char *where = g_strdup_printf ("The packed weight “%s” is broken: its quant_state", name);
  gsize size;
  const char *text;

  if (bytes == NULL)
    return NULL;
  if (lp_tensor_get_dtype (tensor) != lp_dtype_u8 ())
    {
      fail (packed->name, "its quant_state is not in u8", error);
      return NULL;
    }
  text = g_bytes_get_data (bytes, &size);

  return _lp_json_parse (size > 0 ? text : "", size, MAX_DEPTH, where, error);
}

static gboolean
read_description (LpTensor  *tensor,
                  Packed    *packed,
                  GError   **error)
{
  static const char *const known[] = { "float32", "float16", "bfloat16", NULL };
  g_autoptr (JsonParser) parser = parse_description (tensor, packed, error);
  JsonNode *type;
  JsonObject *object;

  if (parser == NULL)
    return FALSE;
  object = json_node_get_object (json_parser_get_root (parser));
  type = json_object_get_member (object, "quant_type");
  if (type == NULL || !JSON_NODE_HOLDS_VALUE (type) || find_code (json_node_get_string (type)) == NULL)
    return fail (packed->name, "its quant_type is neither nf4 nor fp4", error);
  g_strlcpy (packed->code, json_node_get_string (type), sizeof packed->code);
  if (!read_int (object, "blocksize", 32, 4096, &packed->block) || (packed->block & (packed->block - 1)) != 0)
    return fail (packed->name, "its blocksize is none of 32, 64, … 4096", error);
  if (!is_dtype (object, "dtype", known))
    return fail (packed->name, "its dtype is none of float32, float16 and bfloat16", error);
  if (!read_dims (object, packed))
    return fail (packed->name, "its shape is not a list of at most 8 whole numbers from 1 on", error);

  return read_nested (object, packed, error);
}

/* Part @suffix of a weight as @n elements of @dtype, appended. */
static gboolean
append_part (LpTensorDict  *state,
             Packed        *packed,
             const char    *suffix,
             LpDType       *dtype,
             gint64         n,
             GByteArray    *data,
             GError       **error)
{
  g_autofree char *key = g_strconcat (packed->name, suffix, NULL);
  LpTensor *tensor = lp_tensor_dict_lookup (state, key);
  g_autofree char *problem = NULL;
  g_autoptr (GBytes) bytes = NULL;

  if (tensor == NULL || lp_tensor_get_dtype (tensor) != dtype || lp_tensor_get_n_elements (tensor) != n)
    {
      problem = g_strdup_printf ("its shape and blocksize ask for %s of %" G_GINT64_FORMAT " elements in %s, and there are %s",
                                 suffix[0] != '\0' ? suffix + 1 : "codes", n, lp_dtype_get_name (dtype), tensor != NULL ? "others" : "none");
      return fail (packed->name, problem, error);
    }
  bytes = lp_tensor_dup_bytes (tensor, error);
  if (bytes == NULL)
    return FALSE;
  g_byte_array_append (data, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));

  return TRUE;
}

/* Part @suffix as append_part() does it: maxima, which are finite and not below 0. */
static gboolean
append_maxima (LpTensorDict  *state,
               Packed        *packed,
               const char    *suffix,
               gint64         n,
               GByteArray    *data,
               GError       **error)
{
  const guint start = data->len;
  g_autofree char *problem = NULL;

  if (!append_part (state, packed, suffix, lp_dtype_f32 (), n, data, error))
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    {
      float value;

      memcpy (&value, data->data + start + i * (gint64) sizeof value, sizeof value);
      if (value >= 0 && isfinite (value))
        continue;
      problem = g_strdup_printf ("element %" G_GINT64_FORMAT " of its %s is %g, and a maximum is finite and at least 0", i, suffix + 1,
                                 (double) value);
      return fail (packed->name, problem, error);
    }

  return TRUE;
}

/* The map is written into the dtype: a file with another one can't be read. */
static gboolean
check_map (LpTensorDict  *state,
           Packed        *packed,
           const char    *suffix,
           const float   *values,
           gint64         n,
           GError       **error)
{
  g_autoptr (GByteArray) data = g_byte_array_new ();

  if (!append_part (state, packed, suffix, lp_dtype_f32 (), n, data, error))
    return FALSE;
  for (gint64 i = 0; i < n; i++)
    {
      float value;

      memcpy (&value, data->data + i * (gint64) sizeof value, sizeof value);
      if (!(fabsf (value - values[i]) <= 1e-6f))
        {
          g_autofree char *problem = g_strdup_printf ("its %s has other values than those of %s", suffix + 1, packed->code);

          return fail (packed->name, problem, error);
        }
    }

  return TRUE;
}

static LpDType *
find_dtype (const Packed  *packed,
            GError       **error)
{
  g_autofree char *name = g_strconcat (packed->code, packed->nested ? "-dq" : NULL, NULL);

  if (packed->block == 64)
    return lp_dtype_lookup (name, error);

  return lp_blockwise_dtype_new (packed->code, (guint) packed->block, packed->nested);
}

static LpTensor *
unpack_tensor (LpTensorDict  *state,
               const char    *name,
               LpTensor      *description,
               GError       **error)
{
  Packed packed = { .name = name };
  g_autoptr (GByteArray) data = g_byte_array_new ();
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (LpDType) dtype = NULL;
  gint64 n_blocks, n_nested, n_codes;

  _lp_dynamic_init ();
  if (!read_description (description, &packed, error) || (dtype = find_dtype (&packed, error)) == NULL)
    return NULL;
  n_blocks = _lp_blockwise_count_blocks (packed.n, packed.block);
  n_nested = _lp_blockwise_count_blocks (n_blocks, LP_BLOCKWISE_NESTED_BLOCK);
  n_codes = packed.n / 2 + packed.n % 2;
  if (!append_part (state, &packed, "", lp_dtype_u8 (), n_codes, data, error)
      || !check_map (state, &packed, ".quant_map", find_code (packed.code)->values, 16, error))
    return NULL;

  g_byte_array_append (data, (const guint8[4]) { 0 }, (guint) (_lp_blockwise_absmax_offset (n_codes) - n_codes));
  if (packed.nested)
    g_byte_array_append (data, (const guint8 *) &packed.offset, sizeof packed.offset);
  if (packed.nested
        ? !append_maxima (state, &packed, ".nested_absmax", n_nested, data, error)
            || !check_map (state, &packed, ".nested_quant_map", _lp_dynamic_values, 256, error)
            || !append_part (state, &packed, ".absmax", lp_dtype_u8 (), n_blocks, data, error)
        : !append_maxima (state, &packed, ".absmax", n_blocks, data, error))
    return NULL;
  bytes = g_byte_array_free_to_bytes (g_steal_pointer (&data));

  return lp_tensor_new_from_bytes (bytes, packed.dims, packed.n_dims, dtype, error);
}

/* Codes that nothing describes are not numbers: they don't pass for a tensor in u8. */
static gboolean
check_described (LpTensorDict  *state,
                 GHashTable    *weights,
                 const char    *name,
                 GError       **error)
{
  g_autofree char *weight = NULL;
  g_autofree char *absmax = NULL;

  if (!g_str_has_suffix (name, ".quant_map"))
    return TRUE;
  weight = g_strndup (name, strlen (name) - strlen (".quant_map"));
  absmax = g_strconcat (weight, ".absmax", NULL);
  if (lp_tensor_dict_lookup (state, absmax) == NULL || g_hash_table_contains (weights, weight))
    return TRUE;

  return fail (weight, "it has absmax and quant_map, but no quant_state", error);
}

/* Whether @name is that of a part of one of @weights. */
static gboolean
is_part (GHashTable *weights,
         const char *name)
{
  static const char *const suffixes[] = { "", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map" };

  for (gsize i = 0; i < G_N_ELEMENTS (suffixes); i++)
    {
      g_autofree char *weight = NULL;

      if (!g_str_has_suffix (name, suffixes[i]))
        continue;
      weight = g_strndup (name, strlen (name) - strlen (suffixes[i]));
      if (g_hash_table_contains (weights, weight))
        return TRUE;
    }

  return FALSE;
}

/**
 * lp_bitsandbytes_unpack:
 * @state: tensors of a safetensors file
 * @error: return location for an error
 *
 * Puts the parts of weights that bitsandbytes packed in 4 bits together again, as [func@bitsandbytes_pack] takes them apart. Other tensors stay
 * as they are. The weights become tensors in `nf4`, `nf4-dq`, `fp4` or `fp4-dq`, with the block size of the file.
 *
 * Returns: (transfer full): the state. Errors: %LP_ERROR_FORMAT, naming weight and part, for parts that are missing, don't
 *   fit each other or hold what bitsandbytes never writes
 */
LpTensorDict *
lp_bitsandbytes_unpack (LpTensorDict  *state,
                        GError       **error)
{
  g_autoptr (LpTensorDict) result = lp_tensor_dict_new ();
  g_autoptr (GHashTable) weights = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_auto (GStrv) names = NULL;

  g_return_val_if_fail (LP_IS_TENSOR_DICT (state), NULL);

  names = lp_tensor_dict_dup_names (state);
  for (guint i = 0; names[i] != NULL; i++)
    {
      const char *infix = strstr (names[i], STATE_INFIX);
      g_autoptr (LpTensor) weight = NULL;
      char *name;

      if (infix == NULL)
        continue;
      name = g_strndup (names[i], infix - names[i]);
      if (!g_hash_table_add (weights, name))
        {
          fail (name, "it has more than one quant_state", error);
          return NULL;
        }
      weight = unpack_tensor (state, name, lp_tensor_dict_lookup (state, names[i]), error);
      if (weight == NULL)
        return NULL;
      lp_tensor_dict_set (result, name, weight);
    }
  for (guint i = 0; names[i] != NULL; i++)
    if (!check_described (state, weights, names[i], error))
      return NULL;
  for (guint i = 0; names[i] != NULL; i++)
    if (strstr (names[i], STATE_INFIX) == NULL && !is_part (weights, names[i]))
      lp_tensor_dict_set (result, names[i], lp_tensor_dict_lookup (state, names[i]));

  return g_steal_pointer (&result);
}
