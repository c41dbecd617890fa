#include <lp/lp.h>
#include <lp/autograd/lp-dispatch-private.h>

#define DIMS(...) (const gint64[]) { __VA_ARGS__ }, sizeof ((const gint64[]) { __VA_ARGS__ }) / sizeof (gint64)

/* A straight-through estimator: rounds to integers, passes the gradient. */

#define ROUND_TYPE (round_get_type ())
G_DECLARE_FINAL_TYPE (Round, round, TEST, ROUND, LpFunction)

struct _Round
{
  LpFunction parent_instance;
  gboolean misbehave;
};

G_DEFINE_FINAL_TYPE (Round, round, LP_TYPE_FUNCTION)

static LpTensor *
round_forward (LpFunction *function, GPtrArray *inputs, GError **error)
{
  g_autoptr (LpTensor) integers = lp_tensor_to_dtype (g_ptr_array_index (inputs, 0), lp_dtype_i32 (), error);

  return lp_tensor_to_dtype (integers, lp_dtype_f32 (), error);
}

static GPtrArray *
round_backward (LpFunction *function, LpTensor *grad_output, GError **error)
{
  GPtrArray *grads = g_ptr_array_new_with_free_func (g_object_unref);

  if (!TEST_ROUND (function)->misbehave)
    g_ptr_array_add (grads, g_object_ref (grad_output));

  return grads;
}

static void
round_class_init (RoundClass *klass)
{
  LP_FUNCTION_CLASS (klass)->forward = round_forward;
  LP_FUNCTION_CLASS (klass)->backward = round_backward;
}

static void
round_init (Round *self)
{
}

static LpTensor *
parameter (double value)
{
  LpTensor *x = lp_tensor_full (DIMS (4, 4), value, NULL, NULL, NULL);

  lp_tensor_set_requires_grad (x, TRUE);
  return x;
}

static double
first_grad (LpTensor *x)
{
  g_autoptr (LpTensor) grad = lp_tensor_dup_grad (x);
  gsize n;
  g_autofree double *values = lp_tensor_dup_doubles (grad, &n, NULL);

  return values[0];
}

static LpTensor *
sum (LpTensor *x)
{
  return lp_tensor_sum (x, NULL, 0, FALSE, NULL);
}

