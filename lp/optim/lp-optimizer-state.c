#include <lp/optim/lp-optimizer-private.h>

#include <math.h>

#include <lp/core/lp-error.h>

gboolean
_lp_variant_to_double (GVariant *variant,
                       double   *value)
{
  if (g_variant_is_of_type (variant, G_VARIANT_TYPE_VARIANT))
    {
      g_autoptr (GVariant) inner = g_variant_get_variant (variant);

      return _lp_variant_to_double (inner, value);
    }
  if (g_variant_is_of_type (variant, G_VARIANT_TYPE_DOUBLE))
    *value = g_variant_get_double (variant);
  else if (g_variant_is_of_type (variant, G_VARIANT_TYPE_INT64))
    *value = g_variant_get_int64 (variant);
  else if (g_variant_is_of_type (variant, G_VARIANT_TYPE_INT32))
    *value = g_variant_get_int32 (variant);
  else if (g_variant_is_of_type (variant, G_VARIANT_TYPE_UINT32))
    *value = g_variant_get_uint32 (variant);
  else
    return FALSE;

  return TRUE;
}

static gboolean
get_number (LpState    *state,
            const char *name,
            double     *value)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  return variant != NULL && _lp_variant_to_double (variant, value);
}

static gboolean
to_count (double  number,
          gint64 *count)
{
  if (!(number >= 0 && number <= 0x1p53))
    return FALSE;
  *count = (gint64) number;

  return TRUE;
}

gboolean
_lp_state_get_count (LpState    *state,
                     const char *name,
                     gint64     *count)
{
  double number;

  return get_number (state, name, &number) && to_count (number, count);
}

/* NULL when there are not exactly @n. */
static double *
dup_numbers (LpState    *state,
             const char *name,
             gsize       n)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);
  g_autofree double *values = g_new (double, n + 1);

  if (variant == NULL || !g_variant_is_container (variant) || g_variant_n_children (variant) != n)
    return NULL;

  for (gsize i = 0; i < n; i++)
    {
      g_autoptr (GVariant) child = g_variant_get_child_value (variant, i);

      if (!_lp_variant_to_double (child, &values[i]))
        return NULL;
    }

  return g_steal_pointer (&values);
}

static GVariant *
new_doubles (const double *values,
             gsize         n)
{
  return g_variant_new_fixed_array (G_VARIANT_TYPE_DOUBLE, values, n, sizeof (double));
}

typedef double (* GroupGetter) (LpParamGroup *group);

static void
save_groups (LpOptimizer *self,
             LpState     *state,
             const char  *name,
             GroupGetter  get)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  g_autofree double *values = g_new (double, data->groups->len + 1);

  for (guint i = 0; i < data->groups->len; i++)
    values[i] = get (g_ptr_array_index (data->groups, i));
  lp_state_set_value (state, name, new_doubles (values, data->groups->len));
}

static char *
slot_name (guint       group,
           guint       slot,
           const char *what)
{
  return g_strdup_printf ("%u.%u.%s", group, slot, what);
}

static const char *const moment_names[LP_N_MOMENTS] = { "moment1", "moment2" };

static void
save_slot (LpState      *state,
           LpParamGroup *group,
           guint         group_index,
           guint         index)
{
  LpParamSlot *slot = _lp_param_group_get_slot (group, index);
  LpParamBucket *bucket = _lp_param_group_get_bucket (group, slot->bucket);

  for (guint i = 0; i < LP_N_MOMENTS; i++)
    {
      g_autofree char *name = slot_name (group_index, index, moment_names[i]);
      g_autoptr (LpTensor) view = NULL;

      if (bucket->moments[i] == NULL || slot->step == 0)
        continue;
      view = _lp_param_slot_view_moment (slot, bucket->moments[i]);
      lp_tensor_dict_set (lp_state_get_tensors (state), name, view);
    }
  if (slot->master != NULL)
    {
      g_autofree char *name = slot_name (group_index, index, "master");
      g_autoptr (LpTensor) view = _lp_tensor_detach (slot->master);

      lp_tensor_dict_set (lp_state_get_tensors (state), name, view);
    }
}

