#include <string.h>

#include <lp/data/lp-npy.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-error.h>
#include <lp/data/lp-data-private.h>
#include <lp/ops/lp-ops.h>

/* NumPy's format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */

#define MAX_HEADER (1 << 20)

typedef struct
{
  const char *path;
  const char *cursor;
  const char *end;
  gsize       origin;       /* where the dictionary starts in the file */
  const char *start;

  LpScalar    scalar;
  gboolean    swapped;
  gboolean    fortran_order;
  gint64      dims[LP_MAX_DIMS];
  guint       n_dims;
  guint       seen;
} Header;

enum
{
  SEEN_DESCR = 1,
  SEEN_ORDER = 2,
  SEEN_SHAPE = 4
};

static gboolean
fail (Header      *header,
      GError     **error,
      const char  *message)
{
  _lp_set_format_error (error, header->path, "%s, at byte %" G_GSIZE_FORMAT " of the header", message,
                        header->origin + (header->cursor - header->start));

  return FALSE;
}

static void
skip_space (Header *header)
{
  while (header->cursor < header->end && g_ascii_isspace (*header->cursor))
    header->cursor++;
}

static gboolean
take (Header *header,
      char    c)
{
  skip_space (header);
  if (header->cursor >= header->end || *header->cursor != c)
    return FALSE;
  header->cursor++;

  return TRUE;
}

static gboolean
take_word (Header     *header,
           const char *word)
{
  gsize length = strlen (word);

  skip_space (header);
  if ((gsize) (header->end - header->cursor) < length || memcmp (header->cursor, word, length) != 0)
    return FALSE;
  header->cursor += length;

  return TRUE;
}

static char *
take_string (Header *header)
{
  const char *start, *close;
  char quote;

  skip_space (header);
  if (header->cursor >= header->end || (*header->cursor != '\'' && *header->cursor != '"'))
    return NULL;

  quote = *header->cursor;
  start = header->cursor + 1;
  close = memchr (start, quote, header->end - start);
  if (close == NULL)
    return NULL;
  header->cursor = close + 1;

  return g_strndup (start, close - start);
}

static const struct
{
  const char *name;
  LpScalar    scalar;
} descrs[] = {
  { "f8", LP_SCALAR_F64 }, { "f4", LP_SCALAR_F32 }, { "f2", LP_SCALAR_F16 }, { "i8", LP_SCALAR_I64 },
  { "i4", LP_SCALAR_I32 }, { "i2", LP_SCALAR_I16 }, { "i1", LP_SCALAR_I8 }, { "u1", LP_SCALAR_U8 },
  { "b1", LP_SCALAR_BOOL },
};

static gboolean
parse_descr (Header  *header,
             GError **error)
{
  g_autofree char *descr = take_string (header);

  if (descr == NULL)
    return fail (header, error, "'descr' is not a string (structured types can't be read)");

  for (guint i = 0; i < G_N_ELEMENTS (descrs); i++)
    if (strlen (descr) == 3 && strchr ("<>|=", descr[0]) != NULL && strcmp (descr + 1, descrs[i].name) == 0)
      {
        header->scalar = descrs[i].scalar;
        header->swapped = descr[0] == '>';
        return TRUE;
      }

  _lp_set_format_error (error, header->path, "element type '%s' can't be read; f2 f4 f8 i1 i2 i4 i8 u1 b1 can", descr);
  return FALSE;
}

static gboolean
parse_shape (Header  *header,
             GError **error)
{
  if (!take (header, '('))
    return fail (header, error, "'shape' is not a tuple");

  while (!take (header, ')'))
    {
      gint64 dim = 0;
      const char *start;

      skip_space (header);
      start = header->cursor;
      while (header->cursor < header->end && g_ascii_isdigit (*header->cursor))
        if (__builtin_mul_overflow (dim, 10, &dim) || __builtin_add_overflow (dim, *header->cursor++ - '0', &dim))
          return fail (header, error, "an extent is too large");
      if (header->cursor == start)
        return fail (header, error, "an extent is not a number");
      if (header->n_dims == LP_MAX_DIMS)
        return fail (header, error, "there are more than 8 axes");
      header->dims[header->n_dims++] = dim;
      if (!take (header, ',') && (header->cursor >= header->end || *header->cursor != ')'))
        return fail (header, error, "'shape' is not closed");
    }

  return TRUE;
}

