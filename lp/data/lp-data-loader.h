#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-state.h>
#include <lp/data/lp-dataset.h>

G_BEGIN_DECLS

#define LP_TYPE_DATA_LOADER (lp_data_loader_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpDataLoader, lp_data_loader, LP, DATA_LOADER, GObject)

LP_AVAILABLE_IN_ALL
LpDataLoader *lp_data_loader_new            (LpDataset     *dataset,
                                             gint64         batch_size,
                                             gboolean       shuffle);
LP_AVAILABLE_IN_ALL
LpDataset    *lp_data_loader_get_dataset    (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gint64        lp_data_loader_get_batch_size (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_data_loader_get_shuffle    (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
void          lp_data_loader_set_shuffle    (LpDataLoader  *self,
                                             gboolean       shuffle);
LP_AVAILABLE_IN_ALL
gint64        lp_data_loader_get_seed       (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
void          lp_data_loader_set_seed       (LpDataLoader  *self,
                                             gint64         seed);
LP_AVAILABLE_IN_ALL
gboolean      lp_data_loader_get_drop_last  (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
void          lp_data_loader_set_drop_last  (LpDataLoader  *self,
                                             gboolean       drop_last);
LP_AVAILABLE_IN_ALL
guint         lp_data_loader_get_prefetch   (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
void          lp_data_loader_set_prefetch   (LpDataLoader  *self,
                                             guint          prefetch);
LP_AVAILABLE_IN_ALL
gint64        lp_data_loader_get_length     (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gint64        lp_data_loader_get_epoch      (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gint64        lp_data_loader_get_position   (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_data_loader_start_epoch    (LpDataLoader  *self,
                                             gint64         epoch,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
LpBatch      *lp_data_loader_next           (LpDataLoader  *self,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_data_loader_read_ahead     (LpDataLoader  *self,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
void          lp_data_loader_stop           (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
LpState      *lp_data_loader_save_state     (LpDataLoader  *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_data_loader_load_state     (LpDataLoader  *self,
                                             LpState       *state,
                                             GError       **error);

G_END_DECLS
