#include <math.h>

#include <lp/lp.h>

#include <lp/cpu/lp-cpu-encoded-private.h>

/* Encoded tensors as views and as weights: the same as what they decode to, a panel at a time. */

#define PANEL_BYTES (4 << 20)

/* Someone else's dtype: bytes of a quarter, in blocks of 4 that end with the row. */
#define TEST_TYPE_QUARTERS (test_quarters_get_type ())
G_DECLARE_FINAL_TYPE (TestQuarters, test_quarters, TEST, QUARTERS, LpDType)

struct _TestQuarters
{
  LpDType parent_instance;
};

G_DEFINE_FINAL_TYPE (TestQuarters, test_quarters, LP_TYPE_DTYPE)

static GThread *run_thread;
static int n_foreign_threads, n_decodes;

static gint64
blocks_of (LpShape *shape)
{
  return (lp_shape_get_dim (shape, -1) + 3) / 4;
}

static GBytes *
test_quarters_encode (LpDType *self, GBytes *values, LpShape *shape, gint axis, GError **error)
{
  const gint64 row = lp_shape_get_dim (shape, -1), n = lp_shape_get_n_elements (shape);
  const float *x = g_bytes_get_data (values, NULL);
  gint8 *y = g_malloc0 (n / row * blocks_of (shape) * 4);

  for (gint64 i = 0; i < n; i++)
    y[i / row * blocks_of (shape) * 4 + i % row] = (gint8) lrintf (CLAMP (x[i] * 4, -127, 127));

  return g_bytes_new_take (y, n / row * blocks_of (shape) * 4);
}

static GBytes *
test_quarters_decode (LpDType *self, GBytes *data, LpShape *shape, gint axis, gint64 first_block, gint64 n_blocks, GError **error)
{
  const gint64 row = lp_shape_get_dim (shape, -1);
  const gint8 *x = g_bytes_get_data (data, NULL);
  float *y = g_new (float, n_blocks * 4 + 1);
  gint64 n = 0;

  g_atomic_int_inc (&n_decodes);
  if (g_thread_self () != run_thread)
    g_atomic_int_inc (&n_foreign_threads);
  for (gint64 b = first_block; b < first_block + n_blocks; b++)
    for (gint64 i = 0; i < MIN (4, row - b % blocks_of (shape) * 4); i++)
      y[n++] = (float) x[b * 4 + i] / 4;

  return g_bytes_new_take (y, n * sizeof (float));
}

static void
test_quarters_class_init (TestQuartersClass *klass)
{
  LP_DTYPE_CLASS (klass)->encode = test_quarters_encode;
  LP_DTYPE_CLASS (klass)->decode = test_quarters_decode;
}

static void
test_quarters_init (TestQuarters *self)
{
}

static LpDType *
quarters_new (gboolean thread_safe)
{
  return g_object_new (TEST_TYPE_QUARTERS, "name", "quarters", "bits", 8, "block-size", 4, "thread-safe", thread_safe, NULL);
}

static const char *const names[] = { "f8e4m3", "e2m1", "nf4", "nf4-dq", "fp4", "i8-dynamic", "i8-rowwise", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp4",
                                     "nvfp4", "quarters" };

static LpDType *
get_dtype (const char *name)
{
  return g_str_equal (name, "quarters") ? quarters_new (FALSE) : lp_dtype_lookup (name, NULL);
}

static LpTensor *
random_tensor (const gint64 *dims,
               gsize         n_dims)
{
  return lp_tensor_normal (dims, n_dims, 0, 1, lp_dtype_f32 (), NULL, NULL);
}

static LpTensor *
encode (LpTensor *values,
        LpDType  *dtype)
{
  g_autoptr (GError) error = NULL;
  LpTensor *encoded = lp_tensor_to_dtype (values, dtype, &error);

  g_assert_no_error (error);

  return encoded;
}

static LpTensor *
decode (LpTensor *encoded)
{
  g_autoptr (GError) error = NULL;
  LpTensor *values = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), &error);

  g_assert_no_error (error);

  return values;
}

static void
check_close (LpTensor *a,
             LpTensor *b,
             double    bound)
{
  g_autoptr (LpShape) a_shape = lp_tensor_dup_shape (a);
  g_autoptr (LpShape) b_shape = lp_tensor_dup_shape (b);
  gsize n;
  g_autofree double *x = lp_tensor_dup_doubles (a, &n, NULL);
  g_autofree double *y = lp_tensor_dup_doubles (b, &n, NULL);

  g_assert_true (lp_shape_equal (a_shape, b_shape));
  for (gsize i = 0; i < n; i++)
    if (!(fabs (x[i] - y[i]) <= bound))
      g_error ("element %" G_GSIZE_FORMAT ": %g and %g", i, x[i], y[i]);
}

