#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <lp/trainer/lp-tensor-board-logger.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-crc32c-private.h>
#include <lp/trainer/lp-folder-logger-private.h>

/**
 * LpTensorBoardLogger:
 *
 * Writes an event file that TensorBoard shows.
 */
struct _LpTensorBoardLogger
{
  LpFolderLogger parent_instance;

  FILE  *file;
};

G_DEFINE_FINAL_TYPE (LpTensorBoardLogger, lp_tensor_board_logger, LP_TYPE_FOLDER_LOGGER)

/* Protocol buffers: https://protobuf.dev/programming-guides/encoding, fields of tensorflow/core/util/event.proto. */
static void
put_varint (GByteArray *out,
            guint64     value)
{
  do
    {
      guint8 byte = (value & 0x7f) | (value > 0x7f ? 0x80 : 0);

      g_byte_array_append (out, &byte, 1);
      value >>= 7;
    }
  while (value != 0);
}

static void
put_bytes (GByteArray    *out,
           guint          field,
           gconstpointer  data,
           gsize          size)
{
  put_varint (out, field << 3 | 2);
  put_varint (out, size);
  g_byte_array_append (out, data, size);
}

static void
put_double (GByteArray *out,
            guint       field,
            double      value)
{
  guint64 bits;

  memcpy (&bits, &value, 8);
  bits = GUINT64_TO_LE (bits);
  put_varint (out, field << 3 | 1);
  g_byte_array_append (out, (guint8 *) &bits, 8);
}

static void
put_float (GByteArray *out,
           guint       field,
           float       value)
{
  guint32 bits;

  memcpy (&bits, &value, 4);
  bits = GUINT32_TO_LE (bits);
  put_varint (out, field << 3 | 5);
  g_byte_array_append (out, (guint8 *) &bits, 4);
}

static gboolean
write_record (LpTensorBoardLogger *self,
              GByteArray          *payload)
{
  guint64 length = GUINT64_TO_LE ((guint64) payload->len);
  guint32 length_crc = GUINT32_TO_LE (_lp_crc32c_mask (_lp_crc32c (&length, 8)));
  guint32 payload_crc = GUINT32_TO_LE (_lp_crc32c_mask (_lp_crc32c (payload->data, payload->len)));

  return fwrite (&length, 8, 1, self->file) == 1 && fwrite (&length_crc, 4, 1, self->file) == 1 &&
         fwrite (payload->data, payload->len, 1, self->file) == 1 && fwrite (&payload_crc, 4, 1, self->file) == 1;
}

static void
set_io_error (LpTensorBoardLogger  *self,
              GError              **error)
{
  const int code = errno;

  g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: the event file can't be written: %s",
               _lp_folder_logger_get_folder (LP_FOLDER_LOGGER (self), NULL), g_strerror (code));
}

static gboolean
open_file (LpTensorBoardLogger  *self,
           GError              **error)
{
  static gint count;
  g_autoptr (GByteArray) event = g_byte_array_new ();
  const char *folder;
  g_autofree char *name = NULL;
  g_autofree char *path = NULL;

  if (self->file != NULL)
    return TRUE;
  folder = _lp_folder_logger_get_folder (LP_FOLDER_LOGGER (self), error);
  if (folder == NULL)
    return FALSE;

  name = g_strdup_printf ("events.out.tfevents.%" G_GINT64_FORMAT ".%s.%d.%d", g_get_real_time () / G_USEC_PER_SEC,
                          g_get_host_name (), getpid (), g_atomic_int_add (&count, 1));
  path = g_build_filename (folder, name, NULL);
  self->file = g_fopen (path, "wbe");
  put_double (event, 1, g_get_real_time () / 1e6);
  put_bytes (event, 3, "brain.Event:2", 13);
  if (self->file != NULL && write_record (self, event))
    return TRUE;

  set_io_error (self, error);
  return FALSE;
}

static GByteArray *
make_summary (GVariant *metrics)
{
  GByteArray *summary = g_byte_array_new ();
  GVariantIter iter;
  const char *name;
  double value;

  g_variant_iter_init (&iter, metrics);
  while (g_variant_iter_next (&iter, "{&sd}", &name, &value))
    {
      g_autoptr (GByteArray) entry = g_byte_array_new ();

      put_bytes (entry, 1, name, strlen (name));
      put_float (entry, 2, (float) value);
      put_bytes (summary, 1, entry->data, entry->len);
    }

  return summary;
}

static void
lp_tensor_board_logger_log_metrics (LpLogger  *logger,
                                    GVariant  *metrics,
                                    gint64     step,
                                    GError   **error)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (logger);
  g_autoptr (GByteArray) event = g_byte_array_new ();
  g_autoptr (GByteArray) summary = make_summary (metrics);

  if (!open_file (self, error))
    return;

  put_double (event, 1, g_get_real_time () / 1e6);
  put_varint (event, 2 << 3);
  put_varint (event, (guint64) step);
  put_bytes (event, 5, summary->data, summary->len);
  if (!write_record (self, event))
    set_io_error (self, error);
}

static void
lp_tensor_board_logger_save (LpLogger  *logger,
                             GError   **error)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (logger);

  if (self->file != NULL && fflush (self->file) != 0)
    set_io_error (self, error);
}

static void
lp_tensor_board_logger_finish (LpLogger    *logger,
                               const char  *status,
                               GError     **error)
{
  lp_tensor_board_logger_save (logger, error);
}

static void
lp_tensor_board_logger_finalize (GObject *object)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (object);

  if (self->file != NULL)
    fclose (self->file);

  G_OBJECT_CLASS (lp_tensor_board_logger_parent_class)->finalize (object);
}

static void
lp_tensor_board_logger_class_init (LpTensorBoardLoggerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpLoggerClass *logger_class = LP_LOGGER_CLASS (klass);

  object_class->finalize = lp_tensor_board_logger_finalize;

  logger_class->log_metrics = lp_tensor_board_logger_log_metrics;
  logger_class->save = lp_tensor_board_logger_save;
  logger_class->finish = lp_tensor_board_logger_finish;
}

static void
lp_tensor_board_logger_init (LpTensorBoardLogger *self)
{
}

/**
 * lp_tensor_board_logger_new:
 * @save_dir: (type filename): the folder of all logs
 * @name: (nullable): the name of the experiment, or %NULL for `lp_logs`
 * @version: (nullable): the name of the run, or %NULL for the first free `version_N`
 *
 * Creates a logger that writes events for TensorBoard.
 *
 * Returns: (transfer full): the logger
 */
LpLogger *
lp_tensor_board_logger_new (const char *save_dir,
                            const char *name,
                            const char *version)
{
  g_return_val_if_fail (save_dir != NULL, NULL);

  return g_object_new (LP_TYPE_TENSOR_BOARD_LOGGER, "save-dir", save_dir, "name", name, "version", version, NULL);
}
