#include <lp/autograd/lp-operand-quantizer.h>

#include <lp/autograd/lp-matmul-private.h>
#include <lp/core/lp-error.h>

/**
 * LpOperandQuantizer:
 *
 * What the operands of matrix products go through while its scope is innermost. Products that its own functions compute are plain ones.
 */
G_DEFINE_ABSTRACT_TYPE (LpOperandQuantizer, lp_operand_quantizer, G_TYPE_OBJECT)

static LpTensor *
lp_operand_quantizer_real_quantize_operand (LpOperandQuantizer  *self,
                                            LpOperand           *operand,
                                            GError             **error)
{
  return g_object_ref (lp_operand_get_tensor (operand));
}

static LpTensor *
lp_operand_quantizer_real_matmul (LpOperandQuantizer  *self,
                                  LpMatmul            *matmul,
                                  GError             **error)
{
  g_autoptr (LpTensor) left = lp_operand_quantizer_quantize_operand (self, lp_matmul_get_left (matmul), error);
  g_autoptr (LpTensor) right = left != NULL ? lp_operand_quantizer_quantize_operand (self, lp_matmul_get_right (matmul), error) : NULL;

  if (LP_OPERAND_QUANTIZER_GET_CLASS (self)->matmul == lp_operand_quantizer_real_matmul)
    _lp_matmul_fuse_bias (matmul);

  return right != NULL ? lp_matmul_compute (matmul, left, right, error) : NULL;
}

static void
lp_operand_quantizer_class_init (LpOperandQuantizerClass *klass)
{
  klass->quantize_operand = lp_operand_quantizer_real_quantize_operand;
  klass->matmul = lp_operand_quantizer_real_matmul;
}

static void
lp_operand_quantizer_init (LpOperandQuantizer *self)
{
}

/* Turns a subclass's answer into a tensor or an error that names the subclass. */
static LpTensor *
check_result (LpOperandQuantizer  *self,
              const char          *method,
              LpTensor            *result,
              GError              *local,
              GError             **error)
{
  if (local != NULL)
    {
      g_clear_object (&result);
      g_propagate_error (error, local);
      return NULL;
    }
  if (result == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s returned nothing and set no error", G_OBJECT_TYPE_NAME (self),
                 method);

  return result;
}

/**
 * lp_operand_quantizer_quantize_operand:
 * @self: a quantizer
 * @operand: an operand
 * @error: return location for an error
 *
 * Gives the operand in the quantizer's format: a tensor of the same shape, of any dtype.
 *
 * Returns: (transfer full): the tensor. Errors: %LP_ERROR_SUBCLASS, and what the subclass reports
 */
LpTensor *
lp_operand_quantizer_quantize_operand (LpOperandQuantizer  *self,
                                       LpOperand           *operand,
                                       GError             **error)
{
  GError *local = NULL;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_OPERAND_QUANTIZER (self), NULL);
  g_return_val_if_fail (LP_IS_OPERAND (operand), NULL);

  result = LP_OPERAND_QUANTIZER_GET_CLASS (self)->quantize_operand (self, operand, &local);

  return check_result (self, "quantize_operand", result, local, error);
}

/**
 * lp_operand_quantizer_matmul:
 * @self: a quantizer
 * @matmul: a matrix product
 * @error: return location for an error
 *
 * Computes a matrix product, without the bias of a layer if the subclass overrides it. The default quantizes both operands and calls
 * [method@Matmul.compute]. See [class@Matmul] for what an override has to give.
 *
 * Returns: (transfer full): the product. Errors: %LP_ERROR_SUBCLASS, and what the subclass reports
 */
LpTensor *
lp_operand_quantizer_matmul (LpOperandQuantizer  *self,
                             LpMatmul            *matmul,
                             GError             **error)
{
  GError *local = NULL;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_OPERAND_QUANTIZER (self), NULL);
  g_return_val_if_fail (LP_IS_MATMUL (matmul), NULL);

  _lp_matmul_enter (matmul);
  result = LP_OPERAND_QUANTIZER_GET_CLASS (self)->matmul (self, matmul, &local);

  result = check_result (self, "matmul", result, local, error);
  if (result != NULL && !_lp_matmul_check_result (matmul, G_OBJECT (self), result, error))
    g_clear_object (&result);

  return result;
}
