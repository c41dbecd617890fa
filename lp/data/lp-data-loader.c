#include <lp/data/lp-data-loader-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/core/lp-random.h>
#include <lp/data/lp-data-private.h>

#define DEFAULT_PREFETCH 2

/**
 * LpDataLoader:
 *
 * Gives the items of a dataset in batches.
 *
 * The order of an epoch depends on the seed and the number of the epoch only. Batches are fetched ahead: on a thread if
 * the dataset is thread-safe, else on the thread that calls [method@DataLoader.read_ahead]. Wherever that happens, random
 * numbers that a dataset draws come from a generator of the batch's own, so the samples are the same.
 */
G_DEFINE_FINAL_TYPE (LpDataLoader, lp_data_loader, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_DATASET,
  PROP_BATCH_SIZE,
  PROP_SHUFFLE,
  PROP_SEED,
  PROP_DROP_LAST,
  PROP_PREFETCH,
  PROP_LENGTH,
  PROP_EPOCH,
  PROP_POSITION,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* The stream of the seed for the order of an epoch; samples have others, in lp-data-loader-fetch.c. */
static guint64
order_stream (gint64 epoch)
{
  return ((guint64) 0x4c50 << 48) | (guint64) epoch;
}

static gint64
count_batches (LpDataLoader *self,
               gint64        n_items)
{
  return self->drop_last ? n_items / self->batch_size : (n_items + self->batch_size - 1) / self->batch_size;
}

static void
prepare_epoch (LpDataLoader *self,
               gint64        epoch,
               guint64       seed,
               gint64        position)
{
  _lp_data_loader_stop_thread (self);
  g_clear_pointer (&self->order, g_free);
  self->epoch = epoch;
  self->epoch_seed = seed;
  self->n_items = self->dataset != NULL ? lp_dataset_get_length (self->dataset) : 0;
  self->n_batches = count_batches (self, self->n_items);
  if (self->shuffle)
    self->order = _lp_permutation (self->n_items, seed, order_stream (epoch));
  self->position = position;
  self->started = TRUE;
}

static void
lp_data_loader_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  LpDataLoader *self = LP_DATA_LOADER (object);

  switch (prop_id)
    {
    case PROP_DATASET:
      g_value_set_object (value, self->dataset);
      break;
    case PROP_BATCH_SIZE:
      g_value_set_int64 (value, self->batch_size);
      break;
    case PROP_SHUFFLE:
      g_value_set_boolean (value, self->shuffle);
      break;
    case PROP_SEED:
      g_value_set_int64 (value, self->seed);
      break;
    case PROP_DROP_LAST:
      g_value_set_boolean (value, self->drop_last);
      break;
    case PROP_PREFETCH:
      g_value_set_uint (value, self->prefetch);
      break;
    case PROP_LENGTH:
      g_value_set_int64 (value, lp_data_loader_get_length (self));
      break;
    case PROP_EPOCH:
      g_value_set_int64 (value, self->epoch);
      break;
    case PROP_POSITION:
      g_value_set_int64 (value, self->position);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_data_loader_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  LpDataLoader *self = LP_DATA_LOADER (object);

  switch (prop_id)
    {
    case PROP_DATASET:
      self->dataset = g_value_dup_object (value);
      break;
    case PROP_BATCH_SIZE:
      self->batch_size = g_value_get_int64 (value);
      break;
    case PROP_SHUFFLE:
      lp_data_loader_set_shuffle (self, g_value_get_boolean (value));
      break;
    case PROP_SEED:
      lp_data_loader_set_seed (self, g_value_get_int64 (value));
      break;
    case PROP_DROP_LAST:
      lp_data_loader_set_drop_last (self, g_value_get_boolean (value));
      break;
    case PROP_PREFETCH:
      lp_data_loader_set_prefetch (self, g_value_get_uint (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_data_loader_dispose (GObject *object)
{
  LpDataLoader *self = LP_DATA_LOADER (object);

  _lp_data_loader_stop_thread (self);
  g_clear_object (&self->dataset);

  G_OBJECT_CLASS (lp_data_loader_parent_class)->dispose (object);
}

static void
lp_data_loader_finalize (GObject *object)
{
  LpDataLoader *self = LP_DATA_LOADER (object);

  g_free (self->order);
  g_mutex_clear (&self->mutex);
  g_cond_clear (&self->filled);
  g_cond_clear (&self->emptied);

  G_OBJECT_CLASS (lp_data_loader_parent_class)->finalize (object);
}

static void
install_properties (GObjectClass *object_class)
{
  const GParamFlags construct = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;
  const GParamFlags readwrite = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  const GParamFlags readable = G_PARAM_READABLE | G_PARAM_STATIC_STRINGS;

  /**
   * LpDataLoader:dataset:
   *
   * Where the items come from.
   */
  properties[PROP_DATASET] = g_param_spec_object ("dataset", NULL, NULL, LP_TYPE_DATASET, construct);

  /**
   * LpDataLoader:batch-size:
   *
   * How many items make a batch.
   */
  properties[PROP_BATCH_SIZE] = g_param_spec_int64 ("batch-size", NULL, NULL, 1, G_MAXINT32, 1, construct);

  /**
   * LpDataLoader:shuffle:
   *
   * Whether each epoch has an order of its own. Counts from the next epoch on.
   */
  properties[PROP_SHUFFLE] = g_param_spec_boolean ("shuffle", NULL, NULL, FALSE, readwrite);

  /**
   * LpDataLoader:seed:
   *
   * What the orders depend on; -1 is the seed of the default generator when an epoch starts.
   */
  properties[PROP_SEED] = g_param_spec_int64 ("seed", NULL, NULL, -1, G_MAXINT64, -1, readwrite);

  /**
   * LpDataLoader:drop-last:
   *
   * Whether a last batch that is not full is left out. Counts from the next epoch on.
   */
  properties[PROP_DROP_LAST] = g_param_spec_boolean ("drop-last", NULL, NULL, FALSE, readwrite);

  /**
   * LpDataLoader:prefetch:
   *
   * How many batches are fetched ahead.
   */
  properties[PROP_PREFETCH] = g_param_spec_uint ("prefetch", NULL, NULL, 0, 1024, DEFAULT_PREFETCH, readwrite);

  /**
   * LpDataLoader:length:
   *
   * How many batches an epoch has.
   */
  properties[PROP_LENGTH] = g_param_spec_int64 ("length", NULL, NULL, 0, G_MAXINT64, 0, readable);

  /**
   * LpDataLoader:epoch:
   *
   * The number of the epoch that is on.
   */
  properties[PROP_EPOCH] = g_param_spec_int64 ("epoch", NULL, NULL, 0, G_MAXINT64, 0, readable);

  /**
   * LpDataLoader:position:
   *
   * How many batches of the epoch were given.
   */
  properties[PROP_POSITION] = g_param_spec_int64 ("position", NULL, NULL, 0, G_MAXINT64, 0, readable);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_data_loader_class_init (LpDataLoaderClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_data_loader_get_property;
  object_class->set_property = lp_data_loader_set_property;
  object_class->dispose = lp_data_loader_dispose;
  object_class->finalize = lp_data_loader_finalize;

  install_properties (object_class);
}

static void
lp_data_loader_init (LpDataLoader *self)
{
  self->batch_size = 1;
  self->seed = -1;
  self->prefetch = DEFAULT_PREFETCH;
  g_mutex_init (&self->mutex);
  g_cond_init (&self->filled);
  g_cond_init (&self->emptied);
  g_queue_init (&self->queue);
  g_queue_init (&self->ready);
}

/**
 * lp_data_loader_new:
 * @dataset: a dataset
 * @batch_size: how many items make a batch, at least 1
 * @shuffle: whether each epoch has an order of its own
 *
 * Creates a loader.
 *
 * Returns: (transfer full): the loader
 */
LpDataLoader *
lp_data_loader_new (LpDataset *dataset,
                    gint64     batch_size,
                    gboolean   shuffle)
{
  g_return_val_if_fail (LP_IS_DATASET (dataset), NULL);
  g_return_val_if_fail (batch_size > 0, NULL);

  return g_object_new (LP_TYPE_DATA_LOADER, "dataset", dataset, "batch-size", batch_size, "shuffle", shuffle, NULL);
}

/**
 * lp_data_loader_get_dataset:
 * @self: a loader
 *
 * Gets where the items come from.
 *
 * Returns: (transfer none) (nullable): the dataset
 */
LpDataset *
lp_data_loader_get_dataset (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), NULL);

  return self->dataset;
}

/**
 * lp_data_loader_get_batch_size:
 * @self: a loader
 *
 * Gets how many items make a batch.
 *
 * Returns: the number of items
 */
gint64
lp_data_loader_get_batch_size (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), 0);

  return self->batch_size;
}

/**
 * lp_data_loader_get_shuffle:
 * @self: a loader
 *
 * Gets whether each epoch has an order of its own.
 *
 * Returns: whether it has
 */
gboolean
lp_data_loader_get_shuffle (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), FALSE);

  return self->shuffle;
}

