#pragma once

#include <lp/autograd/lp-compute-scope.h>
#include <lp/autograd/lp-operand-private.h>

G_BEGIN_DECLS

typedef LpTensor *(* LpProductFunc) (gpointer data, LpTensor *left, LpTensor *right, GError **error);

/* compute (left, right), through the scope's quantizer when it has one. */
LpTensor *_lp_compute_scope_product (LpComputeScope *scope, const char *site, LpGemmKind gemm,
                                     const LpOperandInfo *left, const LpOperandInfo *right,
                                     LpProductFunc compute, gpointer data, const gint64 *dims, int n_dims,
                                     GError **error);
/* Whether what @by computed for the product has its shape and is floating; if not, an error that names @by. */
gboolean  _lp_matmul_check_result   (LpMatmul *self, GObject *by, LpTensor *result, GError **error);

G_END_DECLS
