#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_CONV2D (lp_conv2d_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpConv2d, lp_conv2d, LP, CONV2D, LpModule)

struct _LpConv2dClass
{
  LpModuleClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpModule *lp_conv2d_new              (gint64    in_channels,
                                      gint64    out_channels,
                                      gint      kernel_size);
LP_AVAILABLE_IN_ALL
LpModule *lp_conv2d_new_full         (gint64    in_channels,
                                      gint64    out_channels,
                                      gint      kernel_size,
                                      gint      stride,
                                      gint      padding,
                                      gint      dilation,
                                      gint      groups,
                                      gboolean  bias);
LP_AVAILABLE_IN_ALL
gint64    lp_conv2d_get_in_channels  (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint64    lp_conv2d_get_out_channels (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_conv2d_get_kernel_size  (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_conv2d_get_stride       (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_conv2d_get_padding      (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_conv2d_get_dilation     (LpConv2d *self);
LP_AVAILABLE_IN_ALL
gint      lp_conv2d_get_groups       (LpConv2d *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_conv2d_get_weight       (LpConv2d *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_conv2d_get_bias         (LpConv2d *self);

G_END_DECLS
