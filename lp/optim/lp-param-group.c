#include <lp/optim/lp-param-group-private.h>

#include <lp/core/lp-error.h>

/**
 * LpParamGroup:
 *
 * Parameters that an [class@Optimizer] treats alike.
 *
 * The gradients of a group live in flat buckets, of which the gradients of the parameters are slices. A parameter in an
 * encoded format has a float32 master: the master is updated, and the stored weight is encoded from it after each
 * step. With [property@ParamGroup:master-dtype] parameters in 16 bits get masters too.
 *
 * The moments that an optimizer keeps of the gradients, such as momentum, are as wide as what it updates: float64 for
 * parameters in float64, float32 for those in float32 and for masters. For parameters in 16 bits without masters they are
 * bfloat16 (for float16 as well, which has not the range for squares of gradients), rounded up or down by chance, so that
 * means of many steps are right. The same step of the same run is always rounded by the same numbers.
 */

G_DEFINE_FINAL_TYPE (LpParamGroup, lp_param_group, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_LR,
  PROP_BASE_LR,
  PROP_WEIGHT_DECAY,
  PROP_MASTER_DTYPE,
  PROP_STOCHASTIC_ROUNDING,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_param_group_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  LpParamGroup *self = LP_PARAM_GROUP (object);

  switch (prop_id)
    {
    case PROP_LR:
      g_value_set_double (value, self->lr);
      break;
    case PROP_BASE_LR:
      g_value_set_double (value, self->base_lr);
      break;
    case PROP_WEIGHT_DECAY:
      g_value_set_double (value, self->weight_decay);
      break;
    case PROP_MASTER_DTYPE:
      g_value_set_object (value, self->master_dtype);
      break;
    case PROP_STOCHASTIC_ROUNDING:
      g_value_set_boolean (value, self->stochastic_rounding);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_param_group_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  LpParamGroup *self = LP_PARAM_GROUP (object);

  switch (prop_id)
    {
    case PROP_LR:
      lp_param_group_set_lr (self, g_value_get_double (value));
      break;
    case PROP_BASE_LR:
      lp_param_group_set_base_lr (self, g_value_get_double (value));
      break;
    case PROP_WEIGHT_DECAY:
      lp_param_group_set_weight_decay (self, g_value_get_double (value));
      break;
    case PROP_STOCHASTIC_ROUNDING:
      lp_param_group_set_stochastic_rounding (self, g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

/* Backward makes the gradients of parameters in 16 bits that have masters in f32, also when no step or zero_grad came before. */
static void
count_wide (LpParamGroup *self,
            int           change)
{
  for (guint i = 0; self->master_dtype != NULL && i < self->parameters->len; i++)
    ((LpTensor *) self->parameters->pdata[i])->n_wide += change;
}

static void
lp_param_group_finalize (GObject *object)
{
  LpParamGroup *self = LP_PARAM_GROUP (object);

  count_wide (self, -1);
  _lp_param_group_clear (self);
  g_ptr_array_unref (self->parameters);
  g_clear_object (&self->master_dtype);

  G_OBJECT_CLASS (lp_param_group_parent_class)->finalize (object);
}

static void
lp_param_group_class_init (LpParamGroupClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = lp_param_group_get_property;
  object_class->set_property = lp_param_group_set_property;
  object_class->finalize = lp_param_group_finalize;

  /**
   * LpParamGroup:lr: (getter get_lr) (setter set_lr)
   *
   * The learning rate of the next step.
   */
  properties[PROP_LR] = g_param_spec_double ("lr", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 1e-3, flags);

  /**
   * LpParamGroup:base-lr: (getter get_base_lr) (setter set_base_lr)
   *
   * The learning rate that schedules multiply.
   */
  properties[PROP_BASE_LR] = g_param_spec_double ("base-lr", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 1e-3, flags);

  /**
   * LpParamGroup:weight-decay: (getter get_weight_decay) (setter set_weight_decay)
   *
   * The weight decay.
   */
  properties[PROP_WEIGHT_DECAY] = g_param_spec_double ("weight-decay", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpParamGroup:master-dtype: (getter get_master_dtype)
   *
   * The dtype of the master weights of parameters in 16 bits; %NULL for none.
   */
  properties[PROP_MASTER_DTYPE] =
    g_param_spec_object ("master-dtype", NULL, NULL, LP_TYPE_DTYPE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpParamGroup:stochastic-rounding: (getter get_stochastic_rounding) (setter set_stochastic_rounding)
   *
   * Whether weights in 16 bits are rounded up or down by chance, so that they are right on average.
   */
  properties[PROP_STOCHASTIC_ROUNDING] = g_param_spec_boolean ("stochastic-rounding", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_param_group_init (LpParamGroup *self)
{
  self->parameters = g_ptr_array_new_with_free_func (g_object_unref);
  self->lr = self->base_lr = 1e-3;
}

/* A frozen weight in few bits would cost a master and moments many times its own size. */
static gboolean
is_trainable (LpTensor *parameter)
{
  return lp_tensor_get_requires_grad (parameter) || lp_dtype_is_native (lp_tensor_get_dtype (parameter));
}

/**
 * lp_param_group_new:
 * @parameters: (element-type LpTensor): parameters
 * @lr: the learning rate
 *
 * Creates a group without weight decay. Parameters that are frozen and stored in an encoded dtype are left out.
 *
 * Returns: (transfer full): the group
 */
LpParamGroup *
lp_param_group_new (GPtrArray *parameters,
                    double     lr)
{
  LpParamGroup *self;

  g_return_val_if_fail (parameters != NULL, NULL);

  self = g_object_new (LP_TYPE_PARAM_GROUP, NULL);
  self->lr = self->base_lr = lr;
  for (guint i = 0; i < parameters->len; i++)
    if (is_trainable (g_ptr_array_index (parameters, i)))
      g_ptr_array_add (self->parameters, g_object_ref (g_ptr_array_index (parameters, i)));

  return self;
}

static GPtrArray *
dup_array (GPtrArray *tensors)
{
  GPtrArray *copy = g_ptr_array_new_full (tensors->len, g_object_unref);

  for (guint i = 0; i < tensors->len; i++)
    g_ptr_array_add (copy, g_object_ref (g_ptr_array_index (tensors, i)));

  return copy;
}

/**
 * lp_param_group_dup_parameters:
 * @self: a group
 *
 * Gets the parameters as they are stored.
 *
 * Returns: (transfer container) (element-type LpTensor): the parameters
 */
GPtrArray *
lp_param_group_dup_parameters (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), NULL);

  return dup_array (self->parameters);
}

/**
 * lp_param_group_dup_masters:
 * @self: a group
 *
 * Gets what a step updates: for each parameter its master, or itself if it has none. The gradient of the parameter is
 * also that of its master while a step runs.
 *
 * Returns: (transfer container) (element-type LpTensor): the masters
 */
GPtrArray *
lp_param_group_dup_masters (LpParamGroup *self)
{
  GPtrArray *masters;

  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), NULL);

  if (!_lp_param_group_prepare (self, NULL))
    return dup_array (self->parameters);

  masters = g_ptr_array_new_full (self->slots->len, g_object_unref);
  for (guint i = 0; i < self->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (self, i);

      g_ptr_array_add (masters, g_object_ref (slot->master != NULL ? slot->master : slot->parameter));
    }

  return masters;
}

/**
 * lp_param_group_get_lr:
 * @self: a group
 *
 * Gets the learning rate of the next step.
 *
 * Returns: the learning rate
 */
double
lp_param_group_get_lr (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), 0);

  return self->lr;
}

static void
set_double (LpParamGroup *self,
            double       *field,
            double        value,
            guint         prop)
{
  if (*field == value)
    return;

  *field = value;
  g_object_notify_by_pspec (G_OBJECT (self), properties[prop]);
}

/**
 * lp_param_group_set_lr:
 * @self: a group
 * @lr: the learning rate
 *
 * Sets the learning rate of the next step.
 */
void
lp_param_group_set_lr (LpParamGroup *self,
                       double        lr)
{
  g_return_if_fail (LP_IS_PARAM_GROUP (self));

  set_double (self, &self->lr, lr, PROP_LR);
}

/**
 * lp_param_group_get_base_lr:
 * @self: a group
 *
 * Gets the learning rate that schedules multiply.
 *
 * Returns: the learning rate
 */
double
lp_param_group_get_base_lr (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), 0);

  return self->base_lr;
}