static void
test_function (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (2.7);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  g_autoptr (Round) function = g_object_new (ROUND_TYPE, NULL);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) scaled = NULL;
  g_autoptr (LpTensor) loss = NULL;

  g_ptr_array_add (inputs, x);
  y = lp_function_apply (LP_FUNCTION (function), inputs, &error);
  scaled = lp_tensor_scale (y, 3, &error);
  loss = sum (scaled);
  g_assert_cmpfloat (lp_tensor_get_item (loss, NULL), ==, 16 * 2 * 3);
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (first_grad (x), ==, 3);

  g_assert_null (lp_function_apply (LP_FUNCTION (function), inputs, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static void
test_function_misbehaves (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (1);
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  g_autoptr (Round) function = g_object_new (ROUND_TYPE, NULL);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;

  function->misbehave = TRUE;
  g_ptr_array_add (inputs, x);
  y = lp_function_apply (LP_FUNCTION (function), inputs, &error);
  loss = sum (y);
  g_assert_false (lp_tensor_backward (loss, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "Round"));
}

static void
test_grad_mode (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (1);
  g_autoptr (LpTensor) y = NULL;

  lp_grad_mode_push (FALSE);
  y = lp_tensor_scale (x, 2, &error);
  lp_grad_mode_push (TRUE);
  g_assert_true (lp_grad_mode_is_enabled ());
  lp_grad_mode_pop ();
  g_assert_false (lp_grad_mode_is_enabled ());
  lp_grad_mode_pop ();
  g_assert_true (lp_grad_mode_is_enabled ());
  g_assert_false (lp_tensor_get_requires_grad (y));
  g_assert_false (lp_tensor_backward (y, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static void
test_accumulates (void)
{
  g_autoptr (LpTensor) x = parameter (1);

  for (int i = 1; i <= 3; i++)
    {
      g_autoptr (LpTensor) y = lp_tensor_scale (x, 2, NULL);
      g_autoptr (LpTensor) loss = sum (y);

      g_assert_true (lp_tensor_backward (loss, NULL, NULL));
      g_assert_cmpfloat (first_grad (x), ==, 2 * i);
    }
}

static void
test_used_up (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (1);
  g_autoptr (LpTensor) y = lp_tensor_square (x, NULL);
  g_autoptr (LpTensor) loss = sum (y);

  g_assert_true (lp_tensor_backward (loss, NULL, &error));
  g_assert_false (lp_tensor_backward (loss, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static void
test_changed_in_place (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (1);
  g_autoptr (LpTensor) y = lp_tensor_square (x, NULL);
  g_autoptr (LpTensor) loss = sum (y);

  lp_tensor_fill (x, 5, NULL);
  g_assert_false (lp_tensor_backward (loss, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static void
test_needs_scalar (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = parameter (1);
  g_autoptr (LpTensor) y = lp_tensor_square (x, NULL);

  g_assert_false (lp_tensor_backward (y, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
test_long_chain (void)
{
  g_autoptr (LpTensor) x = parameter (1);
  LpTensor *y = g_object_ref (x);
  g_autoptr (LpTensor) loss = NULL;

  for (int i = 0; i < 20000; i++)
    {
      LpTensor *next = lp_tensor_offset (y, 0.0, NULL);

      g_object_unref (y);
      y = next;
    }
  loss = sum (y);
  g_object_unref (y);
  g_assert_true (lp_tensor_backward (loss, NULL, NULL));
  g_assert_cmpfloat (first_grad (x), ==, 1);
}

/* Under a policy, products are in the low dtype, losses in float32; gradients come back in the dtype of the leaf. */
static void
test_autocast (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpCastPolicy) policy = lp_cast_policy_new (lp_dtype_bf16 ());
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (policy, NULL);
  g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (2, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) w = parameter (0.5);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) e = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) grad = NULL;

  lp_compute_scope_push (scope);
  y = lp_tensor_linear (x, w, NULL, &error);
  e = lp_tensor_exp (y, &error);
  loss = sum (e);
  lp_compute_scope_pop ();
  g_assert_no_error (error);
  g_assert_true (lp_tensor_get_dtype (y) == lp_dtype_bf16 ());
  g_assert_true (lp_tensor_get_dtype (e) == lp_dtype_f32 ());

  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  grad = lp_tensor_dup_grad (w);
  g_assert_true (lp_tensor_get_dtype (grad) == lp_dtype_f32 ());
}

static void
test_autocast_override (void)
{
  g_autoptr (LpCastPolicy) policy = lp_cast_policy_new (lp_dtype_f16 ());
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (policy, NULL);
  g_autoptr (LpComputeScope) off = lp_compute_scope_new (NULL, NULL);
  g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (2, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) w = parameter (0.5);
  g_autoptr (LpTensor) full = NULL;
  g_autoptr (LpTensor) nested = NULL;
  g_autoptr (LpTensor) wide = lp_tensor_to_dtype (x, lp_dtype_f64 (), NULL);
  g_autoptr (LpTensor) untouched = NULL;

  lp_compute_scope_push (scope);
  untouched = lp_tensor_exp (wide, NULL);
  lp_compute_scope_push (off);
  nested = lp_tensor_linear (x, w, NULL, NULL);
  lp_compute_scope_pop ();
  lp_cast_policy_set_class (policy, "linear", LP_AUTOCAST_FLOAT32);
  full = lp_tensor_linear (x, w, NULL, NULL);
  lp_compute_scope_pop ();
  g_assert_true (lp_tensor_get_dtype (nested) == lp_dtype_f32 ());
  g_assert_true (lp_tensor_get_dtype (full) == lp_dtype_f32 ());
  g_assert_true (lp_tensor_get_dtype (untouched) == lp_dtype_f64 ());
  g_assert_null (lp_compute_scope_dup_current ());
}

/* A weight is cast once until it changes, and a no-grad use in the scope does not spoil later gradients. */
static void
test_cast_once (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpCastPolicy) policy = lp_cast_policy_new (lp_dtype_bf16 ());
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (policy, NULL);
  g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (2, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) w = parameter (0.5);
  guint64 before = _lp_n_weight_casts;

  lp_compute_scope_push (scope);
  lp_grad_mode_push (FALSE);
  g_object_unref (lp_tensor_linear (x, w, NULL, &error));
  lp_grad_mode_pop ();
  for (int i = 0; i < 3; i++)
    {
      g_autoptr (LpTensor) y = lp_tensor_linear (x, w, NULL, &error);
      g_autoptr (LpTensor) loss = sum (y);

      lp_tensor_backward (loss, NULL, &error);
      g_assert_no_error (error);
    }
  g_assert_cmpuint (_lp_n_weight_casts - before, ==, 1);
  g_assert_cmpfloat (first_grad (w), ==, 6);

  lp_tensor_fill (w, 1, NULL);
  {
    g_autoptr (LpTensor) y = lp_tensor_linear (x, w, NULL, &error);
    gsize n;
    g_autofree double *values = lp_tensor_dup_doubles (y, &n, NULL);

    g_assert_cmpfloat (values[0], ==, 4);
  }
  g_assert_cmpuint (_lp_n_weight_casts - before, ==, 2);
  lp_compute_scope_pop ();
}

/* A quantizer that notes what it sees and halves weights. */

#define HALVING_TYPE (halving_get_type ())
G_DECLARE_FINAL_TYPE (Halving, halving, TEST, HALVING, LpOperandQuantizer)

struct _Halving
{
  LpOperandQuantizer parent_instance;
  GString *seen;
};

G_DEFINE_FINAL_TYPE (Halving, halving, LP_TYPE_OPERAND_QUANTIZER)

static LpTensor *
halving_quantize (LpOperandQuantizer *quantizer, LpOperand *operand, GError **error)
{
  g_autoptr (LpTensor) one = lp_tensor_ones (DIMS (1, 1), NULL, NULL, NULL);
  g_autoptr (LpTensor) own = lp_tensor_linear (one, one, NULL, error);

  /* a product of its own, for which it is not asked */
  g_assert_nonnull (own);
  g_string_append_printf (TEST_HALVING (quantizer)->seen, "%d%d@%d ", lp_operand_get_gemm (operand),
                          lp_operand_get_role (operand), lp_operand_get_axis (operand));
  if (lp_operand_get_role (operand) == LP_OPERAND_WEIGHT)
    return lp_tensor_scale (lp_operand_get_tensor (operand), 0.5, error);

  return g_object_ref (lp_operand_get_tensor (operand));
}

static void
halving_finalize (GObject *object)
{
  g_string_free (TEST_HALVING (object)->seen, TRUE);
  G_OBJECT_CLASS (halving_parent_class)->finalize (object);
}

static void
halving_class_init (HalvingClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = halving_finalize;
  LP_OPERAND_QUANTIZER_CLASS (klass)->quantize_operand = halving_quantize;
}

static void
halving_init (Halving *self)
{
  self->seen = g_string_new (NULL);
}

static void
test_quantizer (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Halving) quantizer = g_object_new (HALVING_TYPE, NULL);
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (NULL, LP_OPERAND_QUANTIZER (quantizer));
  g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (2, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) w = parameter (1);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;

  lp_tensor_set_requires_grad (x, TRUE);
  lp_compute_scope_push (scope);
  y = lp_tensor_linear (x, w, NULL, &error);
  lp_compute_scope_pop ();
  loss = sum (y);
  g_assert_cmpfloat (lp_tensor_get_item (loss, NULL), ==, 8 * 2);
  /* the node keeps its scope */
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (first_grad (x), ==, 2);
  g_assert_cmpfloat (first_grad (w), ==, 2);
  g_assert_cmpstr (quantizer->seen->str, ==, "00@1 01@1 12@1 11@0 22@0 20@0 ");
}

/* A quantizer that is asked for the product, and gets it in several ways. */

typedef enum { OWN, COMPUTED, TWICE, PARENT, PARENT_ASIDE, DOUBLED, OTHERS, N_WAYS } Way;

#define MULTIPLIER_TYPE (multiplier_get_type ())
G_DECLARE_FINAL_TYPE (Multiplier, multiplier, TEST, MULTIPLIER, LpOperandQuantizer)

struct _Multiplier
{
  LpOperandQuantizer parent_instance;
  Way way;
};

G_DEFINE_FINAL_TYPE (Multiplier, multiplier, LP_TYPE_OPERAND_QUANTIZER)

static LpTensor *
own_product (LpTensor *x, LpTensor *w, GError **error)
{
  g_autoptr (LpComputeScope) plain = lp_compute_scope_new (NULL, NULL);
  LpTensor *y;

  lp_compute_scope_push (plain);
  y = lp_tensor_get_n_dims (x) == 4 ? lp_tensor_conv2d (x, w, NULL, 1, 1, 1, 1, error) : lp_tensor_linear (x, w, NULL, error);
  lp_compute_scope_pop ();

  return y;
}

static LpTensor *
multiplier_matmul (LpOperandQuantizer *quantizer, LpMatmul *matmul, GError **error)
{
  LpOperandQuantizerClass *parent = LP_OPERAND_QUANTIZER_CLASS (multiplier_parent_class);
  LpTensor *x = lp_operand_get_tensor (lp_matmul_get_left (matmul)), *w = lp_operand_get_tensor (lp_matmul_get_right (matmul));
  g_autoptr (Halving) other = g_object_new (HALVING_TYPE, NULL);
  g_autoptr (LpTensor) aside = NULL;

  switch (TEST_MULTIPLIER (quantizer)->way)
    {
    case OWN:
      return own_product (x, w, error);
    case TWICE:
      aside = lp_matmul_compute (matmul, x, w, error);
      return lp_matmul_compute (matmul, x, w, error);
    case PARENT:
      return parent->matmul (quantizer, matmul, error);
    case PARENT_ASIDE:
      aside = parent->matmul (quantizer, matmul, error);
      return own_product (x, w, error);
    case DOUBLED:
      aside = parent->matmul (quantizer, matmul, error);
      return lp_tensor_scale (aside, 2, error);
    case OTHERS:
      aside = lp_operand_quantizer_matmul (LP_OPERAND_QUANTIZER (other), matmul, error);
      return lp_tensor_scale (aside, 2, error);
    default:
      return lp_matmul_compute (matmul, x, w, error);
    }
}

static void
multiplier_class_init (MultiplierClass *klass)
{
  LP_OPERAND_QUANTIZER_CLASS (klass)->matmul = multiplier_matmul;
}

static void
multiplier_init (Multiplier *self)
{
}

static LpTensor *
layer (LpTensor *x, LpTensor *w, LpTensor *b)
{
  g_autoptr (GError) error = NULL;
  LpTensor *y = lp_tensor_get_n_dims (x) == 4 ? lp_tensor_conv2d (x, w, b, 1, 1, 1, 1, &error) : lp_tensor_linear (x, w, b, &error);

  g_assert_no_error (error);

  return y;
}

static void
assert_same (LpTensor *a, LpTensor *b)
{
  gsize n_a, n_b;
  g_autofree double *x = lp_tensor_dup_doubles (a, &n_a, NULL), *y = lp_tensor_dup_doubles (b, &n_b, NULL);

  g_assert_cmpmem (x, n_a * sizeof (double), y, n_b * sizeof (double));
}

/* The bias is added once to whatever a quantizer gives as the product; small integers have no rounding. */
static void
test_bias (gconstpointer of_image)
{
  g_autoptr (LpTensor) x = of_image ? lp_tensor_ones (DIMS (2, 4, 3, 3), NULL, NULL, NULL) : lp_tensor_ones (DIMS (2, 5, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) w = of_image ? lp_tensor_ones (DIMS (3, 4, 3, 3), NULL, NULL, NULL) : lp_tensor_ones (DIMS (3, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) b = lp_tensor_new_from_doubles ((double[]) { 10, 20, 40 }, 3, DIMS (3), lp_dtype_f32 (), NULL);

  lp_tensor_set_requires_grad (w, TRUE);
  lp_tensor_set_requires_grad (b, TRUE);
  for (Way way = OWN; way < N_WAYS; way++)
    {
      g_autoptr (Multiplier) quantizer = g_object_new (MULTIPLIER_TYPE, NULL);
      g_autoptr (LpComputeScope) scope = lp_compute_scope_new (NULL, LP_OPERAND_QUANTIZER (quantizer));
      g_autoptr (LpTensor) doubled = lp_tensor_scale (x, way == DOUBLED ? 2 : 1, NULL);
      g_autoptr (LpTensor) expected = layer (doubled, w, b);
      g_autoptr (LpTensor) y = NULL;
      g_autoptr (LpTensor) total = NULL;
      g_autoptr (GError) error = NULL;

      quantizer->way = way;
      lp_compute_scope_push (scope);
      y = layer (x, w, b);
      lp_compute_scope_pop ();
      assert_same (y, expected);
      lp_tensor_set_grad (b, NULL);
      total = sum (y);
      quantizer->way = COMPUTED;
      lp_tensor_backward (total, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpfloat (first_grad (b), ==, of_image ? 2 * 9 : 2 * 5);
    }
}

static void
test_no_leak (void)
{
  LpTensor *x = parameter (1);
  LpTensor *y = lp_tensor_relu (x, NULL);
  LpTensor *z = lp_tensor_mul (y, x, NULL);

  g_assert_finalize_object (z);
  g_assert_finalize_object (y);
  g_assert_finalize_object (x);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/autograd/function", test_function);
  g_test_add_func ("/autograd/function-misbehaves", test_function_misbehaves);
  g_test_add_func ("/autograd/grad-mode", test_grad_mode);
  g_test_add_func ("/autograd/accumulates", test_accumulates);
  g_test_add_func ("/autograd/used-up", test_used_up);
  g_test_add_func ("/autograd/changed-in-place", test_changed_in_place);
  g_test_add_func ("/autograd/needs-scalar", test_needs_scalar);
  g_test_add_func ("/autograd/long-chain", test_long_chain);
  g_test_add_func ("/autograd/autocast", test_autocast);
  g_test_add_func ("/autograd/autocast-override", test_autocast_override);
  g_test_add_func ("/autograd/cast-once", test_cast_once);
  g_test_add_func ("/autograd/quantizer", test_quantizer);
  g_test_add_data_func ("/autograd/quantizer/bias/linear", GINT_TO_POINTER (FALSE), test_bias);
  g_test_add_data_func ("/autograd/quantizer/bias/conv2d", GINT_TO_POINTER (TRUE), test_bias);
  g_test_add_func ("/autograd/no-leak", test_no_leak);

  return g_test_run ();
}
