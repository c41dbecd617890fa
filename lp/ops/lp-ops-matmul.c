#include <lp/ops/lp-ops-private.h>

#include <lp/autograd/lp-matmul-private.h>

/* Matrix products. All go through the gemm of the device and the quantizer of the scope. */

typedef struct
{
  LpOpCall *call;
  LpNode   *node;
  LpTensor *into;     /* the gradient that is added to, or NULL */
  LpDType  *dtype;    /* of the result */
} Product;

static LpArray
matrix (const LpArray *array,
        gint64         rows,
        gint64         columns)
{
  LpArray result = *array;

  result.n_dims = 2;
  result.dims[0] = rows;
  result.dims[1] = columns;
  result.strides[0] = columns;
  result.strides[1] = 1;

  return result;
}

/* [..., columns] as a matrix, whose columns may lie one behind the other: quantizers that scale columns give that. */
static gboolean
lies_in_columns (const LpArray *array)
{
  const int last = array->n_dims - 1;

  if (array->scalar != LP_SCALAR_ENCODED || last < 1 || array->strides[last] == 1)
    return FALSE;
  for (int i = last - 2; i >= 0; i--)
    if (array->strides[i] != array->strides[i + 1] * array->dims[i + 1])
      return FALSE;

  return array->strides[last - 1] == 1;
}

static LpTensor *
dup_matrix (LpTensor  *tensor,
            gint64     rows,
            gint64     columns,
            LpArray   *array,
            GError   **error)
{
  LpTensor *dense;

  if (lies_in_columns (&tensor->array))
    {
      *array = matrix (&tensor->array, rows, columns);
      array->strides[0] = 1;
      array->strides[1] = tensor->array.strides[tensor->array.n_dims - 1];
      return g_object_ref (tensor);
    }
  dense = _lp_tensor_contiguous (tensor, error);
  if (dense != NULL)
    *array = matrix (&dense->array, rows, columns);

  return dense;
}

static LpArray
transposed (LpArray array)
{
  int n = array.n_dims;
  gint64 dim = array.dims[n - 1], stride = array.strides[n - 1];

  array.dims[n - 1] = array.dims[n - 2];
  array.strides[n - 1] = array.strides[n - 2];
  array.dims[n - 2] = dim;
  array.strides[n - 2] = stride;

  return array;
}

/* The dtype of a product without a policy: that of native operands; encoded ones follow. */
static LpDType *
product_dtype (LpTensor *a,
               LpTensor *b)
{
  if (a->array.scalar == LP_SCALAR_ENCODED)
    return b->array.scalar == LP_SCALAR_ENCODED ? lp_dtype_f32 () : b->array.dtype;
  if (b->array.scalar == LP_SCALAR_ENCODED)
    return a->array.dtype;

  return _lp_promote (a, b);
}

static gboolean
check_operand (const char  *name,
               LpTensor    *tensor,
               GError     **error)
{
  return tensor->array.scalar == LP_SCALAR_ENCODED || _lp_check_floating (name, tensor, error);
}

static LpTensor *
linear_product (gpointer   data,
                LpTensor  *x,
                LpTensor  *w,
                LpTensor  *bias,
                GError   **error)
{
  Product *product = data;
  gint64 k = w->array.dims[1], n = w->array.dims[0], m = _lp_array_get_n_elements (&x->array) / MAX (k, 1);
  gint64 dims[LP_MAX_DIMS];
  g_autoptr (LpTensor) rows = _lp_tensor_contiguous (x, error);
  g_autoptr (LpTensor) y = NULL;
  LpGemmArgs gemm = { .alpha = 1 };

  if (rows == NULL)
    return NULL;
  for (int i = 0; i < x->array.n_dims; i++)
    dims[i] = x->array.dims[i];
  dims[x->array.n_dims - 1] = n;
  y = _lp_tensor_new (dims, x->array.n_dims, product->dtype, x->storage->device, error);
  if (y == NULL)
    return NULL;

  gemm.a = matrix (&rows->array, m, k);
  gemm.b = transposed (w->array);
  gemm.d = matrix (&y->array, m, n);
  if (bias != NULL)
    gemm.bias = bias->array;
  if (!_lp_tensor_get_kernels (x)->gemm (&gemm, error))
    return NULL;

  return g_steal_pointer (&y);
}

