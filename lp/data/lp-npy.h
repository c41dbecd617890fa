#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
LpTensor *lp_load_npy (const char  *path,
                       GError     **error);
LP_AVAILABLE_IN_ALL
gboolean  lp_save_npy (LpTensor    *tensor,
                       const char  *path,
                       GError     **error);

G_END_DECLS
