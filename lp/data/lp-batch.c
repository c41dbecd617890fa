#include <lp/data/lp-batch.h>

#include <lp/core/lp-error.h>
#include <lp/ops/lp-ops.h>

/**
 * LpBatch:
 *
 * An ordered list of tensors and nested batches, each with a name or without.
 *
 * It is what datasets give, loaders collate and steps receive. The usual one holds an input and a target.
 */
struct _LpBatch
{
  GObject  parent_instance;

  GArray  *entries;
};

typedef struct
{
  GObject *item;   /* LpTensor or LpBatch */
  char    *name;
} Entry;

G_DEFINE_FINAL_TYPE (LpBatch, lp_batch, G_TYPE_OBJECT)

static void
clear_entry (gpointer data)
{
  Entry *entry = data;

  g_object_unref (entry->item);
  g_free (entry->name);
}

static void
lp_batch_finalize (GObject *object)
{
  LpBatch *self = LP_BATCH (object);

  g_array_unref (self->entries);

  G_OBJECT_CLASS (lp_batch_parent_class)->finalize (object);
}

static void
lp_batch_class_init (LpBatchClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_batch_finalize;
}

static void
lp_batch_init (LpBatch *self)
{
  self->entries = g_array_sized_new (FALSE, FALSE, sizeof (Entry), 2);
  g_array_set_clear_func (self->entries, clear_entry);
}

static inline Entry *
get_entry (LpBatch *self,
           guint    index)
{
  return index < self->entries->len ? &g_array_index (self->entries, Entry, index) : NULL;
}

static GObject *
lookup (LpBatch    *self,
        const char *name,
        GType       type)
{
  for (guint i = 0; i < self->entries->len; i++)
    {
      Entry *entry = get_entry (self, i);

      if (g_strcmp0 (entry->name, name) == 0 && G_TYPE_CHECK_INSTANCE_TYPE (entry->item, type))
        return entry->item;
    }

  return NULL;
}

static void
append (LpBatch    *self,
        gpointer    item,
        const char *name)
{
  Entry entry = { g_object_ref (item), g_strdup (name) };

  g_array_append_val (self->entries, entry);
}

/**
 * lp_batch_new:
 *
 * Creates an empty batch.
 *
 * Returns: (transfer full): the batch
 */
LpBatch *
lp_batch_new (void)
{
  return g_object_new (LP_TYPE_BATCH, NULL);
}

/**
 * lp_batch_new_pair: (constructor)
 * @input: the input
 * @target: what the output should be
 *
 * Creates the batch that most models are trained with: `input`, then `target`.
 *
 * Returns: (transfer full): the batch
 */
LpBatch *
lp_batch_new_pair (LpTensor *input,
                   LpTensor *target)
{
  LpBatch *self;

  g_return_val_if_fail (LP_IS_TENSOR (input), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (target), NULL);

  self = lp_batch_new ();
  append (self, input, "input");
  append (self, target, "target");

  return self;
}

/**
 * lp_batch_append:
 * @self: a batch
 * @tensor: a tensor
 * @name: (nullable): its name
 *
 * Appends a tensor.
 */
void
lp_batch_append (LpBatch    *self,
                 LpTensor   *tensor,
                 const char *name)
{
  g_return_if_fail (LP_IS_BATCH (self));
  g_return_if_fail (LP_IS_TENSOR (tensor));

  append (self, tensor, name);
}

static gboolean
contains (LpBatch *self,
          LpBatch *other)
{
  if (self == other)
    return TRUE;
  for (guint i = 0; i < self->entries->len; i++)
    {
      Entry *entry = get_entry (self, i);

      if (LP_IS_BATCH (entry->item) && contains (LP_BATCH (entry->item), other))
        return TRUE;
    }

  return FALSE;
}

/**
 * lp_batch_append_batch:
 * @self: a batch
 * @batch: a batch that doesn't contain @self
 * @name: (nullable): its name
 *
 * Appends a nested batch.
 */
void
lp_batch_append_batch (LpBatch    *self,
                       LpBatch    *batch,
                       const char *name)
{
  g_return_if_fail (LP_IS_BATCH (self));
  g_return_if_fail (LP_IS_BATCH (batch));
  g_return_if_fail (!contains (batch, self));

  append (self, batch, name);
}

/**
 * lp_batch_get_size:
 * @self: a batch
 *
 * Gets the number of entries.
 *
 * Returns: how many tensors and nested batches there are
 */