LpTensor *
_lp_linear_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *x = call->inputs[0], *w = call->inputs[1], *b = call->n_inputs > 2 ? call->inputs[2] : NULL;
  LpOperandInfo left = { x, LP_OPERAND_INPUT, x->array.n_dims - 1, "input" };
  LpOperandInfo right = { w, LP_OPERAND_WEIGHT, 1, "weight", call->originals[1] };
  Product product = { call, NULL, NULL, product_dtype (x, w) };
  LpBias bias = { b, x->array.n_dims - 1 };
  gint64 dims[LP_MAX_DIMS];

  if (!check_operand ("linear", x, error) || !check_operand ("linear", w, error))
    return NULL;
  if (w->array.n_dims != 2 || x->array.n_dims < 1 || x->array.dims[x->array.n_dims - 1] != w->array.dims[1])
    {
      _lp_shape_error (error, "linear", "the input must be [..., in] for a weight [out, in]", x, w);
      return NULL;
    }
  if (b != NULL && (b->array.n_dims != 1 || b->array.dims[0] != w->array.dims[0]))
    {
      _lp_shape_error (error, "linear", "the bias must be [out] for a weight [out, in]", b, w);
      return NULL;
    }

  memcpy (dims, x->array.dims, sizeof dims);
  dims[x->array.n_dims - 1] = w->array.dims[0];

  return _lp_compute_scope_product (call->scope, call->site, LP_GEMM_FORWARD, &left, &right, b != NULL ? &bias : NULL, linear_product,
                                    &product, dims, x->array.n_dims, error);
}

/* dx [..., in] = dy [..., out] w [out, in] */
static LpTensor *
linear_input_product (gpointer   data,
                      LpTensor  *dy,
                      LpTensor  *w,
                      LpTensor  *bias,
                      GError   **error)
{
  Product *product = data;
  gint64 k = w->array.dims[1], n = w->array.dims[0], m = _lp_array_get_n_elements (&dy->array) / MAX (n, 1);
  gint64 dims[LP_MAX_DIMS];
  g_autoptr (LpTensor) dx = NULL;
  LpGemmArgs gemm = { .alpha = 1 };

  for (int i = 0; i < dy->array.n_dims; i++)
    dims[i] = dy->array.dims[i];
  dims[dy->array.n_dims - 1] = k;
  dx = _lp_tensor_new (dims, dy->array.n_dims, product->dtype, dy->storage->device, error);
  if (dx == NULL)
    return NULL;

  gemm.a = matrix (&dy->array, m, n);
  gemm.b = w->array;
  gemm.d = matrix (&dx->array, m, k);

  return _lp_tensor_get_kernels (dy)->gemm (&gemm, error) ? g_steal_pointer (&dx) : NULL;
}

/* dw [out, in] = dy' [out, ...] x [..., in] */
static LpTensor *
linear_weight_product (gpointer   data,
                       LpTensor  *dy,
                       LpTensor  *x,
                       LpTensor  *bias,
                       GError   **error)
{
  Product *product = data;
  gint64 n = dy->array.dims[dy->array.n_dims - 1], k = x->array.dims[x->array.n_dims - 1];
  gint64 m = _lp_array_get_n_elements (&dy->array) / MAX (n, 1), dims[2] = { n, k };
  LpGemmArgs gemm = { .alpha = 1, .beta = product->into != NULL ? 1 : 0 };
  g_autoptr (LpTensor) left = dup_matrix (dy, m, n, &gemm.a, error);
  g_autoptr (LpTensor) right = left != NULL ? dup_matrix (x, m, k, &gemm.b, error) : NULL;
  g_autoptr (LpTensor) dw = NULL;

  if (right == NULL)
    return NULL;
  dw = product->into != NULL ? g_object_ref (product->into)
                             : _lp_tensor_new (dims, 2, product->dtype, dy->storage->device, error);
  if (dw == NULL)
    return NULL;

  gemm.a = transposed (gemm.a);
  gemm.d = dw->array;

  return _lp_tensor_get_kernels (dy)->gemm (&gemm, error) ? g_steal_pointer (&dw) : NULL;
}

static LpTensor *
column_sums (LpTensor  *dy,
             LpDType   *dtype,
             GError   **error)
{
  gint64 n = dy->array.dims[dy->array.n_dims - 1], m = _lp_array_get_n_elements (&dy->array) / MAX (n, 1);
  LpArray rows = matrix (&dy->array, m, n), sums;
  g_autoptr (LpTensor) db = _lp_tensor_new (&n, 1, dtype, dy->storage->device, error);

  if (db == NULL)
    return NULL;
  sums = matrix (&db->array, 1, n);

  return _lp_tensor_get_kernels (dy)->reduce (LP_REDUCE_SUM, &rows, &sums, error) ? g_steal_pointer (&db) : NULL;
}

