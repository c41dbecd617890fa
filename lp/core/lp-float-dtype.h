#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

#define LP_TYPE_FLOAT_DTYPE (lp_float_dtype_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpFloatDType, lp_float_dtype, LP, FLOAT_DTYPE, LpDType)

LP_AVAILABLE_IN_ALL
LpDType    *lp_float_dtype_new          (const char  *format,
                                         gboolean     saturate);
LP_AVAILABLE_IN_ALL
const char *lp_float_dtype_get_format   (LpFloatDType *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_float_dtype_get_saturate (LpFloatDType *self);

G_END_DECLS
