#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/autograd/lp-operand.h>

G_BEGIN_DECLS

#define LP_TYPE_MATMUL (lp_matmul_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpMatmul, lp_matmul, LP, MATMUL, GObject)

LP_AVAILABLE_IN_ALL
LpOperand *lp_matmul_get_left  (LpMatmul  *self);
LP_AVAILABLE_IN_ALL
LpOperand *lp_matmul_get_right (LpMatmul  *self);
LP_AVAILABLE_IN_ALL
LpTensor  *lp_matmul_compute   (LpMatmul  *self,
                                LpTensor  *left,
                                LpTensor  *right,
                                GError   **error);

G_END_DECLS
