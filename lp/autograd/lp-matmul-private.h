#pragma once

#include <lp/autograd/lp-compute-scope.h>
#include <lp/autograd/lp-operand-private.h>

G_BEGIN_DECLS

/* What is added to a product: a number for each place along @axis of the result. */
typedef struct
{
  LpTensor *tensor;
  int       axis;
} LpBias;

/* @bias, if it isn't NULL, is added in the same pass. */
typedef LpTensor *(* LpProductFunc) (gpointer data, LpTensor *left, LpTensor *right, LpTensor *bias, GError **error);

/* compute (left, right), through the scope's quantizer when it has one, plus @bias, which may be NULL. */
LpTensor *_lp_compute_scope_product (LpComputeScope *scope, const char *site, LpGemmKind gemm,
                                     const LpOperandInfo *left, const LpOperandInfo *right, const LpBias *bias,
                                     LpProductFunc compute, gpointer data, const gint64 *dims, int n_dims,
                                     GError **error);
/* Counts who is asked for the product, one inside the other; a quantizer that stands for somebody else hands it on to them. */
void      _lp_matmul_enter          (LpMatmul *self);
void      _lp_matmul_hand_on        (LpMatmul *self);
/* For an implementation that returns what compute gives, when no subclass overrides it: compute adds the bias in its own pass. Nothing
 * happens inside of another's, whose result it need not be. */
void      _lp_matmul_fuse_bias      (LpMatmul *self);
/* Whether what @by computed for the product has its shape and is floating; if not, an error that names @by. */
gboolean  _lp_matmul_check_result   (LpMatmul *self, GObject *by, LpTensor *result, GError **error);

G_END_DECLS
