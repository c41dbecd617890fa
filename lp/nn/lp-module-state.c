#include <lp/nn/lp-module-private.h>

#include <string.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-text-private.h>
#include <lp/ops/lp-ops.h>

/**
 * lp_module_set_requires_grad:
 * @self: a module
 * @requires_grad: whether the parameters get gradients
 *
 * Freezes or releases all parameters of the module and those inside it.
 */
void
lp_module_set_requires_grad (LpModule *self,
                             gboolean  requires_grad)
{
  g_autoptr (GPtrArray) parameters = NULL;

  g_return_if_fail (LP_IS_MODULE (self));

  parameters = lp_module_dup_parameters (self);
  for (guint i = 0; i < parameters->len; i++)
    lp_tensor_set_requires_grad (g_ptr_array_index (parameters, i), requires_grad);
}

/**
 * lp_module_zero_grad:
 * @self: a module
 *
 * Drops the gradients of all parameters.
 */
void
lp_module_zero_grad (LpModule *self)
{
  g_autoptr (GPtrArray) parameters = NULL;

  g_return_if_fail (LP_IS_MODULE (self));

  parameters = lp_module_dup_parameters (self);
  for (guint i = 0; i < parameters->len; i++)
    lp_tensor_set_grad (g_ptr_array_index (parameters, i), NULL);
}

/**
 * lp_module_get_n_parameters:
 * @self: a module
 *
 * Counts the elements of all parameters.
 *
 * Returns: the number of elements
 */
gint64
lp_module_get_n_parameters (LpModule *self)
{
  g_autoptr (GPtrArray) parameters = NULL;
  gint64 n = 0;

  g_return_val_if_fail (LP_IS_MODULE (self), 0);

  parameters = lp_module_dup_parameters (self);
  for (guint i = 0; i < parameters->len; i++)
    n += lp_tensor_get_n_elements (g_ptr_array_index (parameters, i));

  return n;
}

static gint64
count_bytes (GPtrArray *tensors)
{
  gint64 n = 0;

  for (guint i = 0; i < tensors->len; i++)
    n += lp_tensor_get_n_bytes (g_ptr_array_index (tensors, i));

  return n;
}

/**
 * lp_module_get_n_bytes:
 * @self: a module
 *
 * Counts the bytes that all parameters and buffers are stored in.
 *
 * Returns: the number of bytes
 */
gint64
lp_module_get_n_bytes (LpModule *self)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) buffers = NULL;

  g_return_val_if_fail (LP_IS_MODULE (self), 0);

  parameters = lp_module_dup_parameters (self);
  buffers = lp_module_dup_buffers (self);

  return count_bytes (parameters) + count_bytes (buffers);
}

/* Gives @self the memory, dtype and place of @source; who holds the tensor sees it changed. */
static void
become (LpTensor *self,
        LpTensor *source)
{
  LpDType *old = self->array.scalar == LP_SCALAR_ENCODED ? self->array.dtype : NULL;

  _lp_storage_ref (source->storage);
  _lp_storage_unref (self->storage);
  self->storage = source->storage;
  self->array = source->array;
  if (source->array.scalar == LP_SCALAR_ENCODED)
    g_object_ref (source->array.dtype);
  g_clear_object (&old);
  g_clear_object (&self->grad);
  g_clear_object (&self->low);
}

typedef LpTensor *(* ConvertFunc) (LpTensor *tensor, gpointer target, GError **error);

