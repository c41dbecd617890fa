#include <string.h>

#include <lp/lp.h>

#define DIMS(...) (const gint64[]) { __VA_ARGS__ }, sizeof ((const gint64[]) { __VA_ARGS__ }) / sizeof (gint64)

static LpTensor *
arange (gint64 n)
{
  return lp_tensor_arange (0, n, 1, NULL, NULL, NULL);
}

static void
assert_values (LpTensor *tensor, const double *expected, gsize n)
{
  gsize n_values;
  g_autofree double *values = lp_tensor_dup_doubles (tensor, &n_values, NULL);

  g_assert_cmpuint (n_values, ==, n);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon (values[i], expected[i], 1e-6);
}

static void
test_create (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) ones = lp_tensor_ones (DIMS (2, 3), lp_dtype_bf16 (), NULL, &error);
  g_autoptr (LpShape) shape = NULL;
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  shape = lp_tensor_dup_shape (ones);
  text = lp_shape_to_string (shape);
  g_assert_cmpstr (text, ==, "[2, 3]");
  g_assert_cmpint (lp_tensor_get_n_bytes (ones), ==, 12);
  g_assert_true (lp_tensor_get_dtype (ones) == lp_dtype_bf16 ());
  assert_values (ones, (const double[]) { 1, 1, 1, 1, 1, 1 }, 6);
}

