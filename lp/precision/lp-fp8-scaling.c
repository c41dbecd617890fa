#include <lp/precision/lp-fp8-scaling-private.h>

#include <float.h>
#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/ops/lp-ops-private.h>
#include <lp/tensor/lp-tensor-private.h>

void
_lp_fp8_scaling_free (gpointer scaling)
{
  LpFp8Scaling *self = scaling;

  g_free (self->site);
  g_weak_ref_clear (&self->layer);
  g_clear_object (&self->recipe);
  g_clear_object (&self->dtype);
  g_clear_object (&self->history);
  g_clear_object (&self->source);
  g_clear_object (&self->quantized);
  g_free (self);
}

/* What the largest float32 becomes. */
static gboolean
find_largest (LpFp8Scaling  *self,
              GError       **error)
{
  g_autoptr (LpTensor) huge = lp_tensor_full (NULL, 0, FLT_MAX, lp_dtype_f32 (), NULL, error);
  g_autoptr (LpTensor) coded = huge != NULL ? lp_tensor_to_dtype (huge, self->dtype, error) : NULL;
  g_autoptr (LpTensor) back = coded != NULL ? lp_tensor_to_dtype (coded, lp_dtype_f32 (), error) : NULL;

  if (back == NULL)
    return FALSE;
  self->largest = lp_tensor_get_item (back, NULL);

  return TRUE;
}

LpFp8Scaling *
_lp_fp8_scaling_new (LpFp8Recipe    *recipe,
                     const char     *site,
                     LpOperandRole   role,
                     LpModule       *layer,
                     GError        **error)
{
  LpFp8Scaling *self = g_new0 (LpFp8Scaling, 1);
  gint64 length;

  self->site = g_strdup (site);
  g_weak_ref_init (&self->layer, layer);
  self->recipe = g_object_ref (recipe);
  self->scale = 1;
  if (_lp_fp8_recipe_check (recipe, error))
    self->dtype = lp_fp8_recipe_get_dtype (recipe, role, error);
  if (self->dtype != NULL && find_largest (self, error))
    {
      length = lp_fp8_recipe_get_history_length (recipe);
      if (length == 0)
        return self;
      self->history = lp_tensor_zeros (&length, 1, lp_dtype_f32 (), NULL, error);
      if (self->history != NULL)
        return self;
    }

  _lp_fp8_scaling_free (self);
  return NULL;
}

gboolean
_lp_fp8_scaling_is_of (LpFp8Scaling *self,
                       LpModule     *layer)
{
  g_autoptr (LpModule) own = g_weak_ref_get (&self->layer);

  return own == layer;
}

/* Not finite as soon as one value is not. */
static void
record_amax (LpFp8Scaling *self,
             double        amax)
{
  float *newest;

  self->ran = TRUE;
  if (self->history == NULL)
    return;
  newest = (float *) self->history->array.data;
  if (!isnan (*newest) && !(amax <= *newest))
    *newest = amax;
}

static void
forget (LpFp8Scaling *self)
{
  g_clear_object (&self->source);
  g_clear_object (&self->quantized);
}

static gboolean
change_scale (LpFp8Scaling  *self,
              double         amax,
              double         before,
              GError       **error)
{
  const double scale = lp_fp8_recipe_compute_scale (self->recipe, amax, self->largest, before);

  if (!lp_check_exceptions (error))
    return FALSE;
  if (!((float) scale > 0) || isinf ((float) scale))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.compute_scale gave %g for a maximum of %g of “%s”, and a scale is above 0 and finite",
                   G_OBJECT_TYPE_NAME (self->recipe), scale, amax, self->site);
      return FALSE;
    }
  self->scale = scale;

  return TRUE;
}

/* In 8 bits an infinity is the largest number of the format, so that nothing behind it shows that it was there. */
static void
tell_infinity (LpFp8Scaling *self)
{
  if (self->told || !isinf (self->amax))
    return;

  self->told = TRUE;
  g_warning ("The operand “%s” holds infinities, which fp8 turns into its largest number: losses can look sound that are not", self->site);
}

LpTensor *
_lp_fp8_scaling_quantize (LpFp8Scaling  *self,
                          LpOperand     *operand,
                          gboolean       record,
                          GError       **error)
{
  LpTensor *tensor = lp_operand_get_tensor (operand);
  LpTensor *source = lp_operand_get_parameter (operand) != NULL ? lp_operand_get_parameter (operand) : tensor;
  LpTensor *quantized;

  if (self->source == source && self->version == lp_tensor_get_version (source))
    {
      if (record)
        record_amax (self, self->amax);
      return g_object_ref (self->quantized);
    }

  if (self->history == NULL)
    {
      if (!_lp_tensor_absmax (tensor, &self->amax, error) || !change_scale (self, self->amax, 1, error))
        return NULL;
    }
  quantized = _lp_tensor_quantize (tensor, self->dtype, self->scale, &self->amax, error);
  if (quantized != NULL)
    tell_infinity (self);
  if (quantized == NULL || !record)
    return quantized;

  record_amax (self, self->amax);
  g_set_object (&self->source, source);
  g_set_object (&self->quantized, quantized);
  self->version = lp_tensor_get_version (source);

  return quantized;
}

gboolean
_lp_fp8_scaling_update (LpFp8Scaling  *self,
                        GError       **error)
{
  const gboolean is_weight = self->source != NULL && lp_tensor_get_requires_grad (self->source);
  float *values;

  if (!self->ran)
    return TRUE;

  self->ran = FALSE;
  /* weights are kept as they are, with the scale they have, until they change */
  if (!is_weight)
    forget (self);
  if (self->history == NULL)
    return TRUE;

  if (++self->n_waited >= lp_fp8_recipe_get_interval (self->recipe))
    {
      self->n_waited = 0;
      if (!change_scale (self, lp_fp8_recipe_reduce_history (self->recipe, self->history), self->scale, error))
        return FALSE;
    }
  values = (float *) self->history->array.data;
  memmove (values + 1, values, (gsize) (self->history->array.dims[0] - 1) * sizeof (float));
  values[0] = 0;

  return TRUE;
}
