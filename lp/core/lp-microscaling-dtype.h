#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

/**
 * LpScaleRule:
 * @LP_SCALE_RULE_OCP: the exponent of the largest magnitude less that of the largest element: what is above saturates
 * @LP_SCALE_RULE_NVIDIA: the largest magnitude over the largest element, rounded up: nothing saturates
 *
 * How the scale of a block that is a power of two is found.
 */
typedef enum { LP_SCALE_RULE_OCP, LP_SCALE_RULE_NVIDIA } LpScaleRule;

#define LP_TYPE_SCALE_RULE (lp_scale_rule_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_scale_rule_get_type (void) G_GNUC_CONST;

#define LP_TYPE_MICROSCALING_DTYPE (lp_microscaling_dtype_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpMicroscalingDType, lp_microscaling_dtype, LP, MICROSCALING_DTYPE, LpDType)

LP_AVAILABLE_IN_ALL
LpDType    *lp_microscaling_dtype_new              (const char          *format,
                                                    LpScaleRule          scale_rule);
LP_AVAILABLE_IN_ALL
const char *lp_microscaling_dtype_get_format       (LpMicroscalingDType *self);
LP_AVAILABLE_IN_ALL
const char *lp_microscaling_dtype_get_scale_format (LpMicroscalingDType *self);
LP_AVAILABLE_IN_ALL
LpScaleRule lp_microscaling_dtype_get_scale_rule   (LpMicroscalingDType *self);

G_END_DECLS
