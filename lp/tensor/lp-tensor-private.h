#pragma once

#include <lp/tensor/lp-device-private.h>
#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

/* A run of memory on one device. @release frees it when it did not come from the device's allocator. */
typedef struct
{
  gatomicrefcount ref_count;
  guint8        *data;
  gsize          size;
  LpDevice      *device;
  gboolean       read_only;
  gpointer       owner;
  GDestroyNotify release;
  LpShape       *encoded;   /* the shape of an encoded tensor */
  gint           version;   /* counts changes in place */
} LpStorage;

LpStorage *_lp_storage_new      (LpDevice *device, gsize size, GError **error);
LpStorage *_lp_storage_new_wrap (LpDevice *device, gpointer data, gsize size, gboolean read_only,
                                 gpointer owner, GDestroyNotify release);
LpStorage *_lp_storage_ref      (LpStorage *self);
void       _lp_storage_unref    (LpStorage *self);
gboolean   _lp_storage_is_shared (LpStorage *self);

/* Autograd's part of a tensor, opaque down here: a node of the tape, freed with the tensor. */
typedef struct _LpNode LpNode;

struct _LpTensor
{
  GObject    parent_instance;

  LpStorage *storage;
  LpArray    array;          /* array.data points at the first element */
  gboolean   requires_grad;
  LpTensor  *grad;           /* of leaves */
  LpTensor  *factor;         /* of gradients: what the values in memory are still to be multiplied by; NULL for 1 */
  gboolean   is_shown;       /* of gradients: a program has got hold of it */
  guint      n_wide;         /* of leaves: how many groups of optimizers keep its gradient in f32, though it is in 16 bits */
  LpNode    *node;           /* of results; NULL for leaves */
  GDestroyNotify node_release;

  /* The copy in 16 bits of a leaf's values, good while @low_version is the storage's version. */
  LpTensor  *low;
  gint       low_version;
};

/* Uninitialised, row-major; or channels-last memory for [n, c, h, w]. NULL with an error. */
LpTensor *_lp_tensor_new               (const gint64 *dims, int n_dims, LpDType *dtype, LpDevice *device, GError **error);
LpTensor *_lp_tensor_new_channels_last (const gint64 dims[4], LpDType *dtype, LpDevice *device, GError **error);
/* The bytes that a tensor takes, without making it. */
gboolean  _lp_tensor_compute_size      (const gint64 *dims, int n_dims, LpDType *dtype, gsize *size, GError **error);
/* Same shape as @like, dense strides in the same order as those of @like. */
LpTensor *_lp_tensor_new_like          (LpTensor *like, LpDType *dtype, GError **error);
/* Takes a reference of @storage. */
LpTensor *_lp_tensor_new_view          (LpStorage *storage, const LpArray *array);
/* Without the autograd parts, sharing storage. */
LpTensor *_lp_tensor_detach            (LpTensor *self);

gboolean  _lp_tensor_is_dense          (LpTensor *self);   /* contiguous in some order of the axes */
/* A row-major tensor with the same values: @self again when it is one. Not recorded. */
LpTensor *_lp_tensor_contiguous        (LpTensor *self, GError **error);
/* The values in another dtype: @self again when it is that dtype. Not recorded. */
LpTensor *_lp_tensor_cast              (LpTensor *self, LpDType *dtype, GError **error);
void      _lp_tensor_changed           (LpTensor *self);
/* Multiplies the values in memory by the factor, and forgets it: what a reader sees does not change. */
gboolean  _lp_tensor_settle            (LpTensor *self, GError **error);
/* The storage may be written: else LP_ERROR_STATE. */
gboolean  _lp_tensor_check_writable    (LpTensor *self, GError **error);

gboolean  _lp_array_is_contiguous      (const LpArray *self);
/* Whether it is all of an encoded tensor. */
gboolean  _lp_array_is_whole           (const LpArray *self);
gint64    _lp_array_get_n_elements     (const LpArray *self);
/* The product of extents, 0 taken for 1 as strides do; FALSE if one is negative or they overflow. */
gboolean  _lp_dims_multiply            (const gint64 *dims, int n_dims, gint64 *n);
/* -1 counts from the end; sets LP_ERROR_SHAPE and returns -1 when out of range. */
int       _lp_axis_resolve             (int axis, int n_dims, GError **error);

static inline const LpKernelTable *
_lp_tensor_get_kernels (LpTensor *self)
{
  return _lp_device_get_kernels (self->storage->device);
}

G_END_DECLS
