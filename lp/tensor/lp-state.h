#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor-dict.h>

G_BEGIN_DECLS

#define LP_TYPE_STATE (lp_state_get_type ())

/* What an object saves: a few plain values (`a{sv}`) and tensors by name. */
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpState, lp_state, LP, STATE, GObject)

LP_AVAILABLE_IN_ALL
LpState      *lp_state_new         (void);
LP_AVAILABLE_IN_ALL
LpState      *lp_state_new_full    (GVariant     *values,
                                    LpTensorDict *tensors);
LP_AVAILABLE_IN_ALL
void          lp_state_set_value   (LpState      *self,
                                    const char   *name,
                                    GVariant     *value);
LP_AVAILABLE_IN_ALL
GVariant     *lp_state_dup_value   (LpState      *self,
                                    const char   *name);
LP_AVAILABLE_IN_ALL
GVariant     *lp_state_dup_values  (LpState      *self);
LP_AVAILABLE_IN_ALL
LpTensorDict *lp_state_get_tensors (LpState      *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_state_is_empty    (LpState      *self);

G_END_DECLS
