#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-folder-logger.h>

G_BEGIN_DECLS

#define LP_TYPE_CSV_LOGGER (lp_csv_logger_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpCsvLogger, lp_csv_logger, LP, CSV_LOGGER, LpFolderLogger)

LP_AVAILABLE_IN_ALL
LpLogger *lp_csv_logger_new (const char *save_dir,
                            const char *name,
                            const char *version);

G_END_DECLS
