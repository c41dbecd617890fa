#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_POOL2D (lp_pool2d_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpPool2d, lp_pool2d, LP, POOL2D, LpModule)

struct _LpPool2dClass
{
  LpModuleClass parent_class;

  /*< private >*/
  gpointer padding[4];
};

LP_AVAILABLE_IN_ALL
gint lp_pool2d_get_kernel_size (LpPool2d *self);
LP_AVAILABLE_IN_ALL
gint lp_pool2d_get_stride      (LpPool2d *self);
LP_AVAILABLE_IN_ALL
gint lp_pool2d_get_padding     (LpPool2d *self);

G_END_DECLS