static void
check_narrow (LpTensor *encoded,
              LpTensor *values,
              int       axis,
              gint64    start,
              gint64    length)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) view = lp_tensor_narrow (encoded, axis, start, length, &error);
  g_autoptr (LpTensor) expected = lp_tensor_narrow (values, axis, start, length, NULL);
  g_autoptr (LpTensor) decoded = NULL;
  g_autoptr (GBytes) bytes = NULL;

  g_assert_no_error (error);
  g_assert_cmphex (lp_tensor_get_address (view), ==, lp_tensor_get_address (encoded));
  decoded = decode (view);
  check_close (decoded, expected, 0);
  bytes = lp_tensor_dup_bytes (view, &error);
  g_assert_no_error (error);
  g_assert_cmpint (g_bytes_get_size (bytes), ==, lp_tensor_get_n_bytes (view));
}

static void
test_narrow (void)
{
  const gint64 dims[] = { 6, 4, 128 }, joined[] = { 24, 128 };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpDType) dtype = get_dtype (names[i]);
      const gint64 block = lp_dtype_get_block_size (dtype);
      g_autoptr (LpTensor) values = random_tensor (dims, 3);
      g_autoptr (LpTensor) encoded = encode (values, dtype);
      g_autoptr (LpTensor) decoded = decode (encoded);
      g_autoptr (LpTensor) reshaped = lp_tensor_reshape (encoded, joined, 2, NULL);
      g_autoptr (LpTensor) rows = lp_tensor_reshape (decoded, joined, 2, NULL);
      g_autoptr (LpTensor) part = lp_tensor_narrow (encoded, 0, 2, 4, NULL);
      g_autoptr (LpTensor) expected = lp_tensor_narrow (decoded, 0, 2, 4, NULL);
      g_autoptr (LpTensor) cut = NULL;
      g_autoptr (GError) error = NULL;

      check_narrow (reshaped, rows, 0, 8, 16);
      if (block > 128)
        continue;
      check_narrow (encoded, decoded, 0, 1, 3);
      check_narrow (encoded, decoded, 1, 1, 2);
      check_narrow (encoded, decoded, 2, block, 128 - block);
      check_narrow (part, expected, 0, 1, 2);
      check_narrow (part, expected, 2, 0, 64);
      if (block == 1)
        continue;
      cut = lp_tensor_narrow (encoded, 2, 1, 127, &error);
      g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
      g_assert_null (cut);
    }
}

static void
test_writing_a_part (void)
{
  const gint64 dims[] = { 4, 64 };
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("nf4", NULL);
  g_autoptr (LpTensor) values = random_tensor (dims, 2);
  g_autoptr (LpTensor) encoded = encode (values, dtype);
  g_autoptr (LpTensor) part = lp_tensor_narrow (encoded, 0, 1, 2, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_tensor_fill (part, 1, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED);
}

/* Rows that are no whole blocks are read to their ends and no further. */
static void
test_odd_rows (void)
{
  const gint64 dims[] = { 5, 7, 75 };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpDType) dtype = get_dtype (names[i]);
      g_autoptr (LpTensor) values = random_tensor (dims, 3);
      g_autoptr (LpTensor) encoded = encode (values, dtype);
      g_autoptr (LpTensor) decoded = decode (encoded);
      g_autoptr (LpTensor) half = lp_tensor_to_dtype (encoded, lp_dtype_bf16 (), NULL);
      g_autoptr (LpTensor) expected = lp_tensor_to_dtype (decoded, lp_dtype_bf16 (), NULL);

      check_close (decoded, values, 1.2);
      check_close (half, expected, 0);
      if (!lp_dtype_get_flat (dtype))
        check_narrow (encoded, decoded, 0, 1, 3);
    }
}

