#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-registry.h>

G_BEGIN_DECLS

#define LP_TYPE_STRATEGY_REGISTRY (lp_strategy_registry_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpStrategyRegistry, lp_strategy_registry, LP, STRATEGY_REGISTRY, LpRegistry)

LP_AVAILABLE_IN_ALL
LpStrategyRegistry *lp_strategy_registry_get_default (void);

G_END_DECLS
