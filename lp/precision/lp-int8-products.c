#include <lp/precision/lp-int8-products-private.h>

#include <lp/autograd/lp-compute-scope.h>
#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-dtype-registry.h>
#include <lp/ops/lp-ops.h>
#include <lp/tensor/lp-tensor-private.h>

/* Operands of products in 8-bit integers, each encoded along the axis that is summed. */

static LpTensor *
encode_rows (LpTensor  *values,
             GError   **error)
{
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("i8-rowwise", error);

  return dtype != NULL ? lp_tensor_to_dtype (values, dtype, error) : NULL;
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

/* One scale for each column over all rows: the transposed matrix is encoded, and looked at the other way round. */
static LpTensor *
encode_columns (LpTensor  *values,
                GError   **error)
{
  g_autoptr (LpTensor) matrix = as_matrix (values, error);
  g_autoptr (LpTensor) turned = matrix != NULL ? lp_tensor_transpose (matrix, 0, 1, error) : NULL;
  g_autoptr (LpTensor) dense = turned != NULL ? lp_tensor_contiguous (turned, error) : NULL;
  g_autoptr (LpTensor) encoded = dense != NULL ? encode_rows (dense, error) : NULL;
  LpArray view = values->array;
  gint64 stride = 1;

  if (encoded == NULL)
    return NULL;
  view.data = encoded->array.data;
  view.scalar = encoded->array.scalar;
  view.dtype = encoded->array.dtype;
  view.stored = encoded->array.stored;
  view.offset = 0;
  view.strides[view.n_dims - 1] = lp_tensor_get_dim (matrix, 0);
  for (int i = view.n_dims - 2; i >= 0; i--)
    {
      view.strides[i] = stride;
      stride *= view.dims[i];
    }

  return _lp_tensor_new_view (encoded->storage, &view);
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

  return encode_columns (values, error);
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

/* The numbers of the columns that are outliers, as gint64. */
static GArray *
list_outliers (LpTensor  *matrix,
               double     threshold,
               GError   **error)
{
  g_autoptr (LpTensor) outliers = find_outliers (matrix, threshold, error);
  g_autoptr (GBytes) truths = outliers != NULL ? lp_tensor_dup_bytes (outliers, error) : NULL;
  const guint8 *is_outlier;
  GArray *numbers;
  gsize n;

  if (truths == NULL)
    return NULL;
  numbers = g_array_new (FALSE, FALSE, sizeof (gint64));
  is_outlier = g_bytes_get_data (truths, &n);
  for (gint64 i = 0; i < (gint64) n; i++)
    if (is_outlier[i])
      g_array_append_val (numbers, i);

  return numbers;
}

static LpTensor *
tensor_like (LpTensor      *like,
             gconstpointer  values,
             gsize          size,
             const gint64  *dims,
             gsize          n_dims,
             LpDType       *dtype,
             GError       **error)
{
  g_autoptr (GBytes) bytes = g_bytes_new (values, size);
  g_autoptr (LpTensor) tensor = lp_tensor_new_from_bytes (bytes, dims, n_dims, dtype, error);

  return tensor != NULL ? lp_tensor_to_device (tensor, lp_tensor_get_device (like), error) : NULL;
}

/* These columns of an encoded weight [n, k], decoded: [n_columns, n]. A product with ones picks them, so that no more is decoded. */
static LpTensor *
pick_columns (LpTensor      *weight,
              const gint64  *columns,
              gsize          n_columns,
              GError       **error)
{
  const gint64 dims[] = { (gint64) n_columns, lp_tensor_get_dim (weight, 1) };
  g_autofree float *ones = g_new0 (float, dims[0] * dims[1]);
  g_autoptr (LpTensor) choice = NULL;

  for (gint64 i = 0; i < dims[0]; i++)
    ones[i * dims[1] + columns[i]] = 1;
  choice = tensor_like (weight, ones, (gsize) (dims[0] * dims[1]) * sizeof (float), dims, 2, lp_dtype_f32 (), error);

  return choice != NULL ? lp_tensor_linear (choice, weight, NULL, error) : NULL;
}

/* @result and what these columns of [m, k], in float16, add to it. */
static LpTensor *
add_columns (LpTensor      *result,
             LpTensor      *matrix,
             LpTensor      *weight,
             const gint64  *columns,
             gsize          n_columns,
             GError       **error)
{
  const gint64 n = (gint64) n_columns;
  g_autoptr (LpTensor) index = tensor_like (matrix, columns, n_columns * sizeof (gint64), &n, 1, lp_dtype_i64 (), error);
  g_autoptr (LpTensor) chosen = index != NULL ? lp_tensor_index_select (matrix, 1, index, error) : NULL;
  g_autoptr (LpTensor) half = chosen != NULL ? lp_tensor_to_dtype (chosen, lp_dtype_f16 (), error) : NULL;
  g_autoptr (LpTensor) left = half != NULL ? lp_tensor_to_dtype (half, lp_dtype_f32 (), error) : NULL;
  g_autoptr (LpTensor) right = left != NULL ? pick_columns (weight, columns, n_columns, error) : NULL;
  g_autoptr (LpTensor) product = right != NULL ? lp_tensor_matmul (left, right, error) : NULL;
  g_autoptr (LpTensor) part = product != NULL ? reshape_like (product, result, error) : NULL;
  g_autoptr (LpTensor) sum = part != NULL ? lp_tensor_add (result, part, error) : NULL;

  return sum != NULL ? lp_tensor_to_dtype (sum, lp_tensor_get_dtype (result), error) : NULL;
}

/* Columns of outliers that are multiplied at a time. */
#define MAX_COLUMNS 64

static LpTensor *
add_outliers (LpTensor  *result,
              LpTensor  *matrix,
              LpTensor  *weight,
              GArray    *columns,
              GError   **error)
{
  g_autoptr (LpTensor) sum = g_object_ref (result);
  g_autoptr (LpComputeScope) plain = lp_compute_scope_new (NULL, NULL);

  lp_compute_scope_push (plain);
  for (guint i = 0; sum != NULL && i < columns->len; i += MAX_COLUMNS)
    {
      g_autoptr (LpTensor) before = g_steal_pointer (&sum);

      sum = add_columns (before, matrix, weight, &g_array_index (columns, gint64, i), MIN (MAX_COLUMNS, columns->len - i), error);
    }
  lp_compute_scope_pop ();

  return g_steal_pointer (&sum);
}

/* [m, k] with zeros in the columns of outliers. */
static LpTensor *
clear_columns (LpTensor  *matrix,
               double     threshold,
               GError   **error)
{
  g_autoptr (LpTensor) outliers = find_outliers (matrix, threshold, error);

  return outliers != NULL ? lp_tensor_masked_fill (matrix, outliers, 0, error) : NULL;
}

/* Integers times integers, and the columns of outliers apart from them. */
static LpTensor *
multiply_input (LpMatmul  *matmul,
                double     threshold,
                GError   **error)
{
  LpTensor *input = lp_operand_get_tensor (lp_matmul_get_left (matmul)), *weight = lp_operand_get_tensor (lp_matmul_get_right (matmul));
  g_autoptr (LpTensor) plain = lp_tensor_detach (input);
  g_autoptr (LpTensor) values = lp_tensor_to_dtype (plain, lp_dtype_f32 (), error);
  g_autoptr (LpTensor) matrix = values != NULL ? as_matrix (values, error) : NULL;
  g_autoptr (GArray) outliers = matrix != NULL && threshold > 0 ? list_outliers (matrix, threshold, error) : NULL;
  const gboolean any = outliers != NULL && outliers->len > 0;
  g_autoptr (LpTensor) rest = NULL;
  g_autoptr (LpTensor) encoded = NULL;
  g_autoptr (LpTensor) left = NULL;
  g_autoptr (LpTensor) result = NULL;

  if (matrix == NULL || (threshold > 0 && outliers == NULL))
    return NULL;
  rest = any ? clear_columns (matrix, threshold, error) : g_object_ref (matrix);
  encoded = rest != NULL ? encode_rows (rest, error) : NULL;
  left = encoded != NULL ? reshape_like (encoded, input, error) : NULL;
  result = left != NULL ? lp_matmul_compute (matmul, left, weight, error) : NULL;
  if (result == NULL || !any)
    return g_steal_pointer (&result);

  return add_outliers (result, matrix, weight, outliers, error);
}

LpTensor *
_lp_int8_product (LpMatmul  *matmul,
                  double     threshold,
                  GError   **error)
{
  LpOperand *left = lp_matmul_get_left (matmul);

  if (lp_operand_get_gemm (left) != LP_GEMM_FORWARD)
    return lp_matmul_compute (matmul, lp_operand_get_tensor (left), lp_operand_get_tensor (lp_matmul_get_right (matmul)), error);

  return multiply_input (matmul, threshold, error);
}
