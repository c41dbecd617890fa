#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor-dict.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
LpTensorDict *lp_load_safetensors          (const char    *path,
                                            GError       **error);
LP_AVAILABLE_IN_ALL
GVariant     *lp_load_safetensors_metadata (const char    *path,
                                            GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_save_safetensors          (LpTensorDict  *tensors,
                                            GVariant      *metadata,
                                            const char    *path,
                                            GError       **error);

G_END_DECLS
