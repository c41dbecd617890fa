#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* Cuts out the middle of a text that is long because it holds a name of a file. */
char *_lp_shorten (const char *text);

G_END_DECLS