guint
lp_batch_get_size (LpBatch *self)
{
  g_return_val_if_fail (LP_IS_BATCH (self), 0);

  return self->entries->len;
}

/**
 * lp_batch_get_name:
 * @self: a batch
 * @index: the number of an entry
 *
 * Gets the name of an entry.
 *
 * Returns: (nullable): the name, or %NULL if it has none or there is no such entry
 */
const char *
lp_batch_get_name (LpBatch *self,
                   guint    index)
{
  Entry *entry;

  g_return_val_if_fail (LP_IS_BATCH (self), NULL);

  entry = get_entry (self, index);

  return entry != NULL ? entry->name : NULL;
}

/**
 * lp_batch_get_tensor:
 * @self: a batch
 * @index: the number of an entry
 *
 * Gets a tensor.
 *
 * Returns: (transfer none) (nullable): the tensor, or %NULL if the entry is something else or there is none
 */
LpTensor *
lp_batch_get_tensor (LpBatch *self,
                     guint    index)
{
  Entry *entry;

  g_return_val_if_fail (LP_IS_BATCH (self), NULL);

  entry = get_entry (self, index);

  return entry != NULL && LP_IS_TENSOR (entry->item) ? (LpTensor *) entry->item : NULL;
}

/**
 * lp_batch_get_batch:
 * @self: a batch
 * @index: the number of an entry
 *
 * Gets a nested batch.
 *
 * Returns: (transfer none) (nullable): the batch, or %NULL if the entry is something else or there is none
 */
LpBatch *
lp_batch_get_batch (LpBatch *self,
                    guint    index)
{
  Entry *entry;

  g_return_val_if_fail (LP_IS_BATCH (self), NULL);

  entry = get_entry (self, index);

  return entry != NULL && LP_IS_BATCH (entry->item) ? (LpBatch *) entry->item : NULL;
}

/**
 * lp_batch_lookup:
 * @self: a batch
 * @name: a name
 *
 * Gets the first tensor of a name.
 *
 * Returns: (transfer none) (nullable): the tensor
 */
