#include <lp/nn/lp-module-private.h>

#include <lp/core/lp-error.h>

static gboolean
walk (LpModule        *self,
      const char      *path,
      GHashTable      *seen,
      LpModuleVisitor  visitor,
      gpointer         user_data)
{
  LpModuleData *data = _lp_module_get_data (self);

  if (!g_hash_table_add (seen, self))
    return TRUE;
  if (!visitor (self, path, user_data))
    return FALSE;

  for (guint i = 0; i < data->children->len; i++)
    {
      LpChild *child = &g_array_index (data->children, LpChild, i);
      g_autofree char *child_path = path[0] != '\0' ? g_strconcat (path, ".", child->name, NULL) : g_strdup (child->name);

      if (!walk (child->module, child_path, seen, visitor, user_data))
        return FALSE;
    }

  return TRUE;
}

void
_lp_module_walk (LpModule        *self,
                 LpModuleVisitor  visitor,
                 gpointer         user_data)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  walk (self, "", seen, visitor, user_data);
}

typedef struct
{
  GHashTable *seen;
  GPtrArray  *tensors;   /* or NULL */
  GPtrArray  *names;     /* or NULL */
  gboolean    buffers;
} Collection;

static gboolean
collect (LpModule   *module,
         const char *path,
         gpointer    user_data)
{
  Collection *collection = user_data;
  LpModuleData *data = _lp_module_get_data (module);
  GArray *slots = collection->buffers ? data->buffers : data->parameters;

  for (guint i = 0; i < slots->len; i++)
    {
      LpSlot *slot = &g_array_index (slots, LpSlot, i);

      if (!g_hash_table_add (collection->seen, slot->tensor))
        continue;
      if (collection->tensors != NULL)
        g_ptr_array_add (collection->tensors, g_object_ref (slot->tensor));
      if (collection->names != NULL)
        g_ptr_array_add (collection->names,
                         path[0] != '\0' ? g_strconcat (path, ".", slot->name, NULL) : g_strdup (slot->name));
    }

  return TRUE;
}

static GPtrArray *
dup_tensors (LpModule *self,
             gboolean  buffers)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  Collection collection = { seen, g_ptr_array_new_with_free_func (g_object_unref), NULL, buffers };

  _lp_module_walk (self, collect, &collection);

  return collection.tensors;
}

static char **
dup_names (LpModule *self,
           gboolean  buffers)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  Collection collection = { seen, NULL, g_ptr_array_new (), buffers };

  _lp_module_walk (self, collect, &collection);
  g_ptr_array_add (collection.names, NULL);

  return (char **) g_ptr_array_free (collection.names, FALSE);
}

/**
 * lp_module_dup_parameters:
 * @self: a module
 *
 * Gets the parameters of the module and all inside it. One that is used in several places is listed once.
 *
 * Returns: (transfer container) (element-type LpTensor): the parameters
 */
GPtrArray *
lp_module_dup_parameters (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  return dup_tensors (self, FALSE);
}

/**
 * lp_module_dup_parameter_names:
 * @self: a module
 *
 * Gets the paths of the parameters, in the order of [method@Module.dup_parameters].
 *
 * Returns: (transfer full) (array zero-terminated=1): the paths
 */
char **
lp_module_dup_parameter_names (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  return dup_names (self, FALSE);
}

/**
 * lp_module_dup_buffers:
 * @self: a module
 *
 * Gets the buffers of the module and all inside it.
 *
 * Returns: (transfer container) (element-type LpTensor): the buffers
 */
GPtrArray *
lp_module_dup_buffers (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  return dup_tensors (self, TRUE);
}

/**
 * lp_module_dup_buffer_names:
 * @self: a module
 *
 * Gets the paths of the buffers, in the order of [method@Module.dup_buffers].
 *
 * Returns: (transfer full) (array zero-terminated=1): the paths
 */
char **
lp_module_dup_buffer_names (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  return dup_names (self, TRUE);
}

