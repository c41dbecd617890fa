#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/autograd/lp-cast-policy.h>
#include <lp/autograd/lp-operand-quantizer.h>

G_BEGIN_DECLS

#define LP_TYPE_COMPUTE_SCOPE (lp_compute_scope_get_type ())

/* How operations compute while it is the innermost scope of the thread: a cast policy, a quantizer, or both. */
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpComputeScope, lp_compute_scope, LP, COMPUTE_SCOPE, GObject)

LP_AVAILABLE_IN_ALL
LpComputeScope     *lp_compute_scope_new           (LpCastPolicy       *policy,
                                                    LpOperandQuantizer *quantizer);
LP_AVAILABLE_IN_ALL
LpCastPolicy       *lp_compute_scope_get_policy    (LpComputeScope     *self);
LP_AVAILABLE_IN_ALL
LpOperandQuantizer *lp_compute_scope_get_quantizer (LpComputeScope     *self);
LP_AVAILABLE_IN_ALL
void                lp_compute_scope_push          (LpComputeScope     *self);
LP_AVAILABLE_IN_ALL
void                lp_compute_scope_pop           (void);
LP_AVAILABLE_IN_ALL
gboolean            lp_compute_scope_leave         (GError            **error);
LP_AVAILABLE_IN_ALL
LpComputeScope     *lp_compute_scope_dup_current   (void);

G_END_DECLS
