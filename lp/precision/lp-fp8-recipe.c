#include <lp/precision/lp-fp8-recipe.h>

#include <float.h>
#include <math.h>

#include <lp/core/lp-dtype-registry.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/precision/lp-fp8-scaling-private.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpFp8Recipe:
 *
 * How [class@Fp8PrecisionPlugin] scales the operands of products: a value object, which any number of plugins may share.
 *
 * An operand is multiplied by its scale and rounded to 8 bits, and the product is divided by the scales of both. The scale
 * brings the largest absolute value, *amax*, up to the largest number of the format, 2^margin below it. What is above that, infinities
 * too, becomes that number, as in the training recipes of others: that an operand holds infinities is told in a warning, once, since
 * a loss can look sound all the same. NaN stays NaN. The formats are
 * E4M3 for inputs and weights and E5M2 for gradients, the hybrid of the OCP 8-bit Floating Point Specification 1.0 and of
 * Micikevicius et al., “FP8 Formats for Deep Learning”, 2022.
 *
 * Another rule is a subclass that overrides one function: see [class@DelayedScaling] and [class@CurrentScaling].
 */
typedef struct
{
  gint margin;
} LpFp8RecipePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpFp8Recipe, lp_fp8_recipe, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_MARGIN,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static LpDType *
lp_fp8_recipe_real_get_dtype (LpFp8Recipe    *self,
                              LpOperandRole   role,
                              GError        **error)
{
  const char *name = role == LP_OPERAND_GRAD_OUTPUT ? "f8e5m2" : "f8e4m3";

  return lp_dtype_lookup (name, error);
}

static guint
lp_fp8_recipe_real_get_history_length (LpFp8Recipe *self)
{
  return 0;
}

static guint
lp_fp8_recipe_real_get_interval (LpFp8Recipe *self)
{
  return 1;
}

/* Not finite as soon as one of them is. */
static double
lp_fp8_recipe_real_reduce_history (LpFp8Recipe *self,
                                   LpTensor    *history)
{
  const float *values = (const float *) history->array.data;
  float largest = 0;

  for (gint64 i = 0; i < history->array.dims[0] && !isnan (largest); i++)
    if (!(values[i] <= largest))
      largest = values[i];

  return largest;
}

/* In float32, as the reference does, so that the bits are the same. */
static double
lp_fp8_recipe_real_compute_scale (LpFp8Recipe *self,
                                  double       amax,
                                  double       largest,
                                  double       scale)
{
  LpFp8RecipePrivate *priv = lp_fp8_recipe_get_instance_private (self);
  float next;

  if (!(amax > 0) || isinf (amax))
    return scale;

  next = ldexpf ((float) largest / (float) amax, -priv->margin);

  return isinf (next) ? FLT_MAX : next;
}

