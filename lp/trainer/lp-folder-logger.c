#include <errno.h>
#include <string.h>

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>

#include <lp/trainer/lp-folder-logger-private.h>

#include <lp/core/lp-error.h>
#include <lp/data/lp-data-private.h>

/**
 * LpFolderLogger:
 *
 * What loggers have in common that write files: the folder of the run, and `hparams.json` in it with the run's settings.
 */
typedef struct
{
  char *save_dir;
  char *name;
  char *version;
  char *folder;      /* made when first needed */
} LpFolderLoggerPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpFolderLogger, lp_folder_logger, LP_TYPE_LOGGER)

enum
{
  PROP_0,
  PROP_SAVE_DIR,
  PROP_NAME,
  PROP_VERSION,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* The first name that is not taken; mkdir decides, so two runs never share one. */
static char *
make_version (const char *parent)
{
  for (guint i = 0; i < G_MAXUINT; i++)
    {
      g_autofree char *name = g_strdup_printf ("version_%u", i);
      char *folder = g_build_filename (parent, name, NULL);

      if (g_mkdir (folder, 0777) == 0)
        return folder;
      g_free (folder);
      if (errno != EEXIST)
        return NULL;
    }

  return NULL;
}

static char *
make_folder (LpFolderLoggerPrivate  *priv,
             GError                **error)
{
  g_autofree char *parent = g_build_filename (priv->save_dir != NULL ? priv->save_dir : ".", priv->name != NULL ? priv->name : "lp_logs", NULL);
  char *folder = NULL;

  if (g_mkdir_with_parents (parent, 0777) == 0)
    {
      if (priv->version == NULL)
        folder = make_version (parent);
      else
        folder = g_build_filename (parent, priv->version, NULL);
      if (folder != NULL && priv->version != NULL && g_mkdir_with_parents (folder, 0777) != 0)
        g_clear_pointer (&folder, g_free);
    }
  if (folder == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: no folder for logs can be made: %s", parent, g_strerror (errno));

  return folder;
}

const char *
_lp_folder_logger_get_folder (LpFolderLogger  *self,
                              GError         **error)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (self);

  if (priv->folder == NULL)
    priv->folder = make_folder (priv, error);

  return priv->folder;
}

static void
lp_folder_logger_log_hyperparams (LpLogger  *logger,
                                  GVariant  *params,
                                  GError   **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const char *folder = _lp_folder_logger_get_folder (LP_FOLDER_LOGGER (logger), error);
  g_autoptr (JsonNode) node = NULL;
  g_autofree char *path = NULL;
  char *text;

  if (folder == NULL)
    return;
  path = g_build_filename (folder, "hparams.json", NULL);
  node = json_gvariant_serialize (params);
  text = json_to_string (node, TRUE);

  g_ptr_array_add (parts, g_bytes_new_take (text, strlen (text)));

  _lp_write_file (path, parts, error);
}

static char *
lp_folder_logger_dup_log_dir (LpLogger *logger)
{
  return g_strdup (_lp_folder_logger_get_folder (LP_FOLDER_LOGGER (logger), NULL));
}

static void
lp_folder_logger_get_property (GObject    *object,
                               guint       prop_id,
                               GValue     *value,
                               GParamSpec *pspec)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (LP_FOLDER_LOGGER (object));

  switch (prop_id)
    {
    case PROP_SAVE_DIR:
      g_value_set_string (value, priv->save_dir);
      break;
    case PROP_NAME:
      g_value_set_string (value, priv->name);
      break;
    case PROP_VERSION:
      g_value_set_string (value, priv->version);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_folder_logger_set_property (GObject      *object,
                               guint         prop_id,
                               const GValue *value,
                               GParamSpec   *pspec)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (LP_FOLDER_LOGGER (object));

  switch (prop_id)
    {
    case PROP_SAVE_DIR:
      priv->save_dir = g_value_dup_string (value);
      break;
    case PROP_NAME:
      priv->name = g_value_dup_string (value);
      break;
    case PROP_VERSION:
      priv->version = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_folder_logger_finalize (GObject *object)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (LP_FOLDER_LOGGER (object));

  g_free (priv->save_dir);
  g_free (priv->name);
  g_free (priv->version);
  g_free (priv->folder);

  G_OBJECT_CLASS (lp_folder_logger_parent_class)->finalize (object);
}

static void
lp_folder_logger_class_init (LpFolderLoggerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags construct = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  LpLoggerClass *logger_class = LP_LOGGER_CLASS (klass);

  object_class->get_property = lp_folder_logger_get_property;
  object_class->set_property = lp_folder_logger_set_property;
  object_class->finalize = lp_folder_logger_finalize;

  logger_class->log_hyperparams = lp_folder_logger_log_hyperparams;
  logger_class->dup_log_dir = lp_folder_logger_dup_log_dir;

  /**
   * LpFolderLogger:save-dir:
   *
   * The folder of all logs.
   */
  properties[PROP_SAVE_DIR] = g_param_spec_string ("save-dir", NULL, NULL, NULL, construct);

  /**
   * LpFolderLogger:name:
   *
   * The name of the experiment: a folder in it.
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, construct);

  /**
   * LpFolderLogger:version:
   *
   * The name of the run: a folder in that one; %NULL is the first free `version_N`.
   */
  properties[PROP_VERSION] = g_param_spec_string ("version", NULL, NULL, NULL, construct);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_folder_logger_init (LpFolderLogger *self)
{
}

/**
 * lp_folder_logger_dup_folder:
 * @self: a logger
 * @error: return location for an error
 *
 * Gets the folder of the run, SAVE_DIR/NAME/VERSION, and makes it if need be. Subclasses write there.
 *
 * Returns: (transfer full) (type filename): the folder. Errors: %LP_ERROR_IO
 */
char *
lp_folder_logger_dup_folder (LpFolderLogger  *self,
                             GError         **error)
{
  g_return_val_if_fail (LP_IS_FOLDER_LOGGER (self), NULL);

  return g_strdup (_lp_folder_logger_get_folder (self, error));
}

/**
 * lp_folder_logger_dup_save_dir:
 * @self: a logger
 *
 * Gets the folder of all logs.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_folder_logger_dup_save_dir (LpFolderLogger *self)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (self);

  g_return_val_if_fail (LP_IS_FOLDER_LOGGER (self), NULL);

  return g_strdup (priv->save_dir);
}

/**
 * lp_folder_logger_dup_name:
 * @self: a logger
 *
 * Gets the name of the experiment: a folder in it.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_folder_logger_dup_name (LpFolderLogger *self)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (self);

  g_return_val_if_fail (LP_IS_FOLDER_LOGGER (self), NULL);

  return g_strdup (priv->name);
}

/**
 * lp_folder_logger_dup_version:
 * @self: a logger
 *
 * Gets the name of the run: a folder in that one; %NULL is the first free `version_N`.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_folder_logger_dup_version (LpFolderLogger *self)
{
  LpFolderLoggerPrivate *priv = lp_folder_logger_get_instance_private (self);

  g_return_val_if_fail (LP_IS_FOLDER_LOGGER (self), NULL);

  return g_strdup (priv->version);
}
