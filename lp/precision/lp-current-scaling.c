#include <lp/precision/lp-current-scaling.h>

/**
 * LpCurrentScaling:
 *
 * Scales each tensor by its own maximum: it is read twice, and there is no history.
 */
G_DEFINE_TYPE (LpCurrentScaling, lp_current_scaling, LP_TYPE_FP8_RECIPE)

static void
lp_current_scaling_class_init (LpCurrentScalingClass *klass)
{
}

static void
lp_current_scaling_init (LpCurrentScaling *self)
{
}

/**
 * lp_current_scaling_new:
 * @margin: powers of two between the largest value and the largest number of the format
 *
 * Creates a recipe.
 *
 * Returns: (transfer full) (type LpCurrentScaling): the recipe
 */
LpFp8Recipe *
lp_current_scaling_new (gint margin)
{
  return g_object_new (LP_TYPE_CURRENT_SCALING, "margin", CLAMP (margin, -64, 64), NULL);
}
