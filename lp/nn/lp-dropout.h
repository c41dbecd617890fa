#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_DROPOUT (lp_dropout_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpDropout, lp_dropout, LP, DROPOUT, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_dropout_new   (double     p);
LP_AVAILABLE_IN_ALL
double    lp_dropout_get_p (LpDropout *self);

G_END_DECLS