/**
 * lp_param_group_set_base_lr:
 * @self: a group
 * @base_lr: the learning rate
 *
 * Sets the learning rate that schedules multiply.
 */
void
lp_param_group_set_base_lr (LpParamGroup *self,
                            double        base_lr)
{
  g_return_if_fail (LP_IS_PARAM_GROUP (self));

  set_double (self, &self->base_lr, base_lr, PROP_BASE_LR);
}

/**
 * lp_param_group_get_weight_decay:
 * @self: a group
 *
 * Gets the weight decay.
 *
 * Returns: the weight decay
 */
double
lp_param_group_get_weight_decay (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), 0);

  return self->weight_decay;
}

/**
 * lp_param_group_set_weight_decay:
 * @self: a group
 * @weight_decay: the weight decay
 *
 * Sets the weight decay.
 */
void
lp_param_group_set_weight_decay (LpParamGroup *self,
                                 double        weight_decay)
{
  g_return_if_fail (LP_IS_PARAM_GROUP (self));

  set_double (self, &self->weight_decay, weight_decay, PROP_WEIGHT_DECAY);
}

/**
 * lp_param_group_get_master_dtype:
 * @self: a group
 *
 * Gets the dtype of the master weights of parameters in 16 bits.
 *
 * Returns: (transfer none) (nullable): the dtype, or %NULL for none
 */