static gboolean
parse_entry (Header  *header,
             GError **error)
{
  g_autofree char *key = take_string (header);
  guint bit;

  if (key == NULL || !take (header, ':'))
    return fail (header, error, "a key was expected");

  bit = strcmp (key, "descr") == 0 ? SEEN_DESCR
        : strcmp (key, "fortran_order") == 0 ? SEEN_ORDER
        : strcmp (key, "shape") == 0 ? SEEN_SHAPE
        : 0;
  if (bit == 0 || (header->seen & bit) != 0)
    return fail (header, error, "there is a key that doesn't belong there");
  header->seen |= bit;

  if (bit == SEEN_DESCR)
    return parse_descr (header, error);
  if (bit == SEEN_SHAPE)
    return parse_shape (header, error);

  header->fortran_order = take_word (header, "True");
  if (!header->fortran_order && !take_word (header, "False"))
    return fail (header, error, "'fortran_order' is neither True nor False");

  return TRUE;
}

static gboolean
parse_dictionary (Header  *header,
                  GError **error)
{
  if (!take (header, '{'))
    return fail (header, error, "the header is not a dictionary");

  while (!take (header, '}'))
    {
      if (!parse_entry (header, error))
        return FALSE;
      if (!take (header, ',') && (header->cursor >= header->end || *header->cursor != '}'))
        return fail (header, error, "the dictionary is not closed");
    }
  if (header->seen != (SEEN_DESCR | SEEN_ORDER | SEEN_SHAPE))
    return fail (header, error, "descr, fortran_order or shape is missing");

  return TRUE;
}

/* Finds the dictionary and where the elements start. */
static gboolean
find_header (Header        *header,
             const guint8  *data,
             gsize          size,
             gsize         *start,
             GError       **error)
{
  gsize length;

  if (size < 10 || memcmp (data, "\x93NUMPY", 6) != 0)
    {
      _lp_set_format_error (error, header->path, "doesn't start like a .npy file");
      return FALSE;
    }
  if (data[6] < 1 || data[6] > 3)
    {
      _lp_set_format_error (error, header->path, "is of .npy version %u.%u; 1 to 3 can be read", data[6], data[7]);
      return FALSE;
    }

  header->origin = data[6] == 1 ? 10 : 12;
  if (size < header->origin)
    {
      _lp_set_format_error (error, header->path, "ends within the header");
      return FALSE;
    }
  length = data[8] | (gsize) data[9] << 8;
  if (data[6] > 1)
    length |= (gsize) data[10] << 16 | (gsize) data[11] << 24;
  if (length > MAX_HEADER || length > size - header->origin)
    {
      _lp_set_format_error (error, header->path, "the header claims %" G_GSIZE_FORMAT " bytes, the file has %" G_GSIZE_FORMAT,
                            length, size);
      return FALSE;
    }

  *start = header->origin + length;
  header->start = header->cursor = (const char *) data + header->origin;
  header->end = header->start + length;

  return TRUE;
}

static gboolean
check_size (Header  *header,
            gsize    available,
            GError **error)
{
  gsize expected = _lp_scalar_sizes[header->scalar];
  gboolean too_large = FALSE;

  for (guint i = 0; i < header->n_dims; i++)
    too_large |= __builtin_mul_overflow (expected, (gsize) header->dims[i], &expected);
  if (!too_large && expected == available)
    return TRUE;

  _lp_set_format_error (error, header->path, "the shape needs %s%" G_GSIZE_FORMAT " bytes of elements, but %" G_GSIZE_FORMAT
                        " follow the header", too_large ? "more than " : "", too_large ? G_MAXSIZE : expected, available);
  return FALSE;
}

static GBytes *
swap_elements (GBytes *elements,
               guint   width)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (elements, &size);
  guint8 *swapped = g_malloc (MAX (size, 1));

  for (gsize i = 0; i < size; i += width)
    for (guint j = 0; j < width; j++)
      swapped[i + j] = data[i + width - 1 - j];

  return g_bytes_new_take (swapped, size);
}

