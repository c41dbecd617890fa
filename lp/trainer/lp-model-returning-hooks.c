/* The hooks of LpModel that give something back: their defaults and public invokers. */

#include <lp/trainer/lp-model-private.h>

#include <lp/core/lp-error.h>
#include <lp/trainer/lp-callback.h>

static LpBatch *
keep_batch (LpModel  *self,
            LpBatch  *batch,
            GError  **error)
{
  return g_object_ref (batch);
}

static GPtrArray *
no_callbacks (LpModel  *self,
              GError  **error)
{
  return g_ptr_array_new ();
}

void
_lp_model_class_init_returning_hooks (LpModelClass *klass)
{
  klass->on_before_batch_transfer = keep_batch;
  klass->on_after_batch_transfer = keep_batch;
  klass->configure_callbacks = no_callbacks;
}

typedef LpBatch *(*BatchHook) (LpModel *self, LpBatch *batch, GError **error);

static LpBatch *
call_batch_hook (LpModel     *self,
                 BatchHook    hook,
                 const char  *name,
                 LpBatch     *batch,
                 GError     **error)
{
  GError *local = NULL;
  g_autoptr (LpBatch) result = hook (self, batch, &local);

  if (local == NULL && !LP_IS_BATCH (result))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s returned no LpBatch and no error", G_OBJECT_TYPE_NAME (self), name);
  if (local == NULL)
    return g_steal_pointer (&result);

  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_model_on_before_batch_transfer:
 * @self: a model
 * @batch: a batch, in the precision's dtype, where the data loader made it
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called before a batch is brought to the device. Override it to change batches before they are there.
 *
 * Returns: (transfer full): the batch to go on with. Errors: %LP_ERROR_SUBCLASS if the subclass returns nothing, and its own
 */
LpBatch *
lp_model_on_before_batch_transfer (LpModel  *self,
                                   LpBatch  *batch,
                                   GError  **error)
{
  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  return call_batch_hook (self, LP_MODEL_GET_CLASS (self)->on_before_batch_transfer, "on_before_batch_transfer", batch, error);
}

/**
 * lp_model_on_after_batch_transfer:
 * @self: a model
 * @batch: a batch, on the device
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Called when a batch was brought to the device. Override it to change batches there.
 *
 * Returns: (transfer full): the batch to go on with. Errors: %LP_ERROR_SUBCLASS if the subclass returns nothing, and its own
 */
LpBatch *
lp_model_on_after_batch_transfer (LpModel  *self,
                                  LpBatch  *batch,
                                  GError  **error)
{
  g_return_val_if_fail (LP_IS_MODEL (self), NULL);
  g_return_val_if_fail (LP_IS_BATCH (batch), NULL);

  return call_batch_hook (self, LP_MODEL_GET_CLASS (self)->on_after_batch_transfer, "on_after_batch_transfer", batch, error);
}

static gboolean
are_callbacks (GPtrArray *array)
{
  for (guint i = 0; i < array->len; i++)
    if (!LP_IS_CALLBACK (g_ptr_array_index (array, i)))
      return FALSE;

  return TRUE;
}

static void
clear_callback (gpointer data)
{
  g_clear_object (&data);
}

/**
 * lp_model_configure_callbacks:
 * @self: a model
 * @error: return location for an error; a subclass that sets it ends the run
 *
 * Gets callbacks that the model wants to be trained with. When a run starts they join those of its trainer, in the place of
 * any of the very same class. The array doesn't free its elements: they are the caller's.
 *
 * Returns: (transfer full) (element-type LpCallback): the callbacks. Errors: %LP_ERROR_SUBCLASS if the subclass returns
 *   something else, and its own
 */
GPtrArray *
lp_model_configure_callbacks (LpModel  *self,
                              GError  **error)
{
  GError *local = NULL;
  GPtrArray *result;

  g_return_val_if_fail (LP_IS_MODEL (self), NULL);

  result = LP_MODEL_GET_CLASS (self)->configure_callbacks (self, &local);
  if (local == NULL && (result == NULL || !are_callbacks (result)))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.configure_callbacks returned no array of callbacks",
                 G_OBJECT_TYPE_NAME (self));
  if (local == NULL)
    {
      g_ptr_array_set_free_func (result, NULL);
      return result;
    }

  if (result != NULL && are_callbacks (result))
    g_ptr_array_set_free_func (result, clear_callback);
  g_clear_pointer (&result, g_ptr_array_unref);
  g_propagate_error (error, local);
  return NULL;
}
