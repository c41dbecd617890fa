#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-folder-logger.h>

G_BEGIN_DECLS

#define LP_TYPE_TENSOR_BOARD_LOGGER (lp_tensor_board_logger_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpTensorBoardLogger, lp_tensor_board_logger, LP, TENSOR_BOARD_LOGGER, LpFolderLogger)

LP_AVAILABLE_IN_ALL
LpLogger *lp_tensor_board_logger_new (const char *save_dir,
                                     const char *name,
                                     const char *version);

G_END_DECLS
