#include <lp/optim/lp-optimizer-private.h>

#include <lp/core/lp-error.h>

/**
 * LpOptimizer:
 *
 * Changes parameters along their gradients.
 *
 * A subclass overrides step_group and updates the masters of the group, see [method@ParamGroup.dup_masters], from their
 * gradients. It need not know about gradient scales, skipped steps, clipping, encoded weights or rounding: the base
 * class sees to them. What it keeps beside the parameters it saves in save_state, chaining up.
 */

G_DEFINE_ENUM_TYPE (LpStepResult, lp_step_result,
                    G_DEFINE_ENUM_VALUE (LP_STEP_FAILED, "failed"),
                    G_DEFINE_ENUM_VALUE (LP_STEP_APPLIED, "applied"),
                    G_DEFINE_ENUM_VALUE (LP_STEP_SKIPPED, "skipped"),
                    G_DEFINE_ENUM_VALUE (LP_STEP_DEFERRED, "deferred"))

G_DEFINE_ENUM_TYPE (LpClipAlgorithm, lp_clip_algorithm,
                    G_DEFINE_ENUM_VALUE (LP_CLIP_NORM, "norm"),
                    G_DEFINE_ENUM_VALUE (LP_CLIP_VALUE, "value"))

typedef LpOptimizerData LpOptimizerPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpOptimizer, lp_optimizer, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_LR,
  PROP_STEP_COUNT,
  PROP_N_SKIPPED,
  PROP_LAST_RESULT,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

LpOptimizerData *
_lp_optimizer_get_data (LpOptimizer *self)
{
  return lp_optimizer_get_instance_private (self);
}

