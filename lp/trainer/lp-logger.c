#include <lp/trainer/lp-logger.h>

#include <lp/core/lp-error.h>

/**
 * LpLogger:
 *
 * Where the logged values of a run go.
 */
G_DEFINE_ABSTRACT_TYPE (LpLogger, lp_logger, G_TYPE_OBJECT)

static void
lp_logger_real_log_metrics (LpLogger  *self,
                            GVariant  *metrics,
                            gint64     step,
                            GError   **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement log_metrics", G_OBJECT_TYPE_NAME (self));
}

static void
lp_logger_real_log_hyperparams (LpLogger  *self,
                                GVariant  *params,
                                GError   **error)
{
}

static void
lp_logger_real_save (LpLogger  *self,
                     GError   **error)
{
}

static void
lp_logger_real_finish (LpLogger    *self,
                       const char  *status,
                       GError     **error)
{
  lp_logger_save (self, error);
}

static char *
lp_logger_real_dup_log_dir (LpLogger *self)
{
  return NULL;
}

static void
lp_logger_class_init (LpLoggerClass *klass)
{
  klass->log_metrics = lp_logger_real_log_metrics;
  klass->log_hyperparams = lp_logger_real_log_hyperparams;
  klass->save = lp_logger_real_save;
  klass->finish = lp_logger_real_finish;
  klass->dup_log_dir = lp_logger_real_dup_log_dir;
}

static void
lp_logger_init (LpLogger *self)
{
}

/**
 * lp_logger_log_metrics:
 * @self: a logger
 * @metrics: an `a{sd}`
 * @step: the optimizer step that the values belong to
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Writes values.
 */
void
lp_logger_log_metrics (LpLogger  *self,
                       GVariant  *metrics,
                       gint64     step,
                       GError   **error)
{
  g_return_if_fail (LP_IS_LOGGER (self));
  g_return_if_fail (metrics != NULL && g_variant_is_of_type (metrics, G_VARIANT_TYPE ("a{sd}")));

  LP_LOGGER_GET_CLASS (self)->log_metrics (self, metrics, step, error);
}

/**
 * lp_logger_log_hyperparams:
 * @self: a logger
 * @params: an `a{sv}`
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Writes the settings of a run.
 */
void
lp_logger_log_hyperparams (LpLogger  *self,
                           GVariant  *params,
                           GError   **error)
{
  g_return_if_fail (LP_IS_LOGGER (self));
  g_return_if_fail (params != NULL && g_variant_is_of_type (params, G_VARIANT_TYPE_VARDICT));

  LP_LOGGER_GET_CLASS (self)->log_hyperparams (self, params, error);
}

/**
 * lp_logger_save:
 * @self: a logger
 * @error: return location for an error
 *
 * Brings everything to the disk.
 */
void
lp_logger_save (LpLogger  *self,
                GError   **error)
{
  g_return_if_fail (LP_IS_LOGGER (self));

  LP_LOGGER_GET_CLASS (self)->save (self, error);
}

/**
 * lp_logger_finish:
 * @self: a logger
 * @status: `success`, `interrupted` or `failed`
 * @error: return location for an error
 *
 * Ends the log of a run. The default saves.
 */
void
lp_logger_finish (LpLogger    *self,
                  const char  *status,
                  GError     **error)
{
  g_return_if_fail (LP_IS_LOGGER (self));
  g_return_if_fail (status != NULL);

  LP_LOGGER_GET_CLASS (self)->finish (self, status, error);
}

/**
 * lp_logger_dup_log_dir:
 * @self: a logger
 *
 * Gets the folder that the logger writes to.
 *
 * Returns: (transfer full) (nullable): the folder
 */
char *
lp_logger_dup_log_dir (LpLogger *self)
{
  g_return_val_if_fail (LP_IS_LOGGER (self), NULL);

  return LP_LOGGER_GET_CLASS (self)->dup_log_dir (self);
}
