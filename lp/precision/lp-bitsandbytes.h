#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor-dict.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
LpTensorDict *lp_bitsandbytes_pack   (LpTensorDict  *state,
                                      GError       **error);
LP_AVAILABLE_IN_ALL
LpTensorDict *lp_bitsandbytes_unpack (LpTensorDict  *state,
                                      GError       **error);

G_END_DECLS
