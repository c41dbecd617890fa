#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>
#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

#define LP_TYPE_PRECISION_STATE (lp_precision_state_get_type ())

typedef struct _LpPrecisionState LpPrecisionState;

LP_AVAILABLE_IN_ALL
GType             lp_precision_state_get_type        (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
LpPrecisionState *lp_precision_state_new             (const char             *precision,
                                                      const char             *amp_backend,
                                                      const char             *amp_level);
LP_AVAILABLE_IN_ALL
LpPrecisionState *lp_precision_state_ref             (LpPrecisionState       *self);
LP_AVAILABLE_IN_ALL
void              lp_precision_state_unref           (LpPrecisionState       *self);
LP_AVAILABLE_IN_ALL
const char       *lp_precision_state_get_precision   (const LpPrecisionState *self);
LP_AVAILABLE_IN_ALL
const char       *lp_precision_state_get_amp_backend (const LpPrecisionState *self);
LP_AVAILABLE_IN_ALL
const char       *lp_precision_state_get_amp_level   (const LpPrecisionState *self);
LP_AVAILABLE_IN_ALL
gboolean          lp_precision_state_equal           (const LpPrecisionState *self,
                                                      const LpPrecisionState *other);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LpPrecisionState, lp_precision_state_unref)

G_END_DECLS
