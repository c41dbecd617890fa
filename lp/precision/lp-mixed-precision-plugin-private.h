#pragma once

#include <lp/precision/lp-mixed-precision-plugin.h>

G_BEGIN_DECLS

/* The scaler whatever the precision is; NULL if none was ever needed. */
LpGradScaler *_lp_mixed_precision_plugin_peek_any_scaler (LpMixedPrecisionPlugin *self);

G_END_DECLS
