#include <string.h>

#include <lp/data/lp-json-private.h>

#include <lp/data/lp-data-private.h>

/* Names of members of all objects together: a tree of so many takes some seconds and some hundred MB. */
#define MAX_NAMES (1u << 20)

typedef struct
{
  const char *path;
  const char *text;
  const char *end;
  guint       max_depth;
  guint       n_names;
  GPtrArray  *frames;   /* GHashTable of keys for an object, NULL for an array */
} Scanner;

static void
scanner_clear (Scanner *scanner)
{
  g_clear_pointer (&scanner->frames, g_ptr_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Scanner, scanner_clear)

static void
free_frame (gpointer frame)
{
  if (frame != NULL)
    g_hash_table_unref (frame);
}

/* The end quote of the string that starts at @start, or NULL. */
static const char *
find_string_end (Scanner    *scanner,
                 const char *start)
{
  for (const char *p = start + 1; p < scanner->end; p++)
    {
      if ((guchar) *p < 0x20)
        return NULL;
      if (*p == '\\')
        p++;
      else if (*p == '"')
        return p;
    }

  return NULL;
}

static char *
decode_string (const char *start,
               const char *close)
{
  g_autofree char *quoted = NULL;
  g_autoptr (JsonNode) node = NULL;

  if (memchr (start, '\\', close - start) == NULL)
    return g_strndup (start + 1, close - start - 1);

  quoted = g_strndup (start, close - start + 1);
  node = json_from_string (quoted, NULL);

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? json_node_dup_string (node) : NULL;
}

static gboolean
add_key (Scanner     *scanner,
         const char  *start,
         const char  *close,
         GError     **error)
{
  GHashTable *keys = g_ptr_array_index (scanner->frames, scanner->frames->len - 1);
  char *key;

  if (++scanner->n_names > MAX_NAMES)
    {
      _lp_set_format_error (error, scanner->path, "the JSON text has more than %u names", MAX_NAMES);
      return FALSE;
    }
  key = decode_string (start, close);
  if (key == NULL)
    {
      _lp_set_format_error (error, scanner->path, "the name at byte %" G_GSIZE_FORMAT " of the JSON text is broken",
                            (gsize) (start - scanner->text));
      return FALSE;
    }
  if (g_hash_table_contains (keys, key))
    {
      _lp_set_format_error (error, scanner->path, "the name '%s' occurs twice, again at byte %" G_GSIZE_FORMAT
                            " of the JSON text", key, (gsize) (start - scanner->text));
      g_free (key);
      return FALSE;
    }
  g_hash_table_add (keys, key);

  return TRUE;
}

static gboolean
open_frame (Scanner   *scanner,
            gboolean   object,
            GError   **error)
{
  if (scanner->frames->len >= scanner->max_depth)
    {
      _lp_set_format_error (error, scanner->path, "the JSON text is nested more than %u deep", scanner->max_depth);
      return FALSE;
    }
  g_ptr_array_add (scanner->frames, object ? g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) : NULL);

  return TRUE;
}

static gboolean
close_frame (Scanner *scanner,
             char     c)
{
  GPtrArray *frames = scanner->frames;

  if (frames->len == 0 || (g_ptr_array_index (frames, frames->len - 1) != NULL) != (c == '}'))
    return FALSE;
  g_ptr_array_set_size (frames, frames->len - 1);

  return TRUE;
}

static gboolean
scan (Scanner  *scanner,
      GError  **error)
{
  char last = '\0';

  for (const char *p = scanner->text; p < scanner->end; p++)
    {
      const char *close;

      switch (*p)
        {
        case ' ':
        case '\t':
        case '\r':
        case '\n':
          continue;
        case '{':
        case '[':
          if (!open_frame (scanner, *p == '{', error))
            return FALSE;
          break;
        case '}':
        case ']':
          if (!close_frame (scanner, *p))
            goto broken;
          break;
        case '"':
          close = find_string_end (scanner, p);
          if (close == NULL || scanner->frames->len == 0)
            goto broken;
          if ((last == '{' || last == ',') && g_ptr_array_index (scanner->frames, scanner->frames->len - 1) != NULL &&
              !add_key (scanner, p, close, error))
            return FALSE;
          p = close;
          break;
        case '/':
        case '\'':
        broken:
          _lp_set_format_error (error, scanner->path, "the JSON text is broken at byte %" G_GSIZE_FORMAT,
                                (gsize) (p - scanner->text));
          return FALSE;
        default:
          break;
        }
      last = *p;
    }

  return TRUE;
}

JsonParser *
_lp_json_parse (const char  *text,
                gsize        length,
                guint        max_depth,
                const char  *path,
                GError     **error)
{
  g_auto (Scanner) scanner = { path, text, text + length, max_depth, 0, NULL };
  g_autoptr (JsonParser) parser = NULL;
  g_autoptr (GError) local = NULL;
  JsonNode *root;

  if (!g_utf8_validate_len (text, length, NULL))
    {
      _lp_set_format_error (error, path, "the JSON text is not UTF-8");
      return NULL;
    }

  scanner.frames = g_ptr_array_new_with_free_func (free_frame);
  if (!scan (&scanner, error))
    return NULL;

  parser = json_parser_new_immutable ();
  if (!json_parser_load_from_data (parser, text, length, &local))
    {
      _lp_set_format_error (error, path, "the JSON text can't be read: %s", local->message);
      return NULL;
    }
  root = json_parser_get_root (parser);
  if (root == NULL || !JSON_NODE_HOLDS_OBJECT (root))
    {
      _lp_set_format_error (error, path, "the JSON text is not an object");
      return NULL;
    }

  return g_steal_pointer (&parser);
}
