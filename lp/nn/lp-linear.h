#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_LINEAR (lp_linear_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpLinear, lp_linear, LP, LINEAR, LpModule)

struct _LpLinearClass
{
  LpModuleClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpModule *lp_linear_new              (gint64    in_features,
                                      gint64    out_features);
LP_AVAILABLE_IN_ALL
LpModule *lp_linear_new_full         (gint64    in_features,
                                      gint64    out_features,
                                      gboolean  bias);
LP_AVAILABLE_IN_ALL
gint64    lp_linear_get_in_features  (LpLinear *self);
LP_AVAILABLE_IN_ALL
gint64    lp_linear_get_out_features (LpLinear *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_linear_get_weight       (LpLinear *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_linear_get_bias         (LpLinear *self);

G_END_DECLS
