#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

/**
 * LpAutocastClass:
 * @LP_AUTOCAST_PASSTHROUGH: computes in the dtype of its inputs
 * @LP_AUTOCAST_LOW_PRECISION: computes in the policy's low dtype
 * @LP_AUTOCAST_FLOAT32: computes in float32
 * @LP_AUTOCAST_PROMOTE: computes in the widest dtype of its inputs
 *
 * How an operation behaves under a cast policy.
 */
typedef enum {
  LP_AUTOCAST_PASSTHROUGH,
  LP_AUTOCAST_LOW_PRECISION,
  LP_AUTOCAST_FLOAT32,
  LP_AUTOCAST_PROMOTE
} LpAutocastClass;

#define LP_TYPE_AUTOCAST_CLASS (lp_autocast_class_get_type ())
#define LP_TYPE_CAST_POLICY (lp_cast_policy_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_autocast_class_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpCastPolicy, lp_cast_policy, LP, CAST_POLICY, GObject)

LP_AVAILABLE_IN_ALL
LpCastPolicy    *lp_cast_policy_new           (LpDType         *low_dtype);
LP_AVAILABLE_IN_ALL
LpDType         *lp_cast_policy_get_low_dtype (LpCastPolicy    *self);
LP_AVAILABLE_IN_ALL
void             lp_cast_policy_set_class     (LpCastPolicy    *self,
                                               const char      *operation,
                                               LpAutocastClass  autocast_class);
LP_AVAILABLE_IN_ALL
LpAutocastClass  lp_cast_policy_lookup_class  (LpCastPolicy    *self,
                                               const char      *operation,
                                               LpAutocastClass  fallback);

G_END_DECLS
