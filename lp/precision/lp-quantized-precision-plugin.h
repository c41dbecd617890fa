#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_QUANTIZED_PRECISION_PLUGIN (lp_quantized_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpQuantizedPrecisionPlugin, lp_quantized_precision_plugin, LP, QUANTIZED_PRECISION_PLUGIN, LpPrecisionPlugin)

struct _LpQuantizedPrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_quantized_precision_plugin_new                (const char                  *precision,
                                                                     const char * const          *ignore_modules,
                                                                     const char                  *compute_dtype,
                                                                     GError                     **error);
LP_AVAILABLE_IN_ALL
char             **lp_quantized_precision_plugin_dup_ignore_modules (LpQuantizedPrecisionPlugin  *self);
LP_AVAILABLE_IN_ALL
const char        *lp_quantized_precision_plugin_get_compute_dtype  (LpQuantizedPrecisionPlugin  *self);
LP_AVAILABLE_IN_ALL
double             lp_quantized_precision_plugin_get_threshold      (LpQuantizedPrecisionPlugin  *self);

G_END_DECLS
