/* Quantized weights: where the edges of the rules lie. */

#include <math.h>
#include <string.h>

#include <lp/lp.h>

#include <lp/core/lp-codec-private.h>

static LpModule *
make_layer (gint64 in,
            gint64 out,
            double weight)
{
  LpModule *layer = lp_linear_new_full (in, out, FALSE);

  g_assert_true (lp_tensor_fill (lp_linear_get_weight (LP_LINEAR (layer)), weight, NULL));

  return layer;
}

static LpPrecisionPlugin *
make_plugin (const char        *precision,
             const char *const *ignored)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_quantized_precision_plugin_new (precision, ignored, NULL, &error);

  g_assert_no_error (error);

  return plugin;
}

static double
run (LpPrecisionPlugin *plugin,
     LpModule          *layer,
     LpTensor          *x)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autofree double *values = NULL;
  gsize n;

  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  y = lp_module_forward (layer, x, &error);
  lp_precision_plugin_pop_scope (plugin);
  g_assert_no_error (error);
  values = lp_tensor_dup_doubles (y, &n, NULL);

  return values[0];
}

static LpTensor *
make_row (const double *values,
          gint64        n)
{
  return lp_tensor_new_from_doubles (values, (gsize) n, (gint64[]) { 1, n }, 2, NULL, NULL);
}

/* A magnitude of exactly the threshold is an outlier. */
static void
test_threshold (void)
{
  static const struct { double large; gboolean outlier; } rows[] = { { 6, TRUE }, { -6, TRUE }, { 5.99, FALSE } };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      /* beside a large number in one scale, 0.001 is lost; without it, not */
      const double values[] = { rows[i].large, 0.001, 0, 0 };
      g_autoptr (LpPrecisionPlugin) plugin = make_plugin ("int8", NULL);
      g_autoptr (LpModule) layer = make_layer (4, 4, 1);
      g_autoptr (LpTensor) x = make_row (values, 4);

      g_assert_true (lp_precision_plugin_convert_module (plugin, layer, NULL));
      g_assert_cmpfloat_with_epsilon (run (plugin, layer, x) - rows[i].large, rows[i].outlier ? 0.001 : 0, 2e-6);
    }
}

/* Any number of columns may be outliers. */
static void
test_many_outliers (void)
{
  enum { N = 200 };
  double values[N];
  g_autoptr (LpPrecisionPlugin) plugin = make_plugin ("int8", NULL);
  g_autoptr (LpModule) layer = make_layer (N, 4, 1);
  g_autoptr (LpTensor) x = NULL;

  for (int i = 0; i < N; i++)
    values[i] = 8;
  x = make_row (values, N);
  g_assert_true (lp_precision_plugin_convert_module (plugin, layer, NULL));
  g_assert_cmpfloat_with_epsilon (run (plugin, layer, x), 8 * N, 1e-2);
}

/* ignore-modules are beginnings of paths; what is left alone is computed as it is. */
static void
test_ignored (void)
{
  const char *const ignored[] = { "head", NULL };
  const double values[] = { 1, 0.001, 0, 0 };
  g_autoptr (LpTensor) x = make_row (values, 4);
  const char *const names[] = { "int8", "nf4" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = make_plugin (names[i], ignored);
      g_autoptr (LpModule) net = lp_sequential_new ();
      g_autoptr (LpModule) head = lp_sequential_new ();
      g_autoptr (LpModule) inside = make_layer (4, 4, 1);
      g_autoptr (LpModule) body = make_layer (4, 4, 1);

      lp_sequential_append (LP_SEQUENTIAL (head), g_object_ref (inside));
      g_assert_true (lp_module_register_child (net, "head", head, NULL));
      g_assert_true (lp_module_register_child (net, "body", body, NULL));
      g_assert_true (lp_precision_plugin_convert_module (plugin, net, NULL));
      g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (inside))) == lp_dtype_f32 ());
      g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (body))) != lp_dtype_f32 ());
      if (i > 0)
        continue;
      g_assert_cmpfloat_with_epsilon (run (plugin, inside, x), 1.001, 1e-6);
      g_assert_cmpfloat_with_epsilon (run (plugin, body, x), 1, 1e-6);
    }
}

/* For the caller what comes out is in the dtype of the program. */
static void
test_output (void)
{
  const char *const names[] = { "nf4", "fp4-dq", "int8" };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpFabric) fabric = lp_fabric_new (names[i], NULL);
      g_autoptr (LpModule) layer = make_layer (4, 4, 1);
      g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 4 }, 2, NULL, NULL, NULL);
      g_autoptr (LpTensor) y = NULL;

      g_assert_true (lp_fabric_setup_module (fabric, layer, NULL));
      y = lp_fabric_forward (fabric, layer, x, NULL);
      g_assert_true (lp_tensor_get_dtype (y) == lp_dtype_f32 ());
    }
}

