#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_FULL_PRECISION_PLUGIN (lp_full_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFullPrecisionPlugin, lp_full_precision_plugin, LP, FULL_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpFullPrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_full_precision_plugin_new (void);

G_END_DECLS
