#include <lp/data/lp-subset.h>

#include <lp/core/lp-error.h>

/**
 * LpSubset:
 *
 * Some items of another dataset, in an order of its own.
 */
struct _LpSubset
{
  LpDataset  parent_instance;

  LpDataset *dataset;
  LpTensor  *indices;
  gint64    *values;
  gsize      length;
};

G_DEFINE_FINAL_TYPE (LpSubset, lp_subset, LP_TYPE_DATASET)

static gint64
lp_subset_get_length (LpDataset *dataset)
{
  return LP_SUBSET (dataset)->length;
}

static LpBatch *
lp_subset_get_item (LpDataset  *dataset,
                    gint64      index,
                    GError    **error)
{
  LpSubset *self = LP_SUBSET (dataset);

  return lp_dataset_get_item (self->dataset, self->values[index], error);
}

static LpBatch *
lp_subset_get_items (LpDataset  *dataset,
                     LpTensor   *indices,
                     GError    **error)
{
  LpSubset *self = LP_SUBSET (dataset);
  g_autoptr (LpTensor) translated = NULL;
  g_autofree gint64 *values = NULL;
  gsize n_values;
  gint64 dim;

  values = lp_tensor_dup_int64s (indices, &n_values, error);
  if (values == NULL)
    return NULL;

  for (gsize i = 0; i < n_values; i++)
    {
      if (values[i] < 0 || (gsize) values[i] >= self->length)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                       "Item %" G_GINT64_FORMAT " was asked of a dataset of %" G_GSIZE_FORMAT, values[i], self->length);
          return NULL;
        }
      values[i] = self->values[values[i]];
    }

  dim = n_values;
  translated = lp_tensor_new_from_int64s (values, n_values, &dim, 1, lp_dtype_i64 (), error);

  return translated != NULL ? lp_dataset_get_items (self->dataset, translated, error) : NULL;
}

static LpBatch *
lp_subset_collate (LpDataset  *dataset,
                   GPtrArray  *items,
                   GError    **error)
{
  return lp_dataset_collate (LP_SUBSET (dataset)->dataset, items, error);
}

static void
lp_subset_finalize (GObject *object)
{
  LpSubset *self = LP_SUBSET (object);

  g_clear_object (&self->dataset);
  g_clear_object (&self->indices);
  g_free (self->values);

  G_OBJECT_CLASS (lp_subset_parent_class)->finalize (object);
}

static void
lp_subset_class_init (LpSubsetClass *klass)
{
  LpDatasetClass *dataset_class = LP_DATASET_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = lp_subset_finalize;

  dataset_class->get_length = lp_subset_get_length;
  dataset_class->get_item = lp_subset_get_item;
  dataset_class->get_items = lp_subset_get_items;
  dataset_class->collate = lp_subset_collate;
}

static void
lp_subset_init (LpSubset *self)
{
}

/**
 * lp_subset_new:
 * @dataset: a dataset
 * @indices: integers `[n]`: the items of @dataset to take
 * @error: return location for an error
 *
 * Creates a dataset of some items of another one.
 *
 * Returns: (transfer full): the dataset. Errors: %LP_ERROR_ARGUMENT for an index out of range, %LP_ERROR_SHAPE
 */
LpSubset *
lp_subset_new (LpDataset  *dataset,
               LpTensor   *indices,
               GError    **error)
{
  g_autoptr (LpSubset) self = NULL;
  gint64 length;

  g_return_val_if_fail (LP_IS_DATASET (dataset), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (indices), NULL);

  if (lp_tensor_get_n_dims (indices) != 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "The indices of a subset have one axis, not %u",
                   lp_tensor_get_n_dims (indices));
      return NULL;
    }

  self = g_object_new (LP_TYPE_SUBSET, NULL);
  self->dataset = g_object_ref (dataset);
  self->indices = g_object_ref (indices);
  self->values = lp_tensor_dup_int64s (indices, &self->length, error);
  if (self->values == NULL)
    return NULL;

  length = lp_dataset_get_length (dataset);
  for (gsize i = 0; i < self->length; i++)
    if (self->values[i] < 0 || self->values[i] >= length)
      {
        g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                     "Index %" G_GINT64_FORMAT " doesn't fit a dataset of %" G_GINT64_FORMAT " items", self->values[i],
                     length);
        return NULL;
      }

  lp_dataset_set_thread_safe (LP_DATASET (self), lp_dataset_get_thread_safe (dataset));

  return g_steal_pointer (&self);
}

/**
 * lp_subset_get_dataset:
 * @self: a subset
 *
 * Gets the dataset that the items come from.
 *
 * Returns: (transfer none): the dataset
 */
LpDataset *
lp_subset_get_dataset (LpSubset *self)
{
  g_return_val_if_fail (LP_IS_SUBSET (self), NULL);

  return self->dataset;
}

/**
 * lp_subset_get_indices:
 * @self: a subset
 *
 * Gets which items are taken.
 *
 * Returns: (transfer none): the indices, `[n]`
 */
LpTensor *
lp_subset_get_indices (LpSubset *self)
{
  g_return_val_if_fail (LP_IS_SUBSET (self), NULL);

  return self->indices;
}