static gboolean
save_group (LpOptimizer  *self,
            LpState      *state,
            guint         i,
            GError      **error)
{
  LpParamGroup *group = g_ptr_array_index (_lp_optimizer_get_data (self)->groups, i);
  g_autofree char *name = g_strdup_printf ("%u.steps", i);
  g_autofree double *steps = g_new (double, group->parameters->len + 1);

  if (!_lp_param_group_prepare (group, error))
    return FALSE;

  for (guint j = 0; j < group->slots->len; j++)
    {
      steps[j] = _lp_param_group_get_slot (group, j)->step;
      save_slot (state, group, i, j);
    }
  lp_state_set_value (state, name, new_doubles (steps, group->slots->len));

  return TRUE;
}

LpState *
_lp_optimizer_real_save_state (LpOptimizer  *self,
                               GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  g_autoptr (LpState) state = lp_state_new ();

  lp_state_set_value (state, "step-count", g_variant_new_int64 (data->step_count));
  lp_state_set_value (state, "n-skipped", g_variant_new_int64 (data->n_skipped));
  save_groups (self, state, "lr", lp_param_group_get_lr);
  save_groups (self, state, "base-lr", lp_param_group_get_base_lr);
  save_groups (self, state, "weight-decay", lp_param_group_get_weight_decay);
  for (guint i = 0; i < data->groups->len; i++)
    if (!save_group (self, state, i, error))
      return NULL;

  return g_steal_pointer (&state);
}

static gboolean
fail (LpOptimizer  *self,
      const char   *what,
      GError      **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state is not of this %s: its “%s” is missing or doesn't fit",
               G_OBJECT_TYPE_NAME (self), what);
  return FALSE;
}

static gboolean
fail_value (LpOptimizer  *self,
            const char   *what,
            double        value,
            const char   *wanted,
            GError      **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The saved “%s” of a %s is %g, which is not %s", what, G_OBJECT_TYPE_NAME (self), value,
               wanted);
  return FALSE;
}

static gboolean
load_tensor (LpOptimizer  *self,
             LpState      *state,
             const char   *name,
             LpTensor     *target,
             GError      **error)
{
  LpTensor *source = lp_tensor_dict_lookup (lp_state_get_tensors (state), name);
  g_autoptr (LpShape) expected = lp_tensor_dup_shape (target);
  g_autoptr (LpShape) actual = source != NULL ? lp_tensor_dup_shape (source) : NULL;

  if (source == NULL || !lp_shape_equal (expected, actual))
    return fail (self, name, error);

  return lp_tensor_assign (target, source, error);
}

static gboolean
load_moment (LpOptimizer   *self,
             LpState       *state,
             LpParamGroup  *group,
             guint          index,
             guint          i,
             const char    *name,
             GError       **error)
{
  LpParamSlot *slot = _lp_param_group_get_slot (group, index);
  LpTensor *flat = _lp_param_group_get_moment (group, slot->bucket, i, error);
  g_autoptr (LpTensor) view = NULL;

  if (flat == NULL)
    return FALSE;
  view = _lp_param_slot_view_moment (slot, flat);

  return load_tensor (self, state, name, view, error);
}

/* State of an optimizer with masters, taken by one that has none: the parameter gets what its dtype holds of them. */
static gboolean
load_wider (LpOptimizer  *self,
            LpState      *state,
            LpParamSlot  *slot,
            guint         group_index,
            guint         index,
            GError      **error)
{
  g_autofree char *name = slot_name (group_index, index, "master");

  if (lp_tensor_dict_lookup (lp_state_get_tensors (state), name) == NULL)
    return TRUE;

  return load_tensor (self, state, name, slot->parameter, error);
}