/**
 * lp_data_loader_set_shuffle:
 * @self: a loader
 * @shuffle: whether each epoch has an order of its own
 *
 * Sets whether the next epochs have an order of their own.
 */
void
lp_data_loader_set_shuffle (LpDataLoader *self,
                            gboolean      shuffle)
{
  g_return_if_fail (LP_IS_DATA_LOADER (self));

  if (self->shuffle == !!shuffle)
    return;

  self->shuffle = !!shuffle;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SHUFFLE]);
}

/**
 * lp_data_loader_get_seed:
 * @self: a loader
 *
 * Gets what the orders depend on.
 *
 * Returns: the seed, or -1 for that of the default generator
 */
gint64
lp_data_loader_get_seed (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), -1);

  return self->seed;
}

/**
 * lp_data_loader_set_seed:
 * @self: a loader
 * @seed: a seed, or -1 for that of the default generator
 *
 * Sets what the orders of the next epochs depend on.
 */
void
lp_data_loader_set_seed (LpDataLoader *self,
                         gint64        seed)
{
  g_return_if_fail (LP_IS_DATA_LOADER (self));
  g_return_if_fail (seed >= -1);

  if (self->seed == seed)
    return;

  self->seed = seed;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_SEED]);
}

/**
 * lp_data_loader_get_drop_last:
 * @self: a loader
 *
 * Gets whether a last batch that is not full is left out.
 *
 * Returns: whether it is
 */
