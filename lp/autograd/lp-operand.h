#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

/**
 * LpOperandRole:
 * @LP_OPERAND_INPUT: the activations
 * @LP_OPERAND_WEIGHT: the weights
 * @LP_OPERAND_GRAD_OUTPUT: the gradient of the result
 *
 * What an operand of a matrix product is.
 */
typedef enum { LP_OPERAND_INPUT, LP_OPERAND_WEIGHT, LP_OPERAND_GRAD_OUTPUT } LpOperandRole;

/**
 * LpGemmKind:
 * @LP_GEMM_FORWARD: the product of the forward pass
 * @LP_GEMM_INPUT_GRAD: the product that gives the gradient of the input
 * @LP_GEMM_WEIGHT_GRAD: the product that gives the gradient of the weight
 *
 * Which of the three products of a matrix-like operation.
 */
typedef enum { LP_GEMM_FORWARD, LP_GEMM_INPUT_GRAD, LP_GEMM_WEIGHT_GRAD } LpGemmKind;

#define LP_TYPE_OPERAND_ROLE (lp_operand_role_get_type ())
#define LP_TYPE_GEMM_KIND (lp_gemm_kind_get_type ())
#define LP_TYPE_OPERAND (lp_operand_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_operand_role_get_type (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
GType lp_gemm_kind_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpOperand, lp_operand, LP, OPERAND, GObject)

LP_AVAILABLE_IN_ALL
LpTensor      *lp_operand_get_tensor    (LpOperand *self);
LP_AVAILABLE_IN_ALL
LpOperandRole  lp_operand_get_role      (LpOperand *self);
LP_AVAILABLE_IN_ALL
LpGemmKind     lp_operand_get_gemm      (LpOperand *self);
LP_AVAILABLE_IN_ALL
gint           lp_operand_get_axis      (LpOperand *self);
LP_AVAILABLE_IN_ALL
const char    *lp_operand_get_site      (LpOperand *self);
LP_AVAILABLE_IN_ALL
LpTensor      *lp_operand_get_parameter (LpOperand *self);
LP_AVAILABLE_IN_ALL
guint          lp_operand_get_version   (LpOperand *self);

G_END_DECLS