static void
test_create_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) bytes = g_bytes_new_static ("12345", 5);

  g_assert_null (lp_tensor_zeros (DIMS (2, -3), NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_zeros (DIMS (1, 1, 1, 1, 1, 1, 1, 1, 1), NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_zeros (DIMS (G_MAXINT64, G_MAXINT64), NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_new_from_bytes (bytes, DIMS (2), NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_new_from_doubles ((const double[]) { 1, 2 }, 2, DIMS (3), NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_zeros (DIMS (G_GINT64_CONSTANT (1) << 50), NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_MEMORY);
}

static void
test_views_share (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = arange (12);
  g_autoptr (LpTensor) m = lp_tensor_reshape (x, DIMS (3, 4), &error);
  g_autoptr (LpTensor) part = lp_tensor_narrow (m, 1, 1, 2, &error);
  g_autoptr (LpTensor) turned = lp_tensor_transpose (part, 0, 1, &error);

  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_get_address (m), ==, lp_tensor_get_address (x));
  lp_tensor_fill (turned, -1, &error);
  g_assert_no_error (error);
  assert_values (x, (const double[]) { 0, -1, -1, 3, 4, -1, -1, 7, 8, -1, -1, 11 }, 12);
}

static void
test_bytes (void)
{
  g_autoptr (GError) error = NULL;
  static const float values[] = { 1, 2, 3 };
  g_autoptr (GBytes) bytes = g_bytes_new_static (values, sizeof values);
  g_autoptr (LpTensor) x = lp_tensor_new_from_bytes (bytes, DIMS (3), lp_dtype_f32 (), &error);
  g_autoptr (GBytes) back = NULL;

  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_get_address (x), ==, (gsize) values);
  back = lp_tensor_dup_bytes (x, &error);
  g_assert_true (g_bytes_equal (bytes, back));
  g_assert_false (lp_tensor_fill (x, 0, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static void
test_dlpack (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = arange (6);
  g_autoptr (LpTensor) m = lp_tensor_reshape (x, DIMS (2, 3), &error);
  g_autoptr (LpTensor) turned = lp_tensor_transpose (m, 0, 1, &error);
  g_autoptr (LpTensor) back = lp_tensor_new_from_dlpack (lp_tensor_to_dlpack (turned, &error), &error);

  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_get_address (back), ==, lp_tensor_get_address (x));
  assert_values (back, (const double[]) { 0, 3, 1, 4, 2, 5 }, 6);
}

static void
test_assign (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = lp_tensor_zeros (DIMS (2, 3), lp_dtype_f16 (), NULL, &error);
  g_autoptr (LpTensor) row = arange (3);
  g_autoptr (LpTensor) wrong = arange (4);
  guint version = lp_tensor_get_version (x);

  lp_tensor_assign (x, row, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_get_version (x), >, version);
  assert_values (x, (const double[]) { 0, 1, 2, 0, 1, 2 }, 6);
  g_assert_false (lp_tensor_assign (x, wrong, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
test_promotion (void)
{
  g_autoptr (GError) error = NULL;
  static const struct { const char *a, *b, *result; } rows[] = {
    { "f16", "f32", "f32" }, { "f16", "bf16", "f32" }, { "f32", "f64", "f64" }, { "i32", "f16", "f16" },
    { "u8", "i8", "i16" }, { "bool", "i32", "i32" }, { "i64", "i16", "i64" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpDType) a = lp_dtype_lookup (rows[i].a, &error);
      g_autoptr (LpDType) b = lp_dtype_lookup (rows[i].b, &error);
      g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (2), a, NULL, &error);
      g_autoptr (LpTensor) y = lp_tensor_ones (DIMS (2), b, NULL, &error);
      g_autoptr (LpTensor) z = lp_tensor_add (x, y, &error);

      g_assert_no_error (error);
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (z)), ==, rows[i].result);
      assert_values (z, (const double[]) { 2, 2 }, 2);
    }
}

static void
test_chaining (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = arange (6);
  g_autoptr (LpTensor) wrong = lp_tensor_reshape (x, DIMS (4), &error);
  g_autofree char *message = NULL;

  g_assert_null (wrong);
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  message = g_strdup (error->message);
  g_assert_null (lp_tensor_relu (lp_tensor_add (wrong, x, &error), &error));
  g_assert_cmpstr (error->message, ==, message);
}

typedef LpTensor *(* Refused) (LpTensor *a, LpTensor *b, GError **error);

#define REFUSED(name, expression) \
  static LpTensor *refused_##name (LpTensor *a, LpTensor *b, GError **error) { return expression; }

REFUSED (add, lp_tensor_add (a, b, error))
REFUSED (matmul, lp_tensor_matmul (a, b, error))
REFUSED (linear, lp_tensor_linear (a, b, NULL, error))
REFUSED (conv, lp_tensor_conv2d (a, b, NULL, 1, 0, 1, 1, error))
REFUSED (max_pool, lp_tensor_max_pool2d (a, 2, 0, 0, error))
REFUSED (avg_pool, lp_tensor_avg_pool2d (a, 2, 0, 0, error))
REFUSED (global_pool, lp_tensor_global_avg_pool2d (a, error))
REFUSED (batch_norm, lp_tensor_batch_norm (a, b, NULL, NULL, NULL, TRUE, 0.1, 1e-5, error))
REFUSED (cross_entropy, lp_tensor_cross_entropy (a, b, error))
REFUSED (mse, lp_tensor_mse_loss (a, b, LP_REDUCTION_MEAN, error))
REFUSED (l1, lp_tensor_l1_loss (a, b, LP_REDUCTION_MEAN, error))
REFUSED (huber, lp_tensor_huber_loss (a, b, 1, LP_REDUCTION_MEAN, error))
REFUSED (bce, lp_tensor_bce_with_logits (a, b, LP_REDUCTION_MEAN, error))
REFUSED (softmax, lp_tensor_softmax (a, 5, error))
REFUSED (sum, lp_tensor_sum (a, (const int[]) { 7 }, 1, FALSE, error))
REFUSED (argmax, lp_tensor_argmax (a, -4, error))
REFUSED (reshape, lp_tensor_reshape (a, DIMS (5), error))
REFUSED (permute, lp_tensor_permute (a, (const int[]) { 0, 0 }, 2, error))
REFUSED (expand, lp_tensor_expand (a, DIMS (4, 5), error))
REFUSED (narrow, lp_tensor_narrow (a, 0, 1, 7, error))
REFUSED (select, lp_tensor_select (a, 0, 9, error))
REFUSED (squeeze, lp_tensor_squeeze (a, 0, error))
REFUSED (cat, lp_tensor_cat ((LpTensor *[]) { a, b }, 2, 0, error))
REFUSED (stack, lp_tensor_stack ((LpTensor *[]) { a, b }, 2, 0, error))

/* [2, 3] and [4, 5] go together in no operation */
static void
test_shape_errors (void)
{
  static const Refused refused[] = {
    refused_add, refused_matmul, refused_linear, refused_conv, refused_max_pool, refused_avg_pool, refused_global_pool,
    refused_batch_norm, refused_cross_entropy, refused_mse, refused_l1, refused_huber, refused_bce, refused_softmax, refused_sum,
    refused_argmax, refused_reshape, refused_permute, refused_expand, refused_narrow, refused_select, refused_squeeze,
    refused_cat, refused_stack,
  };
  g_autoptr (LpTensor) a = lp_tensor_ones (DIMS (2, 3), NULL, NULL, NULL);
  g_autoptr (LpTensor) b = lp_tensor_ones (DIMS (4, 5), NULL, NULL, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (refused[i] (a, b, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
    }
}

static void
test_dtype_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) integers = lp_tensor_ones (DIMS (2, 3), lp_dtype_i32 (), NULL, NULL);
  g_autoptr (LpTensor) index = lp_tensor_ones (DIMS (2), lp_dtype_f32 (), NULL, NULL);

  g_assert_null (lp_tensor_exp (integers, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_softmax (integers, 0, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_index_select (integers, 0, index, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_where (integers, integers, integers, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
}

static void
test_index_errors (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) x = lp_tensor_ones (DIMS (3, 2), NULL, NULL, NULL);
  g_autoptr (LpTensor) index = lp_tensor_new_from_int64s ((const gint64[]) { 0, 3 }, 2, DIMS (2), NULL, NULL);
  g_autoptr (LpTensor) targets = lp_tensor_new_from_int64s ((const gint64[]) { 0, 1, 2 }, 3, DIMS (3), NULL, NULL);

  g_assert_null (lp_tensor_index_select (x, 0, index, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_null (lp_tensor_cross_entropy (x, targets, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_unknown_names (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_dtype_lookup ("f23", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_assert_nonnull (strstr (error->message, "f32"));
  g_clear_error (&error);
  g_assert_null (lp_device_lookup ("cuda:0", &error));
  g_assert_nonnull (error);
}

static void
test_dict (void)
{
  g_autoptr (LpTensorDict) dict = lp_tensor_dict_new ();
  g_autoptr (LpTensor) a = arange (2);
  g_autoptr (LpTensor) b = arange (3);
  g_auto (GStrv) names = NULL;

  lp_tensor_dict_set (dict, "b", b);
  lp_tensor_dict_set (dict, "a", a);
  lp_tensor_dict_set (dict, "b", a);
  names = lp_tensor_dict_dup_names (dict);
  g_assert_cmpstrv (names, ((const char *const[]) { "b", "a", NULL }));
  g_assert_true (lp_tensor_dict_lookup (dict, "b") == a);
  g_assert_true (lp_tensor_dict_remove (dict, "b"));
  g_assert_false (lp_tensor_dict_remove (dict, "b"));
  g_assert_cmpuint (lp_tensor_dict_get_size (dict), ==, 1);
}

static void
test_memory (void)
{
  LpDevice *cpu = lp_device_get_default ();
  gint64 before = lp_device_get_used_bytes (cpu);
  LpTensor *x = lp_tensor_zeros (DIMS (1000), NULL, NULL, NULL);

  g_assert_cmpint (lp_device_get_used_bytes (cpu) - before, ==, 4000);
  g_assert_cmpint (lp_device_get_peak_bytes (cpu), >=, before + 4000);
  g_assert_finalize_object (x);
  g_assert_cmpint (lp_device_get_used_bytes (cpu), ==, before);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tensor/create", test_create);
  g_test_add_func ("/tensor/create-errors", test_create_errors);
  g_test_add_func ("/tensor/views-share", test_views_share);
  g_test_add_func ("/tensor/bytes", test_bytes);
  g_test_add_func ("/tensor/dlpack", test_dlpack);
  g_test_add_func ("/tensor/assign", test_assign);
  g_test_add_func ("/tensor/promotion", test_promotion);
  g_test_add_func ("/tensor/chaining", test_chaining);
  g_test_add_func ("/tensor/shape-errors", test_shape_errors);
  g_test_add_func ("/tensor/dtype-errors", test_dtype_errors);
  g_test_add_func ("/tensor/index-errors", test_index_errors);
  g_test_add_func ("/tensor/unknown-names", test_unknown_names);
  g_test_add_func ("/tensor/dict", test_dict);
  g_test_add_func ("/tensor/memory", test_memory);

  return g_test_run ();
}
