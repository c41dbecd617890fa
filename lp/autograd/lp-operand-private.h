#pragma once

#include <lp/autograd/lp-operand.h>

G_BEGIN_DECLS

/* One operand of a product, as the operation sees it. */
typedef struct
{
  LpTensor      *tensor;
  LpOperandRole  role;
  gint           axis;        /* contracted */
  const char    *slot;        /* "input", "weight", "grad-output" */
  LpTensor      *parameter;   /* the leaf it comes from, or NULL */
} LpOperandInfo;

LpOperand *_lp_operand_new (const LpOperandInfo *info, LpGemmKind gemm, const char *site);

G_END_DECLS
