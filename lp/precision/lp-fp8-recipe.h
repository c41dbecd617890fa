#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/autograd/lp-operand.h>
#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_FP8_RECIPE (lp_fp8_recipe_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFp8Recipe, lp_fp8_recipe, LP, FP8_RECIPE, GObject)

/**
 * LpFp8RecipeClass:
 * @get_dtype: the format of operands of a role
 * @get_history_length: how many maxima are kept per operand; 0 scales each tensor by its own
 * @get_interval: how many steps lie between two changes of a scale
 * @reduce_history: the maximum to scale by, from those of the last steps
 * @compute_scale: the scale for a maximum
 *
 * How the operands of fp8 products are scaled. The defaults are the rules of delayed scaling.
 */
struct _LpFp8RecipeClass
{
  GObjectClass parent_class;

  LpDType *(* get_dtype) (LpFp8Recipe *self,
                          LpOperandRole role,
                          GError **error);
  guint (* get_history_length) (LpFp8Recipe *self);
  guint (* get_interval) (LpFp8Recipe *self);
  double (* reduce_history) (LpFp8Recipe *self,
                             LpTensor *history);
  double (* compute_scale) (LpFp8Recipe *self,
                            double amax,
                            double largest,
                            double scale);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpDType *lp_fp8_recipe_get_dtype (LpFp8Recipe *self,
                                  LpOperandRole role,
                                  GError **error);
LP_AVAILABLE_IN_ALL
guint lp_fp8_recipe_get_history_length (LpFp8Recipe *self);
LP_AVAILABLE_IN_ALL
guint lp_fp8_recipe_get_interval (LpFp8Recipe *self);
LP_AVAILABLE_IN_ALL
double lp_fp8_recipe_reduce_history (LpFp8Recipe *self,
                                     LpTensor *history);
LP_AVAILABLE_IN_ALL
double lp_fp8_recipe_compute_scale (LpFp8Recipe *self,
                                    double amax,
                                    double largest,
                                    double scale);
LP_AVAILABLE_IN_ALL
gint lp_fp8_recipe_get_margin (LpFp8Recipe *self);

G_END_DECLS
