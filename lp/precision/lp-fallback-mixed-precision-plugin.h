#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-mixed-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_FALLBACK_MIXED_PRECISION_PLUGIN (lp_fallback_mixed_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFallbackMixedPrecisionPlugin, lp_fallback_mixed_precision_plugin, LP,
                          FALLBACK_MIXED_PRECISION_PLUGIN, LpMixedPrecisionPlugin)

struct _LpFallbackMixedPrecisionPluginClass
{
  LpMixedPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_fallback_mixed_precision_plugin_new                (double                          min_loss_scale,
                                                                          LpGradScaler                   *scaler,
                                                                          GError                        **error);
LP_AVAILABLE_IN_ALL
double             lp_fallback_mixed_precision_plugin_get_min_loss_scale (LpFallbackMixedPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
gboolean           lp_fallback_mixed_precision_plugin_has_fallen_back    (LpFallbackMixedPrecisionPlugin *self);

G_END_DECLS
