#include <lp/autograd/lp-matmul-private.h>

#include <lp/core/lp-error.h>
#include <lp/tensor/lp-tensor-private.h>

/**
 * LpMatmul:
 *
 * A matrix product about to be computed, for quantizers and precision plugins that need both operands at once.
 *
 * An override of [vfunc@PrecisionPlugin.matmul] or [vfunc@OperandQuantizer.matmul] gives what [method@Matmul.compute] gives, or what it
 * has computed itself: a tensor of a floating dtype and of the shape of the product, on the device of the operands. A bias is no part
 * of it: that of a linear layer or a convolution is added to what the override gives.
 *
 * Which axis of each operand is summed says [method@Operand.get_axis], and which product it is [method@Operand.get_gemm]. With
 * x `[..., in]`, w `[out, in]` and dy `[..., out]` a linear layer has
 *
 * | product | left | right | result |
 * |---|---|---|---|
 * | forward | x, axis last | w, axis 1 | x wᵀ, `[..., out]` |
 * | input-grad | dy, axis last | w, axis 0 | dy w, `[..., in]` |
 * | weight-grad | dy, axis 0 | x, axis 0 | dyᵀ x, `[out, in]`, summed over all axes but the last |
 *
 * [method@Tensor.matmul] of a `[..., m, k]` and b `[..., k, n]` has a b, dy bᵀ and aᵀ dy, the axes before the last two broadcast;
 * the gradients are not yet summed over axes that were broadcast. A convolution has the images and kernels themselves:
 * x `[N, in, H, W]` and w `[out, in / groups, kh, kw]` give `[N, out, H', W']`; its stride, padding, dilation and groups are known to
 * [method@Matmul.compute] alone.
 */
struct _LpMatmul
{
  GObject        parent_instance;

  LpOperand     *left, *right;
  LpProductFunc  compute;   /* NULL once the operation is over */
  gpointer       data;
  LpTensor      *bias;      /* for compute, or NULL; borrowed */
  gboolean       is_fused;
  guint          depth;     /* quantizers that were asked so far */
  gint64         dims[LP_MAX_DIMS];   /* of the result */
  int            n_dims;
};

G_DEFINE_FINAL_TYPE (LpMatmul, lp_matmul, G_TYPE_OBJECT)

/* The quantizers that are at work on this thread: a stack, of which each product has a link in its frame. */
typedef struct Link
{
  LpOperandQuantizer *quantizer;
  struct Link        *outer;
} Link;

static _Thread_local Link *at_work;

static gboolean
is_at_work (LpOperandQuantizer *quantizer)
{
  for (Link *link = at_work; link != NULL; link = link->outer)
    if (link->quantizer == quantizer)
      return TRUE;

  return FALSE;
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

gboolean
_lp_matmul_check_result (LpMatmul  *self,
                         GObject   *by,
                         LpTensor  *result,
                         GError   **error)
{
  g_autoptr (LpShape) actual = lp_tensor_dup_shape (result);
  g_autoptr (LpShape) expected = lp_shape_new (self->dims, self->n_dims);
  LpDevice *device = lp_tensor_get_device (lp_operand_get_tensor (self->left));
  g_autofree char *actual_text = NULL, *expected_text = NULL;

  if (lp_tensor_get_device (result) != device)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.matmul gave a tensor on %s for a product on %s", G_OBJECT_TYPE_NAME (by),
                   lp_device_get_name (lp_tensor_get_device (result)), lp_device_get_name (device));
      return FALSE;
    }
  if (lp_shape_equal (actual, expected) && lp_dtype_is_floating (lp_tensor_get_dtype (result)))
    return TRUE;

  actual_text = lp_shape_to_string (actual);
  expected_text = lp_shape_to_string (expected);
  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.matmul gave a tensor of shape %s and dtype %s for a product of shape %s",
               G_OBJECT_TYPE_NAME (by), actual_text, lp_dtype_get_name (lp_tensor_get_dtype (result)), expected_text);

  return FALSE;
}

void
_lp_matmul_enter (LpMatmul *self)
{
  self->depth++;
}

void
_lp_matmul_hand_on (LpMatmul *self)
{
  self->depth--;
}

void
_lp_matmul_fuse_bias (LpMatmul *self)
{
  if (self->depth == 1)
    self->is_fused = TRUE;
}

/* A new tensor: what an override gave may be in use elsewhere. */
static LpTensor *
add_bias (LpTensor      *product,
          const LpBias  *bias,
          GError       **error)
{
  LpDType *dtype = lp_tensor_get_dtype (product);
  g_autoptr (LpTensor) native = _lp_tensor_cast (product, lp_dtype_is_native (dtype) ? dtype : lp_dtype_f32 (), error);
  g_autoptr (LpTensor) sum = native != NULL ? _lp_tensor_new_like (native, native->array.dtype, error) : NULL;
  LpArray spread = bias->tensor->array;

  if (sum == NULL)
    return NULL;
  spread.n_dims = sum->array.n_dims;
  for (int i = 0; i < spread.n_dims; i++)
    {
      spread.dims[i] = sum->array.dims[i];
      spread.strides[i] = i == bias->axis ? bias->tensor->array.strides[0] : 0;
    }

  return _lp_tensor_get_kernels (sum)->binary (LP_BINARY_ADD, &native->array, &spread, &sum->array, error) ? g_steal_pointer (&sum) : NULL;
}

LpTensor *
_lp_compute_scope_product (LpComputeScope       *scope,
                           const char           *site,
                           LpGemmKind            gemm,
                           const LpOperandInfo  *left,
                           const LpOperandInfo  *right,
                           const LpBias         *bias,
                           LpProductFunc         compute,
                           gpointer              data,
                           const gint64         *dims,
                           int                   n_dims,
                           GError              **error)
{
  g_autoptr (LpMatmul) matmul = NULL;
  LpOperandQuantizer *quantizer = scope != NULL ? lp_compute_scope_get_quantizer (scope) : NULL;
  Link link = { quantizer, at_work };
  g_autoptr (LpTensor) result = NULL;

  /* products that a quantizer needs for its own work are plain ones */
  if (quantizer == NULL || is_at_work (quantizer))
    return compute (data, left->tensor, right->tensor, bias != NULL ? bias->tensor : NULL, error);

  matmul = g_object_new (LP_TYPE_MATMUL, NULL);
  matmul->left = _lp_operand_new (left, gemm, site);
  matmul->right = _lp_operand_new (right, gemm, site);
  matmul->compute = compute;
  matmul->data = data;
  matmul->bias = bias != NULL ? bias->tensor : NULL;
  matmul->n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    matmul->dims[i] = dims[i];
  at_work = &link;
  result = lp_operand_quantizer_matmul (quantizer, matmul, error);
  at_work = link.outer;
  matmul->compute = NULL;
  if (result == NULL || bias == NULL || matmul->is_fused)
    return g_steal_pointer (&result);

  return add_bias (result, bias, error);
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
 * Computes the product, of any storage dtypes, without the bias of a layer, which is added later; sums are in float32 or wider. It can
 * be called while the quantizer's virtual function runs.
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

  return self->compute (self->data, left, right, self->is_fused ? self->bias : NULL, error);
}
