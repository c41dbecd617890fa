#include <lp/autograd/lp-matmul-private.h>

#include <lp/core/lp-error.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpMatmul:
 *
 * A matrix product about to be computed, for quantizers that need both operands at once.
 */
struct _LpMatmul
{
  GObject        parent_instance;

  LpOperand     *left, *right;
  LpProductFunc  compute;   /* NULL once the operation is over */
  gpointer       data;
  gint64         dims[LP_MAX_DIMS];   /* of the result */
  int            n_dims;              /* -1: not known */
};

G_DEFINE_FINAL_TYPE (LpMatmul, lp_matmul, G_TYPE_OBJECT)

static void
lp_matmul_finalize (GObject *object)
{
  LpMatmul *self = LP_MATMUL (object);

  g_clear_object (&self->left);
  g_clear_object (&self->right);

  G_OBJECT_CLASS (lp_matmul_parent_class)->finalize (object);
}

static void
lp_matmul_class_init (LpMatmulClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_matmul_finalize;
}

static void
lp_matmul_init (LpMatmul *self)
{
}

gboolean
_lp_matmul_check_result (LpMatmul  *self,
                         GObject   *by,
                         LpTensor  *result,
                         GError   **error)
{
  g_autoptr (LpShape) actual = lp_tensor_dup_shape (result);
  g_autoptr (LpShape) expected = self->n_dims >= 0 ? lp_shape_new (self->dims, self->n_dims) : lp_shape_ref (actual);
  g_autofree char *actual_text = NULL, *expected_text = NULL;

  if (lp_shape_equal (actual, expected) && lp_dtype_is_floating (lp_tensor_get_dtype (result)))
    return TRUE;

  actual_text = lp_shape_to_string (actual);
  expected_text = lp_shape_to_string (expected);
  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.matmul gave a tensor of shape %s and dtype %s for a product of shape %s",
               G_OBJECT_TYPE_NAME (by), actual_text, lp_dtype_get_name (lp_tensor_get_dtype (result)), expected_text);

  return FALSE;
}

LpTensor *
_lp_compute_scope_product (LpComputeScope       *scope,
                           const char           *site,
                           LpGemmKind            gemm,
                           const LpOperandInfo  *left,
                           const LpOperandInfo  *right,
                           LpProductFunc         compute,
                           gpointer              data,
                           const gint64         *dims,
                           int                   n_dims,
                           GError              **error)
{
  g_autoptr (LpMatmul) matmul = NULL;
  LpOperandQuantizer *quantizer = scope != NULL ? lp_compute_scope_get_quantizer (scope) : NULL;
  LpTensor *result;

  if (quantizer == NULL)
    return compute (data, left->tensor, right->tensor, error);

  matmul = g_object_new (LP_TYPE_MATMUL, NULL);
  matmul->left = _lp_operand_new (left, gemm, site);
  matmul->right = _lp_operand_new (right, gemm, site);
  matmul->compute = compute;
  matmul->data = data;
  matmul->n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    matmul->dims[i] = dims[i];
  result = lp_operand_quantizer_matmul (quantizer, matmul, error);
  matmul->compute = NULL;

  return result;
}

/**
 * lp_matmul_get_left:
 * @self: a matrix product
 *
 * Gets the left operand.
 *
 * Returns: (transfer none): the operand
 */
LpOperand *
lp_matmul_get_left (LpMatmul *self)
{
  g_return_val_if_fail (LP_IS_MATMUL (self), NULL);

  return self->left;
}

/**
 * lp_matmul_get_right:
 * @self: a matrix product
 *
 * Gets the right operand.
 *
 * Returns: (transfer none): the operand
 */
LpOperand *
lp_matmul_get_right (LpMatmul *self)
{
  g_return_val_if_fail (LP_IS_MATMUL (self), NULL);

  return self->right;
}

static gboolean
check_replacement (LpOperand  *operand,
                   LpTensor   *tensor,
                   GError    **error)
{
  LpTensor *replaced = lp_operand_get_tensor (operand);
  const LpArray *expected = &replaced->array;
  gboolean same = tensor->array.n_dims == expected->n_dims;

  for (int i = 0; same && i < expected->n_dims; i++)
    same = tensor->array.dims[i] == expected->dims[i];
  if (!same)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "An operand at %s was replaced by one of another shape", lp_operand_get_site (operand));
      return FALSE;
    }
  if (tensor->storage->device != replaced->storage->device)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "An operand at %s was replaced by one on another device",
                   lp_operand_get_site (operand));
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_matmul_compute:
 * @self: a matrix product
 * @left: what to use as the left operand, of its shape
 * @right: what to use as the right operand, of its shape
 * @error: return location for an error
 *
 * Computes the product, of any storage dtypes; sums are in float32 or wider. It can be called while the quantizer's
 * virtual function runs.
 *
 * Returns: (transfer full): the product. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DEVICE, %LP_ERROR_STATE
 */
LpTensor *
lp_matmul_compute (LpMatmul  *self,
                   LpTensor  *left,
                   LpTensor  *right,
                   GError   **error)
{
  g_return_val_if_fail (LP_IS_MATMUL (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (left), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (right), NULL);

  if (self->compute == NULL)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_STATE, "The matrix product is over");
      return NULL;
    }
  if (!check_replacement (self->left, left, error) || !check_replacement (self->right, right, error))
    return NULL;

  return self->compute (self->data, left, right, error);
}
