#include <lp/data/lp-dataset.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-random.h>
#include <lp/data/lp-data-private.h>
#include <lp/data/lp-subset.h>

/**
 * LpDataset:
 *
 * Samples by index.
 *
 * A subclass gives [vfunc@Dataset.get_length] and [vfunc@Dataset.get_item]; one that can fetch many items at once does
 * better with [vfunc@Dataset.get_items]. Random numbers drawn inside these depend on the loader's seed, the epoch and
 * the batch only, so that a run that is resumed sees the same samples.
 */
typedef struct
{
  gboolean thread_safe;
} LpDatasetPrivate;

G_DEFINE_ABSTRACT_TYPE_WITH_PRIVATE (LpDataset, lp_dataset, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_THREAD_SAFE,
  PROP_LENGTH,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gint64
lp_dataset_real_get_length (LpDataset *self)
{
  g_warning ("%s does not implement get_length", G_OBJECT_TYPE_NAME (self));

  return 0;
}

static LpBatch *
lp_dataset_real_get_item (LpDataset  *self,
                          gint64      index,
                          GError    **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement get_item", G_OBJECT_TYPE_NAME (self));

  return NULL;
}

static LpBatch *
lp_dataset_real_get_items (LpDataset  *self,
                           LpTensor   *indices,
                           GError    **error)
{
  g_autofree gint64 *values = NULL;
  g_autoptr (GPtrArray) items = g_ptr_array_new_with_free_func (g_object_unref);
  gsize n_values;

  values = lp_tensor_dup_int64s (indices, &n_values, error);
  if (values == NULL)
    return NULL;

  for (gsize i = 0; i < n_values; i++)
    {
      LpBatch *item = lp_dataset_get_item (self, values[i], error);

      if (item == NULL)
        return NULL;
      g_ptr_array_add (items, item);
    }

  return lp_dataset_collate (self, items, error);
}

static LpBatch *
lp_dataset_real_collate (LpDataset  *self,
                         GPtrArray  *items,
                         GError    **error)
{
  return lp_batch_stack (items, error);
}

static void
lp_dataset_get_property (GObject    *object,
                         guint       prop_id,
                         GValue     *value,
                         GParamSpec *pspec)
{
  LpDataset *self = LP_DATASET (object);

  switch (prop_id)
    {
    case PROP_THREAD_SAFE:
      g_value_set_boolean (value, lp_dataset_get_thread_safe (self));
      break;
    case PROP_LENGTH:
      g_value_set_int64 (value, lp_dataset_get_length (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dataset_set_property (GObject      *object,
                         guint         prop_id,
                         const GValue *value,
                         GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_THREAD_SAFE:
      lp_dataset_set_thread_safe (LP_DATASET (object), g_value_get_boolean (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dataset_class_init (LpDatasetClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_dataset_get_property;
  object_class->set_property = lp_dataset_set_property;

  klass->get_length = lp_dataset_real_get_length;
  klass->get_item = lp_dataset_real_get_item;
  klass->get_items = lp_dataset_real_get_items;
  klass->collate = lp_dataset_real_collate;

  /**
   * LpDataset:thread-safe:
   *
   * Whether items may be fetched on a thread other than the run's. Never set this for a class written in JavaScript.
   */
  properties[PROP_THREAD_SAFE] =
    g_param_spec_boolean ("thread-safe", NULL, NULL, FALSE,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  /**
   * LpDataset:length:
   *
   * How many items there are.
   */
  properties[PROP_LENGTH] =
    g_param_spec_int64 ("length", NULL, NULL, 0, G_MAXINT64, 0, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_dataset_init (LpDataset *self)
{
}

/* Nothing, a wrong type, or a result beside an error: an error that names the subclass. */
static LpBatch *
check_result (LpDataset   *self,
              const char  *method,
              LpBatch     *batch,
              GError      *local,
              GError     **error)
{
  if (local != NULL)
    {
      g_clear_object (&batch);
      g_propagate_error (error, local);
      return NULL;
    }
  if (batch == NULL || !LP_IS_BATCH (batch))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s returned no LpBatch and no error",
                   G_OBJECT_TYPE_NAME (self), method);
      return NULL;
    }

  return batch;
}

/**
 * lp_dataset_get_length:
 * @self: a dataset
 *
 * Gets the number of items.
 *
 * Returns: how many there are
 */
gint64
lp_dataset_get_length (LpDataset *self)
{
  g_return_val_if_fail (LP_IS_DATASET (self), 0);

  return MAX (LP_DATASET_GET_CLASS (self)->get_length (self), 0);
}

/**
 * lp_dataset_get_item:
 * @self: a dataset
 * @index: from 0 to the length - 1
 * @error: return location for an error
 *
 * Gets one item. Its tensors have no axis for the batch.
 *
 * Returns: (transfer full): the item. Errors: %LP_ERROR_ARGUMENT for an index out of range, %LP_ERROR_SUBCLASS if the
 *   subclass returns nothing, and its own
 */
LpBatch *
lp_dataset_get_item (LpDataset  *self,
                     gint64      index,
                     GError    **error)
{
  GError *local = NULL;
  LpBatch *item;
  gint64 length;

  g_return_val_if_fail (LP_IS_DATASET (self), NULL);

  length = lp_dataset_get_length (self);
  if (index < 0 || index >= length)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                   "Item %" G_GINT64_FORMAT " was asked of a dataset of %" G_GINT64_FORMAT, index, length);
      return NULL;
    }

  item = LP_DATASET_GET_CLASS (self)->get_item (self, index, &local);

  return check_result (self, "get_item", item, local, error);
}

/**
 * lp_dataset_get_items:
 * @self: a dataset
 * @indices: integers `[n]`
 * @error: return location for an error
 *
 * Gets several items as one batch.
 *
 * Returns: (transfer full): the batch. Errors: those of [method@Dataset.get_item] and [method@Dataset.collate]
 */
LpBatch *
lp_dataset_get_items (LpDataset  *self,
                      LpTensor   *indices,
                      GError    **error)
{
  GError *local = NULL;
  LpBatch *batch;

  g_return_val_if_fail (LP_IS_DATASET (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (indices), NULL);

  batch = LP_DATASET_GET_CLASS (self)->get_items (self, indices, &local);

  return check_result (self, "get_items", batch, local, error);
}

/**
 * lp_dataset_collate:
 * @self: a dataset
 * @items: (element-type LpBatch): items, at least one
 * @error: return location for an error
 *
 * Makes a batch of items.
 *
 * Returns: (transfer full): the batch. Errors: %LP_ERROR_SHAPE if the items differ, %LP_ERROR_SUBCLASS if the subclass
 *   returns nothing, and its own
 */
LpBatch *
lp_dataset_collate (LpDataset  *self,
                    GPtrArray  *items,
                    GError    **error)
{
  GError *local = NULL;
  LpBatch *batch;

  g_return_val_if_fail (LP_IS_DATASET (self), NULL);
  g_return_val_if_fail (items != NULL, NULL);

  batch = LP_DATASET_GET_CLASS (self)->collate (self, items, &local);

  return check_result (self, "collate", batch, local, error);
}

/**
 * lp_dataset_get_thread_safe:
 * @self: a dataset
 *
 * Gets whether items may be fetched on another thread.
 *
 * Returns: whether they may
 */
gboolean
lp_dataset_get_thread_safe (LpDataset *self)
{
  LpDatasetPrivate *priv = lp_dataset_get_instance_private (self);

  g_return_val_if_fail (LP_IS_DATASET (self), FALSE);

  return priv->thread_safe;
}

/**
 * lp_dataset_set_thread_safe:
 * @self: a dataset
 * @thread_safe: whether items may be fetched on another thread
 *
 * Says that items may be fetched on a thread other than the run's.
 */
void
lp_dataset_set_thread_safe (LpDataset *self,
                            gboolean   thread_safe)
{
  LpDatasetPrivate *priv = lp_dataset_get_instance_private (self);

  g_return_if_fail (LP_IS_DATASET (self));

  if (priv->thread_safe == !!thread_safe)
    return;

  priv->thread_safe = !!thread_safe;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_THREAD_SAFE]);
}

/* Fisher and Yates; a pure function of seed, stream and length. */
gint64 *
_lp_permutation (gint64  length,
                 guint64 seed,
                 guint64 stream)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (seed, stream);
  gint64 *order = g_new (gint64, MAX (length, 1));

  for (gint64 i = 0; i < length; i++)
    order[i] = i;
  for (gint64 i = length - 1; i > 0; i--)
    {
      guint64 high = lp_generator_next (generator);
      guint64 random = high << 32 | lp_generator_next (generator);
      gint64 j = (gint64) (((unsigned __int128) random * (guint64) (i + 1)) >> 64);
      gint64 swap = order[i];

      order[i] = order[j];
      order[j] = swap;
    }

  return order;
}

static gboolean
resolve_lengths (const gint64  *lengths,
                 gsize          n_lengths,
                 gint64         total,
                 gint64        *resolved,
                 GError       **error)
{
  gint64 sum = 0;
  gssize rest = -1;

  for (gsize i = 0; i < n_lengths; i++)
    {
      if (lengths[i] < -1 || (lengths[i] == -1 && rest >= 0) || lengths[i] > total - sum)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                       "Length %" G_GINT64_FORMAT " of part %" G_GSIZE_FORMAT " doesn't fit a dataset of %" G_GINT64_FORMAT
                       " items; one part may be -1 for the rest", lengths[i], i, total);
          return FALSE;
        }
      if (lengths[i] == -1)
        rest = i;
      resolved[i] = MAX (lengths[i], 0);
      sum += resolved[i];
    }

  if (rest >= 0)
    resolved[rest] = total - sum;

  return TRUE;
}

/**
 * lp_dataset_split:
 * @self: a dataset
 * @lengths: (array length=n_lengths): the length of each part; one may be -1, which is the rest
 * @n_lengths: the number of parts
 * @seed: decides which items go where
 * @error: return location for an error
 *
 * Splits a dataset at random into parts that share no item. The same seed gives the same parts.
 *
 * Returns: (transfer container) (element-type LpSubset): the parts. Errors: %LP_ERROR_ARGUMENT for lengths that don't fit
 */
GPtrArray *
lp_dataset_split (LpDataset     *self,
                  const gint64  *lengths,
                  gsize          n_lengths,
                  guint64        seed,
                  GError       **error)
{
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (g_object_unref);
  g_autofree gint64 *order = NULL;
  g_autofree gint64 *resolved = NULL;
  gint64 total, start = 0;

  g_return_val_if_fail (LP_IS_DATASET (self), NULL);

  total = lp_dataset_get_length (self);
  resolved = g_new0 (gint64, MAX (n_lengths, 1));
  if (!resolve_lengths (lengths, n_lengths, total, resolved, error))
    return NULL;

  order = _lp_permutation (total, seed, 0);
  for (gsize i = 0; i < n_lengths; i++)
    {
      g_autoptr (LpTensor) indices = lp_tensor_new_from_int64s (order + start, resolved[i], &resolved[i], 1,
                                                                lp_dtype_i64 (), error);
      LpSubset *part = indices != NULL ? lp_subset_new (self, indices, error) : NULL;

      if (part == NULL)
        return NULL;
      g_ptr_array_add (parts, part);
      start += resolved[i];
    }

  return g_steal_pointer (&parts);
}