static gboolean
load_slot (LpOptimizer   *self,
           LpState       *state,
           LpParamGroup  *group,
           guint          group_index,
           guint          index,
           GError       **error)
{
  LpParamSlot *slot = _lp_param_group_get_slot (group, index);

  for (guint i = 0; i < LP_N_MOMENTS; i++)
    {
      g_autofree char *name = slot_name (group_index, index, moment_names[i]);

      if (lp_tensor_dict_lookup (lp_state_get_tensors (state), name) != NULL &&
          !load_moment (self, state, group, index, i, name, error))
        return FALSE;
    }
  if (slot->master != NULL)
    {
      g_autofree char *name = slot_name (group_index, index, "master");

      /* without one the master is what the stored weight says */
      if (lp_tensor_dict_lookup (lp_state_get_tensors (state), name) == NULL)
        return lp_tensor_assign (slot->master, slot->parameter, error);
      return load_tensor (self, state, name, slot->master, error);
    }

  return load_wider (self, state, slot, group_index, index, error);
}

/* What is frozen is no parameter of an optimizer's, so this is what it looks like when it is not so on both sides. */
static gboolean
fail_steps (LpOptimizer   *self,
            LpState       *state,
            guint          i,
            const char    *name,
            LpParamGroup  *group,
            GError       **error)
{
  g_autoptr (GVariant) steps = lp_state_dup_value (state, name);

  if (steps == NULL || !g_variant_is_container (steps) || g_variant_n_children (steps) == group->parameters->len)
    return fail (self, name, error);

  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state is of a %s of %" G_GSIZE_FORMAT " parameters in group %u, and this one "
               "has %u: give it the same ones; weights that are frozen or stored in few bits, and adapters, make the difference",
               G_OBJECT_TYPE_NAME (self), g_variant_n_children (steps), i, group->parameters->len);
  return FALSE;
}

static gboolean
load_group (LpOptimizer  *self,
            LpState      *state,
            guint         i,
            GError      **error)
{
  LpParamGroup *group = g_ptr_array_index (_lp_optimizer_get_data (self)->groups, i);
  g_autofree char *name = g_strdup_printf ("%u.steps", i);
  g_autofree double *steps = dup_numbers (state, name, group->parameters->len);

  if (!_lp_param_group_prepare (group, error))
    return FALSE;
  if (steps == NULL)
    return fail_steps (self, state, i, name, group, error);

  for (guint j = 0; j < group->slots->len; j++)
    {
      if (!load_slot (self, state, group, i, j, error))
        return FALSE;
      if (!to_count (steps[j], &_lp_param_group_get_slot (group, j)->step))
        return fail_value (self, name, steps[j], "a count of steps", error);
    }

  return TRUE;
}

/* TRUE when it said something: once is enough. */
static gboolean
tell_about_moment (LpOptimizer  *self,
                   LpState      *state,
                   LpParamGroup *group,
                   guint         group_index,
                   guint         index)
{
  LpDType *kept = _lp_param_group_get_bucket (group, _lp_param_group_get_slot (group, index)->bucket)->moment_dtype;
  g_autofree char *name = slot_name (group_index, index, moment_names[0]);
  LpTensor *saved = lp_tensor_dict_lookup (lp_state_get_tensors (state), name);

  if (saved == NULL || lp_dtype_get_bits (saved->array.dtype) <= lp_dtype_get_bits (kept))
    return FALSE;

  g_message ("%s: moments were saved in %s, and are rounded to %s", G_OBJECT_TYPE_NAME (self),
             lp_dtype_get_name (saved->array.dtype), lp_dtype_get_name (kept));

  return TRUE;
}

static void
tell_about_moments (LpOptimizer *self,
                    LpState     *state)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      for (guint j = 0; j < group->slots->len; j++)
        if (tell_about_moment (self, state, group, i, j))
          return;
    }
}

/* Relatives outside LP don't count what they skip. */
static gboolean
get_count (LpOptimizer  *self,
           LpState      *state,
           const char   *name,
           gint64       *count,
           GError      **error)
{
  g_autoptr (GVariant) value = lp_state_dup_value (state, name);
  double number = 0;

  if (value == NULL ? g_str_equal (name, "step-count") : !_lp_variant_to_double (value, &number))
    return fail (self, name, error);

  return to_count (number, count) || fail_value (self, name, number, "a count of steps", error);
}

