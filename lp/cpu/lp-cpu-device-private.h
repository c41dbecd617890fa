#pragma once

#include <lp/tensor/lp-device-private.h>

G_BEGIN_DECLS

#define LP_TYPE_CPU_DEVICE (lp_cpu_device_get_type ())

G_DECLARE_FINAL_TYPE (LpCpuDevice, lp_cpu_device, LP, CPU_DEVICE, LpDevice)


/* The caching allocator: memory is 64-byte aligned, and kept for the next request of its size class. */
gpointer  _lp_cpu_allocate   (gsize size);
void      _lp_cpu_release    (gpointer data, gsize size);
/* Gives back what is not in use. */
void      _lp_cpu_trim       (void);
/* The bytes that wait for reuse. */
gsize     _lp_cpu_get_waiting (void);

G_END_DECLS
