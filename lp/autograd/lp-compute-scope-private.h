#pragma once

#include <lp/autograd/lp-compute-scope.h>

G_BEGIN_DECLS

/* The innermost scope of the thread, borrowed; NULL outside any. */
LpComputeScope *_lp_compute_scope_peek (void);

/* Where a matrix product stands: the path of the module that runs it. Interned strings. */
const char     *_lp_site_peek (void);
const char     *_lp_site_push (const char *site);   /* returns the one before, for pop */
void            _lp_site_pop  (const char *previous);

/* One operand of a product, as the operation sees it. */
typedef struct
{
  LpTensor      *tensor;
  LpOperandRole  role;
  gint           axis;        /* contracted */
  const char    *slot;        /* "input", "weight", "grad-output" */
  LpTensor      *parameter;   /* the leaf it comes from, or NULL */
} LpOperandInfo;

typedef LpTensor *(* LpProductFunc) (gpointer data, LpTensor *left, LpTensor *right, GError **error);

/* compute (left, right), through the scope's quantizer when it has one. */
LpTensor *_lp_compute_scope_product (LpComputeScope *scope, const char *site, LpGemmKind gemm,
                                     const LpOperandInfo *left, const LpOperandInfo *right,
                                     LpProductFunc compute, gpointer data, const gint64 *dims, int n_dims,
                                     GError **error);
/* Whether what @by computed for the product has its shape and is floating; if not, an error that names @by. */
gboolean  _lp_matmul_check_result   (LpMatmul *self, GObject *by, LpTensor *result, GError **error);

G_END_DECLS