LpDType *
lp_param_group_get_master_dtype (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), NULL);

  return self->master_dtype;
}

/**
 * lp_param_group_set_master_dtype:
 * @self: a group
 * @dtype: (nullable): float32, or %NULL for no masters
 * @error: return location for an error
 *
 * Gives parameters in 16 bits master weights, and gradients in float32 from the next backward pass on. Must be called before the
 * first step.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_DTYPE for another dtype than float32, %LP_ERROR_STATE after the first
 *   step
 */
gboolean
lp_param_group_set_master_dtype (LpParamGroup  *self,
                                 LpDType       *dtype,
                                 GError       **error)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), FALSE);
  g_return_val_if_fail (dtype == NULL || LP_IS_DTYPE (dtype), FALSE);

  if (dtype != NULL && dtype != lp_dtype_f32 ())
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "Master weights are f32, not %s", lp_dtype_get_name (dtype));
      return FALSE;
    }
  if (dtype == self->master_dtype)
    return TRUE;
  for (guint i = 0; self->slots != NULL && i < self->slots->len; i++)
    if (_lp_param_group_get_slot (self, i)->step > 0)
      {
        g_set_error_literal (error, LP_ERROR, LP_ERROR_STATE, "Master weights can't be chosen after the first step");
        return FALSE;
      }

  _lp_param_group_clear (self);
  count_wide (self, -1);
  g_set_object (&self->master_dtype, dtype);
  count_wide (self, 1);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MASTER_DTYPE]);

  return TRUE;
}

/**
 * lp_param_group_get_stochastic_rounding:
 * @self: a group
 *
 * Gets whether weights in 16 bits are rounded up or down by chance.
 *
 * Returns: whether they are
 */
gboolean
lp_param_group_get_stochastic_rounding (LpParamGroup *self)
{
  g_return_val_if_fail (LP_IS_PARAM_GROUP (self), FALSE);

  return self->stochastic_rounding;
}

/**
 * lp_param_group_set_stochastic_rounding:
 * @self: a group
 * @stochastic_rounding: whether weights in 16 bits are rounded by chance
 *
 * Sets whether weights in 16 bits are rounded up or down by chance, so that they are right on average.
 */
void
lp_param_group_set_stochastic_rounding (LpParamGroup *self,
                                        gboolean      stochastic_rounding)
{
  g_return_if_fail (LP_IS_PARAM_GROUP (self));

  stochastic_rounding = !!stochastic_rounding;
  if (self->stochastic_rounding == stochastic_rounding)
    return;

  self->stochastic_rounding = stochastic_rounding;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STOCHASTIC_ROUNDING]);
}
