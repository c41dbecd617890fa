#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_BATCH (lp_batch_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpBatch, lp_batch, LP, BATCH, GObject)

/**
 * LpBatchMapFunc:
 * @tensor: a tensor of the batch
 * @user_data: user data
 * @error: return location for an error
 *
 * Makes the tensor that takes the place of @tensor.
 *
 * Returns: (transfer full): the new tensor, or @tensor again
 */
typedef LpTensor *(* LpBatchMapFunc) (LpTensor  *tensor,
                                      gpointer   user_data,
                                      GError   **error);

LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_new            (void);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_new_pair       (LpTensor        *input,
                                     LpTensor        *target);
LP_AVAILABLE_IN_ALL
void        lp_batch_append         (LpBatch         *self,
                                     LpTensor        *tensor,
                                     const char      *name);
LP_AVAILABLE_IN_ALL
void        lp_batch_append_batch   (LpBatch         *self,
                                     LpBatch         *batch,
                                     const char      *name);
LP_AVAILABLE_IN_ALL
guint       lp_batch_get_size       (LpBatch         *self);
LP_AVAILABLE_IN_ALL
const char *lp_batch_get_name       (LpBatch         *self,
                                     guint            index);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_batch_get_tensor     (LpBatch         *self,
                                     guint            index);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_get_batch      (LpBatch         *self,
                                     guint            index);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_batch_lookup         (LpBatch         *self,
                                     const char      *name);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_lookup_batch   (LpBatch         *self,
                                     const char      *name);
LP_AVAILABLE_IN_ALL
gint64      lp_batch_get_n_samples  (LpBatch         *self);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_to_device      (LpBatch         *self,
                                     LpDevice        *device,
                                     GError         **error);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_map            (LpBatch         *self,
                                     LpBatchMapFunc   func,
                                     gpointer         user_data,
                                     GError         **error);
LP_AVAILABLE_IN_ALL
LpBatch    *lp_batch_stack          (GPtrArray       *items,
                                     GError         **error);

G_END_DECLS
