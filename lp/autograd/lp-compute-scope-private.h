#pragma once

#include <lp/autograd/lp-compute-scope.h>

G_BEGIN_DECLS

/* The innermost scope of the thread, borrowed; NULL outside any. */
LpComputeScope *_lp_compute_scope_peek (void);

/* Where a matrix product stands: the path of the module that runs it. Interned strings. */
const char     *_lp_site_peek (void);
const char     *_lp_site_push (const char *site);   /* returns the one before, for pop */
void            _lp_site_pop  (const char *previous);

G_END_DECLS
