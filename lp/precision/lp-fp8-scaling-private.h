#pragma once

#include <lp/nn/lp-module.h>
#include <lp/precision/lp-fp8-recipe.h>
#include <lp/tensor/lp-state.h>

G_BEGIN_DECLS

#define LP_FP8_MAX_HISTORY (1u << 20)

/* The scale of one operand of one layer, what it was computed from, and the operand as it was quantized last. */
typedef struct
{
  char        *site;
  GWeakRef     layer;
  LpFp8Recipe *recipe;
  LpDType     *dtype;
  double       largest;      /* number of the format */
  double       scale;
  LpTensor    *history;      /* f32 [length], newest first; NULL without one */
  guint        n_waited;     /* steps since the scale was computed */
  gboolean     ran;          /* since the last update */
  gboolean     told;         /* that an infinity was hidden */

  LpTensor    *source;       /* what @quantized was made of: the parameter, or the operand itself */
  guint        version;
  LpTensor    *quantized;
  double       amax;         /* of it */
} LpFp8Scaling;

LpFp8Scaling *_lp_fp8_scaling_new      (LpFp8Recipe *recipe, const char *site, LpOperandRole role, LpModule *layer,
                                        GError **error);
void          _lp_fp8_scaling_free     (gpointer scaling);
gboolean      _lp_fp8_scaling_is_of    (LpFp8Scaling *self, LpModule *layer);
/* The operand in 8 bits. What is recorded counts for later scales, and is kept for the other products of the step. */
LpTensor     *_lp_fp8_scaling_quantize (LpFp8Scaling *self, LpOperand *operand, gboolean record, GError **error);
/* The end of a step: a new scale, and the history moves on, unless the layer didn't run. */
gboolean      _lp_fp8_scaling_update   (LpFp8Scaling *self, GError **error);
/* Whether the numbers that a subclass gives can be; LP_ERROR_SUBCLASS if not. */
gboolean      _lp_fp8_recipe_check     (LpFp8Recipe *recipe, GError **error);
/* Of all operands; @by_site finds those of the array. LP_PRECISION_ERROR_BAD_STATE for what no run saves; what is missing or doesn't fit
 * is told in warnings. */
LpState      *_lp_fp8_scalings_save    (GPtrArray *scalings, GError **error);
gboolean      _lp_fp8_scalings_load    (GPtrArray *scalings, GHashTable *by_site, LpState *state, GError **error);

G_END_DECLS