LpTensor *
lp_batch_lookup (LpBatch    *self,
                 const char *name)
{
  g_return_val_if_fail (LP_IS_BATCH (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  return (LpTensor *) lookup (self, name, LP_TYPE_TENSOR);
}

/**
 * lp_batch_lookup_batch:
 * @self: a batch
 * @name: a name
 *
 * Gets the first nested batch of a name.
 *
 * Returns: (transfer none) (nullable): the batch
 */
LpBatch *
lp_batch_lookup_batch (LpBatch    *self,
                       const char *name)
{
  g_return_val_if_fail (LP_IS_BATCH (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  return (LpBatch *) lookup (self, name, LP_TYPE_BATCH);
}

/**
 * lp_batch_get_n_samples:
 * @self: a batch
 *
 * Gets how many samples there are, which is the extent of the first axis of the first tensor that has one.
 *
 * Returns: the number of samples; 1 without such a tensor
 */
gint64
lp_batch_get_n_samples (LpBatch *self)
{
  g_return_val_if_fail (LP_IS_BATCH (self), 0);

  for (guint i = 0; i < self->entries->len; i++)
    {
      Entry *entry = get_entry (self, i);

      if (LP_IS_BATCH (entry->item))
        return lp_batch_get_n_samples (LP_BATCH (entry->item));
      if (lp_tensor_get_n_dims ((LpTensor *) entry->item) > 0)
        return lp_tensor_get_dim ((LpTensor *) entry->item, 0);
    }

  return 1;
}

static LpTensor *
move_tensor (LpTensor  *tensor,
             gpointer   device,
             GError   **error)
{
  if (lp_tensor_get_device (tensor) == device)
    return g_object_ref (tensor);

  return lp_tensor_to_device (tensor, device, error);
}

/**
 * lp_batch_to_device:
 * @self: a batch
 * @device: a device
 * @error: return location for an error
 *
 * Brings all tensors to a device. Tensors that are there already are shared.
 *
 * Returns: (transfer full): the batch; @self again if everything was there. Errors: %LP_ERROR_DEVICE, %LP_ERROR_MEMORY
 */
LpBatch *
lp_batch_to_device (LpBatch   *self,
                    LpDevice  *device,
                    GError   **error)
{
  g_return_val_if_fail (LP_IS_BATCH (self), NULL);
  g_return_val_if_fail (LP_IS_DEVICE (device), NULL);

  return lp_batch_map (self, move_tensor, device, error);
}

static GObject *
map_item (GObject         *item,
          LpBatchMapFunc   func,
          gpointer         user_data,
          GError         **error)
{
  GError *local = NULL;
  LpTensor *result;

  if (LP_IS_BATCH (item))
    return (GObject *) lp_batch_map ((LpBatch *) item, func, user_data, error);

  result = func ((LpTensor *) item, user_data, &local);
  if (local == NULL && !LP_IS_TENSOR (result))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "The function given to map a batch returned no tensor");
  if (local == NULL)
    return (GObject *) result;

  g_clear_object (&result);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_batch_map:
 * @self: a batch
 * @func: (scope call): what to do with each tensor, nested ones included
 * @user_data: user data
 * @error: return location for an error
 *
 * Makes a batch of the same structure and names out of new tensors. If @func returns every tensor as it was, nothing is
 * made.
 *
 * Returns: (transfer full): the new batch, or @self again. Errors: those of @func, and %LP_ERROR_SUBCLASS if it returns
 *   nothing
 */
LpBatch *
lp_batch_map (LpBatch         *self,
              LpBatchMapFunc   func,
              gpointer         user_data,
              GError         **error)
{
  g_autoptr (LpBatch) result = NULL;

  g_return_val_if_fail (LP_IS_BATCH (self), NULL);
  g_return_val_if_fail (func != NULL, NULL);

  for (guint i = 0; i < self->entries->len; i++)
    {
      Entry *entry = get_entry (self, i);
      g_autoptr (GObject) item = map_item (entry->item, func, user_data, error);

      if (item == NULL)
        return NULL;
      if (result == NULL && item != entry->item)
        {
          result = lp_batch_new ();
          for (guint j = 0; j < i; j++)
            append (result, get_entry (self, j)->item, get_entry (self, j)->name);
        }
      if (result != NULL)
        append (result, item, get_entry (self, i)->name);
    }

  return result != NULL ? g_steal_pointer (&result) : g_object_ref (self);
}

static gboolean
check_items (GPtrArray  *items,
             GError    **error)
{
  LpBatch *first;

  if (items->len == 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There are no items to make a batch of");
      return FALSE;
    }

  first = g_ptr_array_index (items, 0);
  for (guint i = 0; i < items->len; i++)
    {
      LpBatch *item = g_ptr_array_index (items, i);

      if (!LP_IS_BATCH (item))
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Item %u is no LpBatch", i);
          return FALSE;
        }
      if (item->entries->len != first->entries->len)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Item %u has %u entries, but item 0 has %u", i,
                       item->entries->len, first->entries->len);
          return FALSE;
        }
    }

  return TRUE;
}

static GObject *
stack_entry (GPtrArray  *items,
             guint       index,
             GError    **error)
{
  GType type = G_OBJECT_TYPE (get_entry (g_ptr_array_index (items, 0), index)->item);
  g_autoptr (GPtrArray) parts = g_ptr_array_sized_new (items->len);

  for (guint i = 0; i < items->len; i++)
    {
      Entry *entry = get_entry (g_ptr_array_index (items, i), index);

      if (G_OBJECT_TYPE (entry->item) != type)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Entry %u of item %u is a %s, but that of item 0 a %s", index, i,
                       G_OBJECT_TYPE_NAME (entry->item), g_type_name (type));
          return NULL;
        }
      g_ptr_array_add (parts, entry->item);
    }

  if (type == LP_TYPE_BATCH)
    return (GObject *) lp_batch_stack (parts, error);

  return (GObject *) lp_tensor_stack ((LpTensor **) parts->pdata, parts->len, 0, error);
}

/**
 * lp_batch_stack:
 * @items: (element-type LpBatch): items of the same structure, at least one
 * @error: return location for an error
 *
 * Makes a batch of items: tensors of shape `[...]` become one of shape `[n, ...]`. Names are those of the first item.
 *
 * Returns: (transfer full): the batch. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT
 */
LpBatch *
lp_batch_stack (GPtrArray  *items,
                GError    **error)
{
  g_autoptr (LpBatch) result = NULL;
  LpBatch *first;

  g_return_val_if_fail (items != NULL, NULL);

  if (!check_items (items, error))
    return NULL;

  result = lp_batch_new ();
  first = g_ptr_array_index (items, 0);
  for (guint i = 0; i < first->entries->len; i++)
    {
      g_autoptr (GObject) item = stack_entry (items, i, error);

      if (item == NULL)
        return NULL;
      append (result, item, get_entry (first, i)->name);
    }

  return g_steal_pointer (&result);
}
