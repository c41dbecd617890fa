#include <string.h>

#include <lp/data/lp-tensor-dataset.h>

#include <lp/core/lp-error.h>
#include <lp/ops/lp-ops.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpTensorDataset:
 *
 * Samples that lie in tensors: item *i* is row *i* of each.
 */
struct _LpTensorDataset
{
  LpDataset parent_instance;

  LpBatch  *tensors;
  gint64    length;
};

G_DEFINE_FINAL_TYPE (LpTensorDataset, lp_tensor_dataset, LP_TYPE_DATASET)

enum
{
  PROP_0,
  PROP_TENSORS,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* The common extent of axis 0, or -1 with an error. */
static gint64
find_length (LpBatch  *tensors,
             gint64    length,
             GError  **error)
{
  for (guint i = 0; i < lp_batch_get_size (tensors); i++)
    {
      LpTensor *tensor = lp_batch_get_tensor (tensors, i);
      gint64 dim;

      if (tensor == NULL)
        {
          length = find_length (lp_batch_get_batch (tensors, i), length, error);
          if (length == -1)
            return -1;
          continue;
        }
      if (lp_tensor_get_n_dims (tensor) == 0)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Tensor %u is a scalar; it has no rows to be samples", i);
          return -1;
        }
      dim = lp_tensor_get_dim (tensor, 0);
      if (length >= 0 && dim != length)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
                       "Tensor %u has %" G_GINT64_FORMAT " rows, but those before it have %" G_GINT64_FORMAT, i, dim,
                       length);
          return -1;
        }
      length = dim;
    }

  return length;
}

static gint64
lp_tensor_dataset_get_length (LpDataset *dataset)
{
  return LP_TENSOR_DATASET (dataset)->length;
}

typedef struct
{
  const gint64 *rows;
  gint64        n_rows;
} Rows;

/* A plain copy on this thread: cheaper than a kernel, and it disturbs no other thread. */
static LpTensor *
take_rows (LpTensor  *source,
           gpointer   user_data,
           GError   **error)
{
  const Rows *rows = user_data;
  gint64 dims[LP_MAX_DIMS];
  const LpArray *array = &source->array;
  LpTensor *result;
  gsize row_size;

  memcpy (dims, array->dims, sizeof dims);
  dims[0] = rows->n_rows;

  if (array->scalar == LP_SCALAR_ENCODED || !_lp_array_is_contiguous (array) ||
      source->storage->device != lp_device_get_default ())
    {
      g_autoptr (LpTensor) index = lp_tensor_new_from_int64s (rows->rows, rows->n_rows, &rows->n_rows, 1, lp_dtype_i64 (), error);

      return index != NULL ? lp_tensor_index_select (source, 0, index, error) : NULL;
    }

  result = _lp_tensor_new (dims, array->n_dims, array->dtype, source->storage->device, error);
  if (result == NULL)
    return NULL;

  row_size = _lp_scalar_sizes[array->scalar];
  for (int i = 1; i < array->n_dims; i++)
    row_size *= dims[i];
  for (gint64 i = 0; i < rows->n_rows; i++)
    memcpy (result->array.data + i * row_size, array->data + rows->rows[i] * row_size, row_size);

  return result;
}

static gboolean
check_rows (LpTensorDataset  *self,
            const Rows       *rows,
            GError          **error)
{
  for (gint64 i = 0; i < rows->n_rows; i++)
    if (rows->rows[i] < 0 || rows->rows[i] >= self->length)
      {
        g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                     "Item %" G_GINT64_FORMAT " was asked of a dataset of %" G_GINT64_FORMAT, rows->rows[i],
                     self->length);
        return FALSE;
      }

  return TRUE;
}

static LpBatch *
lp_tensor_dataset_get_items (LpDataset  *dataset,
                             LpTensor   *indices,
                             GError    **error)
{
  LpTensorDataset *self = LP_TENSOR_DATASET (dataset);
  g_autofree gint64 *values = NULL;
  gsize n_values;
  Rows rows;

  values = lp_tensor_dup_int64s (indices, &n_values, error);
  if (values == NULL)
    return NULL;

  rows = (Rows) { values, n_values };
  if (!check_rows (self, &rows, error))
    return NULL;

  return lp_batch_map (self->tensors, take_rows, &rows, error);
}

static LpTensor *
select_row (LpTensor  *tensor,
            gpointer   user_data,
            GError   **error)
{
  return lp_tensor_select (tensor, 0, *(gint64 *) user_data, error);
}