gboolean
_lp_linear_backward (LpNode    *node,
                     LpTensor  *grad_output,
                     LpTensor **grads,
                     GError   **error)
{
  LpTensor *x = node->edges[0].value, *w = node->edges[1].value;
  g_autoptr (LpTensor) dy = _lp_tensor_contiguous (grad_output, error);
  int last;

  if (dy == NULL)
    return FALSE;
  last = dy->array.n_dims - 1;

  if (_lp_node_needs (node, 0))
    {
      LpOperandInfo left = { dy, LP_OPERAND_GRAD_OUTPUT, last, "grad-output" };
      LpOperandInfo right = { w, LP_OPERAND_WEIGHT, 0, "weight", node->edges[1].leaf };
      Product product = { NULL, node, NULL, node->edges[0].dtype };

      grads[0] = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_INPUT_GRAD, &left, &right, NULL, linear_input_product,
                                            &product, x->array.dims, x->array.n_dims, error);
      if (grads[0] == NULL)
        return FALSE;
    }
  if (_lp_node_needs (node, 1))
    {
      LpOperandInfo left = { dy, LP_OPERAND_GRAD_OUTPUT, 0, "grad-output" };
      LpOperandInfo right = { x, LP_OPERAND_INPUT, 0, "input" };
      Product product = { NULL, node, _lp_node_get_accumulator (node, 1), node->edges[1].dtype };

      /* a quantizer may compute the product more than once */
      if (node->scope != NULL && lp_compute_scope_get_quantizer (node->scope) != NULL)
        product.into = NULL;
      grads[1] = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_WEIGHT_GRAD, &left, &right, NULL,
                                            linear_weight_product, &product, w->array.dims, w->array.n_dims, error);
      if (grads[1] == NULL)
        return FALSE;
      if (grads[1] == product.into)
        {
          _lp_tensor_changed (product.into);
          g_clear_object (&grads[1]);
        }
    }
  if (node->n_inputs > 2 && _lp_node_needs (node, 2))
    {
      grads[2] = column_sums (dy, node->edges[2].dtype, error);
      if (grads[2] == NULL)
        return FALSE;
    }

  return TRUE;
}

/* @array with batch axes that broadcast to @dims. */
static LpArray
batched (const LpArray *array,
         const gint64  *dims,
         int            n_dims)
{
  gint64 full[LP_MAX_DIMS];

  for (int i = 0; i < n_dims - 2; i++)
    full[i] = dims[i];
  full[n_dims - 2] = array->dims[array->n_dims - 2];
  full[n_dims - 1] = array->dims[array->n_dims - 1];

  return _lp_broadcast_array (array, full, n_dims);
}

/* d = a b, the arrays with two axes or more */
static LpTensor *
batched_product (const LpArray  *a,
                 const LpArray  *b,
                 LpDType        *dtype,
                 LpDevice       *device,
                 GError        **error)
{
  LpArray a_batch = *a, b_batch = *b;
  gint64 dims[LP_MAX_DIMS];
  LpGemmArgs gemm = { .alpha = 1 };
  g_autoptr (LpTensor) y = NULL;
  int n_dims;

  a_batch.n_dims -= 2;
  b_batch.n_dims -= 2;
  if (!_lp_broadcast_dims (&a_batch, &b_batch, dims, &n_dims))
    return NULL;
  dims[n_dims] = a->dims[a->n_dims - 2];
  dims[n_dims + 1] = b->dims[b->n_dims - 1];
  n_dims += 2;
  y = _lp_tensor_new (dims, n_dims, dtype, device, error);
  if (y == NULL)
    return NULL;

  gemm.a = batched (a, dims, n_dims);
  gemm.b = batched (b, dims, n_dims);
  gemm.d = y->array;

  return _lp_device_get_kernels (device)->gemm (&gemm, error) ? g_steal_pointer (&y) : NULL;
}

typedef struct
{
  gboolean transpose_left, transpose_right;
  LpDType *dtype;
} BatchedProduct;

static LpTensor *
run_batched (gpointer   data,
             LpTensor  *left,
             LpTensor  *right,
             LpTensor  *bias,
             GError   **error)
{
  BatchedProduct *product = data;
  LpArray a = product->transpose_left ? transposed (left->array) : left->array;
  LpArray b = product->transpose_right ? transposed (right->array) : right->array;

  return batched_product (&a, &b, product->dtype, left->storage->device, error);
}