static LpTensor *
reverse_axes (LpTensor  *reversed,
              guint      n_dims,
              GError   **error)
{
  int axes[LP_MAX_DIMS];
  g_autoptr (LpTensor) view = NULL;

  for (guint i = 0; i < n_dims; i++)
    axes[i] = n_dims - 1 - i;
  view = lp_tensor_permute (reversed, axes, n_dims, error);

  return view != NULL ? lp_tensor_contiguous (view, error) : NULL;
}

/**
 * lp_load_npy:
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Reads a tensor that NumPy saved. The file stays mapped while the tensor lives, which is read-only.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT, %LP_ERROR_MEMORY
 */
LpTensor *
lp_load_npy (const char  *path,
             GError     **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) elements = NULL;
  g_autoptr (LpTensor) tensor = NULL;
  Header header = { .path = path };
  gint64 dims[LP_MAX_DIMS];
  gsize size, start;

  g_return_val_if_fail (path != NULL, NULL);

  bytes = _lp_map_file (path, error);
  if (bytes == NULL)
    return NULL;

  if (!find_header (&header, g_bytes_get_data (bytes, NULL), (size = g_bytes_get_size (bytes)), &start, error) ||
      !parse_dictionary (&header, error) || !check_size (&header, size - start, error))
    return NULL;

  elements = g_bytes_new_from_bytes (bytes, start, size - start);
  if (header.swapped && _lp_scalar_sizes[header.scalar] > 1)
    {
      GBytes *swapped = swap_elements (elements, _lp_scalar_sizes[header.scalar]);

      g_bytes_unref (elements);
      elements = swapped;
    }

  for (guint i = 0; i < header.n_dims; i++)
    dims[i] = header.dims[header.fortran_order ? header.n_dims - 1 - i : i];
  tensor = lp_tensor_new_from_bytes (elements, dims, header.n_dims, _lp_dtype_from_scalar (header.scalar), error);
  if (tensor == NULL || !header.fortran_order || header.n_dims < 2)
    return g_steal_pointer (&tensor);

  return reverse_axes (tensor, header.n_dims, error);
}

static char *
format_header (LpTensor   *tensor,
               const char *descr,
               gsize      *length)
{
  GString *text = g_string_new (NULL);
  char *header;
  gsize total;

  g_string_append_printf (text, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", descr[1] == '1' ? '|' : '<', descr);
  for (guint i = 0; i < lp_tensor_get_n_dims (tensor); i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", lp_tensor_get_dim (tensor, i));
  g_string_append (text, lp_tensor_get_n_dims (tensor) == 1 ? ",), }" : "), }");

  total = (10 + text->len + 1 + 63) / 64 * 64;
  while (text->len < total - 11)
    g_string_append_c (text, ' ');
  g_string_append_c (text, '\n');

  header = g_malloc (total);
  memcpy (header, "\x93NUMPY\x01\x00", 8);
  header[8] = text->len & 0xff;
  header[9] = text->len >> 8;
  memcpy (header + 10, text->str, text->len);
  g_string_free (text, TRUE);
  *length = total;

  return header;
}

/**
 * lp_save_npy:
 * @tensor: a tensor
 * @path: (type filename): a file
 * @error: return location for an error
 *
 * Writes a tensor for NumPy. The file appears whole or not at all.
 *
 * Returns: whether it was written. Errors: %LP_ERROR_DTYPE for dtypes that NumPy doesn't have, %LP_ERROR_IO
 */
gboolean
lp_save_npy (LpTensor    *tensor,
             const char  *path,
             GError     **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const char *descr = NULL;
  GBytes *elements;
  LpScalar scalar;
  gsize length;
  char *header;

  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);

  scalar = _lp_dtype_get_scalar (lp_tensor_get_dtype (tensor));
  for (guint i = 0; i < G_N_ELEMENTS (descrs); i++)
    if (descrs[i].scalar == scalar)
      descr = descrs[i].name;
  if (descr == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "A .npy file can't hold %s; cast the tensor, or use safetensors",
                   lp_dtype_get_name (lp_tensor_get_dtype (tensor)));
      return FALSE;
    }

  elements = lp_tensor_dup_bytes (tensor, error);
  if (elements == NULL)
    return FALSE;
  header = format_header (tensor, descr, &length);
  g_ptr_array_add (parts, g_bytes_new_take (header, length));
  g_ptr_array_add (parts, elements);

  return _lp_write_file (path, parts, error);
}