static gboolean
lp_optimizer_real_step_group (LpOptimizer   *self,
                              LpParamGroup  *group,
                              GError       **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement step_group", G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static gboolean
lp_optimizer_real_scales_gradients (LpOptimizer *self)
{
  return FALSE;
}

static void
lp_optimizer_get_property (GObject    *object,
                           guint       prop_id,
                           GValue     *value,
                           GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_LR:
      g_value_set_double (value, lp_optimizer_get_lr (LP_OPTIMIZER (object)));
      break;
    case PROP_STEP_COUNT:
      g_value_set_int64 (value, _lp_optimizer_get_data (LP_OPTIMIZER (object))->step_count);
      break;
    case PROP_N_SKIPPED:
      g_value_set_int64 (value, _lp_optimizer_get_data (LP_OPTIMIZER (object))->n_skipped);
      break;
    case PROP_LAST_RESULT:
      g_value_set_enum (value, _lp_optimizer_get_data (LP_OPTIMIZER (object))->last_result);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_optimizer_set_property (GObject      *object,
                           guint         prop_id,
                           const GValue *value,
                           GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_LR:
      lp_optimizer_set_lr (LP_OPTIMIZER (object), g_value_get_double (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_optimizer_finalize (GObject *object)
{
  LpOptimizerData *data = _lp_optimizer_get_data (LP_OPTIMIZER (object));

  g_ptr_array_unref (data->groups);
  g_clear_object (&data->grad_scale);
  g_clear_object (&data->found_inf);
  g_clear_object (&data->clip_coefficient);
  g_clear_error (&data->problem);

  G_OBJECT_CLASS (lp_optimizer_parent_class)->finalize (object);
}

static void
install_outcomes (void)
{
  GParamFlags flags = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  /**
   * LpOptimizer:step-count: (getter get_step_count)
   *
   * How many steps were applied.
   */
  properties[PROP_STEP_COUNT] = g_param_spec_int64 ("step-count", NULL, NULL, 0, G_MAXINT64, 0, flags);

  /**
   * LpOptimizer:n-skipped: (getter get_n_skipped)
   *
   * How many steps were skipped because gradients were not finite.
   */
  properties[PROP_N_SKIPPED] = g_param_spec_int64 ("n-skipped", NULL, NULL, 0, G_MAXINT64, 0, flags);

  /**
   * LpOptimizer:last-result: (getter get_last_result)
   *
   * What became of the last step; [enum@StepResult.failed] before the first.
   */
  properties[PROP_LAST_RESULT] =
    g_param_spec_enum ("last-result", NULL, NULL, LP_TYPE_STEP_RESULT, LP_STEP_FAILED, flags);
}

static void
lp_optimizer_class_init (LpOptimizerClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_optimizer_get_property;
  object_class->set_property = lp_optimizer_set_property;
  object_class->finalize = lp_optimizer_finalize;
  klass->step_group = lp_optimizer_real_step_group;
  klass->save_state = _lp_optimizer_real_save_state;
  klass->load_state = _lp_optimizer_real_load_state;
  klass->scales_gradients = lp_optimizer_real_scales_gradients;

  /**
   * LpOptimizer:lr: (getter get_lr) (setter set_lr)
   *
   * The learning rate of the first group; setting it sets that of all groups, and what schedules multiply.
   */
  properties[PROP_LR] = g_param_spec_double ("lr", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0,
                                             G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
  install_outcomes ();

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_optimizer_init (LpOptimizer *self)
{
  _lp_optimizer_get_data (self)->groups = g_ptr_array_new_with_free_func (g_object_unref);
}

static gboolean
has_parameter (LpOptimizerData *data,
               gpointer         parameter)
{
  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      if (g_ptr_array_find (group->parameters, parameter, NULL))
        return TRUE;
    }

  return FALSE;
}

static gboolean
check_parameter (LpOptimizer   *self,
                 LpParamGroup  *group,
                 guint          i,
                 GError       **error)
{
  LpTensor *parameter = g_ptr_array_index (group->parameters, i);
  guint first;

  if (!LP_IS_TENSOR (parameter) || !lp_dtype_is_floating (parameter->array.dtype) || parameter->node != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                   "Parameter %u can't be trained: only floating tensors that are no results of operations can", i);
      return FALSE;
    }
  if (has_parameter (_lp_optimizer_get_data (self), parameter) ||
      (g_ptr_array_find (group->parameters, parameter, &first) && first < i))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_EXISTS, "Parameter %u is in the optimizer already", i);
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_optimizer_add_group:
 * @self: an optimizer
 * @group: a group of parameters that no other group has
 * @error: return location for an error
 *
 * Adds parameters.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT for no parameters, or one that can't be trained;
 *   %LP_ERROR_EXISTS for one that is in the optimizer already
 */
gboolean
lp_optimizer_add_group (LpOptimizer   *self,
                        LpParamGroup  *group,
                        GError       **error)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);
  g_return_val_if_fail (LP_IS_PARAM_GROUP (group), FALSE);

  if (group->parameters->len == 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "A group of a %s needs at least one parameter",
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }
  for (guint i = 0; i < group->parameters->len; i++)
    if (!check_parameter (self, group, i, error))
      return FALSE;

  group->index = _lp_optimizer_get_data (self)->groups->len;
  group->stream = _lp_optimizer_get_data (self)->stream;
  g_ptr_array_add (_lp_optimizer_get_data (self)->groups, g_object_ref (group));

  return TRUE;
}

void
_lp_optimizer_set_stream (LpOptimizer *self,
                          guint        stream)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  data->stream = stream & 0x7fff;
  for (guint i = 0; i < data->groups->len; i++)
    ((LpParamGroup *) g_ptr_array_index (data->groups, i))->stream = data->stream;
}

void
_lp_optimizer_take_group (LpOptimizer  *self,
                          LpParamGroup *group)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  lp_optimizer_add_group (self, group, &data->problem);
  g_object_unref (group);
}

gboolean
_lp_optimizer_check (LpOptimizer  *self,
                     GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  if (G_UNLIKELY (data->problem != NULL))
    {
      if (error != NULL)
        *error = g_error_copy (data->problem);
      return FALSE;
    }
  if (G_LIKELY (data->groups->len > 0))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The %s has no parameters", G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

/**
 * lp_optimizer_get_n_groups:
 * @self: an optimizer
 *
 * Counts the groups of parameters.
 *
 * Returns: their number
 */
guint
lp_optimizer_get_n_groups (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), 0);

  return _lp_optimizer_get_data (self)->groups->len;
}

/**
 * lp_optimizer_get_group:
 * @self: an optimizer
 * @index: a position
 *
 * Gets a group.
 *
 * Returns: (transfer none) (nullable): the group, or %NULL past the end
 */
LpParamGroup *
lp_optimizer_get_group (LpOptimizer *self,
                        guint        index)
{
  LpOptimizerData *data;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  data = _lp_optimizer_get_data (self);

  return index < data->groups->len ? g_ptr_array_index (data->groups, index) : NULL;
}

/**
 * lp_optimizer_dup_parameters:
 * @self: an optimizer
 *
 * Gets the parameters of all groups.
 *
 * Returns: (transfer container) (element-type LpTensor): the parameters
 */
