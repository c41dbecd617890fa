#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <lp/trainer/lp-tensor-board-logger.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-crc32c-private.h>
#include <lp/trainer/lp-logger-private.h>

/**
 * LpTensorBoardLogger:
 *
 * Writes an event file that TensorBoard shows.
 */
struct _LpTensorBoardLogger
{
  LpLogger parent_instance;

  char *save_dir;
  char *name;
  char *version;
  char  *folder;
  FILE  *file;
};

G_DEFINE_FINAL_TYPE (LpTensorBoardLogger, lp_tensor_board_logger, LP_TYPE_LOGGER)

enum
{
  PROP_0,
  PROP_SAVE_DIR,
  PROP_NAME,
  PROP_VERSION,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

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
put_bytes (GByteArray   *out,
           guint         field,
           gconstpointer data,
           gsize         size)
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
              GByteArray         *payload)
{
  guint64 length = GUINT64_TO_LE ((guint64) payload->len);
  guint32 length_crc = GUINT32_TO_LE (_lp_crc32c_mask (_lp_crc32c (&length, 8)));
  guint32 payload_crc = GUINT32_TO_LE (_lp_crc32c_mask (_lp_crc32c (payload->data, payload->len)));

  return fwrite (&length, 8, 1, self->file) == 1 && fwrite (&length_crc, 4, 1, self->file) == 1 &&
         fwrite (payload->data, payload->len, 1, self->file) == 1 && fwrite (&payload_crc, 4, 1, self->file) == 1;
}

static void
set_io_error (LpTensorBoardLogger  *self,
              GError             **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: the event file can't be written: %s",
               self->folder != NULL ? self->folder : self->save_dir, g_strerror (errno));
}

static gboolean
open_file (LpTensorBoardLogger  *self,
           GError             **error)
{
  static gint count;
  g_autoptr (GByteArray) event = g_byte_array_new ();
  g_autofree char *name = NULL;
  g_autofree char *path = NULL;

  if (self->file != NULL)
    return TRUE;
  if (self->folder == NULL)
    self->folder = _lp_logger_make_folder (self->save_dir, self->name, self->version, error);
  if (self->folder == NULL)
    return FALSE;

  name = g_strdup_printf ("events.out.tfevents.%" G_GINT64_FORMAT ".%s.%d.%d", g_get_real_time () / G_USEC_PER_SEC,
                          g_get_host_name (), getpid (), g_atomic_int_add (&count, 1));
  path = g_build_filename (self->folder, name, NULL);
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
lp_tensor_board_logger_log_metrics (LpLogger *logger,
                                    GVariant *metrics,
                                    gint64 step,
                                    GError **error)
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
lp_tensor_board_logger_log_hyperparams (LpLogger *logger,
                                        GVariant *params,
                                        GError **error)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (logger);

  if (open_file (self, error))
    _lp_logger_write_params (self->folder, params, error);
}

static void
lp_tensor_board_logger_save (LpLogger *logger,
                             GError **error)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (logger);

  if (self->file != NULL && fflush (self->file) != 0)
    set_io_error (self, error);
}

static void
lp_tensor_board_logger_finish (LpLogger *logger,
                               const char *status,
                               GError **error)
{
  lp_tensor_board_logger_save (logger, error);
}

static char *
lp_tensor_board_logger_dup_log_dir (LpLogger *logger)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (logger);

  return open_file (self, NULL) ? g_strdup (self->folder) : NULL;
}

static void
lp_tensor_board_logger_get_property (GObject    *object,
                                     guint       prop_id,
                                     GValue     *value,
                                     GParamSpec *pspec)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (object);

  switch (prop_id)
    {
    case PROP_SAVE_DIR:
      g_value_set_string (value, self->save_dir);
      break;
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_VERSION:
      g_value_set_string (value, self->version);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_tensor_board_logger_set_property (GObject      *object,
                                     guint         prop_id,
                                     const GValue *value,
                                     GParamSpec   *pspec)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (object);

  switch (prop_id)
    {
    case PROP_SAVE_DIR:
      self->save_dir = g_value_dup_string (value);
      break;
    case PROP_NAME:
      self->name = g_value_dup_string (value);
      break;
    case PROP_VERSION:
      self->version = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_tensor_board_logger_finalize (GObject *object)
{
  LpTensorBoardLogger *self = LP_TENSOR_BOARD_LOGGER (object);

  g_free (self->save_dir);
  g_free (self->name);
  g_free (self->version);
  g_free (self->folder);
  if (self->file != NULL)
    fclose (self->file);

  G_OBJECT_CLASS (lp_tensor_board_logger_parent_class)->finalize (object);
}

static void
lp_tensor_board_logger_class_init (LpTensorBoardLoggerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags construct = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  LpLoggerClass *logger_class = LP_LOGGER_CLASS (klass);

  object_class->get_property = lp_tensor_board_logger_get_property;
  object_class->set_property = lp_tensor_board_logger_set_property;
  object_class->finalize = lp_tensor_board_logger_finalize;

  logger_class->log_metrics = lp_tensor_board_logger_log_metrics;
  logger_class->log_hyperparams = lp_tensor_board_logger_log_hyperparams;
  logger_class->save = lp_tensor_board_logger_save;
  logger_class->finish = lp_tensor_board_logger_finish;
  logger_class->dup_log_dir = lp_tensor_board_logger_dup_log_dir;

  /**
   * LpTensorBoardLogger:save-dir:
   *
   * The folder of all logs.
   */
  properties[PROP_SAVE_DIR] = g_param_spec_string ("save-dir", NULL, NULL, NULL, construct);

  /**
   * LpTensorBoardLogger:name:
   *
   * The name of the experiment: a folder in it.
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, construct);

  /**
   * LpTensorBoardLogger:version:
   *
   * The name of the run: a folder in that one; %NULL is the first free `version_N`.
   */
  properties[PROP_VERSION] = g_param_spec_string ("version", NULL, NULL, NULL, construct);

  g_object_class_install_properties (object_class, N_PROPS, properties);
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

/**
 * lp_tensor_board_logger_dup_save_dir:
 * @self: a logger
 *
 * Gets the folder of all logs.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_tensor_board_logger_dup_save_dir (LpTensorBoardLogger *self)
{
  g_return_val_if_fail (LP_IS_TENSOR_BOARD_LOGGER (self), NULL);

  return g_strdup (self->save_dir);
}

/**
 * lp_tensor_board_logger_dup_name:
 * @self: a logger
 *
 * Gets the name of the experiment: a folder in it.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_tensor_board_logger_dup_name (LpTensorBoardLogger *self)
{
  g_return_val_if_fail (LP_IS_TENSOR_BOARD_LOGGER (self), NULL);

  return g_strdup (self->name);
}

/**
 * lp_tensor_board_logger_dup_version:
 * @self: a logger
 *
 * Gets the name of the run: a folder in that one; %NULL is the first free `version_N`.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_tensor_board_logger_dup_version (LpTensorBoardLogger *self)
{
  g_return_val_if_fail (LP_IS_TENSOR_BOARD_LOGGER (self), NULL);

  return g_strdup (self->version);
}