static double *
get_groups (LpOptimizer  *self,
            LpState      *state,
            const char   *name,
            GError      **error)
{
  guint n = _lp_optimizer_get_data (self)->groups->len;
  g_autofree double *values = dup_numbers (state, name, n);

  if (values == NULL)
    {
      fail (self, name, error);
      return NULL;
    }
  for (guint i = 0; i < n; i++)
    if (!(values[i] >= 0 && isfinite (values[i])))
      {
        fail_value (self, name, values[i], "a finite number that is not below 0", error);
        return NULL;
      }

  return g_steal_pointer (&values);
}

gboolean
_lp_optimizer_real_load_state (LpOptimizer  *self,
                               LpState      *state,
                               GError      **error)
{
  LpOptimizerData *data = _lp_optimizer_get_data (self);
  g_autofree double *lr = get_groups (self, state, "lr", error);
  g_autofree double *base_lr = lr != NULL ? get_groups (self, state, "base-lr", error) : NULL;
  g_autofree double *weight_decay = base_lr != NULL ? get_groups (self, state, "weight-decay", error) : NULL;
  gint64 step_count, n_skipped = 0;

  if (weight_decay == NULL)
    return FALSE;
  if (!get_count (self, state, "step-count", &step_count, error) ||
      !get_count (self, state, "n-skipped", &n_skipped, error))
    return FALSE;

  for (guint i = 0; i < data->groups->len; i++)
    if (!load_group (self, state, i, error))
      return FALSE;
  tell_about_moments (self, state);

  for (guint i = 0; i < data->groups->len; i++)
    {
      LpParamGroup *group = g_ptr_array_index (data->groups, i);

      lp_param_group_set_lr (group, lr[i]);
      lp_param_group_set_base_lr (group, base_lr[i]);
      lp_param_group_set_weight_decay (group, weight_decay[i]);
    }
  data->step_count = step_count;
  data->n_skipped = n_skipped;

  return TRUE;
}

/**
 * lp_optimizer_save_state:
 * @self: an optimizer
 * @error: return location for an error
 *
 * Gets what the optimizer needs to go on after a restart: counts, learning rates, moments and masters. The tensors share
 * memory with the optimizer's.
 *
 * Returns: (transfer full): the state. Errors: %LP_ERROR_SUBCLASS for a subclass that gives nothing
 */
LpState *
lp_optimizer_save_state (LpOptimizer  *self,
                         GError      **error)
{
  GError *local = NULL;
  LpState *state;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), NULL);

  if (!_lp_optimizer_check (self, error))
    return NULL;

  state = LP_OPTIMIZER_GET_CLASS (self)->save_state (self, &local);
  if (state != NULL && local == NULL)
    return state;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.save_state gave nothing and no error",
                 G_OBJECT_TYPE_NAME (self));
  g_clear_object (&state);
  g_propagate_error (error, local);

  return NULL;
}

/**
 * lp_optimizer_load_state:
 * @self: an optimizer with the same groups and parameters
 * @state: what [method@Optimizer.save_state] gave
 * @error: return location for an error
 *
 * Takes saved state back. Moments are converted to the dtype that this optimizer keeps them in; a message is logged where that
 * has fewer bits.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_FORMAT for state of another optimizer
 */
gboolean
lp_optimizer_load_state (LpOptimizer  *self,
                         LpState      *state,
                         GError      **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_OPTIMIZER (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!_lp_optimizer_check (self, error))
    return FALSE;

  ok = LP_OPTIMIZER_GET_CLASS (self)->load_state (self, state, &local);
  if (ok && local == NULL)
    return TRUE;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.load_state returned FALSE without an error",
                 G_OBJECT_TYPE_NAME (self));
  g_propagate_error (error, local);

  return FALSE;
}
