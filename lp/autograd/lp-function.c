#include <lp/autograd/lp-dispatch-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-thread-stacks-private.h>

/**
 * LpFunction:
 *
 * A differentiable operation of your own: forward computes the result, backward gets its gradient and returns those of the
 * inputs.
 *
 * One object is one application: what backward needs is kept in the object. A straight-through estimator rounds in
 * forward and returns the gradient unchanged in backward.
 */
typedef struct
{
  gboolean applied;
} LpFunctionPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpFunction, lp_function, G_TYPE_OBJECT)

static LpTensor *
lp_function_real_forward (LpFunction  *self,
                          GPtrArray   *inputs,
                          GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement forward", G_OBJECT_TYPE_NAME (self));
  return NULL;
}

static GPtrArray *
lp_function_real_backward (LpFunction  *self,
                           LpTensor    *grad_output,
                           GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement backward", G_OBJECT_TYPE_NAME (self));
  return NULL;
}

static void
clear_gradient (gpointer gradient)
{
  if (gradient != NULL)
    g_object_unref (gradient);
}

static void
lp_function_class_init (LpFunctionClass *klass)
{
  klass->forward = lp_function_real_forward;
  klass->backward = lp_function_real_backward;
}

static void
lp_function_init (LpFunction *self)
{
}

/**
 * lp_function_forward:
 * @self: a function
 * @inputs: (element-type LpTensor): the inputs
 * @error: return location for an error
 *
 * Computes the result, without recording. Programs call [method@Function.apply].
 *
 * Returns: (transfer full): the result. Errors: %LP_ERROR_NOT_SUPPORTED, %LP_ERROR_SUBCLASS, and what the subclass reports
 */
LpTensor *
lp_function_forward (LpFunction  *self,
                     GPtrArray   *inputs,
                     GError     **error)
{
  GError *local = NULL;
  LpThreadRegion region;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_FUNCTION (self), NULL);
  g_return_val_if_fail (inputs != NULL, NULL);

  lp_grad_mode_push (FALSE);
  _lp_thread_region_enter (&region);
  result = LP_FUNCTION_GET_CLASS (self)->forward (self, inputs, &local);
  _lp_thread_region_leave (&region, G_OBJECT_TYPE_NAME (self), "forward", local == NULL ? &local : NULL);
  lp_grad_mode_pop ();

  if (local != NULL)
    {
      g_clear_object (&result);
      g_propagate_error (error, local);
      return NULL;
    }
  if (result == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.forward returned nothing and set no error",
                 G_OBJECT_TYPE_NAME (self));

  return result;
}

/**
 * lp_function_backward:
 * @self: a function
 * @grad_output: the gradient of the result
 * @error: return location for an error
 *
 * Computes the gradients of the inputs. Called by [method@Tensor.backward]. The array doesn't free its elements: they are
 * the caller's.
 *
 * Returns: (transfer full) (element-type LpTensor): one gradient for each input, in their order. Errors: as for
 *   [method@Function.forward]
 */
GPtrArray *
lp_function_backward (LpFunction  *self,
                      LpTensor    *grad_output,
                      GError     **error)
{
  GError *local = NULL;
  LpThreadRegion region;
  GPtrArray *result;

  g_return_val_if_fail (LP_IS_FUNCTION (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (grad_output), NULL);

  _lp_thread_region_enter (&region);
  result = LP_FUNCTION_GET_CLASS (self)->backward (self, grad_output, &local);
  _lp_thread_region_leave (&region, G_OBJECT_TYPE_NAME (self), "backward", local == NULL ? &local : NULL);
  /* arrays that bindings make own their elements, but do not free them */
  if (result != NULL)
    g_ptr_array_set_free_func (result, clear_gradient);
  if (local != NULL)
    {
      g_clear_pointer (&result, g_ptr_array_unref);
      g_propagate_error (error, local);
      return NULL;
    }
  /* the elements are the caller's, one by one, as bindings expect */
  if (result != NULL)
    g_ptr_array_set_free_func (result, NULL);
  else
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.backward returned nothing and set no error",
                 G_OBJECT_TYPE_NAME (self));

  return result;
}

/**
 * lp_function_apply:
 * @self: a function that was not applied before
 * @inputs: (element-type LpTensor): the inputs
 * @error: return location for an error
 *
 * Computes the result and records the function, so that its backward is called when gradients are.
 *
 * Returns: (transfer full): the result. Errors: as for [method@Function.forward]; %LP_ERROR_STATE if it was applied before
 */
LpTensor *
lp_function_apply (LpFunction  *self,
                   GPtrArray   *inputs,
                   GError     **error)
{
  LpFunctionPrivate *priv;
  g_autoptr (LpTensor) output = NULL;
  LpTensor *result;
  gboolean tracked = FALSE;
  LpNode *node;

  g_return_val_if_fail (LP_IS_FUNCTION (self), NULL);
  g_return_val_if_fail (inputs != NULL, NULL);

  priv = lp_function_get_instance_private (self);
  if (priv->applied)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "%s was applied before: make a new object for each application",
                   G_OBJECT_TYPE_NAME (self));
      return NULL;
    }
  priv->applied = TRUE;

  output = lp_function_forward (self, inputs, error);
  if (output == NULL)
    return NULL;
  for (guint i = 0; i < inputs->len; i++)
    tracked |= ((LpTensor *) g_ptr_array_index (inputs, i))->requires_grad;
  if (!tracked || !lp_grad_mode_is_enabled ())
    return g_steal_pointer (&output);

  /* a fresh handle: forward may have returned an input or kept the result */
  result = _lp_tensor_detach (output);
  node = _lp_node_new ((LpTensor **) inputs->pdata, inputs->len);
  node->function = g_object_ref (self);
  node->site = _lp_site_peek ();
  if (_lp_compute_scope_peek () != NULL)
    node->scope = g_object_ref (_lp_compute_scope_peek ());
  for (guint i = 0; i < inputs->len; i++)
    {
      node->edges[i].value = g_object_ref (g_ptr_array_index (inputs, i));
      node->edges[i].version = lp_tensor_get_version (node->edges[i].value);
    }
  _lp_node_attach (node, result);

  return result;
}
