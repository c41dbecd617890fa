#include <lp/tensor/lp-state.h>

/**
 * LpState:
 *
 * What an object saves of itself: a few plain values, which go to JSON, and tensors, which go to safetensors.
 */
struct _LpState
{
  GObject       parent_instance;

  GVariantDict *values;
  LpTensorDict *tensors;
};

G_DEFINE_FINAL_TYPE (LpState, lp_state, G_TYPE_OBJECT)

static void
lp_state_finalize (GObject *object)
{
  LpState *self = LP_STATE (object);

  g_variant_dict_unref (self->values);
  g_object_unref (self->tensors);

  G_OBJECT_CLASS (lp_state_parent_class)->finalize (object);
}

static void
lp_state_class_init (LpStateClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_state_finalize;
}

static void
lp_state_init (LpState *self)
{
  self->values = g_variant_dict_new (NULL);
  self->tensors = lp_tensor_dict_new ();
}

/**
 * lp_state_new:
 *
 * Creates an empty state.
 *
 * Returns: (transfer full): the state
 */
LpState *
lp_state_new (void)
{
  return g_object_new (LP_TYPE_STATE, NULL);
}

/**
 * lp_state_new_full:
 * @values: (nullable): an `a{sv}`
 * @tensors: (nullable): tensors
 *
 * Creates a state from its parts.
 *
 * Returns: (transfer full): the state
 */
LpState *
lp_state_new_full (GVariant     *values,
                   LpTensorDict *tensors)
{
  LpState *self = lp_state_new ();

  if (values != NULL)
    {
      g_variant_dict_unref (self->values);
      self->values = g_variant_dict_new (values);
    }
  if (tensors != NULL)
    g_set_object (&self->tensors, tensors);

  return self;
}

/**
 * lp_state_set_value:
 * @self: a state
 * @name: a name
 * @value: a plain value: a boolean, number, string, or array or dictionary of these
 *
 * Adds or replaces a value.
 */
void
lp_state_set_value (LpState    *self,
                    const char *name,
                    GVariant   *value)
{
  g_return_if_fail (LP_IS_STATE (self));
  g_return_if_fail (name != NULL);
  g_return_if_fail (value != NULL);

  g_variant_dict_insert_value (self->values, name, value);
}

/**
 * lp_state_dup_value:
 * @self: a state
 * @name: a name
 *
 * Gets a value.
 *
 * Returns: (transfer full) (nullable): the value
 */
GVariant *
lp_state_dup_value (LpState    *self,
                    const char *name)
{
  g_return_val_if_fail (LP_IS_STATE (self), NULL);

  return g_variant_dict_lookup_value (self->values, name, NULL);
}

/**
 * lp_state_dup_values:
 * @self: a state
 *
 * Gets all values as an `a{sv}`.
 *
 * Returns: (transfer full): the values
 */
GVariant *
lp_state_dup_values (LpState *self)
{
  GVariant *values;

  g_return_val_if_fail (LP_IS_STATE (self), NULL);

  values = g_variant_ref_sink (g_variant_dict_end (self->values));
  g_variant_dict_unref (self->values);
  self->values = g_variant_dict_new (values);

  return values;
}

/**
 * lp_state_get_tensors:
 * @self: a state
 *
 * Gets the tensors; they can be added to.
 *
 * Returns: (transfer none): the tensors
 */
LpTensorDict *
lp_state_get_tensors (LpState *self)
{
  g_return_val_if_fail (LP_IS_STATE (self), NULL);

  return self->tensors;
}

/**
 * lp_state_is_empty:
 * @self: a state
 *
 * Gets whether there is nothing in it.
 *
 * Returns: whether it is empty
 */
gboolean
lp_state_is_empty (LpState *self)
{
  g_autoptr (GVariant) values = NULL;

  g_return_val_if_fail (LP_IS_STATE (self), TRUE);

  values = lp_state_dup_values (self);

  return g_variant_n_children (values) == 0 && lp_tensor_dict_get_size (self->tensors) == 0;
}
