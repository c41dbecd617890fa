#include <lp/nn/lp-module-private.h>

#include <lp/autograd/lp-compute-scope-private.h>
#include <lp/core/lp-error.h>

/**
 * LpModule:
 *
 * A part of a network: parameters, buffers, modules inside it, and the function that they compute.
 *
 * A subclass registers what it is made of under names, and overrides forward. A parameter is a tensor that an optimizer
 * changes; a buffer is one that is saved with the module and changed by the module itself. Names make paths:
 * `features.0.weight` is the parameter `weight` of the child `0` of the child `features`.
 *
 * What a module is made of can be exchanged, by a precision plugin for example: a subclass that keeps a child or a
 * parameter beside its registration has to look it up in forward.
 *
 * New parameters and buffers have the default dtype of the thread, see [func@default_dtype_push].
 */

typedef LpModuleData LpModulePrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpModule, lp_module, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_TRAINING,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

LpModuleData *
_lp_module_get_data (LpModule *self)
{
  return lp_module_get_instance_private (self);
}

static LpTensor *
lp_module_real_forward (LpModule  *self,
                        LpTensor  *input,
                        GError   **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement forward", G_OBJECT_TYPE_NAME (self));
  return NULL;
}

static void
lp_module_get_property (GObject    *object,
                        guint       prop_id,
                        GValue     *value,
                        GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_TRAINING:
      g_value_set_boolean (value, lp_module_get_training (LP_MODULE (object)));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_module_set_property (GObject      *object,
                        guint         prop_id,
                        const GValue *value,
                        GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_TRAINING:
      lp_module_set_training (LP_MODULE (object), g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_module_finalize (GObject *object)
{
  LpModuleData *data = _lp_module_get_data (LP_MODULE (object));

  g_array_unref (data->parameters);
  g_array_unref (data->buffers);
  g_array_unref (data->children);
  g_clear_error (&data->problem);

  G_OBJECT_CLASS (lp_module_parent_class)->finalize (object);
}

static void
lp_module_class_init (LpModuleClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_module_get_property;
  object_class->set_property = lp_module_set_property;
  object_class->finalize = lp_module_finalize;
  klass->forward = lp_module_real_forward;

  /**
   * LpModule:training: (getter get_training) (setter set_training)
   *
   * Whether layers such as dropout behave as in training. Setting it reaches all modules inside.
   */
  properties[PROP_TRAINING] =
    g_param_spec_boolean ("training", NULL, NULL, TRUE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
clear_slot (gpointer slot)
{
  g_clear_object (&((LpSlot *) slot)->tensor);
}

static void
clear_child (gpointer child)
{
  g_clear_object (&((LpChild *) child)->module);
}

static GArray *
new_array (gsize          size,
           GDestroyNotify clear)
{
  GArray *array = g_array_new (FALSE, FALSE, size);

  g_array_set_clear_func (array, clear);

  return array;
}

static void
lp_module_init (LpModule *self)
{
  LpModuleData *data = _lp_module_get_data (self);

  data->parameters = new_array (sizeof (LpSlot), clear_slot);
  data->buffers = new_array (sizeof (LpSlot), clear_slot);
  data->children = new_array (sizeof (LpChild), clear_child);
  data->path = g_intern_static_string ("");
  data->training = TRUE;
}

void
_lp_module_take_problem (LpModule *self,
                         GError   *problem)
{
  LpModuleData *data = _lp_module_get_data (self);

  if (data->problem == NULL)
    data->problem = problem;
  else
    g_error_free (problem);
}

gboolean
_lp_module_check_at_least (LpModule   *self,
                           const char *what,
                           gint64      value,
                           gint64      least)
{
  if (value >= least)
    return TRUE;

  _lp_module_take_problem (self, g_error_new (LP_ERROR, LP_ERROR_ARGUMENT,
                                              "The %s of a %s is at least %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                                              what, G_OBJECT_TYPE_NAME (self), least, value));
  return FALSE;
}

LpTensor *
_lp_module_add_parameter (LpModule     *self,
                          const char   *name,
                          const gint64 *dims,
                          int           n_dims)
{
  GError *error = NULL;
  g_autoptr (LpTensor) tensor = lp_tensor_empty (dims, n_dims, NULL, NULL, &error);

  if (tensor == NULL || !lp_module_register_parameter (self, name, tensor, &error))
    {
      _lp_module_take_problem (self, error);
      return NULL;
    }

  return tensor;
}

LpTensor *
_lp_module_add_buffer (LpModule     *self,
                       const char   *name,
                       const gint64 *dims,
                       int           n_dims,
                       double        value)
{
  GError *error = NULL;
  g_autoptr (LpTensor) tensor = lp_tensor_full (dims, n_dims, value, NULL, NULL, &error);

  if (tensor == NULL || !lp_module_register_buffer (self, name, tensor, &error))
    {
      _lp_module_take_problem (self, error);
      return NULL;
    }

  return tensor;
}

static LpTensor *
check_output (LpModule  *self,
              LpTensor  *output,
              GError    *local,
              GError   **error)
{
  if (local == NULL && output != NULL && LP_IS_TENSOR (output))
    return output;

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.forward returned no tensor and no error",
                 G_OBJECT_TYPE_NAME (self));
  g_clear_object (&output);
  g_propagate_error (error, local);

  return NULL;
}

/**
 * lp_module_forward:
 * @self: a module
 * @input: the input
 * @error: return location for an error
 *
 * Computes the output for an input. Given %NULL while @error is already set, it returns %NULL and leaves the error
 * alone, so that calls can be chained and checked once.
 *
 * Returns: (transfer full): the output. Errors: those of the module; %LP_ERROR_SUBCLASS for a subclass that returns
 *   nothing
 */
LpTensor *
lp_module_forward (LpModule  *self,
                   LpTensor  *input,
                   GError   **error)
{
  LpModuleData *data;
  const char *site;
  GError *local = NULL;
  LpTensor *output;

  if (input == NULL)
    return NULL;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (input), NULL);

  data = _lp_module_get_data (self);
  if (G_UNLIKELY (data->problem != NULL))
    {
      if (error != NULL)
        *error = g_error_copy (data->problem);
      return NULL;
    }

  site = _lp_site_push (data->path);
  output = LP_MODULE_GET_CLASS (self)->forward (self, input, &local);
  _lp_site_pop (site);

  if (G_LIKELY (local == NULL && output != NULL))
    {
      if (G_LIKELY (LP_IS_TENSOR (output)))
        return output;
    }

  return check_output (self, output, local, error);
}

static gboolean
check_module (LpModule   *module,
              const char *path,
              gpointer    user_data)
{
  GError **problem = user_data;
  LpModuleData *data = _lp_module_get_data (module);

  if (data->problem != NULL)
    *problem = g_error_copy (data->problem);

  return *problem == NULL;
}

/**
 * lp_module_check:
 * @self: a module
 * @error: return location for an error
 *
 * Finds out whether this module and all inside it could be built as they were asked to be. Until then a module that
 * was given impossible sizes fails in forward.
 *
 * Returns: %TRUE if all is well. Errors: %LP_ERROR_ARGUMENT, %LP_ERROR_SHAPE or %LP_ERROR_MEMORY
 */
gboolean
lp_module_check (LpModule  *self,
                 GError   **error)
{
  GError *problem = NULL;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);

  _lp_module_walk (self, check_module, &problem);
  if (problem != NULL)
    g_propagate_error (error, problem);

  return problem == NULL;
}

static gboolean
check_new_name (LpModule    *self,
                const char  *name,
                GError     **error)
{
  if (name[0] != '\0' && strchr (name, '.') == NULL && g_utf8_validate (name, -1, NULL))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "“%s” can't be a name in a %s: it has to be text without dots", name,
               G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static gboolean
has_slot (GArray     *slots,
          const char *name)
{
  for (guint i = 0; i < slots->len; i++)
    if (g_array_index (slots, LpSlot, i).name == name)
      return TRUE;

  return FALSE;
}

static gboolean
has_child (GArray     *children,
           const char *name)
{
  for (guint i = 0; i < children->len; i++)
    if (g_array_index (children, LpChild, i).name == name)
      return TRUE;

  return FALSE;
}

/* The interned name, or NULL when it can't be used. */
static const char *
take_name (LpModule    *self,
           const char  *name,
           GError     **error)
{
  LpModuleData *data = _lp_module_get_data (self);
  const char *interned;

  if (!check_new_name (self, name, error))
    return NULL;

  interned = g_intern_string (name);
  if (!has_slot (data->parameters, interned) && !has_slot (data->buffers, interned) &&
      !has_child (data->children, interned))
    return interned;

  g_set_error (error, LP_ERROR, LP_ERROR_EXISTS, "The %s has a “%s” already", G_OBJECT_TYPE_NAME (self), name);
  return NULL;
}

/**
 * lp_module_register_parameter:
 * @self: a module
 * @name: a name without dots
 * @tensor: a floating tensor
 * @error: return location for an error
 *
 * Adds a parameter, which requires a gradient from now on.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT, %LP_ERROR_EXISTS, %LP_ERROR_DTYPE for integers,
 *   %LP_ERROR_STATE for the result of an operation
 */
gboolean
lp_module_register_parameter (LpModule    *self,
                              const char  *name,
                              LpTensor    *tensor,
                              GError     **error)
{
  LpSlot slot;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  slot.name = take_name (self, name, error);
  if (slot.name == NULL)
    return FALSE;
  if (!lp_dtype_is_floating (lp_tensor_get_dtype (tensor)))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "The parameter “%s” can't be %s: only floating tensors are trained",
                   name, lp_dtype_get_name (lp_tensor_get_dtype (tensor)));
      return FALSE;
    }
  if (!lp_tensor_is_leaf (tensor))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE,
                   "The parameter “%s” can't be the result of a recorded operation; detach it first", name);
      return FALSE;
    }

  lp_tensor_set_requires_grad (tensor, TRUE);
  slot.tensor = g_object_ref (tensor);
  g_array_append_val (_lp_module_get_data (self)->parameters, slot);

  return TRUE;
}

/**
 * lp_module_register_buffer:
 * @self: a module
 * @name: a name without dots
 * @tensor: a tensor
 * @error: return location for an error
 *
 * Adds a buffer.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT, %LP_ERROR_EXISTS
 */
gboolean
lp_module_register_buffer (LpModule    *self,
                           const char  *name,
                           LpTensor    *tensor,
                           GError     **error)
{
  LpSlot slot;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), FALSE);

  slot.name = take_name (self, name, error);
  if (slot.name == NULL)
    return FALSE;

  slot.tensor = g_object_ref (tensor);
  g_array_append_val (_lp_module_get_data (self)->buffers, slot);

  return TRUE;
}

