#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-dtype.h>
#include <lp/core/lp-registry.h>

G_BEGIN_DECLS

#define LP_TYPE_DEVICE (lp_device_get_type ())
#define LP_TYPE_DEVICE_REGISTRY (lp_device_registry_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpDevice, lp_device, LP, DEVICE, GObject)
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpDeviceRegistry, lp_device_registry, LP, DEVICE_REGISTRY, LpRegistry)

LP_AVAILABLE_IN_ALL
LpDeviceRegistry *lp_device_registry_get_default (void);
LP_AVAILABLE_IN_ALL
LpDevice   *lp_device_lookup            (const char  *name,
                                         GError     **error);
LP_AVAILABLE_IN_ALL
LpDevice   *lp_device_get_default       (void);
LP_AVAILABLE_IN_ALL
const char *lp_device_get_name          (LpDevice    *self);
LP_AVAILABLE_IN_ALL
char       *lp_device_dup_description   (LpDevice    *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_device_computes_natively (LpDevice    *self,
                                         LpDType     *a,
                                         LpDType     *b,
                                         LpDType     *result);
LP_AVAILABLE_IN_ALL
gboolean    lp_device_synchronize       (LpDevice    *self,
                                         GError     **error);
LP_AVAILABLE_IN_ALL
gint64      lp_device_get_used_bytes    (LpDevice    *self);
LP_AVAILABLE_IN_ALL
gint64      lp_device_get_peak_bytes    (LpDevice    *self);
LP_AVAILABLE_IN_ALL
void        lp_device_reset_peak_bytes  (LpDevice    *self);

G_END_DECLS