/* Weights that bitsandbytes would find again: the shapes of the parts, blocks of any size, and its own map of codes only. */
static void
test_packed (void)
{
  const gint64 dims[] = { 6, 75 };
  const guint blocks[] = { 32, 64, 128, 4096 };
  g_autoptr (LpTensor) values = lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    {
      g_autoptr (LpDType) dtype = lp_blockwise_dtype_new (i % 2 == 0 ? "nf4" : "fp4", blocks[i], FALSE);
      g_autoptr (LpTensor) weight = lp_tensor_to_dtype (values, dtype, NULL);
      g_autoptr (LpTensorDict) state = lp_tensor_dict_new ();
      g_autoptr (LpTensorDict) packed = NULL, again = NULL;
      g_autoptr (GBytes) before = NULL, after = NULL;
      g_autoptr (LpTensor) other = NULL;
      g_autoptr (GError) error = NULL;
      LpTensor *codes, *back, *map;

      lp_tensor_dict_set (state, "W", weight);
      packed = lp_bitsandbytes_pack (state, &error);
      g_assert_no_error (error);
      codes = lp_tensor_dict_lookup (packed, "W");
      g_assert_cmpuint (lp_tensor_get_n_dims (codes), ==, 2);
      g_assert_cmpint (lp_tensor_get_dim (codes, 0), ==, 225);
      g_assert_cmpint (lp_tensor_get_dim (codes, 1), ==, 1);
      g_assert_cmpint (lp_tensor_get_n_elements (lp_tensor_dict_lookup (packed, "W.absmax")), ==, (450 + blocks[i] - 1) / blocks[i]);

      again = lp_bitsandbytes_unpack (packed, &error);
      g_assert_no_error (error);
      back = lp_tensor_dict_lookup (again, "W");
      g_assert_cmpuint (lp_dtype_get_block_size (lp_tensor_get_dtype (back)), ==, blocks[i]);
      before = lp_tensor_dup_bytes (weight, NULL);
      after = lp_tensor_dup_bytes (back, NULL);
      g_assert_true (g_bytes_equal (before, after));

      map = lp_tensor_dict_lookup (packed, "W.quant_map");
      other = lp_tensor_scale (map, 0.5, NULL);
      lp_tensor_dict_set (packed, "W.quant_map", other);
      g_assert_null (lp_bitsandbytes_unpack (packed, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
      g_assert_nonnull (strstr (error->message, "quant_map"));
    }
}

/* A value on a threshold takes the code below it, the next larger one the code above; in whole blocks and in what is left. */
static void
check_thresholds (LpDType      *dtype,
                  const float  *thresholds,
                  int           n_thresholds,
                  const float  *below,
                  gint64        n)
{
  g_autofree float *values = g_new0 (float, n);
  g_autofree double *got = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (LpTensor) x = NULL, encoded = NULL, decoded = NULL;
  gsize n_got;

  for (gint64 i = 1; i < n; i++)
    values[i] = i % 2 == 1 ? thresholds[i / 2 % n_thresholds] : nextafterf (thresholds[i / 2 % n_thresholds], 2);
  for (gint64 i = 0; i < n; i += lp_dtype_get_block_size (dtype))
    values[i] = 1;
  bytes = g_bytes_new (values, (gsize) n * sizeof (float));
  x = lp_tensor_new_from_bytes (bytes, &n, 1, lp_dtype_f32 (), NULL);
  encoded = lp_tensor_to_dtype (x, dtype, NULL);
  decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), NULL);
  got = lp_tensor_dup_doubles (decoded, &n_got, NULL);
  for (gint64 i = 1; i < n; i++)
    if (i % lp_dtype_get_block_size (dtype) != 0)
      g_assert_cmpfloat (got[i], ==, (double) below[i / 2 % n_thresholds + (i % 2 == 0)]);
}

static void
test_thresholds (void)
{
  g_autoptr (LpDType) nf4 = lp_dtype_lookup ("nf4", NULL);
  g_autoptr (LpDType) fp4 = lp_dtype_lookup ("fp4", NULL);
  g_autoptr (LpDType) dynamic = lp_dtype_lookup ("i8-dynamic", NULL);
  float magnitudes[8];

  for (int i = 0; i < 8; i++)
    magnitudes[i] = _lp_nibble_codes[LP_NIBBLE_FP4].values[_lp_nibble_codes[LP_NIBBLE_FP4].codes[i]];
  for (gint64 n = 64; n <= 160; n += 32)
    {
      check_thresholds (nf4, _lp_nibble_codes[LP_NIBBLE_NF4].thresholds, 15, _lp_nibble_codes[LP_NIBBLE_NF4].values, n);
      check_thresholds (nf4, _lp_nibble_codes[LP_NIBBLE_NF4].thresholds, 15, _lp_nibble_codes[LP_NIBBLE_NF4].values, n + 31);
      check_thresholds (fp4, _lp_nibble_codes[LP_NIBBLE_FP4].thresholds, 7, magnitudes, n + 31);
    }
  check_thresholds (dynamic, _lp_dynamic_thresholds, 255, _lp_dynamic_values, 1500);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/quantized-rules/threshold", test_threshold);
  g_test_add_func ("/quantized-rules/many-outliers", test_many_outliers);
  g_test_add_func ("/quantized-rules/ignored", test_ignored);
  g_test_add_func ("/quantized-rules/output", test_output);
  g_test_add_func ("/quantized-rules/packed", test_packed);
  g_test_add_func ("/quantized-rules/thresholds", test_thresholds);

  return g_test_run ();
}
