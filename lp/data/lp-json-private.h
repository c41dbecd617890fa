#pragma once

#include <json-glib/json-glib.h>

G_BEGIN_DECLS

/* Parses an object, once it is known to be safe for a recursive parser: UTF-8, at most @max_depth deep, and without a key
 * that occurs twice in one object (a hole that lets two readers see two files). LP_ERROR_FORMAT names @path. */
JsonParser *_lp_json_parse (const char  *text,
                            gsize        length,
                            guint        max_depth,
                            const char  *path,
                            GError     **error);

G_END_DECLS
