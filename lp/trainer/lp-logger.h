#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>
#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

#define LP_TYPE_LOGGER (lp_logger_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpLogger, lp_logger, LP, LOGGER, GObject)

/**
 * LpLoggerClass:
 * @log_metrics: writes values, an `a{sd}`, that belong to @step
 * @log_hyperparams: writes the settings of a run, an `a{sv}`
 * @save: brings everything to the disk
 * @finish: called at the end of a run with "success", "interrupted" or "failed"
 * @dup_log_dir: the folder it writes to, or %NULL
 */
struct _LpLoggerClass
{
  GObjectClass parent_class;

  void (* log_metrics) (LpLogger *self,
                        GVariant *metrics,
                        gint64 step,
                        GError **error);
  void (* log_hyperparams) (LpLogger *self,
                            GVariant *params,
                            GError **error);
  void (* save) (LpLogger *self,
                 GError **error);
  void (* finish) (LpLogger *self,
                   const char *status,
                   GError **error);
  char *(* dup_log_dir) (LpLogger *self);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
void lp_logger_log_metrics (LpLogger *self,
                            GVariant *metrics,
                            gint64 step,
                            GError **error);
LP_AVAILABLE_IN_ALL
void lp_logger_log_hyperparams (LpLogger *self,
                                GVariant *params,
                                GError **error);
LP_AVAILABLE_IN_ALL
void lp_logger_save (LpLogger *self,
                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_logger_finish (LpLogger *self,
                       const char *status,
                       GError **error);
LP_AVAILABLE_IN_ALL
char *lp_logger_dup_log_dir (LpLogger *self);

G_END_DECLS
