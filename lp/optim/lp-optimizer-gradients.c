#include <lp/optim/lp-optimizer-private.h>

#include <math.h>

#include <lp/core/lp-error.h>

gboolean
_lp_optimizer_gather (LpOptimizer  *self,
                      GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  if (!_lp_optimizer_check (self, error))
    return FALSE;

  for (guint i = 0; i < data->groups->len; i++)
    if (!_lp_param_group_gather (g_ptr_array_index (data->groups, i), error))
      return FALSE;

  return TRUE;
}

static guint64
get_mark (LpOptimizer *self)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  guint64 mark = 0;

  for (guint i = 0; i < data->groups->len; i++)
    mark = mark * 131 + _lp_param_group_get_mark (g_ptr_array_index (data->groups, i));

  return mark;
}

static void
count_change (LpParamGroup *group)
{
  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);

      if (slot->present)
        _lp_tensor_changed (slot->grad);
    }
}

static gboolean
settle (LpOptimizer  *self,
        GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      for (guint j = 0; j < group->slots->len; j++)
        if (!_lp_tensor_settle (_lp_param_group_get_slot (group, j)->grad, error))
          return FALSE;
    }

  return TRUE;
}

/* Whether the gradients of a bucket can stay as they are in memory, to be multiplied by the step: nobody has asked for one of
 * them so far, and f32 holds the products as the fused kernel computes them. */
static gboolean
can_keep (LpOptimizer  *self,
          LpParamGroup *group,
          guint         bucket)
{
  if (!lp_optimizer_scales_gradients (self) || _lp_param_group_get_bucket (group, bucket)->grad->array.scalar != LP_SCALAR_F32)
    return FALSE;

  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);

      if (slot->bucket == bucket && slot->grad->is_shown)
        return FALSE;
    }

  return TRUE;
}

static void
note_factor (LpParamGroup *group,
             guint         bucket,
             LpTensor     *factor)
{
  for (guint i = 0; i < group->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (group, i);

      if (slot->bucket == bucket && slot->present)
        g_set_object (&slot->grad->factor, factor);
    }
}

/* One pass over the buckets. */
static gboolean
pass (LpOptimizer  *self,
      LpTensor     *scale,
      LpTensor     *found_inf,
      double       *sum_squares,
      GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      for (guint j = 0; j < group->buckets->len; j++)
        {
          LpParamBucket *bucket = _lp_param_group_get_bucket (group, j);
          LpGradStatsArgs args = { .n = bucket->n, .grad = bucket->grad->array.data, .scalar = bucket->grad->array.scalar };

          args.scale = scale != NULL ? (const float *) scale->array.data : NULL;
          args.found_inf = found_inf != NULL ? (float *) found_inf->array.data : NULL;
          args.sum_squares = sum_squares;
          args.keep = scale != NULL && can_keep (self, group, j);
          if (!_lp_tensor_get_kernels (bucket->grad)->grad_stats (&args, error))
            return FALSE;
          if (args.keep)
            note_factor (group, j, scale);
        }
      if (scale != NULL)
        count_change (group);
    }

  return TRUE;
}

gboolean
_lp_optimizer_multiply (LpOptimizer  *self,
                        LpTensor     *factor,
                        GError      **error)
{
  return factor == NULL || pass (self, factor, NULL, NULL, error);
}

gboolean
_lp_optimizer_has_found_inf (LpOptimizer *self)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  return data->found_inf != NULL && lp_tensor_get_item (data->found_inf, NULL) != 0;
}

static gboolean
check_scalar (LpTensor    *tensor,
              const char  *what,
              GError     **error)
{
  if (tensor == NULL || (tensor->array.scalar == LP_SCALAR_F32 && _lp_array_get_n_elements (&tensor->array) == 1))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The %s is one f32 number, not %" G_GINT64_FORMAT " of %s", what,
               _lp_array_get_n_elements (&tensor->array), lp_dtype_get_name (tensor->array.dtype));
  return FALSE;
}

