#pragma once

#include <lp/trainer/lp-monitor-callback.h>

G_BEGIN_DECLS

/* Borrowed; NULL if nothing is monitored. */
const char *_lp_monitor_callback_peek_monitor (LpMonitorCallback *self);
/* Whether the monitored value was logged. */
gboolean    _lp_monitor_callback_look_up      (LpMonitorCallback *self, LpTrainer *trainer, double *value);
/* Whether @value is the better one, by more than @margin. */
gboolean    _lp_monitor_callback_prefers      (LpMonitorCallback *self, double value, double than, double margin);

G_END_DECLS
