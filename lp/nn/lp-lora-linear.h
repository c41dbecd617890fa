#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-linear.h>

G_BEGIN_DECLS

#define LP_TYPE_LORA_LINEAR (lp_lora_linear_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpLoraLinear, lp_lora_linear, LP, LORA_LINEAR, LpModule)

LP_AVAILABLE_IN_ALL
LpModule     *lp_lora_linear_new           (LpLinear           *base,
                                            guint               rank,
                                            double              alpha,
                                            double              dropout);
LP_AVAILABLE_IN_ALL
LpModule     *lp_lora_linear_get_base      (LpLoraLinear       *self);
LP_AVAILABLE_IN_ALL
guint         lp_lora_linear_get_rank      (LpLoraLinear       *self);
LP_AVAILABLE_IN_ALL
double        lp_lora_linear_get_alpha     (LpLoraLinear       *self);
LP_AVAILABLE_IN_ALL
double        lp_lora_linear_get_dropout   (LpLoraLinear       *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_get_merged    (LpLoraLinear       *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_merge         (LpLoraLinear       *self,
                                            GError            **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_unmerge       (LpLoraLinear       *self,
                                            GError            **error);

/* For all adapters of a network. */
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_adapt         (LpModule           *module,
                                            const char * const *patterns,
                                            guint               rank,
                                            double              alpha,
                                            double              dropout,
                                            GError            **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_merge_and_unload (LpModule        *module,
                                               GError         **error);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_lora_linear_dup_adapters  (LpModule           *module);
LP_AVAILABLE_IN_ALL
LpTensorDict *lp_lora_linear_dup_state     (LpModule           *module);
LP_AVAILABLE_IN_ALL
gboolean      lp_lora_linear_load_state    (LpModule           *module,
                                            LpTensorDict       *state,
                                            GError            **error);

G_END_DECLS
