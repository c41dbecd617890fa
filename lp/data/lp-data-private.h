#pragma once

#include <lp/data/lp-dataset.h>

G_BEGIN_DECLS


/* The numbers from 0 to @length - 1 in an order that depends on @seed and @stream only. */
gint64  *_lp_permutation          (gint64      length,
                                   guint64     seed,
                                   guint64     stream);

/* Maps a file; LP_ERROR_IO when it can't be opened. */
GBytes  *_lp_map_file             (const char  *path,
                                   GError     **error);

/* Writes @parts (GBytes), one after the other, to a temporary file beside @path, syncs it and renames it to @path. Whatever goes
 * wrong, @path is what it was before. */
gboolean _lp_write_file           (const char  *path,
                                   GPtrArray   *parts,
                                   GError     **error);

/* Syncs the folder that holds @path, so that a rename in it is there to stay. */
void     _lp_sync_parent          (const char  *path);

/* Sets LP_ERROR_FORMAT: "FILE: message", the message shortened. */
void     _lp_set_format_error     (GError     **error,
                                   const char  *path,
                                   const char  *format,
                                   ...) G_GNUC_PRINTF (3, 4);

G_END_DECLS
