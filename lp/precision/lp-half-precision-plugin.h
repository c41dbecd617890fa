#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_HALF_PRECISION_PLUGIN (lp_half_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpHalfPrecisionPlugin, lp_half_precision_plugin, LP, HALF_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpHalfPrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_half_precision_plugin_new (const char  *precision,
                                                 GError     **error);
LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_half_precision_plugin_new_full (const char  *precision,
                                                      gboolean     master_weights,
                                                      gboolean     stochastic_rounding,
                                                      GError     **error);
LP_AVAILABLE_IN_ALL
gboolean           lp_half_precision_plugin_get_master_weights (LpHalfPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
gboolean           lp_half_precision_plugin_get_stochastic_rounding (LpHalfPrecisionPlugin *self);

G_END_DECLS
