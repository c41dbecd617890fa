#pragma once

#include <lp/trainer/lp-folder-logger.h>

G_BEGIN_DECLS

/* The folder of the run, made if need be. Borrowed. */
const char *_lp_folder_logger_get_folder (LpFolderLogger *self, GError **error);

G_END_DECLS
