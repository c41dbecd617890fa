#pragma once

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

/* Makes a dtype that some program made findable for as long as somebody holds it. Of two of one name the first is found. */
void     _lp_dtype_remember    (LpDType *self, const char *name);
/* Or NULL. */
LpDType *_lp_dtype_find_living (const char *name);

G_END_DECLS
