#pragma once

#include <lp/tensor/lp-device.h>
#include <lp/tensor/lp-kernels-private.h>

G_BEGIN_DECLS

struct _LpDeviceClass
{
  GObjectClass parent_class;

  /* 64-byte aligned; NULL with LP_ERROR_MEMORY. @used is what release gets back. */
  gpointer (* allocate)            (LpDevice *self, gsize size, GError **error);
  void     (* release)             (LpDevice *self, gpointer data, gsize size);
  void     (* trim)                (LpDevice *self);   /* may be NULL */
  gboolean (* synchronize)         (LpDevice *self, GError **error);
  gboolean (* computes_natively)   (LpDevice *self, LpDType *a, LpDType *b, LpDType *result);
  char *   (* dup_description)     (LpDevice *self);

  /* Entries may be NULL: the dispatcher reports operation, dtype and device. */
  const LpKernelTable *kernels;
};

/* For devices that are part of the library: called before main, so it only notes them down. */
void                 _lp_device_add_builtin (const char *name, LpDevice *(* create) (void), const char *description);
const LpKernelTable *_lp_device_get_kernels (LpDevice *self);
gpointer             _lp_device_allocate    (LpDevice *self, gsize size, GError **error);
void                 _lp_device_release     (LpDevice *self, gpointer data, gsize size);
/* Gives memory back to the system that is kept for reuse: after a change that leaves blocks of sizes that won't come again. */
void                 _lp_device_trim        (LpDevice *self);

G_END_DECLS
