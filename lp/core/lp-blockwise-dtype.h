#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

#define LP_TYPE_BLOCKWISE_DTYPE (lp_blockwise_dtype_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpBlockwiseDType, lp_blockwise_dtype, LP, BLOCKWISE_DTYPE, LpDType)

LP_AVAILABLE_IN_ALL
LpDType    *lp_blockwise_dtype_new                  (const char       *code,
                                                     guint             block_size,
                                                     gboolean          double_quantized);
LP_AVAILABLE_IN_ALL
const char *lp_blockwise_dtype_get_code             (LpBlockwiseDType *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_blockwise_dtype_get_double_quantized (LpBlockwiseDType *self);

G_END_DECLS