static gboolean
is_not (LpModule   *module,
        const char *path,
        gpointer    user_data)
{
  gpointer *search = user_data;

  if (search[0] == module)
    search[1] = module;

  return search[1] == NULL;
}

static gboolean
check_no_cycle (LpModule    *self,
                const char  *name,
                LpModule    *child,
                GError     **error)
{
  gpointer search[2] = { self, NULL };

  _lp_module_walk (child, is_not, search);
  if (search[1] == NULL)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The %s “%s” can't be inside a %s that is inside it",
               G_OBJECT_TYPE_NAME (child), name, G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static void
set_path (LpModule   *self,
          const char *parent,
          const char *name)
{
  LpModuleData *data = _lp_module_get_data (self);
  g_autofree char *path = parent[0] != '\0' ? g_strconcat (parent, ".", name, NULL) : g_strdup (name);

  data->path = g_intern_string (path);
  for (guint i = 0; i < data->children->len; i++)
    {
      LpChild *child = &g_array_index (data->children, LpChild, i);

      set_path (child->module, data->path, child->name);
    }
}

/**
 * lp_module_register_child:
 * @self: a module
 * @name: a name without dots
 * @child: a module
 * @error: return location for an error
 *
 * Adds a module inside this one.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_ARGUMENT, also for a module that would be inside itself,
 *   %LP_ERROR_EXISTS
 */
gboolean
lp_module_register_child (LpModule    *self,
                          const char  *name,
                          LpModule    *child,
                          GError     **error)
{
  LpModuleData *data;
  LpChild entry;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);
  g_return_val_if_fail (LP_IS_MODULE (child), FALSE);

  entry.name = take_name (self, name, error);
  if (entry.name == NULL || !check_no_cycle (self, name, child, error))
    return FALSE;

  data = _lp_module_get_data (self);
  entry.module = g_object_ref (child);
  g_array_append_val (data->children, entry);
  set_path (child, data->path, entry.name);

  return TRUE;
}

