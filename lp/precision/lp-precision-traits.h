#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>
#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

#define LP_TYPE_PRECISION_TRAITS (lp_precision_traits_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpPrecisionTraits, lp_precision_traits, LP, PRECISION_TRAITS, GObject)

LP_AVAILABLE_IN_ALL
LpPrecisionTraits *lp_precision_traits_new          (const char        *storage,
                                                     const char        *compute,
                                                     const char        *gradient,
                                                     const char        *master,
                                                     const char        *reduce);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_storage  (LpPrecisionTraits *self);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_compute  (LpPrecisionTraits *self);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_gradient (LpPrecisionTraits *self);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_master   (LpPrecisionTraits *self);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_reduce   (LpPrecisionTraits *self);
LP_AVAILABLE_IN_ALL
const char        *lp_precision_traits_get_moments  (LpPrecisionTraits *self);

G_END_DECLS
