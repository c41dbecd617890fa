#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>
#include <lp/core/lp-registry.h>

G_BEGIN_DECLS

#define LP_TYPE_DTYPE_REGISTRY (lp_dtype_registry_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpDTypeRegistry, lp_dtype_registry, LP, DTYPE_REGISTRY, LpRegistry)

LP_AVAILABLE_IN_ALL
LpDTypeRegistry *lp_dtype_registry_get_default (void);
LP_AVAILABLE_IN_ALL
LpDType         *lp_dtype_lookup               (const char  *name,
                                                GError     **error);

G_END_DECLS