/* All or nothing: what fails to convert leaves the rest as it was. */
static gboolean
convert (LpModule     *self,
         ConvertFunc   func,
         gpointer      target,
         GError      **error)
{
  g_autoptr (GPtrArray) tensors = lp_module_dup_parameters (self);
  g_autoptr (GPtrArray) results = g_ptr_array_new_with_free_func (g_object_unref);

  g_ptr_array_extend_and_steal (tensors, lp_module_dup_buffers (self));
  for (guint i = 0; i < tensors->len; i++)
    {
      LpTensor *result = func (g_ptr_array_index (tensors, i), target, error);

      if (result == NULL)
        return FALSE;
      g_ptr_array_add (results, result);
    }

  for (guint i = 0; i < tensors->len; i++)
    if (g_ptr_array_index (tensors, i) != g_ptr_array_index (results, i))
      become (g_ptr_array_index (tensors, i), g_ptr_array_index (results, i));

  return TRUE;
}

static LpTensor *
to_dtype (LpTensor  *tensor,
          gpointer   target,
          GError   **error)
{
  LpDType *dtype = lp_tensor_get_dtype (tensor);

  if (!lp_dtype_is_floating (dtype) || !lp_dtype_is_native (dtype))
    return g_object_ref (tensor);

  return _lp_tensor_cast (tensor, target, error);
}

typedef struct
{
  LpDType   *dtype;
  GPtrArray *kept;
} Exception;

static LpTensor *
to_dtype_except (LpTensor  *tensor,
                 gpointer   target,
                 GError   **error)
{
  Exception *exception = target;

  if (g_ptr_array_find (exception->kept, tensor, NULL))
    return g_object_ref (tensor);

  return to_dtype (tensor, exception->dtype, error);
}

gboolean
_lp_module_to_dtype_except (LpModule   *self,
                            LpDType    *dtype,
                            GPtrArray  *kept,
                            GError    **error)
{
  Exception exception = { dtype, kept };

  return convert (self, to_dtype_except, &exception, error);
}

/**
 * lp_module_to_dtype:
 * @self: a module
 * @dtype: a floating dtype
 * @error: return location for an error
 *
 * Casts the parameters and buffers of the module and all inside it, in place: the tensors stay the same objects.
 * Integer ones and those in encoded formats are left alone. Gradients are dropped. On failure nothing is changed.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_DTYPE for a dtype that is not floating, %LP_ERROR_MEMORY
 */
gboolean
lp_module_to_dtype (LpModule  *self,
                    LpDType   *dtype,
                    GError   **error)
{
  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (LP_IS_DTYPE (dtype), FALSE);

  if (!lp_dtype_is_floating (dtype))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "A module can't be cast to %s, which is not floating",
                   lp_dtype_get_name (dtype));
      return FALSE;
    }

  return convert (self, to_dtype, dtype, error);
}

static LpTensor *
to_device (LpTensor  *tensor,
           gpointer   target,
           GError   **error)
{
  g_autoptr (LpTensor) detached = NULL;

  if (lp_tensor_get_device (tensor) == target)
    return g_object_ref (tensor);

  detached = _lp_tensor_detach (tensor);

  return lp_tensor_to_device (detached, target, error);
}

/**
 * lp_module_to_device:
 * @self: a module
 * @device: a device
 * @error: return location for an error
 *
 * Moves the parameters and buffers of the module and all inside it, in place: the tensors stay the same objects.
 * Gradients of those that move are dropped. On failure nothing is changed.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_module_to_device (LpModule  *self,
                     LpDevice  *device,
                     GError   **error)
{
  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (LP_IS_DEVICE (device), FALSE);

  return convert (self, to_device, device, error);
}

static void
add_to_dict (LpTensorDict  *dict,
             GPtrArray     *tensors,
             char         **names)
{
  for (guint i = 0; i < tensors->len; i++)
    {
      g_autoptr (LpTensor) plain = _lp_tensor_detach (g_ptr_array_index (tensors, i));

      lp_tensor_dict_set (dict, names[i], plain);
    }
}

/**
 * lp_module_dup_state_dict:
 * @self: a module
 *
 * Gets the parameters and buffers by path. The tensors share memory with those of the module, and don't require a
 * gradient. For layers whose adapters are merged into their weight it has the weight without them, see [method@LoraLinear.merge].
 *
 * Returns: (transfer full): the tensors
 */
