#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/data/lp-batch.h>

G_BEGIN_DECLS

#define LP_TYPE_DATASET (lp_dataset_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpDataset, lp_dataset, LP, DATASET, GObject)

/**
 * LpDatasetClass:
 * @get_length: how many items there are
 * @get_item: one item, without an axis for the batch
 * @get_items: the collated items of the indices `[n]` (i64); the default calls @get_item and @collate
 * @collate: makes a batch of items; the default stacks their tensors
 */
struct _LpDatasetClass
{
  GObjectClass parent_class;

  gint64   (* get_length) (LpDataset  *self);
  LpBatch *(* get_item)   (LpDataset  *self,
                           gint64      index,
                           GError    **error);
  LpBatch *(* get_items)  (LpDataset  *self,
                           LpTensor   *indices,
                           GError    **error);
  LpBatch *(* collate)    (LpDataset  *self,
                           GPtrArray  *items,
                           GError    **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
gint64     lp_dataset_get_length      (LpDataset     *self);
LP_AVAILABLE_IN_ALL
LpBatch   *lp_dataset_get_item        (LpDataset     *self,
                                       gint64         index,
                                       GError       **error);
LP_AVAILABLE_IN_ALL
LpBatch   *lp_dataset_get_items       (LpDataset     *self,
                                       LpTensor      *indices,
                                       GError       **error);
LP_AVAILABLE_IN_ALL
LpBatch   *lp_dataset_collate         (LpDataset     *self,
                                       GPtrArray     *items,
                                       GError       **error);
LP_AVAILABLE_IN_ALL
gboolean   lp_dataset_get_thread_safe (LpDataset     *self);
LP_AVAILABLE_IN_ALL
void       lp_dataset_set_thread_safe (LpDataset     *self,
                                       gboolean       thread_safe);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_dataset_split           (LpDataset     *self,
                                       const gint64  *lengths,
                                       gsize          n_lengths,
                                       guint64        seed,
                                       GError       **error);

G_END_DECLS