/**
 * lp_optimizer_scale_gradients:
 * @self: an optimizer
 * @scale: (nullable): a float32 number that the gradients are multiplied by
 * @found_inf: (nullable): a float32 number that becomes 1 if a gradient is not finite
 * @error: return location for an error
 *
 * Multiplies the gradients and looks for those that are not finite, in one pass that sums up their norm, too. Gradients
 * that no program has asked for so far are only read: an optimizer that scales gradients itself multiplies them in its
 * step, or [method@Tensor.dup_grad] does.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT, and those of [method@Optimizer.step]
 */
gboolean
lp_optimizer_scale_gradients (LpOptimizer  *self,
                              LpTensor     *scale,
                              LpTensor     *found_inf,
                              GError      **error)
{
  LpOptimizerData *data;
  double sum_squares = 0;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);
  g_return_val_if_fail (scale == NULL || LP_IS_TENSOR (scale), FALSE);
  g_return_val_if_fail (found_inf == NULL || LP_IS_TENSOR (found_inf), FALSE);

  if (!check_scalar (scale, "gradient scale", error) || !check_scalar (found_inf, "found-inf", error) ||
      !_lp_optimizer_gather (self, error) || !settle (self, error) || !pass (self, scale, found_inf, &sum_squares, error))
    return FALSE;

  data = _lp_optimizer_get_data (self);
  data->sum_squares = sum_squares;
  data->mark = get_mark (self);
  data->has_sum = TRUE;

  return TRUE;
}

/**
 * lp_optimizer_compute_grad_norm:
 * @self: an optimizer
 * @error: return location for an error
 *
 * Computes the L2 norm of all gradients together, as they are, summed up in float64.
 *
 * Returns: the norm, or -1 with an error
 */
double
lp_optimizer_compute_grad_norm (LpOptimizer  *self,
                                GError      **error)
{
  LpOptimizerData *data;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), -1);

  data = _lp_optimizer_get_data (self);
  if (!_lp_optimizer_gather (self, error))
    return -1;
  if ((!data->has_sum || data->mark != get_mark (self)) && !lp_optimizer_scale_gradients (self, NULL, NULL, error))
    return -1;

  return sqrt (data->sum_squares);
}

static gboolean
clip_norm (LpOptimizer  *self,
           double        value,
           GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  double norm = lp_optimizer_compute_grad_norm (self, error);
  LpParamGroup *group = g_ptr_array_index (data->groups, 0);
  g_autoptr (LpTensor) coefficient = NULL;
  double factor;

  if (norm < 0)
    return FALSE;

  factor = value / (norm + 1e-6);
  if (factor >= 1)
    return TRUE;

  coefficient = lp_tensor_scalar (factor, lp_dtype_f32 (), _lp_param_group_get_bucket (group, 0)->device, error);
  if (coefficient == NULL)
    return FALSE;
  if (!lp_optimizer_scales_gradients (self))
    return _lp_optimizer_multiply (self, coefficient, error);

  g_set_object (&data->clip_coefficient, coefficient);

  return TRUE;
}

static gboolean
clip_value (LpOptimizer  *self,
            double        value,
            GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  if (!settle (self, error))
    return FALSE;

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      for (guint j = 0; j < group->buckets->len; j++)
        {
          LpTensor *grad = _lp_param_group_get_bucket (group, j)->grad;
          const LpKernelTable *kernels = _lp_tensor_get_kernels (grad);

          if (!kernels->unary (LP_UNARY_CLAMP_MIN, -value, &grad->array, &grad->array, error) ||
              !kernels->unary (LP_UNARY_CLAMP_MAX, value, &grad->array, &grad->array, error))
            return FALSE;
        }
      count_change (group);
    }

  return TRUE;
}

