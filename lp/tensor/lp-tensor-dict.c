#include <lp/tensor/lp-tensor-dict.h>

/**
 * LpTensorDict:
 *
 * Tensors by name, in the order in which they were added.
 */
struct _LpTensorDict
{
  GObject     parent_instance;

  GHashTable *tensors;
  GPtrArray  *names;   /* the keys, owned here */
};

G_DEFINE_FINAL_TYPE (LpTensorDict, lp_tensor_dict, G_TYPE_OBJECT)

static void
lp_tensor_dict_finalize (GObject *object)
{
  LpTensorDict *self = LP_TENSOR_DICT (object);

  g_hash_table_unref (self->tensors);
  g_ptr_array_unref (self->names);

  G_OBJECT_CLASS (lp_tensor_dict_parent_class)->finalize (object);
}

static void
lp_tensor_dict_class_init (LpTensorDictClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_tensor_dict_finalize;
}

static void
lp_tensor_dict_init (LpTensorDict *self)
{
  self->tensors = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_object_unref);
  self->names = g_ptr_array_new_with_free_func (g_free);
}

/**
 * lp_tensor_dict_new:
 *
 * Creates an empty dictionary.
 *
 * Returns: (transfer full): the dictionary
 */
LpTensorDict *
lp_tensor_dict_new (void)
{
  return g_object_new (LP_TYPE_TENSOR_DICT, NULL);
}

/**
 * lp_tensor_dict_set:
 * @self: a dictionary
 * @name: a name
 * @tensor: a tensor
 *
 * Adds a tensor, or replaces the one of that name in its place.
 */
void
lp_tensor_dict_set (LpTensorDict *self,
                    const char   *name,
                    LpTensor     *tensor)
{
  gpointer key;

  g_return_if_fail (LP_IS_TENSOR_DICT (self));
  g_return_if_fail (name != NULL);
  g_return_if_fail (LP_IS_TENSOR (tensor));

  if (!g_hash_table_lookup_extended (self->tensors, name, &key, NULL))
    {
      key = g_strdup (name);
      g_ptr_array_add (self->names, key);
    }
  g_hash_table_insert (self->tensors, key, g_object_ref (tensor));
}

/**
 * lp_tensor_dict_lookup:
 * @self: a dictionary
 * @name: a name
 *
 * Gets a tensor by name.
 *
 * Returns: (transfer none) (nullable): the tensor
 */
LpTensor *
lp_tensor_dict_lookup (LpTensorDict *self,
                       const char   *name)
{
  g_return_val_if_fail (LP_IS_TENSOR_DICT (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  return g_hash_table_lookup (self->tensors, name);
}

/**
 * lp_tensor_dict_remove:
 * @self: a dictionary
 * @name: a name
 *
 * Removes a tensor.
 *
 * Returns: whether there was one of that name
 */
gboolean
lp_tensor_dict_remove (LpTensorDict *self,
                       const char   *name)
{
  gpointer key;

  g_return_val_if_fail (LP_IS_TENSOR_DICT (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  if (!g_hash_table_lookup_extended (self->tensors, name, &key, NULL))
    return FALSE;

  g_hash_table_remove (self->tensors, name);
  g_ptr_array_remove (self->names, key);

  return TRUE;
}

/**
 * lp_tensor_dict_get_size:
 * @self: a dictionary
 *
 * Gets the number of tensors.
 *
 * Returns: how many there are
 */
guint
lp_tensor_dict_get_size (LpTensorDict *self)
{
  g_return_val_if_fail (LP_IS_TENSOR_DICT (self), 0);

  return self->names->len;
}

/**
 * lp_tensor_dict_dup_names:
 * @self: a dictionary
 *
 * Gets the names, in order.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names
 */
char **
lp_tensor_dict_dup_names (LpTensorDict *self)
{
  GStrvBuilder *builder;
  char **names;

  g_return_val_if_fail (LP_IS_TENSOR_DICT (self), NULL);

  builder = g_strv_builder_new ();
  for (guint i = 0; i < self->names->len; i++)
    g_strv_builder_add (builder, g_ptr_array_index (self->names, i));
  names = g_strv_builder_end (builder);
  g_strv_builder_unref (builder);

  return names;
}
