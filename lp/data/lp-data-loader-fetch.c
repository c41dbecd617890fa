/* Fetching batches, on a thread or not. */

#include <lp/data/lp-data-loader-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-random.h>
#include <lp/core/lp-thread-stacks-private.h>

/* The stream of the seed for the samples of a batch. */
static guint64
sample_stream (gint64 epoch,
               gint64 batch)
{
  return ((guint64) 0x4c51 << 48) ^ ((guint64) epoch << 24) ^ (guint64) batch;
}

LpBatch *
_lp_data_loader_fetch (LpDataLoader  *self,
                       gint64         batch,
                       GError       **error)
{
  g_autoptr (LpGenerator) generator = NULL;
  g_autoptr (LpTensor) indices = NULL;
  g_autofree gint64 *plain = NULL;
  gint64 start = batch * self->batch_size;
  gint64 length = MIN (self->batch_size, self->n_items - start);
  const gint64 *values = self->order != NULL ? self->order + start : NULL;
  LpThreadRegion region;
  LpBatch *result;

  if (values == NULL)
    {
      plain = g_new (gint64, length);
      for (gint64 i = 0; i < length; i++)
        plain[i] = start + i;
      values = plain;
    }
  indices = lp_tensor_new_from_int64s (values, length, &length, 1, lp_dtype_i64 (), error);
  if (indices == NULL)
    return NULL;

  generator = lp_generator_new (self->epoch_seed, sample_stream (self->epoch, batch));
  lp_generator_push (generator);
  lp_grad_mode_push (FALSE);
  _lp_thread_region_enter (&region);
  result = lp_dataset_get_items (self->dataset, indices, error);
  if (!_lp_thread_region_leave (&region, G_OBJECT_TYPE_NAME (self->dataset), "get_items", result != NULL ? error : NULL))
    g_clear_object (&result);
  lp_grad_mode_pop ();
  lp_generator_pop ();

  return result;
}

/* Waits for room; FALSE when the reading is over. */
static gboolean
wait_for_room (LpDataLoader *self)
{
  gboolean go_on;

  g_mutex_lock (&self->mutex);
  while (!self->cancelled && self->queue.length >= self->prefetch)
    g_cond_wait (&self->emptied, &self->mutex);
  go_on = !self->cancelled;
  g_mutex_unlock (&self->mutex);

  return go_on;
}

static gpointer
run_thread (gpointer data)
{
  LpDataLoader *self = data;
  gint64 batch = self->position;
  GError *error = NULL;

  while (batch < self->n_batches && wait_for_room (self))
    {
      LpBatch *result = _lp_data_loader_fetch (self, batch++, &error);

      if (result == NULL)
        break;
      g_mutex_lock (&self->mutex);
      g_queue_push_tail (&self->queue, result);
      g_cond_signal (&self->filled);
      g_mutex_unlock (&self->mutex);
    }

  g_mutex_lock (&self->mutex);
  self->thread_error = error;
  self->finished = TRUE;
  g_cond_signal (&self->filled);
  g_mutex_unlock (&self->mutex);

  return NULL;
}

void
_lp_data_loader_stop_thread (LpDataLoader *self)
{
  if (self->thread != NULL)
    {
      g_mutex_lock (&self->mutex);
      self->cancelled = TRUE;
      g_cond_signal (&self->emptied);
      g_mutex_unlock (&self->mutex);
      g_thread_join (g_steal_pointer (&self->thread));
    }

  g_queue_clear_full (&self->queue, g_object_unref);
  g_queue_clear_full (&self->ready, g_object_unref);
  g_clear_error (&self->thread_error);
  self->finished = FALSE;
  self->cancelled = FALSE;
}

void
_lp_data_loader_start_thread (LpDataLoader *self)
{
  if (self->thread != NULL || self->prefetch == 0 || self->position >= self->n_batches ||
      !lp_dataset_get_thread_safe (self->dataset))
    return;

  self->thread = g_thread_try_new ("lp-data", run_thread, self, NULL);
}

LpBatch *
_lp_data_loader_take_from_thread (LpDataLoader  *self,
                                  GError       **error)
{
  LpBatch *batch;

  g_mutex_lock (&self->mutex);
  while (self->queue.length == 0 && !self->finished)
    g_cond_wait (&self->filled, &self->mutex);
  batch = g_queue_pop_head (&self->queue);
  if (batch == NULL && self->thread_error != NULL)
    g_propagate_error (error, g_steal_pointer (&self->thread_error));
  if (self->queue.length <= self->prefetch / 2)
    g_cond_signal (&self->emptied);
  g_mutex_unlock (&self->mutex);
  if (batch == NULL)
    _lp_data_loader_stop_thread (self);

  return batch;
}