static void
lp_fp8_recipe_get_property (GObject    *object,
                            guint       prop_id,
                            GValue     *value,
                            GParamSpec *pspec)
{
  LpFp8RecipePrivate *priv = lp_fp8_recipe_get_instance_private (LP_FP8_RECIPE (object));

  switch (prop_id)
    {
    case PROP_MARGIN:
      g_value_set_int (value, priv->margin);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fp8_recipe_set_property (GObject      *object,
                            guint         prop_id,
                            const GValue *value,
                            GParamSpec   *pspec)
{
  LpFp8RecipePrivate *priv = lp_fp8_recipe_get_instance_private (LP_FP8_RECIPE (object));

  switch (prop_id)
    {
    case PROP_MARGIN:
      priv->margin = g_value_get_int (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_fp8_recipe_class_init (LpFp8RecipeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_fp8_recipe_get_property;
  object_class->set_property = lp_fp8_recipe_set_property;
  klass->get_dtype = lp_fp8_recipe_real_get_dtype;
  klass->get_history_length = lp_fp8_recipe_real_get_history_length;
  klass->get_interval = lp_fp8_recipe_real_get_interval;
  klass->reduce_history = lp_fp8_recipe_real_reduce_history;
  klass->compute_scale = lp_fp8_recipe_real_compute_scale;

  /**
   * LpFp8Recipe:margin: (getter get_margin)
   *
   * How many powers of two lie between the largest value and the largest number of the format.
   */
  properties[PROP_MARGIN] = g_param_spec_int ("margin", NULL, NULL, -64, 64, 0,
                                              G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_fp8_recipe_init (LpFp8Recipe *self)
{
}

/**
 * lp_fp8_recipe_get_dtype:
 * @self: a recipe
 * @role: what the operand is
 * @error: return location for an error
 *
 * Gets the format of operands.
 *
 * Returns: (transfer full): the format. Errors: %LP_ERROR_SUBCLASS for a subclass that gives none, and its own
 */
LpDType *
lp_fp8_recipe_get_dtype (LpFp8Recipe    *self,
                         LpOperandRole   role,
                         GError        **error)
{
  GError *local = NULL;
  LpDType *dtype;

  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), NULL);

  dtype = LP_FP8_RECIPE_GET_CLASS (self)->get_dtype (self, role, &local);
  if (dtype != NULL && local == NULL)
    return dtype;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.get_dtype gave no dtype", G_OBJECT_TYPE_NAME (self));
  g_clear_object (&dtype);
  g_propagate_error (error, local);

  return NULL;
}

/**
 * lp_fp8_recipe_get_history_length:
 * @self: a recipe
 *
 * Gets how many maxima are kept per operand.
 *
 * Returns: the number, at most 2^20; 0 if each tensor is scaled by its own maximum
 */
guint
lp_fp8_recipe_get_history_length (LpFp8Recipe *self)
{
  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), 0);

  return LP_FP8_RECIPE_GET_CLASS (self)->get_history_length (self);
}

/**
 * lp_fp8_recipe_get_interval:
 * @self: a recipe
 *
 * Gets how many steps lie between two changes of a scale.
 *
 * Returns: the number, at least 1
 */
guint
lp_fp8_recipe_get_interval (LpFp8Recipe *self)
{
  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), 1);

  return MAX (1, LP_FP8_RECIPE_GET_CLASS (self)->get_interval (self));
}

/**
 * lp_fp8_recipe_reduce_history:
 * @self: a recipe
 * @history: the maxima of the last steps, f32 `[length]`, newest first; 0 where there was none
 *
 * Computes the maximum to scale by. The default is the largest.
 *
 * Returns: the maximum
 */
double
lp_fp8_recipe_reduce_history (LpFp8Recipe *self,
                              LpTensor    *history)
{
  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), 0);
  g_return_val_if_fail (LP_IS_TENSOR (history), 0);
  g_return_val_if_fail (history->array.scalar == LP_SCALAR_F32 && history->array.n_dims == 1, 0);

  return LP_FP8_RECIPE_GET_CLASS (self)->reduce_history (self, history);
}

/**
 * lp_fp8_recipe_compute_scale:
 * @self: a recipe
 * @amax: the maximum
 * @largest: the largest number of the format
 * @scale: the scale so far
 *
 * Computes the scale for a maximum. The default is `largest / amax / 2^margin` in float32: the scale so far if @amax is 0
 * or not finite, and the largest float32 where that overflows.
 *
 * Returns: the scale
 */
double
lp_fp8_recipe_compute_scale (LpFp8Recipe *self,
                             double       amax,
                             double       largest,
                             double       scale)
{
  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), scale);

  return LP_FP8_RECIPE_GET_CLASS (self)->compute_scale (self, amax, largest, scale);
}

gboolean
_lp_fp8_recipe_check (LpFp8Recipe  *self,
                      GError      **error)
{
  const guint length = lp_fp8_recipe_get_history_length (self), interval = lp_fp8_recipe_get_interval (self);

  if (!lp_check_exceptions (error))
    return FALSE;
  if (length <= LP_FP8_MAX_HISTORY && interval <= G_MAXINT)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave %u, and at most %u makes sense: is it a negative number?",
               G_OBJECT_TYPE_NAME (self), length > LP_FP8_MAX_HISTORY ? "get_history_length" : "get_interval",
               length > LP_FP8_MAX_HISTORY ? length : interval, length > LP_FP8_MAX_HISTORY ? LP_FP8_MAX_HISTORY : (guint) G_MAXINT);
  return FALSE;
}

/**
 * lp_fp8_recipe_get_margin:
 * @self: a recipe
 *
 * Gets how many powers of two lie between the largest value and the largest number of the format.
 *
 * Returns: the margin
 */
gint
lp_fp8_recipe_get_margin (LpFp8Recipe *self)
{
  LpFp8RecipePrivate *priv = lp_fp8_recipe_get_instance_private (self);

  g_return_val_if_fail (LP_IS_FP8_RECIPE (self), 0);

  return priv->margin;
}