static void
check_linear (const char *name,
              gint64      out,
              gint64      in)
{
  const gint64 weight_dims[] = { out, in }, input_dims[] = { 3, in };
  g_autoptr (LpDType) dtype = get_dtype (name);
  g_autoptr (LpTensor) values = random_tensor (weight_dims, 2);
  g_autoptr (LpTensor) encoded = encode (values, dtype);
  g_autoptr (LpTensor) decoded = decode (encoded);
  g_autoptr (LpTensor) x = random_tensor (input_dims, 2);
  g_autoptr (LpTensor) bias = random_tensor (weight_dims, 1);
  LpTensor *const weights[] = { encoded, decoded };
  LpTensor *results[2];
  LpTensor *grads[2];
  g_autoptr (GError) error = NULL;
  gint64 peak = 0;

  lp_tensor_set_requires_grad (x, TRUE);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) loss = NULL;

      _lp_cpu_take_decoded_peak ();
      results[i] = lp_tensor_linear (x, weights[i], bias, &error);
      g_assert_no_error (error);
      loss = lp_tensor_sum (results[i], NULL, 0, FALSE, &error);
      lp_tensor_backward (loss, NULL, &error);
      g_assert_no_error (error);
      grads[i] = lp_tensor_dup_grad (x);
      lp_tensor_set_grad (x, NULL);
      if (i == 0)
        peak = _lp_cpu_take_decoded_peak ();
    }
  check_close (results[0], results[1], 1e-5 * (double) in);
  check_close (grads[0], grads[1], 1e-5 * (double) out);
  for (int i = 0; i < 2; i++)
    {
      g_object_unref (results[i]);
      g_object_unref (grads[i]);
    }
  g_assert_cmpint (peak, >, 0);
  g_assert_cmpint (peak, <=, PANEL_BYTES);
  g_assert_cmpint (peak, <=, MAX (4 * out * in, 1 << 16) * 2);
}

static void
test_linear (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      check_linear (names[i], 70, 75);
      check_linear (names[i], 1, 64);
      check_linear (names[i], 64, 1);
    }
  /* more than a panel, whole blocks or not; and one row that is more than a panel */
  check_linear ("nf4", 1100, 1536);
  check_linear ("mxfp4", 1100, 1501);
  check_linear ("quarters", 1100, 1501);
  check_linear ("i8-rowwise", 2, 1100000);
}

static void
check_both (const char *left,
            const char *right,
            gint64      m,
            gint64      n,
            gint64      k)
{
  const gint64 a_dims[] = { m, k }, b_dims[] = { n, k };
  g_autoptr (LpDType) a_dtype = get_dtype (left);
  g_autoptr (LpDType) b_dtype = get_dtype (right);
  g_autoptr (LpTensor) a = random_tensor (a_dims, 2);
  g_autoptr (LpTensor) b = random_tensor (b_dims, 2);
  g_autoptr (LpTensor) encoded_a = encode (a, a_dtype);
  g_autoptr (LpTensor) encoded_b = encode (b, b_dtype);
  g_autoptr (LpTensor) decoded_a = decode (encoded_a);
  g_autoptr (LpTensor) decoded_b = decode (encoded_b);
  g_autoptr (LpTensor) expected = lp_tensor_linear (decoded_a, decoded_b, NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) result = NULL;

  _lp_cpu_take_decoded_peak ();
  result = lp_tensor_linear (encoded_a, encoded_b, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpint (_lp_cpu_take_decoded_peak (), <=, PANEL_BYTES);
  check_close (result, expected, 1e-5 * (double) k);
}

static void
test_both_encoded (void)
{
  check_both ("f8e4m3", "f8e4m3", 1100, 1100, 1000);
  /* sums over more than a panel; blocks that lie across panels; few rows; a dtype of others */
  check_both ("f8e4m3", "f8e5m2", 500, 700, 2500);
  check_both ("nf4", "mxfp4", 130, 301, 777);
  check_both ("f8e5m2", "nf4", 5, 301, 3000);
  check_both ("quarters", "f8e4m3", 200, 301, 3000);
}

static void
check_conv (const char *name,
            gint64      out,
            gint64      in,
            gint64      size,
            int         groups)
{
  const gint64 weight_dims[] = { out, in / groups, size, size }, input_dims[] = { 2, in, 5, 6 };
  g_autoptr (LpDType) dtype = get_dtype (name);
  g_autoptr (LpTensor) values = random_tensor (weight_dims, 4);
  g_autoptr (LpTensor) encoded = encode (values, dtype);
  g_autoptr (LpTensor) decoded = decode (encoded);
  g_autoptr (LpTensor) x = random_tensor (input_dims, 4);
  g_autoptr (LpTensor) bias = random_tensor (weight_dims, 1);
  LpTensor *const weights[] = { encoded, decoded };
  LpTensor *results[2];
  LpTensor *grads[2];
  g_autoptr (GError) error = NULL;
  gint64 peak = 0;

  lp_tensor_set_requires_grad (x, TRUE);
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) loss = NULL;

      _lp_cpu_take_decoded_peak ();
      results[i] = lp_tensor_conv2d (x, weights[i], bias, 1, 1, 1, groups, &error);
      g_assert_no_error (error);
      loss = lp_tensor_sum (results[i], NULL, 0, FALSE, &error);
      lp_tensor_backward (loss, NULL, &error);
      g_assert_no_error (error);
      grads[i] = lp_tensor_dup_grad (x);
      lp_tensor_set_grad (x, NULL);
      if (i == 0)
        peak = _lp_cpu_take_decoded_peak ();
    }
  check_close (results[0], results[1], 2e-5 * (double) (in * size * size));
  check_close (grads[0], grads[1], 2e-5 * (double) (out * size * size));
  for (int i = 0; i < 2; i++)
    {
      g_object_unref (results[i]);
      g_object_unref (grads[i]);
    }
  g_assert_cmpint (peak, >, 0);
  g_assert_cmpint (peak, <=, PANEL_BYTES);
}

