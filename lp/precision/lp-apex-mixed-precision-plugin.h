#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/precision/lp-grad-scaler.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

/**
 * LpApexOverride:
 * @LP_APEX_OVERRIDE_NONE: as the level says
 * @LP_APEX_OVERRIDE_OFF: off, whatever the level says
 * @LP_APEX_OVERRIDE_ON: on, whatever the level says
 *
 * Whether an option of a level is overridden.
 */
typedef enum { LP_APEX_OVERRIDE_NONE, LP_APEX_OVERRIDE_OFF, LP_APEX_OVERRIDE_ON } LpApexOverride;

#define LP_TYPE_APEX_OVERRIDE (lp_apex_override_get_type ())
#define LP_TYPE_APEX_MIXED_PRECISION_PLUGIN (lp_apex_mixed_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_apex_override_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpApexMixedPrecisionPlugin, lp_apex_mixed_precision_plugin, LP, APEX_MIXED_PRECISION_PLUGIN,
                          LpPrecisionPlugin)

struct _LpApexMixedPrecisionPluginClass
{
  LpPrecisionPluginClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_apex_mixed_precision_plugin_new                    (const char                 *amp_level,
                                                                          GError                    **error);
LP_AVAILABLE_IN_ALL
LpGradScaler      *lp_apex_mixed_precision_plugin_get_scaler             (LpApexMixedPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
const char        *lp_apex_mixed_precision_plugin_get_loss_scale         (LpApexMixedPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
LpApexOverride     lp_apex_mixed_precision_plugin_get_master_weights     (LpApexMixedPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
LpApexOverride     lp_apex_mixed_precision_plugin_get_keep_batchnorm_fp32 (LpApexMixedPrecisionPlugin *self);

G_END_DECLS
