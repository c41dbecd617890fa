#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-callback.h>

G_BEGIN_DECLS

#define LP_TYPE_MONITOR_CALLBACK (lp_monitor_callback_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpMonitorCallback, lp_monitor_callback, LP, MONITOR_CALLBACK, LpCallback)

struct _LpMonitorCallbackClass
{
  LpCallbackClass parent_class;

  /*< private >*/
  gpointer padding[4];
};

LP_AVAILABLE_IN_ALL
char *lp_monitor_callback_dup_monitor (LpMonitorCallback *self);
LP_AVAILABLE_IN_ALL
void lp_monitor_callback_set_monitor (LpMonitorCallback *self,
                                      const char *monitor);
LP_AVAILABLE_IN_ALL
LpMonitorMode lp_monitor_callback_get_mode (LpMonitorCallback *self);
LP_AVAILABLE_IN_ALL
void lp_monitor_callback_set_mode (LpMonitorCallback *self,
                                   LpMonitorMode mode);

G_END_DECLS
