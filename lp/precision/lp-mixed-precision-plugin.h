#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-grad-scaler.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_MIXED_PRECISION_PLUGIN (lp_mixed_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpMixedPrecisionPlugin, lp_mixed_precision_plugin, LP, MIXED_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpMixedPrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_mixed_precision_plugin_new        (const char            *precision,
                                                         LpGradScaler          *scaler,
                                                         GError               **error);
LP_AVAILABLE_IN_ALL
LpGradScaler      *lp_mixed_precision_plugin_get_scaler (LpMixedPrecisionPlugin *self);

G_END_DECLS
