#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_PARAM_GROUP (lp_param_group_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpParamGroup, lp_param_group, LP, PARAM_GROUP, GObject)

LP_AVAILABLE_IN_ALL
LpParamGroup *lp_param_group_new                     (GPtrArray    *parameters,
                                                      double        lr);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_param_group_dup_parameters          (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_param_group_dup_masters             (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
double        lp_param_group_get_lr                  (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
void          lp_param_group_set_lr                  (LpParamGroup *self,
                                                      double        lr);
LP_AVAILABLE_IN_ALL
double        lp_param_group_get_base_lr             (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
void          lp_param_group_set_base_lr             (LpParamGroup *self,
                                                      double        base_lr);
LP_AVAILABLE_IN_ALL
double        lp_param_group_get_weight_decay        (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
void          lp_param_group_set_weight_decay        (LpParamGroup *self,
                                                      double        weight_decay);
LP_AVAILABLE_IN_ALL
LpDType      *lp_param_group_get_master_dtype        (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_param_group_set_master_dtype        (LpParamGroup *self,
                                                      LpDType      *dtype,
                                                      GError      **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_param_group_get_stochastic_rounding (LpParamGroup *self);
LP_AVAILABLE_IN_ALL
void          lp_param_group_set_stochastic_rounding (LpParamGroup *self,
                                                      gboolean      stochastic_rounding);

G_END_DECLS
