#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <gio/gio.h>
#include <lp/data/lp-data-loader.h>
#include <lp/nn/lp-module.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

#define LP_TYPE_FABRIC (lp_fabric_get_type ())

/* Precision and device handling for loops that the user writes. */
LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpFabric, lp_fabric, LP, FABRIC, GObject)

LP_AVAILABLE_IN_ALL
LpFabric *lp_fabric_new (const char *precision_request,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpFabric *lp_fabric_new_with_plugin (LpPrecisionPlugin *precision_plugin,
                                     GError **error);

LP_AVAILABLE_IN_ALL
char *lp_fabric_dup_precision (LpFabric *self);
LP_AVAILABLE_IN_ALL
char *lp_fabric_dup_amp_backend (LpFabric *self);
LP_AVAILABLE_IN_ALL
char *lp_fabric_dup_amp_level (LpFabric *self);
LP_AVAILABLE_IN_ALL
char *lp_fabric_dup_precision_request (LpFabric *self);
LP_AVAILABLE_IN_ALL
char *lp_fabric_dup_precision_reason (LpFabric *self);
LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_fabric_dup_precision_plugin (LpFabric *self);
LP_AVAILABLE_IN_ALL
LpDevice *lp_fabric_get_device (LpFabric *self);

LP_AVAILABLE_IN_ALL
gboolean lp_fabric_begin_init (LpFabric *self,
                               GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_end_init (LpFabric *self,
                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_setup_module (LpFabric *self,
                                 LpModule *module,
                                 GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_setup_optimizer (LpFabric *self,
                                    LpOptimizer *optimizer,
                                    GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_close (LpFabric *self,
                          GError **error);

/* A step. */
LP_AVAILABLE_IN_ALL
LpBatch *lp_fabric_convert_batch (LpFabric *self,
                                  LpBatch *batch,
                                  GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_fabric_forward (LpFabric *self,
                             LpModule *module,
                             LpTensor *input,
                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_begin_autocast (LpFabric *self,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_fabric_end_autocast (LpFabric *self);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_leave_autocast (LpFabric *self,
                                   GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_backward (LpFabric *self,
                             LpTensor *loss,
                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_clip_gradients (LpFabric *self,
                                   LpOptimizer *optimizer,
                                   double value,
                                   LpClipAlgorithm algorithm,
                                   GError **error);
LP_AVAILABLE_IN_ALL
LpStepResult lp_fabric_optimizer_step (LpFabric *self,
                                       LpOptimizer *optimizer,
                                       GError **error);

/* Files. */
LP_AVAILABLE_IN_ALL
gboolean lp_fabric_save (LpFabric *self,
                         const char *path,
                         LpState *extra,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpState *lp_fabric_load (LpFabric *self,
                         const char *path,
                         GError **error);

G_END_DECLS
