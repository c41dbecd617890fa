#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-logger.h>

G_BEGIN_DECLS

#define LP_TYPE_FOLDER_LOGGER (lp_folder_logger_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFolderLogger, lp_folder_logger, LP, FOLDER_LOGGER, LpLogger)

struct _LpFolderLoggerClass
{
  LpLoggerClass parent_class;

  /*< private >*/
  gpointer padding[4];
};

LP_AVAILABLE_IN_ALL
char *lp_folder_logger_dup_folder (LpFolderLogger *self,
                                   GError **error);
LP_AVAILABLE_IN_ALL
char *lp_folder_logger_dup_save_dir (LpFolderLogger *self);
LP_AVAILABLE_IN_ALL
char *lp_folder_logger_dup_name (LpFolderLogger *self);
LP_AVAILABLE_IN_ALL
char *lp_folder_logger_dup_version (LpFolderLogger *self);

G_END_DECLS