gboolean
lp_data_loader_get_drop_last (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), FALSE);

  return self->drop_last;
}

/**
 * lp_data_loader_set_drop_last:
 * @self: a loader
 * @drop_last: whether a last batch that is not full is left out
 *
 * Sets whether a last batch that is not full is left out of the next epochs.
 */
void
lp_data_loader_set_drop_last (LpDataLoader *self,
                              gboolean      drop_last)
{
  g_return_if_fail (LP_IS_DATA_LOADER (self));

  if (self->drop_last == !!drop_last)
    return;

  self->drop_last = !!drop_last;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_DROP_LAST]);
}

/**
 * lp_data_loader_get_prefetch:
 * @self: a loader
 *
 * Gets how many batches are fetched ahead.
 *
 * Returns: the number of batches
 */
guint
lp_data_loader_get_prefetch (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), 0);

  return self->prefetch;
}

/**
 * lp_data_loader_set_prefetch:
 * @self: a loader
 * @prefetch: the number of batches; 0 fetches each when it is asked for
 *
 * Sets how many batches are fetched ahead.
 */
void
lp_data_loader_set_prefetch (LpDataLoader *self,
                             guint         prefetch)
{
  g_return_if_fail (LP_IS_DATA_LOADER (self));

  if (self->prefetch == prefetch)
    return;

  _lp_data_loader_stop_thread (self);
  self->prefetch = prefetch;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_PREFETCH]);
}

