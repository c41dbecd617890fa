#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/parallel/lp-strategy.h>

G_BEGIN_DECLS

#define LP_TYPE_SINGLE_STRATEGY (lp_single_strategy_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpSingleStrategy, lp_single_strategy, LP, SINGLE_STRATEGY, LpStrategy)

LP_AVAILABLE_IN_ALL
LpStrategy *lp_single_strategy_new (LpDevice *device);

G_END_DECLS