/**
 * lp_module_dup_children:
 * @self: a module
 *
 * Gets the modules directly inside this one.
 *
 * Returns: (transfer container) (element-type LpModule): the children
 */
GPtrArray *
lp_module_dup_children (LpModule *self)
{
  LpModuleData *data;
  GPtrArray *modules;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  data = _lp_module_get_data (self);
  modules = g_ptr_array_new_with_free_func (g_object_unref);
  for (guint i = 0; i < data->children->len; i++)
    g_ptr_array_add (modules, g_object_ref (g_array_index (data->children, LpChild, i).module));

  return modules;
}

/**
 * lp_module_dup_child_names:
 * @self: a module
 *
 * Gets the names of the modules directly inside this one.
 *
 * Returns: (transfer full) (array zero-terminated=1): the names
 */
char **
lp_module_dup_child_names (LpModule *self)
{
  LpModuleData *data;
  char **names;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  data = _lp_module_get_data (self);
  names = g_new0 (char *, data->children->len + 1);
  for (guint i = 0; i < data->children->len; i++)
    names[i] = g_strdup (g_array_index (data->children, LpChild, i).name);

  return names;
}

static gboolean
collect_module (LpModule   *module,
                const char *path,
                gpointer    user_data)
{
  g_ptr_array_add (user_data, g_object_ref (module));

  return TRUE;
}

/**
 * lp_module_dup_modules:
 * @self: a module
 *
 * Gets the module itself and all inside it, outer ones first.
 *
 * Returns: (transfer container) (element-type LpModule): the modules
 */
GPtrArray *
lp_module_dup_modules (LpModule *self)
{
  GPtrArray *modules;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  modules = g_ptr_array_new_with_free_func (g_object_unref);
  _lp_module_walk (self, collect_module, modules);

  return modules;
}

static gboolean
collect_path (LpModule   *module,
              const char *path,
              gpointer    user_data)
{
  g_ptr_array_add (user_data, g_strdup (path));

  return TRUE;
}

/**
 * lp_module_dup_module_names:
 * @self: a module
 *
 * Gets the paths of [method@Module.dup_modules], the first of which is empty.
 *
 * Returns: (transfer full) (array zero-terminated=1): the paths
 */
char **
lp_module_dup_module_names (LpModule *self)
{
  GPtrArray *names;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  names = g_ptr_array_new ();
  _lp_module_walk (self, collect_path, names);
  g_ptr_array_add (names, NULL);

  return (char **) g_ptr_array_free (names, FALSE);
}

/* Follows the path up to its last part, which is left in @name. */
static LpModule *
resolve (LpModule    *self,
         const char  *path,
         const char **name)
{
  LpModule *module = self;
  const char *dot;

  while (module != NULL && (dot = strchr (path, '.')) != NULL)
    {
      g_autofree char *part = g_strndup (path, dot - path);

      module = lp_module_lookup_child (module, part);
      path = dot + 1;
    }
  *name = path;

  return module;
}

/**
 * lp_module_lookup_child:
 * @self: a module
 * @path: a path, or the empty string for @self
 *
 * Gets a module by path.
 *
 * Returns: (transfer none) (nullable): the module
 */
LpModule *
lp_module_lookup_child (LpModule   *self,
                        const char *path)
{
  LpModuleData *data;
  const char *name;
  LpModule *parent;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  if (path[0] == '\0')
    return self;

  parent = resolve (self, path, &name);
  if (parent == NULL)
    return NULL;

  data = _lp_module_get_data (parent);
  for (guint i = 0; i < data->children->len; i++)
    if (g_str_equal (g_array_index (data->children, LpChild, i).name, name))
      return g_array_index (data->children, LpChild, i).module;

  return NULL;
}

static LpSlot *
find_slot (LpModule   *self,
           const char *path,
           gboolean    buffer)
{
  const char *name;
  LpModule *parent = resolve (self, path, &name);
  GArray *slots;

  if (parent == NULL)
    return NULL;

  slots = buffer ? _lp_module_get_data (parent)->buffers : _lp_module_get_data (parent)->parameters;
  for (guint i = 0; i < slots->len; i++)
    if (g_str_equal (g_array_index (slots, LpSlot, i).name, name))
      return &g_array_index (slots, LpSlot, i);

  return NULL;
}