LpTensorDict *
lp_module_dup_state_dict (LpModule *self)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) buffers = NULL;
  g_auto (GStrv) parameter_names = NULL;
  g_auto (GStrv) buffer_names = NULL;
  LpTensorDict *dict;

  g_return_val_if_fail (LP_IS_MODULE (self), NULL);

  parameters = lp_module_dup_parameters (self);
  parameter_names = lp_module_dup_parameter_names (self);
  buffers = lp_module_dup_buffers (self);
  buffer_names = lp_module_dup_buffer_names (self);
  dict = lp_tensor_dict_new ();
  add_to_dict (dict, parameters, parameter_names);
  add_to_dict (dict, buffers, buffer_names);
  _lp_module_separate_state (self, dict);

  return dict;
}

/* Precisions may differ, not what numbers are: integers in place of a weight are those of another tensor. */
static gboolean
check_kind_of_numbers (LpModule    *self,
                       const char  *name,
                       LpTensor    *target,
                       LpTensor    *source,
                       GError     **error)
{
  LpDType *expected = lp_tensor_get_dtype (target), *actual = lp_tensor_get_dtype (source);

  if (expected == actual || (lp_dtype_is_floating (expected) && lp_dtype_is_floating (actual)))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "“%s” is in %s in the state and in %s in the %s: only floating dtypes are converted into each other",
               name, lp_dtype_get_name (actual), lp_dtype_get_name (expected), G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static gboolean
check_tensor (LpModule    *self,
              const char  *name,
              LpTensor    *target,
              LpTensor    *source,
              gboolean     strict,
              GError     **error)
{
  g_autoptr (LpShape) expected = lp_tensor_dup_shape (target);
  g_autoptr (LpShape) actual = NULL;
  g_autofree char *expected_text = NULL, *actual_text = NULL;

  if (source == NULL)
    {
      if (strict)
        g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state has no “%s”, which the %s needs", name,
                     G_OBJECT_TYPE_NAME (self));
      return !strict;
    }

  actual = lp_tensor_dup_shape (source);
  if (lp_shape_equal (expected, actual))
    return check_kind_of_numbers (self, name, target, source, error);

  expected_text = lp_shape_to_string (expected);
  actual_text = lp_shape_to_string (actual);
  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "“%s” has the shape %s in the state and %s in the %s", name, actual_text,
               expected_text, G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

static gboolean
check_state (LpModule      *self,
             LpTensorDict  *own,
             LpTensorDict  *state,
             gboolean       strict,
             GError       **error)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (own);
  g_auto (GStrv) given = lp_tensor_dict_dup_names (state);

  for (guint i = 0; names[i] != NULL; i++)
    if (!check_tensor (self, names[i], lp_tensor_dict_lookup (own, names[i]), lp_tensor_dict_lookup (state, names[i]),
                       strict, error))
      return FALSE;

  for (guint i = 0; strict && given[i] != NULL; i++)
    if (lp_tensor_dict_lookup (own, given[i]) == NULL)
      {
        g_autofree char *name = _lp_shorten (given[i]);

        g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state has a “%s”, which the %s does not", name,
                     G_OBJECT_TYPE_NAME (self));
        return FALSE;
      }

  return TRUE;
}

static guint
count_adapters (LpTensorDict *dict)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (dict);
  guint n = 0;

  for (guint i = 0; names[i] != NULL; i++)
    n += g_str_has_suffix (names[i], "lora_a") || g_str_has_suffix (names[i], "lora_b");

  return n;
}

static gboolean
is_packed (LpTensorDict *dict)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (dict);

  for (guint i = 0; names[i] != NULL; i++)
    if (strstr (names[i], ".quant_state.") != NULL || g_str_has_suffix (names[i], ".absmax") || g_str_has_suffix (names[i], ".SCB"))
      return TRUE;

  return FALSE;
}