static LpBatch *
lp_tensor_dataset_get_item (LpDataset  *dataset,
                            gint64      index,
                            GError    **error)
{
  LpTensorDataset *self = LP_TENSOR_DATASET (dataset);

  return lp_batch_map (self->tensors, select_row, &index, error);
}

static void
set_tensors (LpTensorDataset *self,
             LpBatch         *tensors)
{
  g_autoptr (GError) error = NULL;

  self->tensors = tensors != NULL ? g_object_ref (tensors) : lp_batch_new ();
  self->length = find_length (self->tensors, -1, &error);
  if (error != NULL)
    g_warning ("%s: the dataset is empty", error->message);
  self->length = MAX (self->length, 0);
}

static void
lp_tensor_dataset_get_property (GObject    *object,
                                guint       prop_id,
                                GValue     *value,
                                GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_TENSORS:
      g_value_set_object (value, LP_TENSOR_DATASET (object)->tensors);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_tensor_dataset_set_property (GObject      *object,
                                guint         prop_id,
                                const GValue *value,
                                GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_TENSORS:
      set_tensors (LP_TENSOR_DATASET (object), g_value_get_object (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_tensor_dataset_finalize (GObject *object)
{
  LpTensorDataset *self = LP_TENSOR_DATASET (object);

  g_clear_object (&self->tensors);

  G_OBJECT_CLASS (lp_tensor_dataset_parent_class)->finalize (object);
}

static void
lp_tensor_dataset_class_init (LpTensorDatasetClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpDatasetClass *dataset_class = LP_DATASET_CLASS (klass);

  object_class->get_property = lp_tensor_dataset_get_property;
  object_class->set_property = lp_tensor_dataset_set_property;
  object_class->finalize = lp_tensor_dataset_finalize;

  dataset_class->get_length = lp_tensor_dataset_get_length;
  dataset_class->get_item = lp_tensor_dataset_get_item;
  dataset_class->get_items = lp_tensor_dataset_get_items;

  /**
   * LpTensorDataset:tensors:
   *
   * The tensors whose rows are the samples.
   */
  properties[PROP_TENSORS] =
    g_param_spec_object ("tensors", NULL, NULL, LP_TYPE_BATCH,
                         G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_tensor_dataset_init (LpTensorDataset *self)
{
  lp_dataset_set_thread_safe (LP_DATASET (self), TRUE);
}

/**
 * lp_tensor_dataset_new:
 * @tensors: tensors with the same extent of the first axis
 * @error: return location for an error
 *
 * Creates a dataset of the rows of tensors. It keeps @tensors, which must not be appended to afterwards.
 *
 * Returns: (transfer full): the dataset. Errors: %LP_ERROR_SHAPE if the extents differ
 */
LpTensorDataset *
lp_tensor_dataset_new (LpBatch  *tensors,
                       GError  **error)
{
  g_return_val_if_fail (LP_IS_BATCH (tensors), NULL);

  if (find_length (tensors, -1, error) == -1)
    {
      if (error != NULL && *error == NULL)
        g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "A dataset needs at least one tensor");
      return NULL;
    }

  return g_object_new (LP_TYPE_TENSOR_DATASET, "tensors", tensors, NULL);
}

/**
 * lp_tensor_dataset_new_pair: (constructor)
 * @inputs: the inputs, `[n, ...]`
 * @targets: the targets, `[n, ...]`
 * @error: return location for an error
 *
 * Creates a dataset whose items are pairs named `input` and `target`.
 *
 * Returns: (transfer full): the dataset. Errors: %LP_ERROR_SHAPE if the extents of the first axis differ
 */
LpTensorDataset *
lp_tensor_dataset_new_pair (LpTensor  *inputs,
                            LpTensor  *targets,
                            GError   **error)
{
  g_autoptr (LpBatch) tensors = NULL;

  g_return_val_if_fail (LP_IS_TENSOR (inputs), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (targets), NULL);

  tensors = lp_batch_new_pair (inputs, targets);

  return lp_tensor_dataset_new (tensors, error);
}

/**
 * lp_tensor_dataset_get_tensors:
 * @self: a dataset
 *
 * Gets the tensors whose rows are the samples.
 *
 * Returns: (transfer none): the tensors
 */
LpBatch *
lp_tensor_dataset_get_tensors (LpTensorDataset *self)
{
  g_return_val_if_fail (LP_IS_TENSOR_DATASET (self), NULL);

  return self->tensors;
}