/**
 * lp_optimizer_clip_gradients:
 * @self: an optimizer
 * @value: the bound; nothing happens unless it is above 0
 * @algorithm: what it bounds
 * @error: return location for an error
 *
 * Clips the gradients. By norm, an optimizer that scales gradients itself does it in its step, with
 * [method@Optimizer.get_clip_coefficient]; in all other cases the gradients are changed in place.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT for a value that is no number
 */
gboolean
lp_optimizer_clip_gradients (LpOptimizer      *self,
                             double            value,
                             LpClipAlgorithm   algorithm,
                             GError          **error)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);

  if (isnan (value))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "Gradients can't be clipped to a value that is no number");
      return FALSE;
    }
  if (value <= 0)
    return TRUE;
  if (!_lp_optimizer_gather (self, error))
    return FALSE;

  return algorithm == LP_CLIP_NORM ? clip_norm (self, value, error) : clip_value (self, value, error);
}

/**
 * lp_optimizer_get_grad_scale:
 * @self: an optimizer
 *
 * Gets what the next step multiplies the gradients by.
 *
 * Returns: (transfer none) (nullable): a float32 number, or %NULL for 1
 */
LpTensor *
lp_optimizer_get_grad_scale (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  return _lp_optimizer_get_data (self)->grad_scale;
}

/**
 * lp_optimizer_set_grad_scale:
 * @self: an optimizer
 * @grad_scale: (nullable): a float32 number on the device of the parameters, or %NULL for 1
 *
 * Sets what the next step multiplies the gradients by.
 */
void
lp_optimizer_set_grad_scale (LpOptimizer *self,
                             LpTensor    *grad_scale)
{
  g_return_if_fail (LP_IS_OPTIMIZER (self));
  g_return_if_fail (grad_scale == NULL || check_scalar (grad_scale, "gradient scale", NULL));

  g_set_object (&_lp_optimizer_get_data (self)->grad_scale, grad_scale);
}

/**
 * lp_optimizer_get_found_inf:
 * @self: an optimizer
 *
 * Gets what makes the next step do nothing unless it is 0.
 *
 * Returns: (transfer none) (nullable): a float32 number, or %NULL for 0
 */
LpTensor *
lp_optimizer_get_found_inf (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  return _lp_optimizer_get_data (self)->found_inf;
}

/**
 * lp_optimizer_set_found_inf:
 * @self: an optimizer
 * @found_inf: (nullable): a float32 number on the device of the parameters, or %NULL for 0
 *
 * Sets what makes the next step do nothing unless it is 0.
 */
void
lp_optimizer_set_found_inf (LpOptimizer *self,
                            LpTensor    *found_inf)
{
  g_return_if_fail (LP_IS_OPTIMIZER (self));
  g_return_if_fail (found_inf == NULL || check_scalar (found_inf, "found-inf", NULL));

  g_set_object (&_lp_optimizer_get_data (self)->found_inf, found_inf);
}

/**
 * lp_optimizer_get_clip_coefficient:
 * @self: an optimizer
 *
 * Gets what the next step multiplies the gradients by so that they are clipped.
 *
 * Returns: (transfer none) (nullable): a float32 number, or %NULL for 1
 */
LpTensor *
lp_optimizer_get_clip_coefficient (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  return _lp_optimizer_get_data (self)->clip_coefficient;
}

/**
 * lp_optimizer_set_clip_coefficient:
 * @self: an optimizer
 * @clip_coefficient: (nullable): a float32 number on the device of the parameters, or %NULL for 1
 *
 * Sets what the next step multiplies the gradients by so that they are clipped.
 */
void
lp_optimizer_set_clip_coefficient (LpOptimizer *self,
                                   LpTensor    *clip_coefficient)
{
  g_return_if_fail (LP_IS_OPTIMIZER (self));
  g_return_if_fail (clip_coefficient == NULL || check_scalar (clip_coefficient, "clip coefficient", NULL));

  g_set_object (&_lp_optimizer_get_data (self)->clip_coefficient, clip_coefficient);
}