/* What kind of state it is that doesn't fit, and what would; NULL if that can't be told. */
static char *
explain (LpTensorDict *own,
         LpTensorDict *state)
{
  guint mine = count_adapters (own);
  guint theirs = count_adapters (state);

  if (is_packed (state))
    return g_strdup ("its weights are packed as bitsandbytes does it: lp_bitsandbytes_unpack() makes them ones that can be loaded");
  if (theirs > 0 && theirs == lp_tensor_dict_get_size (state))
    return g_strdup ("it holds adapters alone: lp_lora_linear_load_state() loads them");
  if (mine > 0 && theirs == 0)
    return g_strdup ("it holds no adapters: load it before lp_lora_linear_adapt() puts them on the network");
  if (mine == 0 && theirs > 0)
    return g_strdup_printf ("it is of a network with adapters, of which it holds %u tensors: put the same ones on this network with "
                            "lp_lora_linear_adapt() first", theirs);
  if (mine != theirs)
    return g_strdup_printf ("it holds %u tensors of adapters, and the network has %u: put them on the same layers", theirs, mine);

  return NULL;
}

static gboolean
check_kind (LpModule      *self,
            LpTensorDict  *own,
            LpTensorDict  *state,
            gboolean       strict,
            GError       **error)
{
  GError *local = NULL;
  g_autofree char *merged = _lp_module_dup_merged_path (self);
  g_autofree char *why = NULL;

  if (merged != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The adapters of “%s” are merged into its weight, which can't be overwritten: "
                   "unmerge them first", merged);
      return FALSE;
    }
  if (check_state (self, own, state, strict, &local))
    return TRUE;

  why = explain (own, state);
  g_set_error (error, local->domain, local->code, "%s%s%s", local->message, why != NULL ? "; " : "", why != NULL ? why : "");
  g_error_free (local);

  return FALSE;
}

/* The tensors themselves, so that their versions count the change. */
static gboolean
assign_all (GPtrArray     *tensors,
            char         **names,
            LpTensorDict  *state,
            GError       **error)
{
  for (guint i = 0; i < tensors->len; i++)
    {
      LpTensor *source = lp_tensor_dict_lookup (state, names[i]);

      if (source != NULL && !lp_tensor_assign (g_ptr_array_index (tensors, i), source, error))
        return FALSE;
    }

  return TRUE;
}

/**
 * lp_module_load_state_dict:
 * @self: a module
 * @state: tensors by path
 * @strict: whether @state has to have exactly the paths of the module
 * @error: return location for an error
 *
 * Overwrites the parameters and buffers with those of @state, converted to the dtypes of the module if both are floating ones. Names,
 * shapes and dtypes are checked before anything is written.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_FORMAT for a path too many or too few, %LP_ERROR_SHAPE; %LP_ERROR_DTYPE for integers or truth
 *   values where the module has others, or numbers of another kind; %LP_ERROR_STATE while
 *   adapters are merged, see [method@LoraLinear.merge]
 */
gboolean
lp_module_load_state_dict (LpModule      *self,
                           LpTensorDict  *state,
                           gboolean       strict,
                           GError       **error)
{
  g_autoptr (LpTensorDict) own = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) buffers = NULL;
  g_auto (GStrv) parameter_names = NULL;
  g_auto (GStrv) buffer_names = NULL;

  g_return_val_if_fail (LP_IS_MODULE (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR_DICT (state), FALSE);

  own = lp_module_dup_state_dict (self);
  if (!check_kind (self, own, state, strict, error))
    return FALSE;

  parameters = lp_module_dup_parameters (self);
  parameter_names = lp_module_dup_parameter_names (self);
  buffers = lp_module_dup_buffers (self);
  buffer_names = lp_module_dup_buffer_names (self);

  return assign_all (parameters, parameter_names, state, error) && assign_all (buffers, buffer_names, state, error);
}