static void
test_conv (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    check_conv (names[i], 6, 4, 3, 2);
  check_conv ("nf4", 260, 500, 3, 1);
  check_conv ("mxfp4", 520, 1000, 3, 2);
  check_conv ("quarters", 260, 500, 3, 1);
}

static void
test_thread_safe (void)
{
  const gint64 dims[] = { 512, 512 };
  g_autoptr (LpTensor) values = random_tensor (dims, 2);

  run_thread = g_thread_self ();
  for (int safe = 0; safe < 2; safe++)
    {
      g_autoptr (LpDType) dtype = quarters_new (safe);
      g_autoptr (LpTensor) encoded = encode (values, dtype);
      g_autoptr (LpTensor) decoded = NULL;

      n_foreign_threads = n_decodes = 0;
      omp_set_num_threads (4);
      decoded = decode (encoded);
      g_assert_cmpint (n_decodes, >=, 4);
      if (safe)
        g_assert_cmpint (n_foreign_threads, >, 0);
      else
        g_assert_cmpint (n_foreign_threads, ==, 0);
      check_close (decoded, values, 0.126);
    }
}

/* A weight of 4 bits is trained through float32 masters, and any other dtype as well. */
static void
check_training (const char *name)
{
  const gint64 dims[] = { 16, 64 }, input_dims[] = { 8, 64 };
  g_autoptr (LpDType) dtype = get_dtype (name);
  g_autoptr (LpModule) layer = lp_linear_new_full (64, 16, FALSE);
  g_autoptr (LpTensor) values = random_tensor (dims, 2);
  g_autoptr (LpTensor) weight = encode (values, dtype);
  g_autoptr (LpTensor) x = random_tensor (input_dims, 2);
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (GError) error = NULL;
  double first = 0, last = 0;

  lp_tensor_set_requires_grad (weight, TRUE);
  lp_module_set_parameter (layer, "weight", weight, &error);
  g_assert_no_error (error);
  parameters = lp_module_dup_parameters (layer);
  optimizer = lp_sgd_new (parameters, 0.05);
  for (int step = 0; step < 30; step++)
    {
      g_autoptr (LpTensor) y = lp_module_forward (layer, x, &error);
      g_autoptr (LpTensor) squares = lp_tensor_mul (y, y, &error);
      g_autoptr (LpTensor) loss = lp_tensor_mean (squares, NULL, 0, FALSE, &error);

      last = lp_tensor_get_item (loss, &error);
      first = step == 0 ? last : first;
      lp_optimizer_zero_grad (optimizer, &error);
      lp_tensor_backward (loss, NULL, &error);
      lp_optimizer_step (optimizer, NULL, &error);
      g_assert_no_error (error);
    }
  g_assert_true (lp_tensor_get_dtype (weight) == dtype);
  g_assert_cmpfloat (last, <, 0.8 * first);
}

/* Weights stored in every encoded dtype of the registry, and in one of somebody's own. */
static void
test_training (void)
{
  GListModel *registry = G_LIST_MODEL (lp_dtype_registry_get_default ());

  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);
      g_autoptr (LpDType) dtype = lp_dtype_lookup (name, NULL);

      if (!lp_dtype_is_native (dtype))
        check_training (name);
    }
  check_training ("quarters");
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/encoded/narrow", test_narrow);
  g_test_add_func ("/encoded/writing-a-part", test_writing_a_part);
  g_test_add_func ("/encoded/odd-rows", test_odd_rows);
  g_test_add_func ("/encoded/linear", test_linear);
  g_test_add_func ("/encoded/both-encoded", test_both_encoded);
  g_test_add_func ("/encoded/conv", test_conv);
  g_test_add_func ("/encoded/thread-safe", test_thread_safe);
  g_test_add_func ("/encoded/training", test_training);

  return g_test_run ();
}