static gboolean
check_fits (LpSlot      *slot,
            LpTensor    *tensor,
            const char  *path,
            GError     **error)
{
  g_autoptr (LpShape) expected = lp_tensor_dup_shape (slot->tensor);
  g_autoptr (LpShape) actual = lp_tensor_dup_shape (tensor);
  g_autofree char *expected_text = lp_shape_to_string (expected);
  g_autofree char *actual_text = lp_shape_to_string (actual);

  if (lp_shape_equal (expected, actual))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "“%s” has the shape %s, not %s", path, expected_text, actual_text);
  return FALSE;
}

/**
 * lp_module_lookup_parameter:
 * @self: a module
 * @path: a path
 *
 * Gets a parameter by path.
 *
 * Returns: (transfer none) (nullable): the parameter
 */
LpTensor *
lp_module_lookup_parameter (LpModule   *self,
                            const char *path)
{
  LpSlot *slot;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  slot = find_slot (self, path, FALSE);

  return slot != NULL ? slot->tensor : NULL;
}

/**
 * lp_module_set_parameter:
 * @self: a module
 * @path: the path of a parameter
 * @tensor: a floating tensor of the same shape, which may have another dtype
 * @error: return location for an error
 *
 * Puts another tensor in the place of a parameter. Optimizers that have the old one keep it, so this is for models that
 * have none yet.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_UNKNOWN, %LP_ERROR_SHAPE, %LP_ERROR_DTYPE for integers, %LP_ERROR_STATE
 *   for the result of a recorded operation
 */
gboolean
lp_module_set_parameter (LpModule    *self,
                         const char  *path,
                         LpTensor    *tensor,
                         GError     **error)
{
  LpSlot *slot;
  gboolean requires_grad;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  slot = find_slot (self, path, FALSE);
  if (slot == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_UNKNOWN, "The %s has no parameter “%s”", G_OBJECT_TYPE_NAME (self), path);
      return FALSE;
    }
  if (!check_fits (slot, tensor, path, error))
    return FALSE;
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "The parameter “%s” can't be %s: only floating tensors are trained",
                   path, lp_dtype_get_name (lp_tensor_get_dtype (tensor)));
      return FALSE;
    }
  if (!lp_tensor_is_leaf (tensor))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE,
                   "The parameter “%s” can't be the result of a recorded operation; detach it first", path);
      return FALSE;
    }

  requires_grad = lp_tensor_get_requires_grad (slot->tensor);
  g_set_object (&slot->tensor, tensor);
  lp_tensor_set_requires_grad (tensor, requires_grad);

  return TRUE;
}

/**
 * lp_module_lookup_buffer:
 * @self: a module
 * @path: a path
 *
 * Gets a buffer by path.
 *
 * Returns: (transfer none) (nullable): the buffer
 */
LpTensor *
lp_module_lookup_buffer (LpModule   *self,
                         const char *path)
{
  LpSlot *slot;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  slot = find_slot (self, path, TRUE);

  return slot != NULL ? slot->tensor : NULL;
}

/**
 * lp_module_set_buffer:
 * @self: a module
 * @path: the path of a buffer
 * @tensor: a tensor of the same shape
 * @error: return location for an error
 *
 * Puts another tensor in the place of a buffer.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_UNKNOWN, %LP_ERROR_SHAPE
 */
gboolean
lp_module_set_buffer (LpModule    *self,
                      const char  *path,
                      LpTensor    *tensor,
                      GError     **error)
{
  LpSlot *slot;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  slot = find_slot (self, path, TRUE);
  if (slot == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_UNKNOWN, "The %s has no buffer “%s”", G_OBJECT_TYPE_NAME (self), path);
      return FALSE;
    }
  if (!check_fits (slot, tensor, path, error))
    return FALSE;

  g_set_object (&slot->tensor, tensor);

  return TRUE;
}
