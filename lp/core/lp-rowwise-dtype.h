#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

#define LP_TYPE_ROWWISE_DTYPE (lp_rowwise_dtype_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpRowwiseDType, lp_rowwise_dtype, LP, ROWWISE_DTYPE, LpDType)

LP_AVAILABLE_IN_ALL
LpDType    *lp_rowwise_dtype_new (void);

G_END_DECLS
