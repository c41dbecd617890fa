#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-fp8-recipe.h>

G_BEGIN_DECLS

/**
 * LpAmaxAlgorithm:
 * @LP_AMAX_MAX: the largest of the history
 * @LP_AMAX_MOST_RECENT: the newest
 *
 * Which maximum of a history a scale is computed from.
 */
typedef enum { LP_AMAX_MAX, LP_AMAX_MOST_RECENT } LpAmaxAlgorithm;

#define LP_TYPE_AMAX_ALGORITHM (lp_amax_algorithm_get_type ())
#define LP_TYPE_DELAYED_SCALING (lp_delayed_scaling_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_amax_algorithm_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpDelayedScaling, lp_delayed_scaling, LP, DELAYED_SCALING, LpFp8Recipe)

struct _LpDelayedScalingClass
{
  LpFp8RecipeClass parent_class;

  /*< private >*/
  gpointer padding[4];
};

LP_AVAILABLE_IN_ALL
LpFp8Recipe *lp_delayed_scaling_new (void);
LP_AVAILABLE_IN_ALL
guint lp_delayed_scaling_get_amax_history_length (LpDelayedScaling *self);
LP_AVAILABLE_IN_ALL
LpAmaxAlgorithm lp_delayed_scaling_get_amax_compute_algorithm (LpDelayedScaling *self);

G_END_DECLS
