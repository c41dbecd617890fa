#pragma once

#include <lp/tensor/lp-state.h>

G_BEGIN_DECLS

/* Reads a plain value of one of the types "b", "u", "x", "t", "d"; LP_ERROR_FORMAT if it is missing or of another type. */
gboolean _lp_state_get        (LpState *state, const char *name, const char *type, gpointer value, GError **error);
/* A whole number from @least to 2^53. */
gboolean _lp_state_get_at_least (LpState *state, const char *name, gint64 least, gint64 *value, GError **error);
char    *_lp_state_dup_string (LpState *state, const char *name);

G_END_DECLS
