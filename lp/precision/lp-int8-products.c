#include <lp/precision/lp-int8-products-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-dtype-registry.h>
#include <lp/ops/lp-ops.h>

/* Operands of products in 8-bit integers: encoded, or decoded again where the layout of the operand is another. */

static LpTensor *
encode_rows (LpTensor  *values,
             GError   **error)
{
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("i8-rowwise", error);

  return dtype != NULL ? lp_tensor_to_dtype (values, dtype, error) : NULL;
}

static LpTensor *
round_rows (LpTensor  *values,
            GError   **error)
{
  g_autoptr (LpTensor) encoded = encode_rows (values, error);

  return encoded != NULL ? lp_tensor_to_dtype (encoded, lp_dtype_f32 (), error) : NULL;
}

/* [..., n] as [m, n]. */
static LpTensor *
as_matrix (LpTensor  *values,
           GError   **error)
{
  gint64 dims[] = { -1, lp_tensor_get_dim (values, -1) };

  return lp_tensor_reshape (values, dims, 2, error);
}

static LpTensor *
reshape_like (LpTensor  *values,
              LpTensor  *like,
              GError   **error)
{
  g_autoptr (LpShape) shape = lp_tensor_dup_shape (like);
  gsize n_dims;
  g_autofree gint64 *dims = lp_shape_dup_dims (shape, &n_dims);

  return values != NULL ? lp_tensor_reshape (values, dims, n_dims, error) : NULL;
}

/* One scale for each column over all rows. */
static LpTensor *
round_columns (LpTensor  *values,
               GError   **error)
{
  g_autoptr (LpTensor) matrix = as_matrix (values, error);
  g_autoptr (LpTensor) turned = matrix != NULL ? lp_tensor_transpose (matrix, 0, 1, error) : NULL;
  g_autoptr (LpTensor) dense = turned != NULL ? lp_tensor_contiguous (turned, error) : NULL;
  g_autoptr (LpTensor) rounded = dense != NULL ? round_rows (dense, error) : NULL;
  g_autoptr (LpTensor) back = rounded != NULL ? lp_tensor_transpose (rounded, 0, 1, error) : NULL;
  g_autoptr (LpTensor) result = back != NULL ? lp_tensor_contiguous (back, error) : NULL;

  return reshape_like (result, values, error);
}

/* Without the tape: gradients go straight through. */
static LpTensor *
quantize (LpOperand  *operand,
          GError    **error)
{
  LpTensor *tensor = lp_operand_get_tensor (operand);
  g_autoptr (LpTensor) values = lp_tensor_detach (tensor);

  if (lp_operand_get_axis (operand) == (gint) lp_tensor_get_n_dims (tensor) - 1)
    return encode_rows (values, error);

  return round_columns (values, error);
}

LpTensor *
_lp_int8_training_product (LpMatmul  *matmul,
                           GError   **error)
{
  g_autoptr (LpTensor) left = quantize (lp_matmul_get_left (matmul), error);
  g_autoptr (LpTensor) right = left != NULL ? quantize (lp_matmul_get_right (matmul), error) : NULL;

  return right != NULL ? lp_matmul_compute (matmul, left, right, error) : NULL;
}

/* Which columns of [m, n] have a magnitude of @threshold or more: [n], truth values. */
static LpTensor *
find_outliers (LpTensor  *matrix,
               double     threshold,
               GError   **error)
{
  const int rows[] = { 0 };
  g_autoptr (LpTensor) magnitudes = lp_tensor_abs (matrix, error);
  g_autoptr (LpTensor) most = lp_tensor_max (magnitudes, rows, 1, FALSE, error);
  g_autoptr (LpTensor) bound = lp_tensor_scalar (threshold, lp_dtype_f32 (), lp_tensor_get_device (matrix), error);

  return bound != NULL ? lp_tensor_greater_equal (most, bound, error) : NULL;
}

/* -1 with an error. */
static int
has_any (LpTensor  *truths,
         GError   **error)
{
  g_autoptr (LpTensor) numbers = lp_tensor_to_dtype (truths, lp_dtype_f32 (), error);
  g_autoptr (LpTensor) most = numbers != NULL ? lp_tensor_max (numbers, NULL, 0, FALSE, error) : NULL;

  return most != NULL ? lp_tensor_get_item (most, NULL) > 0 : -1;
}

/* The input as it is multiplied: 8-bit integers, and in the columns of outliers float16. The weight has its one decoded value for both
 * parts, so that one product sums them. */
static LpTensor *
quantize_input (LpTensor  *input,
                double     threshold,
                GError   **error)
{
  g_autoptr (LpTensor) plain = lp_tensor_detach (input);
  g_autoptr (LpTensor) values = lp_tensor_to_dtype (plain, lp_dtype_f32 (), error);
  g_autoptr (LpTensor) matrix = values != NULL ? as_matrix (values, error) : NULL;
  g_autoptr (LpTensor) outliers = matrix != NULL && threshold > 0 ? find_outliers (matrix, threshold, error) : NULL;
  g_autoptr (LpTensor) rest = NULL;
  g_autoptr (LpTensor) rounded = NULL;
  g_autoptr (LpTensor) half = NULL;
  g_autoptr (LpTensor) kept = NULL;
  g_autoptr (LpTensor) joined = NULL;
  int any = outliers != NULL ? has_any (outliers, error) : 0;

  if (matrix == NULL || (threshold > 0 && outliers == NULL) || any < 0)
    return NULL;
  if (!any)
    return encode_rows (values, error);

  rest = lp_tensor_masked_fill (matrix, outliers, 0, error);
  rounded = rest != NULL ? round_rows (rest, error) : NULL;
  half = rounded != NULL ? lp_tensor_to_dtype (matrix, lp_dtype_f16 (), error) : NULL;
  kept = half != NULL ? lp_tensor_to_dtype (half, lp_dtype_f32 (), error) : NULL;
  joined = kept != NULL ? lp_tensor_where (outliers, kept, rounded, error) : NULL;

  return reshape_like (joined, input, error);
}

LpTensor *
_lp_int8_product (LpMatmul  *matmul,
                  double     threshold,
                  GError   **error)
{
  LpOperand *left = lp_matmul_get_left (matmul);
  LpTensor *right = lp_operand_get_tensor (lp_matmul_get_right (matmul));
  g_autoptr (LpTensor) input = NULL;

  if (lp_operand_get_gemm (left) != LP_GEMM_FORWARD)
    return lp_matmul_compute (matmul, lp_operand_get_tensor (left), right, error);

  input = quantize_input (lp_operand_get_tensor (left), threshold, error);

  return input != NULL ? lp_matmul_compute (matmul, input, right, error) : NULL;
}
