#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-fp8-recipe.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_FP8_PRECISION_PLUGIN (lp_fp8_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFp8PrecisionPlugin, lp_fp8_precision_plugin, LP, FP8_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpFp8PrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_fp8_precision_plugin_new (const char *precision,
                                                LpFp8Recipe *recipe,
                                                GError **error);
LP_AVAILABLE_IN_ALL
LpFp8Recipe *lp_fp8_precision_plugin_get_recipe (LpFp8PrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
char *lp_fp8_precision_plugin_dup_weights_dtype (LpFp8PrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
double lp_fp8_precision_plugin_get_scale (LpFp8PrecisionPlugin *self,
                                          const char *site);

G_END_DECLS