/**
 * lp_module_get_path:
 * @self: a module
 *
 * Gets the path of the module from the outermost one that it is inside of; the empty string for that one.
 *
 * Returns: (transfer none): the path
 */
const char *
lp_module_get_path (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  return _lp_module_get_data (self)->path;
}

/* Exchanges the module called @name; the name is known to exist. */
static gboolean
replace_child (LpModule    *self,
               const char  *name,
               LpModule    *child,
               GError     **error)
{
  LpModuleData *data = _lp_module_get_data (self);

  if (!check_no_cycle (self, name, child, error))
    return FALSE;

  for (guint i = 0; i < data->children->len; i++)
    {
      LpChild *entry = &g_array_index (data->children, LpChild, i);

      if (!g_str_equal (entry->name, name))
        continue;

      g_set_object (&entry->module, child);
      set_path (child, data->path, entry->name);
      return TRUE;
    }

  g_set_error (error, LP_ERROR, LP_ERROR_UNKNOWN, "The %s has no child “%s”", G_OBJECT_TYPE_NAME (self), name);
  return FALSE;
}

/**
 * lp_module_set_child:
 * @self: a module
 * @path: the path of a module inside it
 * @child: another module
 * @error: return location for an error
 *
 * Puts another module in the place of one.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_UNKNOWN for a path that leads nowhere, %LP_ERROR_ARGUMENT for a module
 *   that would be inside itself
 */
