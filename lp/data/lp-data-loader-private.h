#pragma once

#include <lp/data/lp-data-loader.h>

G_BEGIN_DECLS

struct _LpDataLoader
{
  GObject    parent_instance;

  LpDataset *dataset;
  gint64     batch_size;
  gboolean   shuffle;
  gint64     seed;            /* -1: the default generator's */
  gboolean   drop_last;
  guint      prefetch;

  /* The epoch that is on; not changed while the thread runs. */
  gboolean   started;
  gint64     epoch;
  guint64    epoch_seed;
  gint64    *order;           /* NULL: as they come */
  gint64     n_items;
  gint64     n_batches;
  gint64     position;        /* batches handed out */

  GQueue     ready;           /* fetched by read_ahead */

  GThread   *thread;
  GMutex     mutex;
  GCond      filled, emptied;
  GQueue     queue;           /* fetched by the thread; these four under the mutex */
  GError    *thread_error;
  gboolean   finished, cancelled;
};

/* Batch number @batch of the epoch, fetched on this thread. */
LpBatch *_lp_data_loader_fetch            (LpDataLoader *self, gint64 batch, GError **error);
/* Starts fetching ahead from the position on, if the dataset allows it and room is asked for. */
void     _lp_data_loader_start_thread     (LpDataLoader *self);
/* Ends that, and drops what was fetched ahead. */
void     _lp_data_loader_stop_thread      (LpDataLoader *self);
/* The next batch of the thread; NULL without an error at the end. */
LpBatch *_lp_data_loader_take_from_thread (LpDataLoader *self, GError **error);

G_END_DECLS