/**
 * lp_data_loader_get_length:
 * @self: a loader
 *
 * Gets how many batches an epoch has.
 *
 * Returns: the number of batches
 */
gint64
lp_data_loader_get_length (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), 0);

  return self->dataset != NULL ? count_batches (self, lp_dataset_get_length (self->dataset)) : 0;
}

/**
 * lp_data_loader_get_epoch:
 * @self: a loader
 *
 * Gets the number of the epoch that is on.
 *
 * Returns: the number given to [method@DataLoader.start_epoch]
 */
gint64
lp_data_loader_get_epoch (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), 0);

  return self->epoch;
}

/**
 * lp_data_loader_get_position:
 * @self: a loader
 *
 * Gets how many batches of the epoch were given.
 *
 * Returns: the number of batches; those fetched ahead don't count
 */
gint64
lp_data_loader_get_position (LpDataLoader *self)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), 0);

  return self->position;
}

/**
 * lp_data_loader_start_epoch:
 * @self: a loader
 * @epoch: the number of the epoch, from 0 on
 * @error: return location for an error
 *
 * Starts to read from the beginning, in the order of that epoch. One that is on is given up.
 *
 * Returns: whether it could. Errors: %LP_ERROR_ARGUMENT for a loader without a dataset, or a negative number
 */
gboolean
lp_data_loader_start_epoch (LpDataLoader  *self,
                            gint64         epoch,
                            GError       **error)
{
  guint64 seed;

  g_return_val_if_fail (LP_IS_DATA_LOADER (self), FALSE);

  if (self->dataset == NULL || epoch < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, self->dataset == NULL ? "The loader has no dataset"
                                                                             : "An epoch's number is not negative");
      return FALSE;
    }

  seed = self->seed >= 0 ? (guint64) self->seed : lp_generator_get_seed (lp_generator_get_default ());
  prepare_epoch (self, epoch, seed, 0);

  return lp_check_exceptions (error);
}

/**
 * lp_data_loader_next:
 * @self: a loader
 * @error: return location for an error
 *
 * Gets the next batch.
 *
 * Returns: (transfer full) (nullable): the batch, or %NULL at the end of the epoch (without an error). Errors: those of
 *   the dataset, and %LP_ERROR_STATE before [method@DataLoader.start_epoch]
 */
LpBatch *
lp_data_loader_next (LpDataLoader  *self,
                     GError       **error)
{
  LpBatch *batch;

  g_return_val_if_fail (LP_IS_DATA_LOADER (self), NULL);

  if (!self->started)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "No epoch was started");
      return NULL;
    }
  if (self->position >= self->n_batches)
    return NULL;

  batch = g_queue_pop_head (&self->ready);
  if (batch == NULL)
    {
      _lp_data_loader_start_thread (self);
      batch = self->thread != NULL ? _lp_data_loader_take_from_thread (self, error) : _lp_data_loader_fetch (self, self->position, error);
    }
  if (batch != NULL)
    self->position++;

  return batch;
}

/**
 * lp_data_loader_read_ahead:
 * @self: a loader
 * @error: return location for an error
 *
 * Fetches the next batches on this thread if there is no thread for it: a chance to do so while a device computes.
 *
 * Returns: whether it could. Errors: those of the dataset
 */
gboolean
lp_data_loader_read_ahead (LpDataLoader  *self,
                           GError       **error)
{
  g_return_val_if_fail (LP_IS_DATA_LOADER (self), FALSE);

  if (!self->started || self->thread != NULL || self->prefetch == 0)
    return TRUE;
  if (lp_dataset_get_thread_safe (self->dataset))
    {
      if (self->ready.length == 0)
        _lp_data_loader_start_thread (self);
      return TRUE;
    }

  while (self->ready.length < self->prefetch && self->position + self->ready.length < self->n_batches)
    {
      LpBatch *batch = _lp_data_loader_fetch (self, self->position + self->ready.length, error);

      if (batch == NULL)
        return FALSE;
      g_queue_push_tail (&self->ready, batch);
    }

  return TRUE;
}

