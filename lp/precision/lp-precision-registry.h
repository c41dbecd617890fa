#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-registry.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_PRECISION_REGISTRY (lp_precision_registry_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpPrecisionRegistry, lp_precision_registry, LP, PRECISION_REGISTRY, LpRegistry)

LP_AVAILABLE_IN_ALL
LpPrecisionRegistry *lp_precision_registry_get_default (void);
LP_AVAILABLE_IN_ALL
LpPrecisionPlugin   *lp_precision_registry_create      (LpPrecisionRegistry  *self,
                                                       const char           *name,
                                                       GVariant             *config,
                                                       GError              **error);
LP_AVAILABLE_IN_ALL
LpPrecisionPlugin   *lp_precision_registry_choose      (LpPrecisionRegistry  *self,
                                                        LpDevice             *device,
                                                        char                **reason,
                                                        GError              **error);

G_END_DECLS
