#pragma once

#include <lp/autograd/lp-matmul.h>

G_BEGIN_DECLS

/* A product of a linear layer whose weight is stored in 8 bits row by row. Columns of the input that reach @threshold (0: none do) stay
 * out of the integers. */
LpTensor *_lp_int8_product          (LpMatmul *matmul, double threshold, GError **error);
/* One of the three products of a linear layer, both operands quantized along the axis that is summed. */
LpTensor *_lp_int8_training_product (LpMatmul *matmul, GError **error);

G_END_DECLS
