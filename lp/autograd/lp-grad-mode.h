#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
gboolean  lp_grad_mode_is_enabled (void);
LP_AVAILABLE_IN_ALL
void      lp_grad_mode_push       (gboolean enabled);
LP_AVAILABLE_IN_ALL
void      lp_grad_mode_pop        (void);
LP_AVAILABLE_IN_ALL
gboolean  lp_grad_mode_leave      (GError   **error);

LP_AVAILABLE_IN_ALL
gboolean  lp_tensor_backward      (LpTensor  *self,
                                   LpTensor  *gradient,
                                   GError   **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_detach        (LpTensor  *self);

G_END_DECLS
