#include <math.h>
#include <string.h>

#include <lp/data/lp-csv.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-error.h>
#include <lp/data/lp-data-private.h>

#define MAX_NUMBER_LENGTH 64

/* A table of numbers being read. */
typedef struct
{
  const char *path;
  LpDType    *dtype;       /* NULL: the default one */
  const char *cursor;
  const char *end;
  guint64     line;
  GPtrArray  *names;       /* NULL without a header */
  GArray     *values;      /* double, row-major */
  guint       n_columns;   /* 0 until the first row */
  guint64     n_rows;
} Table;

static void
table_clear (Table *table)
{
  g_clear_pointer (&table->names, g_ptr_array_unref);
  g_clear_pointer (&table->values, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Table, table_clear)

/* The end of the line that starts at the cursor, without \r\n; sets @next to where the next one starts. */
static const char *
find_line_end (Table       *table,
               const char **next)
{
  const char *newline = memchr (table->cursor, '\n', table->end - table->cursor);
  const char *end = newline != NULL ? newline : table->end;

  *next = newline != NULL ? newline + 1 : table->end;
  if (end > table->cursor && end[-1] == '\r')
    end--;

  return end;
}

static char *
unquote (const char *start,
         const char *end)
{
  while (start < end && (*start == ' ' || *start == '\t'))
    start++;
  while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  if (end - start >= 2 && *start == '"' && end[-1] == '"')
    {
      start++;
      end--;
    }

  return g_strndup (start, end - start);
}

static gboolean
split_header (Table       *table,
              const char  *end,
              GError     **error)
{
  const char *start = table->cursor;
  gboolean quoted = FALSE;

  table->names = g_ptr_array_new_with_free_func (g_free);
  for (const char *p = start; p <= end; p++)
    {
      if (p < end && *p == '"')
        quoted = !quoted;
      if (p == end || (*p == ',' && !quoted))
        {
          if (!g_utf8_validate_len (start, p - start, NULL))
            {
              _lp_set_format_error (error, table->path, "line %" G_GUINT64_FORMAT ", column %u: the name is not UTF-8", table->line,
                                    table->names->len + 1);
              return FALSE;
            }
          g_ptr_array_add (table->names, unquote (start, p));
          start = p + 1;
        }
    }
  table->n_columns = table->names->len;

  return TRUE;
}

/* Numbers are read as doubles, of which the whole ones are exact up to 2^53. */
static gboolean
fits (LpDType *dtype,
      double   value)
{
  static const struct { double low, high; } bounds[LP_N_SCALARS] = {
    [LP_SCALAR_I64] = { -0x1p53, 0x1p53 }, [LP_SCALAR_I32] = { G_MININT32, G_MAXINT32 }, [LP_SCALAR_I16] = { G_MININT16, G_MAXINT16 },
    [LP_SCALAR_I8] = { G_MININT8, G_MAXINT8 }, [LP_SCALAR_U8] = { 0, G_MAXUINT8 }, [LP_SCALAR_BOOL] = { -G_MAXDOUBLE, G_MAXDOUBLE },
  };
  const LpScalar scalar = dtype != NULL ? _lp_dtype_get_scalar (dtype) : LP_SCALAR_ENCODED;

  if (bounds[scalar].high == 0)
    return TRUE;
  value = trunc (value);

  return value >= bounds[scalar].low && value <= bounds[scalar].high;
}

static gboolean
parse_number (Table       *table,
              const char  *start,
              const char  *end,
              guint        column,
              GError     **error)
{
  g_autofree char *text = NULL;
  char *stop;
  double value;

  if (end - start > MAX_NUMBER_LENGTH)
    end = start + MAX_NUMBER_LENGTH + 1;
  text = unquote (start, end);
  value = g_ascii_strtod (text, &stop);
  if (memchr (start, '\0', end - start) != NULL || *text == '\0' || *stop != '\0' || strlen (text) > MAX_NUMBER_LENGTH)
    {
      g_autofree char *shown = g_strescape (text, NULL);

      _lp_set_format_error (error, table->path, "line %" G_GUINT64_FORMAT ", column %u: '%s' is not a number",
                            table->line, column + 1, shown);
      return FALSE;
    }
  if (!fits (table->dtype, value))
    {
      _lp_set_format_error (error, table->path, "line %" G_GUINT64_FORMAT ", column %u: %s has no place in %s%s", table->line, column + 1,
                            text, lp_dtype_get_name (table->dtype), table->dtype == lp_dtype_i64 () && isfinite (value) ? ", read exactly up to 2^53" : "");
      return FALSE;
    }

  g_array_append_val (table->values, value);
  return TRUE;
}

static gboolean
parse_row (Table       *table,
           const char  *end,
           GError     **error)
{
  const char *start = table->cursor;
  guint column = 0;

  for (const char *p = start; p <= end; p++)
    if (p == end || *p == ',')
      {
        if (table->n_columns > 0 && column >= table->n_columns)
          break;
        if (!parse_number (table, start, p, column++, error))
          return FALSE;
        start = p + 1;
      }

  if (table->n_columns == 0)
    table->n_columns = column;
  if (column != table->n_columns || start <= end)
    {
      _lp_set_format_error (error, table->path, "line %" G_GUINT64_FORMAT " has %s columns than the first, which has %u",
                            table->line, column < table->n_columns ? "fewer" : "more", table->n_columns);
      return FALSE;
    }

  table->n_rows++;
  return TRUE;
}

static gboolean
parse_table (Table     *table,
             GBytes    *bytes,
             gboolean   has_header,
             GError   **error)
{
  gsize size;

  table->cursor = g_bytes_get_data (bytes, &size);
  if (size == 0)
    table->cursor = "";
  table->end = table->cursor + size;
  table->values = g_array_new (FALSE, FALSE, sizeof (double));
  if (size >= 3 && memcmp (table->cursor, "\xEF\xBB\xBF", 3) == 0)
    table->cursor += 3;

  while (table->cursor < table->end)
    {
      const char *next;
      const char *end = find_line_end (table, &next);

      table->line++;
      if (end > table->cursor && has_header && table->names == NULL)
        {
          if (!split_header (table, end, error))
            return FALSE;
        }
      else if (end > table->cursor && !parse_row (table, end, error))
        return FALSE;
      if (table->values->len > G_MAXUINT / sizeof (double) / 2)
        {
          _lp_set_format_error (error, table->path, "has more numbers than can be read at once");
          return FALSE;
        }
      table->cursor = next;
    }

  if (table->n_columns == 0)
    {
      _lp_set_format_error (error, table->path, "is empty");
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_load_csv:
 * @path: (type filename): a file
 * @has_header: whether the first line holds names
 * @dtype: (nullable): the dtype of the result, or %NULL for the default
 * @error: return location for an error
 *
 * Reads a table of numbers, separated by commas, with a point in decimals. Empty lines are skipped. In dtypes of integers, fractions are
 * cut off, and numbers that have no place there are errors; i64 takes numbers up to 2^53.
 *
 * Returns: (transfer full): a tensor `[rows, columns]`. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT with line and column,
 *   %LP_ERROR_MEMORY
 */
LpTensor *
lp_load_csv (const char  *path,
             gboolean     has_header,
             LpDType     *dtype,
             GError     **error)
{
  g_auto (Table) table = { .path = path, .dtype = dtype };
  g_autoptr (GBytes) bytes = NULL;
  gint64 dims[2];

  g_return_val_if_fail (path != NULL, NULL);

  bytes = _lp_map_file (path, error);
  if (bytes == NULL || !parse_table (&table, bytes, has_header, error))
    return NULL;

  dims[0] = table.n_rows;
  dims[1] = table.n_columns;

  return lp_tensor_new_from_doubles ((double *) table.values->data, table.values->len, dims, 2, dtype, error);
}

/**
 * lp_load_csv_columns:
 * @path: (type filename): a file whose first line holds names
 * @dtype: (nullable): the dtype of the columns, or %NULL for the default
 * @error: return location for an error
 *
 * Reads a table of numbers with names.
 *
 * Returns: (transfer full): one tensor `[rows]` per column, under its name. Errors: as [func@load_csv]
 */
LpBatch *
lp_load_csv_columns (const char  *path,
                     LpDType     *dtype,
                     GError     **error)
{
  g_auto (Table) table = { .path = path, .dtype = dtype };
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (LpBatch) result = NULL;
  g_autofree double *column = NULL;
  gint64 dim;

  g_return_val_if_fail (path != NULL, NULL);

  bytes = _lp_map_file (path, error);
  if (bytes == NULL || !parse_table (&table, bytes, TRUE, error))
    return NULL;

  result = lp_batch_new ();
  column = g_new (double, MAX (table.n_rows, 1));
  dim = table.n_rows;
  for (guint i = 0; i < table.n_columns; i++)
    {
      g_autoptr (LpTensor) tensor = NULL;

      for (guint64 row = 0; row < table.n_rows; row++)
        column[row] = g_array_index (table.values, double, row * table.n_columns + i);
      tensor = lp_tensor_new_from_doubles (column, table.n_rows, &dim, 1, dtype, error);
      if (tensor == NULL)
        return NULL;
      lp_batch_append (result, tensor, g_ptr_array_index (table.names, i));
    }

  return g_steal_pointer (&result);
}
