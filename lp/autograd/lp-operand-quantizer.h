#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/autograd/lp-matmul.h>

G_BEGIN_DECLS

#define LP_TYPE_OPERAND_QUANTIZER (lp_operand_quantizer_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpOperandQuantizer, lp_operand_quantizer, LP, OPERAND_QUANTIZER, GObject)

/* The hook of a compute scope inside matmul-like operations. */
struct _LpOperandQuantizerClass
{
  GObjectClass parent_class;

  LpTensor *(* quantize_operand) (LpOperandQuantizer  *self,
                                  LpOperand           *operand,
                                  GError             **error);
  LpTensor *(* matmul)           (LpOperandQuantizer  *self,
                                  LpMatmul            *matmul,
                                  GError             **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpTensor *lp_operand_quantizer_quantize_operand (LpOperandQuantizer  *self,
                                                 LpOperand           *operand,
                                                 GError             **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_operand_quantizer_matmul           (LpOperandQuantizer  *self,
                                                 LpMatmul            *matmul,
                                                 GError             **error);

G_END_DECLS
