#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <glib/gstdio.h>

#include <lp/trainer/lp-csv-logger.h>

#include <lp/core/lp-error.h>
#include <lp/data/lp-data-private.h>
#include <lp/trainer/lp-folder-logger-private.h>

/**
 * LpCsvLogger:
 *
 * Writes `metrics.csv`: a line per entry, a column per name.
 *
 * New names make new columns: the file is then written anew. The settings of the run go to `hparams.json`.
 */
struct _LpCsvLogger
{
  LpFolderLogger parent_instance;

  GPtrArray *names;       /* of the columns behind "step" */
  GPtrArray *rows;        /* a{sd} and step, as (xa{sd}) */
  guint      n_written;   /* rows that are in the file */
  gboolean   stale;       /* the file has other columns */
};

G_DEFINE_FINAL_TYPE (LpCsvLogger, lp_csv_logger, LP_TYPE_FOLDER_LOGGER)

static void
append_quoted (GString    *text,
               const char *name)
{
  if (strpbrk (name, ",\"\n") == NULL)
    {
      g_string_append (text, name);
      return;
    }
  g_string_append_c (text, '"');
  for (const char *p = name; *p != '\0'; p++)
    {
      if (*p == '"')
        g_string_append_c (text, '"');
      g_string_append_c (text, *p);
    }
  g_string_append_c (text, '"');
}

static void
append_row (LpCsvLogger *self,
            GString     *text,
            GVariant    *row)
{
  g_autoptr (GVariant) metrics = NULL;
  gint64 step;

  g_variant_get (row, "(x@a{sd})", &step, &metrics);
  g_string_append_printf (text, "%" G_GINT64_FORMAT, step);
  for (guint i = 0; i < self->names->len; i++)
    {
      char buffer[G_ASCII_DTOSTR_BUF_SIZE];
      double value;

      g_string_append_c (text, ',');
      if (g_variant_lookup (metrics, g_ptr_array_index (self->names, i), "d", &value))
        g_string_append (text, g_ascii_formatd (buffer, sizeof buffer, "%.9g", value));
    }
  g_string_append_c (text, '\n');
}

static gboolean
rewrite (LpCsvLogger  *self,
         const char   *path,
         GError      **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  GString *text = g_string_new ("step");

  for (guint i = 0; i < self->names->len; i++)
    {
      g_string_append_c (text, ',');
      append_quoted (text, g_ptr_array_index (self->names, i));
    }
  g_string_append_c (text, '\n');
  for (guint i = 0; i < self->rows->len; i++)
    append_row (self, text, g_ptr_array_index (self->rows, i));
  g_ptr_array_add (parts, g_string_free_to_bytes (text));

  return _lp_write_file (path, parts, error);
}

static gboolean
append (LpCsvLogger  *self,
        const char   *path,
        GError      **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  FILE *file = g_fopen (path, "ae");
  gboolean done;

  for (guint i = self->n_written; i < self->rows->len; i++)
    append_row (self, text, g_ptr_array_index (self->rows, i));
  done = file != NULL && fwrite (text->str, 1, text->len, file) == text->len;
  if (file != NULL && fclose (file) != 0)
    done = FALSE;
  if (!done)
    g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: can't be written: %s", path, g_strerror (errno));

  return done;
}

static void
lp_csv_logger_save (LpLogger  *logger,
                    GError   **error)
{
  LpCsvLogger *self = LP_CSV_LOGGER (logger);
  const char *folder;
  g_autofree char *path = NULL;

  if (self->n_written == self->rows->len)
    return;
  folder = _lp_folder_logger_get_folder (LP_FOLDER_LOGGER (self), error);
  if (folder == NULL)
    return;

  path = g_build_filename (folder, "metrics.csv", NULL);
  if (!(self->stale ? rewrite (self, path, error) : append (self, path, error)))
    return;
  self->stale = FALSE;
  self->n_written = self->rows->len;
}

static gboolean
is_known (LpCsvLogger *self,
          const char  *name)
{
  for (guint i = 0; i < self->names->len; i++)
    if (g_str_equal (g_ptr_array_index (self->names, i), name))
      return TRUE;

  return FALSE;
}

static void
lp_csv_logger_log_metrics (LpLogger  *logger,
                           GVariant  *metrics,
                           gint64     step,
                           GError   **error)
{
  LpCsvLogger *self = LP_CSV_LOGGER (logger);
  GVariantIter iter;
  const char *name;
  double value;

  g_variant_iter_init (&iter, metrics);
  while (g_variant_iter_next (&iter, "{&sd}", &name, &value))
    if (!is_known (self, name))
      {
        g_ptr_array_add (self->names, g_strdup (name));
        self->stale = TRUE;
      }
  g_ptr_array_add (self->rows, g_variant_ref_sink (g_variant_new ("(x@a{sd})", step, metrics)));

  lp_csv_logger_save (logger, error);
}

static void
lp_csv_logger_constructed (GObject *object)
{
  LpCsvLogger *self = LP_CSV_LOGGER (object);

  self->names = g_ptr_array_new_with_free_func (g_free);
  self->rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_variant_unref);

  G_OBJECT_CLASS (lp_csv_logger_parent_class)->constructed (object);
}

static void
lp_csv_logger_finalize (GObject *object)
{
  LpCsvLogger *self = LP_CSV_LOGGER (object);

  g_ptr_array_unref (self->names);
  g_ptr_array_unref (self->rows);

  G_OBJECT_CLASS (lp_csv_logger_parent_class)->finalize (object);
}

static void
lp_csv_logger_class_init (LpCsvLoggerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpLoggerClass *logger_class = LP_LOGGER_CLASS (klass);

  object_class->finalize = lp_csv_logger_finalize;

  object_class->constructed = lp_csv_logger_constructed;

  logger_class->log_metrics = lp_csv_logger_log_metrics;
  logger_class->save = lp_csv_logger_save;
}

static void
lp_csv_logger_init (LpCsvLogger *self)
{
}

/**
 * lp_csv_logger_new:
 * @save_dir: (type filename): the folder of all logs
 * @name: (nullable): the name of the experiment, or %NULL for `lp_logs`
 * @version: (nullable): the name of the run, or %NULL for the first free `version_N`
 *
 * Creates a logger that writes tables.
 *
 * Returns: (transfer full): the logger
 */
LpLogger *
lp_csv_logger_new (const char *save_dir,
                   const char *name,
                   const char *version)
{
  g_return_val_if_fail (save_dir != NULL, NULL);

  return g_object_new (LP_TYPE_CSV_LOGGER, "save-dir", save_dir, "name", name, "version", version, NULL);
}