LpTensor *
_lp_matmul_forward (LpOpCall  *call,
                    GError   **error)
{
  LpTensor *a = call->inputs[0], *b = call->inputs[1];
  BatchedProduct product = { FALSE, FALSE, product_dtype (a, b) };
  LpOperandInfo left = { a, LP_OPERAND_INPUT, a->array.n_dims - 1, "input", call->originals[0] };
  LpOperandInfo right = { b, LP_OPERAND_WEIGHT, b->array.n_dims - 2, "weight", call->originals[1] };
  LpArray a_batch = a->array, b_batch = b->array;
  gint64 dims[LP_MAX_DIMS];
  int n_dims;

  if (!check_operand ("matmul", a, error) || !check_operand ("matmul", b, error))
    return NULL;
  a_batch.n_dims = MAX (a_batch.n_dims - 2, 0);
  b_batch.n_dims = MAX (b_batch.n_dims - 2, 0);
  if (a->array.n_dims < 2 || b->array.n_dims < 2
      || a->array.dims[a->array.n_dims - 1] != b->array.dims[b->array.n_dims - 2]
      || !_lp_broadcast_dims (&a_batch, &b_batch, dims, &n_dims))
    {
      _lp_shape_error (error, "matmul", "the operands must be [..., m, k] and [..., k, n]", a, b);
      return NULL;
    }
  if (!call->originals[0]->requires_grad || call->originals[0]->node != NULL)
    left.parameter = NULL;
  if (!call->originals[1]->requires_grad || call->originals[1]->node != NULL)
    right.parameter = NULL;

  dims[n_dims] = a->array.dims[a->array.n_dims - 2];
  dims[n_dims + 1] = b->array.dims[b->array.n_dims - 1];

  return _lp_compute_scope_product (call->scope, call->site, LP_GEMM_FORWARD, &left, &right, NULL, run_batched, &product, dims,
                                    n_dims + 2, error);
}

gboolean
_lp_matmul_backward (LpNode    *node,
                     LpTensor  *dy,
                     LpTensor **grads,
                     GError   **error)
{
  LpTensor *a = node->edges[0].value, *b = node->edges[1].value;
  LpOperandInfo grad = { dy, LP_OPERAND_GRAD_OUTPUT, dy->array.n_dims - 1, "grad-output" };
  LpOperandInfo left = { a, LP_OPERAND_INPUT, a->array.n_dims - 2, "input", node->edges[0].leaf };
  LpOperandInfo right = { b, LP_OPERAND_WEIGHT, b->array.n_dims - 1, "weight", node->edges[1].leaf };
  LpTensor *full;
  gint64 dims[LP_MAX_DIMS];
  int last = dy->array.n_dims - 1;

  memcpy (dims, dy->array.dims, sizeof dims);
  if (_lp_node_needs (node, 0))
    {
      BatchedProduct product = { FALSE, TRUE, node->edges[0].dtype };

      dims[last - 1] = a->array.dims[a->array.n_dims - 2];
      dims[last] = a->array.dims[a->array.n_dims - 1];
      full = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_INPUT_GRAD, &grad, &right, NULL, run_batched, &product, dims,
                                        last + 1, error);
      grads[0] = full != NULL ? _lp_sum_to (full, a->array.dims, a->array.n_dims, error) : NULL;
      if (grads[0] == NULL)
        return FALSE;
    }
  if (_lp_node_needs (node, 1))
    {
      BatchedProduct product = { TRUE, FALSE, node->edges[1].dtype };

      grad.axis = dy->array.n_dims - 2;
      dims[last - 1] = b->array.dims[b->array.n_dims - 2];
      dims[last] = b->array.dims[b->array.n_dims - 1];
      full = _lp_compute_scope_product (node->scope, node->site, LP_GEMM_WEIGHT_GRAD, &left, &grad, NULL, run_batched, &product, dims,
                                        last + 1, error);
      grads[1] = full != NULL ? _lp_sum_to (full, b->array.dims, b->array.n_dims, error) : NULL;
      if (grads[1] == NULL)
        return FALSE;
    }

  return TRUE;
}

/**
 * lp_tensor_linear:
 * @self: the input, `[..., in]`
 * @weight: the weight, `[out, in]`
 * @bias: (nullable): the bias, `[out]`
 * @error: return location for an error
 *
 * Computes `self · weightᵀ + bias`. The operands may be stored in different dtypes, encoded ones included; sums are in
 * float32 or wider.
 *
 * Returns: (transfer full): the result, `[..., out]`. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_linear (LpTensor  *self,
                  LpTensor  *weight,
                  LpTensor  *bias,
                  GError   **error)
{
  return bias != NULL ? _lp_run3 (LP_OP_LINEAR, self, weight, bias, NULL, error)
                      : _lp_run2 (LP_OP_LINEAR, self, weight, NULL, error);
}

/**
 * lp_tensor_matmul:
 * @self: the left operand, `[..., m, k]`
 * @other: the right operand, `[..., k, n]`
 * @error: return location for an error
 *
 * Computes matrix products; the axes before the last two broadcast.
 *
 * Returns: (transfer full): the result, `[..., m, n]`. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_DEVICE
 */
LpTensor *
lp_tensor_matmul (LpTensor  *self,
                  LpTensor  *other,
                  GError   **error)
{
  return _lp_run2 (LP_OP_MATMUL, self, other, NULL, error);
}
