#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-fp8-recipe.h>

G_BEGIN_DECLS

#define LP_TYPE_CURRENT_SCALING (lp_current_scaling_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpCurrentScaling, lp_current_scaling, LP, CURRENT_SCALING, LpFp8Recipe)

struct _LpCurrentScalingClass
{
  LpFp8RecipeClass parent_class;

  /*< private >*/
  gpointer padding[4];
};

LP_AVAILABLE_IN_ALL
LpFp8Recipe *lp_current_scaling_new (gint margin);

G_END_DECLS
