#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/nn/lp-module.h>

G_BEGIN_DECLS

#define LP_TYPE_SEQUENTIAL (lp_sequential_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpSequential, lp_sequential, LP, SEQUENTIAL, LpModule)

struct _LpSequentialClass
{
  LpModuleClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpModule *lp_sequential_new          (void);
LP_AVAILABLE_IN_ALL
LpModule *lp_sequential_new_from     (GPtrArray    *layers);
LP_AVAILABLE_IN_ALL
void      lp_sequential_append       (LpSequential *self,
                                      LpModule     *layer);
LP_AVAILABLE_IN_ALL
guint     lp_sequential_get_n_layers (LpSequential *self);
LP_AVAILABLE_IN_ALL
LpModule *lp_sequential_get_layer    (LpSequential *self,
                                      guint         index);

G_END_DECLS
