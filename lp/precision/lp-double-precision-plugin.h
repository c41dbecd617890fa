#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_DOUBLE_PRECISION_PLUGIN (lp_double_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpDoublePrecisionPlugin, lp_double_precision_plugin, LP, DOUBLE_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpDoublePrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_double_precision_plugin_new (void);

G_END_DECLS
