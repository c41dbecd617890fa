#include <lp/autograd/lp-compute-scope-private.h>
#include <lp/tensor/lp-tensor-private.h>

#include <lp/core/lp-error.h>

G_DEFINE_ENUM_TYPE (LpOperandRole, lp_operand_role,
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_INPUT, "input"),
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_WEIGHT, "weight"),
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_GRAD_OUTPUT, "grad-output"))

G_DEFINE_ENUM_TYPE (LpGemmKind, lp_gemm_kind,
                    G_DEFINE_ENUM_VALUE (LP_GEMM_FORWARD, "forward"),
                    G_DEFINE_ENUM_VALUE (LP_GEMM_INPUT_GRAD, "input-grad"),
                    G_DEFINE_ENUM_VALUE (LP_GEMM_WEIGHT_GRAD, "weight-grad"))

/**
 * LpOperand:
 *
 * One operand of a matrix product: its values, what it is, and where the product stands.
 */
struct _LpOperand
{
  GObject       parent_instance;

  LpOperandInfo info;
  LpGemmKind    gemm;
  char         *site;
};

G_DEFINE_FINAL_TYPE (LpOperand, lp_operand, G_TYPE_OBJECT)

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

/**
 * LpOperandQuantizer:
 *
 * What the operands of matrix products go through while its scope is innermost.
 */
G_DEFINE_ABSTRACT_TYPE (LpOperandQuantizer, lp_operand_quantizer, G_TYPE_OBJECT)

static void
lp_operand_finalize (GObject *object)
{
  LpOperand *self = LP_OPERAND (object);

  g_clear_object (&self->info.tensor);
  g_clear_object (&self->info.parameter);
  g_free (self->site);

  G_OBJECT_CLASS (lp_operand_parent_class)->finalize (object);
}

static void
lp_operand_class_init (LpOperandClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_operand_finalize;
}

static void
lp_operand_init (LpOperand *self)
{
}

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

static LpTensor *
lp_operand_quantizer_real_quantize_operand (LpOperandQuantizer  *self,
                                            LpOperand           *operand,
                                            GError             **error)
{
  return g_object_ref (operand->info.tensor);
}

static LpTensor *
lp_operand_quantizer_real_matmul (LpOperandQuantizer  *self,
                                  LpMatmul            *matmul,
                                  GError             **error)
{
  g_autoptr (LpTensor) left = lp_operand_quantizer_quantize_operand (self, matmul->left, error);
  g_autoptr (LpTensor) right = left != NULL ? lp_operand_quantizer_quantize_operand (self, matmul->right, error) : NULL;

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

static LpOperand *
operand_new (const LpOperandInfo *info,
             LpGemmKind           gemm,
             const char          *site)
{
  LpOperand *self = g_object_new (LP_TYPE_OPERAND, NULL);

  self->info = *info;
  g_object_ref (info->tensor);
  if (info->parameter != NULL)
    g_object_ref (info->parameter);
  self->gemm = gemm;
  self->site = g_strconcat (site != NULL ? site : "", ":", info->slot, NULL);

  return self;
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
  matmul->left = operand_new (left, gemm, site);
  matmul->right = operand_new (right, gemm, site);
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
 * lp_operand_get_tensor:
 * @self: an operand
 *
 * Gets the values.
 *
 * Returns: (transfer none): the tensor
 */
LpTensor *
lp_operand_get_tensor (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->info.tensor;
}

/**
 * lp_operand_get_role:
 * @self: an operand
 *
 * Gets what the operand is.
 *
 * Returns: the role
 */
LpOperandRole
lp_operand_get_role (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), LP_OPERAND_INPUT);

  return self->info.role;
}

/**
 * lp_operand_get_gemm:
 * @self: an operand
 *
 * Gets which of the three products it is for.
 *
 * Returns: the product
 */
LpGemmKind
lp_operand_get_gemm (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), LP_GEMM_FORWARD);

  return self->gemm;
}

/**
 * lp_operand_get_axis:
 * @self: an operand
 *
 * Gets the axis of the tensor along which the product sums.
 *
 * Returns: the axis
 */
gint
lp_operand_get_axis (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), 0);

  return self->info.axis;
}

/**
 * lp_operand_get_site:
 * @self: an operand
 *
 * Gets a name that is the same in every step: the path of the module and the operand, such as `0.linear:weight`.
 *
 * Returns: (transfer none): the name
 */
const char *
lp_operand_get_site (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->site;
}

/**
 * lp_operand_get_parameter:
 * @self: an operand
 *
 * Gets the parameter whose values these are.
 *
 * Returns: (transfer none) (nullable): the parameter, or %NULL for other values
 */
LpTensor *
lp_operand_get_parameter (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->info.parameter;
}

/**
 * lp_operand_get_version:
 * @self: an operand
 *
 * Gets how often the parameter has changed, so that what was made of it can be kept until it changes again.
 *
 * Returns: the version, 0 if there is no parameter
 */
guint
lp_operand_get_version (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), 0);

  return self->info.parameter != NULL ? lp_tensor_get_version (self->info.parameter) : 0;
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
  const LpArray *expected = &operand->info.tensor->array;
  gboolean same = tensor->array.n_dims == expected->n_dims;

  for (int i = 0; same && i < expected->n_dims; i++)
    same = tensor->array.dims[i] == expected->dims[i];
  if (!same)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "An operand at %s was replaced by one of another shape", operand->site);
      return FALSE;
    }
  if (tensor->storage->device != operand->info.tensor->storage->device)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "An operand at %s was replaced by one on another device", operand->site);
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
 * Computes a matrix product. The default quantizes both operands and calls [method@Matmul.compute].
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

  result = LP_OPERAND_QUANTIZER_GET_CLASS (self)->matmul (self, matmul, &local);

  result = check_result (self, "matmul", result, local, error);
  if (result != NULL && !_lp_matmul_check_result (matmul, G_OBJECT (self), result, error))
    g_clear_object (&result);

  return result;
}
