#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_RELU (lp_relu_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpReLU, lp_relu, LP, RELU, LpModule)

LP_AVAILABLE_IN_ALL
LpModule *lp_relu_new (void);

G_END_DECLS
