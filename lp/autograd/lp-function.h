#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_FUNCTION (lp_function_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpFunction, lp_function, LP, FUNCTION, GObject)

/**
 * LpFunctionClass:
 * @forward: computes the result from the inputs; runs with gradients off
 * @backward: gets the gradient of the result and returns one gradient per input, in their order
 */
struct _LpFunctionClass
{
  GObjectClass parent_class;

  LpTensor  *(* forward)  (LpFunction  *self,
                           GPtrArray   *inputs,
                           GError     **error);
  GPtrArray *(* backward) (LpFunction  *self,
                           LpTensor    *grad_output,
                           GError     **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpTensor  *lp_function_apply    (LpFunction  *self,
                                 GPtrArray   *inputs,
                                 GError     **error);
LP_AVAILABLE_IN_ALL
LpTensor  *lp_function_forward  (LpFunction  *self,
                                 GPtrArray   *inputs,
                                 GError     **error);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_function_backward (LpFunction  *self,
                                 LpTensor    *grad_output,
                                 GError     **error);

G_END_DECLS
