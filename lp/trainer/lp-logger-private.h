#pragma once

#include <lp/trainer/lp-logger.h>

G_BEGIN_DECLS

/* Makes the folder of a run: SAVE_DIR/NAME/VERSION. */
char     *_lp_logger_make_folder  (const char *save_dir, const char *name, const char *version, GError **error);
/* Writes an a{sv} to hparams.json in @folder. */
gboolean  _lp_logger_write_params (const char *folder, GVariant *params, GError **error);

G_END_DECLS