/**
 * lp_data_loader_stop:
 * @self: a loader
 *
 * Stops reading ahead and drops what was read. [method@DataLoader.next] goes on where it was.
 */
void
lp_data_loader_stop (LpDataLoader *self)
{
  g_return_if_fail (LP_IS_DATA_LOADER (self));

  _lp_data_loader_stop_thread (self);
}

/**
 * lp_data_loader_save_state:
 * @self: a loader
 *
 * Gets where the loader is: epoch, position and all that its order depends on.
 *
 * Returns: (transfer full): the state
 */
LpState *
lp_data_loader_save_state (LpDataLoader *self)
{
  LpState *state;

  g_return_val_if_fail (LP_IS_DATA_LOADER (self), NULL);

  state = lp_state_new ();
  lp_state_set_value (state, "epoch", g_variant_new_int64 (self->epoch));
  lp_state_set_value (state, "position", g_variant_new_int64 (self->position));
  lp_state_set_value (state, "seed", g_variant_new_uint64 (self->epoch_seed));
  lp_state_set_value (state, "shuffle", g_variant_new_boolean (self->order != NULL));
  lp_state_set_value (state, "n-items", g_variant_new_int64 (self->n_items));
  lp_state_set_value (state, "batch-size", g_variant_new_int64 (self->batch_size));

  return state;
}

static gboolean
get_int64 (LpState     *state,
           const char  *name,
           gint64      *value,
           GError     **error)
{
  g_autoptr (GVariant) variant = lp_state_dup_value (state, name);

  if (variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE_INT64))
    *value = g_variant_get_int64 (variant);
  else if (variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE_UINT64))
    *value = (gint64) g_variant_get_uint64 (variant);
  else if (variant != NULL && g_variant_is_of_type (variant, G_VARIANT_TYPE_BOOLEAN))
    *value = g_variant_get_boolean (variant);
  else
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of the loader has no usable '%s'", name);
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_data_loader_load_state:
 * @self: a loader
 * @state: what [method@DataLoader.save_state] gave
 * @error: return location for an error
 *
 * Goes on where the state was saved: the next batch is the one that came next then.
 *
 * Returns: whether it could. Errors: %LP_ERROR_FORMAT, and %LP_ERROR_CONFLICT if dataset, batch size or shuffling differ
 */
gboolean
lp_data_loader_load_state (LpDataLoader  *self,
                           LpState       *state,
                           GError       **error)
{
  gint64 epoch, position, seed, shuffle, n_items, batch_size, length;

  g_return_val_if_fail (LP_IS_DATA_LOADER (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!get_int64 (state, "epoch", &epoch, error) || !get_int64 (state, "position", &position, error) ||
      !get_int64 (state, "seed", &seed, error) || !get_int64 (state, "shuffle", &shuffle, error) ||
      !get_int64 (state, "n-items", &n_items, error) || !get_int64 (state, "batch-size", &batch_size, error))
    return FALSE;

  length = self->dataset != NULL ? lp_dataset_get_length (self->dataset) : 0;
  if (n_items != length || batch_size != self->batch_size || !!shuffle != self->shuffle)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT,
                   "The state is of a loader of %" G_GINT64_FORMAT " items in batches of %" G_GINT64_FORMAT "%s, but this one "
                   "has %" G_GINT64_FORMAT " in batches of %" G_GINT64_FORMAT "%s", n_items, batch_size,
                   shuffle ? ", shuffled" : "", length, self->batch_size, self->shuffle ? ", shuffled" : "");
      return FALSE;
    }
  if (epoch < 0 || epoch > (gint64) 1 << 53 || position < 0 || position > count_batches (self, n_items))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of the loader has the “epoch” %" G_GINT64_FORMAT " and the “position” %"
                   G_GINT64_FORMAT ": there is no such batch", epoch, position);
      return FALSE;
    }

  prepare_epoch (self, epoch, (guint64) seed, position);

  return TRUE;
}