GPtrArray *
lp_optimizer_dup_parameters (LpOptimizer *self)
{
  LpOptimizerData *data;
  GPtrArray *parameters;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  data = _lp_optimizer_get_data (self);
  parameters = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < data->groups->len; i++)
    g_ptr_array_extend_and_steal (parameters, lp_param_group_dup_parameters (g_ptr_array_index (data->groups, i)));

  return parameters;
}

/**
 * lp_optimizer_get_master_bytes:
 * @self: an optimizer
 *
 * Gets the bytes of the master weights that the optimizer keeps beside the parameters: latent weights of quantized ones, and those
 * that a `master-dtype` asks for.
 *
 * Returns: the bytes, 0 if every parameter is its own master
 */
gint64
lp_optimizer_get_master_bytes (LpOptimizer *self)
{
  LpOptimizerData *data;
  gint64 n_bytes = 0;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), 0);

  data = _lp_optimizer_get_data (self);
  for (guint g = 0; g < data->groups->len; g++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, g);
      g_autoptr (GPtrArray) parameters = lp_param_group_dup_parameters (group);
      g_autoptr (GPtrArray) masters = lp_param_group_dup_masters (group);

      for (guint i = 0; i < masters->len; i++)
        if (masters->pdata[i] != parameters->pdata[i])
          n_bytes += lp_tensor_get_n_bytes (masters->pdata[i]);
    }

  return n_bytes;
}

/**
 * lp_optimizer_get_lr:
 * @self: an optimizer
 *
 * Gets the learning rate of the first group.
 *
 * Returns: the learning rate, or 0 without groups
 */
double
lp_optimizer_get_lr (LpOptimizer *self)
{
  LpParamGroup *group;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), 0);

  group = lp_optimizer_get_group (self, 0);

  return group != NULL ? group->lr : 0;
}

/**
 * lp_optimizer_set_lr:
 * @self: an optimizer
 * @lr: the learning rate
 *
 * Sets the learning rate of all groups, and what schedules multiply.
 */
void
lp_optimizer_set_lr (LpOptimizer *self,
                     double       lr)
{
  LpOptimizerData *data;

  g_return_if_fail (LP_IS_OPTIMIZER (self));

  data = _lp_optimizer_get_data (self);
  for (guint i = 0; i < data->groups->len; i++)
    {
      lp_param_group_set_lr (g_ptr_array_index (data->groups, i), lr);
      lp_param_group_set_base_lr (g_ptr_array_index (data->groups, i), lr);
    }
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LR]);
}

/**
 * lp_optimizer_get_step_count:
 * @self: an optimizer
 *
 * Counts the steps that were applied.
 *
 * Returns: their number
 */
gint64
lp_optimizer_get_step_count (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), 0);

  return _lp_optimizer_get_data (self)->step_count;
}

/**
 * lp_optimizer_get_n_skipped:
 * @self: an optimizer
 *
 * Counts the steps that were skipped because gradients were not finite.
 *
 * Returns: their number
 */
gint64
lp_optimizer_get_n_skipped (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), 0);

  return _lp_optimizer_get_data (self)->n_skipped;
}

/**
 * lp_optimizer_get_last_result:
 * @self: an optimizer
 *
 * Gets what became of the last step.
 *
 * Returns: the result; %LP_STEP_FAILED before the first
 */
LpStepResult
lp_optimizer_get_last_result (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), LP_STEP_FAILED);

  return _lp_optimizer_get_data (self)->last_result;
}

/**
 * lp_optimizer_scales_gradients:
 * @self: an optimizer
 *
 * Finds out whether step_group itself multiplies by the gradient scale and the clip coefficient and looks at found-inf.
 *
 * Returns: whether it does
 */
gboolean
lp_optimizer_scales_gradients (LpOptimizer *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);

  return LP_OPTIMIZER_GET_CLASS (self)->scales_gradients (self);
}

void
_lp_optimizer_count_result (LpOptimizer  *self,
                            LpStepResult  result)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  gboolean same = data->last_result == result;

  data->last_result = result;
  data->step_count += result == LP_STEP_APPLIED;
  data->n_skipped += result == LP_STEP_SKIPPED;
  if (result == LP_STEP_APPLIED)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STEP_COUNT]);
  if (result == LP_STEP_SKIPPED)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_N_SKIPPED]);
  if (!same)
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_LAST_RESULT]);
}