gboolean
lp_module_set_child (LpModule    *self,
                     const char  *path,
                     LpModule    *child,
                     GError     **error)
{
  g_autofree char *parent_path = NULL;
  LpModule *parent = self;
  const char *dot;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (LP_IS_MODULE (child), FALSE);

  dot = strrchr (path, '.');
  if (dot != NULL)
    {
      parent_path = g_strndup (path, dot - path);
      parent = lp_module_lookup_child (self, parent_path);
    }
  if (parent == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_UNKNOWN, "The %s has no child “%s”", G_OBJECT_TYPE_NAME (self), parent_path);
      return FALSE;
    }

  return replace_child (parent, dot != NULL ? dot + 1 : path, child, error);
}

/**
 * lp_module_get_training:
 * @self: a module
 *
 * Gets whether layers such as dropout behave as in training.
 *
 * Returns: the mode
 */
gboolean
lp_module_get_training (LpModule *self)
{
  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);

  return _lp_module_get_data (self)->training;
}

/**
 * lp_module_set_training:
 * @self: a module
 * @training: the mode
 *
 * Sets whether layers such as dropout behave as in training, for this module and all inside it.
 */
void
lp_module_set_training (LpModule *self,
                        gboolean  training)
{
  LpModuleData *data;

  g_return_if_fail (LP_IS_MODULE (self));

  data = _lp_module_get_data (self);
  training = !!training;
  if (data->training != training)
    {
      data->training = training;
      g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TRAINING]);
    }
  for (guint i = 0; i < data->children->len; i++)
    lp_module_set_training (g_array_index (data->children, LpChild, i).module, training);
}
