#pragma once

#include <lp/core/lp-thread-stacks-private.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

/* For whoever runs steps of programs: what a step pushes and pops, and pushes and forgets, is put right at its end. */

typedef struct
{
  LpThreadRegion region;
  guint          floor;   /* of the step around it */
} LpStepScope;

/* push_scope(), and a region around what comes until _lp_precision_plugin_end_step_scope(). */
gboolean _lp_precision_plugin_begin_step_scope (LpPrecisionPlugin *self, LpStepScope *scope, GError **error);
/* LP_ERROR_STATE that names @type and @method when something had to be put right. */
gboolean _lp_precision_plugin_end_step_scope   (LpPrecisionPlugin *self, LpStepScope *scope, const char *type,
                                                const char *method, GError **error);

/* After attach(): until release() nobody else can detach the plugin. */
void     _lp_precision_plugin_hold             (LpPrecisionPlugin *self);
void     _lp_precision_plugin_release          (LpPrecisionPlugin *self);

G_END_DECLS
