#include <math.h>

#include <glib/gstdio.h>

#include <lp/lp.h>

#include "../../test-folder.h"

static LpTensor *
normal (gint64 rows,
        gint64 columns)
{
  const gint64 dims[] = { rows, columns };

  return lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
}

static LpModule *
net_new (gint64 in,
         gint64 hidden,
         gint64 out)
{
  LpModule *net = lp_sequential_new ();
  g_autoptr (LpModule) first = lp_linear_new (in, hidden);
  g_autoptr (LpModule) relu = lp_relu_new ();
  g_autoptr (LpModule) second = lp_linear_new (hidden, out);

  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (first));
  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (relu));
  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (second));

  return net;
}

static LpPrecisionPlugin *
plugin_new (const char *precision)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_quantized_precision_plugin_new (precision, NULL, NULL, &error);

  g_assert_no_error (error);

  return plugin;
}

static const struct
{
  const char *name, *storage, *compute;
} precisions[] = {
  { "nf4", "nf4", "bf16" }, { "nf4-dq", "nf4-dq", "bf16" }, { "fp4", "fp4", "bf16" }, { "fp4-dq", "fp4-dq", "bf16" },
  { "int8", "i8-rowwise", "i8" }, { "int8-training", "f32", "i8" },
};

/* From the registry, by name: what it reports, what it says that it does, and what it does. */
static void
test_names (void)
{
  for (gsize i = 0; i < G_N_ELEMENTS (precisions); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LpPrecisionPlugin) plugin =
        lp_precision_registry_create (lp_precision_registry_get_default (), precisions[i].name, NULL, &error);
      g_autoptr (LpModule) net = net_new (40, 24, 8);
      g_autoptr (LpPrecisionTraits) traits = NULL;
      g_autofree char *reported = NULL;
      LpTensor *weight;

      g_assert_no_error (error);
      reported = lp_precision_plugin_dup_precision (plugin);
      g_assert_cmpstr (reported, ==, precisions[i].name);
      traits = lp_precision_plugin_dup_traits (plugin, &error);
      g_assert_no_error (error);
      g_assert_cmpstr (lp_precision_traits_get_storage (traits), ==, precisions[i].storage);
      g_assert_cmpstr (lp_precision_traits_get_compute (traits), ==, precisions[i].compute);
      g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
      g_assert_no_error (error);
      weight = lp_module_lookup_parameter (net, "0.weight");
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (weight)), ==, precisions[i].storage);
      g_assert_cmpint (lp_tensor_get_requires_grad (weight), ==, g_str_equal (precisions[i].name, "int8-training"));
      g_assert_true (lp_tensor_get_requires_grad (lp_module_lookup_parameter (net, "0.bias")));
    }
}

static void
test_refusals (void)
{
  const struct { const char *precision, *compute, *word; } rows[] = {
    { "nf3", NULL, "nf4" }, { "32-true", NULL, "int8" }, { "int8", "bf16", "f16" }, { "int8-training", "f32", "f16" }, { "nf4", "f64", "bf16" },
    { "nf4", "nf4", "bf16" },
  };
  g_autoptr (LpModule) net = lp_sequential_new ();
  g_autoptr (LpModule) relu = lp_relu_new ();
  g_autoptr (LpPrecisionPlugin) plugin = plugin_new ("nf4");
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) local = NULL;

      g_assert_null (lp_quantized_precision_plugin_new (rows[i].precision, NULL, rows[i].compute, &local));
      g_assert_error (local, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
      g_assert_nonnull (strstr (local->message, rows[i].word));
    }

  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (relu));
  g_assert_false (lp_precision_plugin_convert_module (plugin, net, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "LpLinear"));
  g_clear_error (&error);
  lp_precision_context_set_module (context, net);
  g_assert_false (lp_precision_plugin_validate (plugin, context, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
}

static void
test_ignore_modules (void)
{
  const char *const ignored[] = { "2", NULL }, *const all[] = { "0", "2", NULL };
  g_autoptr (LpModule) net = net_new (40, 24, 8);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_quantized_precision_plugin_new ("fp4", ignored, "f32", &error);
  g_autoptr (LpPrecisionPlugin) none = lp_quantized_precision_plugin_new ("fp4", all, NULL, &error);
  g_auto (GStrv) got = lp_quantized_precision_plugin_dup_ignore_modules (LP_QUANTIZED_PRECISION_PLUGIN (plugin));
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);

  g_assert_no_error (error);
  g_assert_cmpstr (lp_precision_traits_get_compute (traits), ==, "f32");
  g_assert_true (g_strv_equal ((const char *const *) got, ignored));
  g_assert_false (lp_precision_plugin_convert_module (none, net, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (lp_module_lookup_parameter (net, "0.weight"))), ==, "fp4");
  g_assert_true (lp_tensor_get_dtype (lp_module_lookup_parameter (net, "2.weight")) == lp_dtype_f32 ());
  g_assert_true (lp_tensor_get_requires_grad (lp_module_lookup_parameter (net, "2.weight")));
}

static LpTensor *
run_scoped (LpPrecisionPlugin *plugin,
            LpModule          *net,
            LpTensor          *x)
{
  g_autoptr (GError) error = NULL;
  LpTensor *y;

  g_assert_true (lp_precision_plugin_push_scope (plugin, &error));
  y = lp_module_forward (net, x, &error);
  lp_precision_plugin_pop_scope (plugin);
  g_assert_no_error (error);

  return y;
}

/* To 11 bits of mantissa. */
static double
half (double value)
{
  int exponent;
  const double mantissa = frexp (value, &exponent);

  return ldexp (rint (ldexp (mantissa, 11)), exponent - 11);
}

/* LLM.int8 by the book, in doubles; with the gradient of the input. */
static void
check_int8 (double threshold)
{
  enum { M = 6, K = 40, N = 9 };
  g_autoptr (LpModule) layer = lp_linear_new (K, N);
  g_autoptr (LpModule) net = lp_sequential_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = g_initable_new (LP_TYPE_QUANTIZED_PRECISION_PLUGIN, NULL, &error, "precision", "int8", "threshold",
                                                         threshold, NULL);
  g_autoptr (LpTensor) x = normal (M, K);
  g_autoptr (LpTensor) weight = normal (N, K);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) grad = NULL;
  float *a = (float *) (gsize) lp_tensor_get_address (x);
  const float *w = (const float *) (gsize) lp_tensor_get_address (weight);
  g_autofree double *got = NULL, *dx = NULL, *bias = NULL;
  gboolean outlier[K] = { FALSE };
  gsize n;

  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (layer));
  a[2 * K + 7] = 61.7f;
  a[3 * K + 30] = -8.3f;
  lp_module_set_parameter (net, "0.weight", weight, &error);
  bias = lp_tensor_dup_doubles (lp_module_lookup_parameter (net, "0.bias"), &n, NULL);
  g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
  lp_tensor_set_requires_grad (x, TRUE);
  y = run_scoped (plugin, net, x);
  loss = lp_tensor_sum (y, NULL, 0, FALSE, &error);
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  grad = lp_tensor_dup_grad (x);
  got = lp_tensor_dup_doubles (y, &n, NULL);
  dx = lp_tensor_dup_doubles (grad, &n, NULL);

  for (int i = 0; i < M * K; i++)
    outlier[i % K] |= threshold > 0 && fabsf (a[i]) >= (float) threshold;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      {
        double row = 0, column = 0, integers = 0, halves = 0;

        for (int k = 0; k < K; k++)
          {
            row = outlier[k] ? row : fmax (row, fabs ((double) a[i * K + k]));
            column = fmax (column, fabs ((double) w[j * K + k]));
          }
        for (int k = 0; k < K; k++)
          {
            const double qw = rint (127 * (double) w[j * K + k] / column);

            if (outlier[k])
              halves += half ((double) a[i * K + k]) * qw * column / 127;
            else
              integers += rint (127 * (double) a[i * K + k] / row) * qw;
          }
        g_assert_cmpfloat_with_epsilon (got[i * N + j], integers * row * column / (127 * 127) + halves + bias[j], 1e-3);
      }
  for (int k = 0; k < K; k++)
    {
      double sum = 0;

      for (int j = 0; j < N; j++)
        {
          double column = 0;

          for (int l = 0; l < K; l++)
            column = fmax (column, fabs ((double) w[j * K + l]));
          sum += rint (127 * (double) w[j * K + k] / column) * column / 127;
        }
      g_assert_cmpfloat_with_epsilon (dx[k], sum, 1e-4);
    }
}

static void
test_int8 (void)
{
  check_int8 (6);
  check_int8 (0);
  check_int8 (100);
}

/* x [m, k] and y [m, n]: the sum over the rows with one scale for each column. */
static double
quantized_dot (const double *a, int a_step, const double *b, int b_step, int n)
{
  double most_a = 0, most_b = 0, sum = 0;

  for (int i = 0; i < n; i++)
    {
      most_a = fmax (most_a, fabs (a[i * a_step]));
      most_b = fmax (most_b, fabs (b[i * b_step]));
    }
  for (int i = 0; i < n; i++)
    sum += rint (127 * a[i * a_step] / most_a) * rint (127 * b[i * b_step] / most_b);

  return sum * most_a * most_b / (127 * 127);
}

/* All three products, both operands quantized along the axis that is summed. */
static void
test_int8_training (void)
{
  enum { M = 7, K = 33, N = 10 };
  g_autoptr (LpModule) net = lp_sequential_new ();
  g_autoptr (LpModule) layer = lp_linear_new_full (K, N, FALSE);
  g_autoptr (LpPrecisionPlugin) plugin = plugin_new ("int8-training");
  g_autoptr (LpTensor) x = normal (M, K);
  g_autoptr (LpTensor) factor = normal (M, N);
  g_autoptr (LpTensor) weight = normal (N, K);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) product = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) x_grad = NULL;
  g_autoptr (LpTensor) w_grad = NULL;
  g_autofree double *a = NULL, *w = NULL, *dy = NULL, *got = NULL, *dx = NULL, *dw = NULL;
  g_autoptr (GError) error = NULL;
  gsize n;

  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (layer));
  lp_tensor_set_requires_grad (weight, TRUE);
  lp_module_set_parameter (net, "0.weight", weight, &error);
  g_assert_true (lp_precision_plugin_convert_module (plugin, net, &error));
  lp_tensor_set_requires_grad (x, TRUE);
  y = run_scoped (plugin, net, x);
  product = lp_tensor_mul (y, factor, &error);
  loss = lp_tensor_sum (product, NULL, 0, FALSE, &error);
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  x_grad = lp_tensor_dup_grad (x);
  w_grad = lp_tensor_dup_grad (weight);
  a = lp_tensor_dup_doubles (x, &n, NULL);
  w = lp_tensor_dup_doubles (weight, &n, NULL);
  dy = lp_tensor_dup_doubles (factor, &n, NULL);
  got = lp_tensor_dup_doubles (y, &n, NULL);
  dx = lp_tensor_dup_doubles (x_grad, &n, NULL);
  dw = lp_tensor_dup_doubles (w_grad, &n, NULL);

  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++)
      g_assert_cmpfloat_with_epsilon (got[i * N + j], quantized_dot (a + i * K, 1, w + j * K, 1, K), 1e-3);
  for (int i = 0; i < M; i++)
    for (int k = 0; k < K; k++)
      g_assert_cmpfloat_with_epsilon (dx[i * K + k], quantized_dot (dy + i * N, 1, w + k, K, N), 1e-3);
  for (int j = 0; j < N; j++)
    for (int k = 0; k < K; k++)
      g_assert_cmpfloat_with_epsilon (dw[j * K + k], quantized_dot (dy + j, N, a + k, K, M), 1e-3);
}

/* Labels of a net that nobody shows: 4 classes. */
static LpTensor *
make_labels (LpModule *teacher,
             LpTensor *x)
{
  g_autoptr (LpTensor) y = lp_module_forward (teacher, x, NULL);

  return lp_tensor_argmax (y, 1, NULL);
}

static double
train (LpModule          *net,
       LpPrecisionPlugin *plugin,
       GPtrArray         *parameters,
       LpTensor          *x,
       LpTensor          *labels,
       LpTensor          *unseen,
       LpTensor          *unseen_labels,
       int                n_steps,
       double             lr)
{
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (parameters, lr);
  g_autoptr (LpTensor) y = NULL;
  g_autofree gint64 *found = NULL;
  g_autofree gint64 *expected = NULL;
  g_autoptr (LpTensor) best = NULL;
  g_autoptr (GError) error = NULL;
  gsize n, right = 0;

  for (int i = 0; i < n_steps; i++)
    {
      g_autoptr (LpTensor) out = run_scoped (plugin, net, x);
      g_autoptr (LpTensor) loss = lp_tensor_cross_entropy (out, labels, &error);

      lp_optimizer_zero_grad (optimizer, &error);
      lp_tensor_backward (loss, NULL, &error);
      lp_optimizer_step (optimizer, NULL, &error);
      g_assert_no_error (error);
    }
  y = run_scoped (plugin, net, unseen);
  best = lp_tensor_argmax (y, 1, NULL);
  found = lp_tensor_dup_int64s (best, &n, NULL);
  expected = lp_tensor_dup_int64s (unseen_labels, &n, NULL);
  for (gsize i = 0; i < n; i++)
    right += found[i] == expected[i];

  return 100.0 * (double) right / (double) n;
}

/* From a trained net, frozen in 4 or 8 bits, with adapters: at most a point is lost. int8-training from the start: at most 1.5. */
static void
test_training (void)
{
  g_autoptr (LpModule) teacher = NULL;
  g_autoptr (LpModule) net = NULL;
  g_autoptr (LpTensor) x = NULL;
  g_autoptr (LpTensor) labels = NULL;
  g_autoptr (LpTensor) unseen = NULL;
  g_autoptr (LpTensor) unseen_labels = NULL;
  g_autoptr (LpTensorDict) trained = NULL;
  g_autoptr (LpTensorDict) begun = NULL;
  g_autoptr (LpPrecisionPlugin) full = lp_full_precision_plugin_new ();
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GError) error = NULL;
  double base;

  lp_generator_set_seed (lp_generator_get_default (), 3);
  teacher = net_new (16, 24, 4);
  net = net_new (16, 64, 4);
  x = normal (6000, 16);
  labels = make_labels (teacher, x);
  unseen = normal (4000, 16);
  unseen_labels = make_labels (teacher, unseen);
  begun = lp_module_dup_state_dict (net);
  {
    g_autoptr (LpModule) copy = net_new (16, 64, 4);

    lp_module_load_state_dict (copy, begun, TRUE, &error);
    g_clear_object (&begun);
    begun = lp_module_dup_state_dict (copy);
  }
  parameters = lp_module_dup_parameters (net);
  base = train (net, full, parameters, x, labels, unseen, unseen_labels, 100, 0.02);
  g_assert_cmpfloat (base, >, 85);
  trained = lp_module_dup_state_dict (net);

  for (gsize i = 0; i < G_N_ELEMENTS (precisions); i++)
    {
      const gboolean anew = g_str_equal (precisions[i].name, "int8-training");
      g_autoptr (LpModule) copy = net_new (16, 64, 4);
      g_autoptr (LpPrecisionPlugin) plugin = plugin_new (precisions[i].name);
      g_autoptr (GPtrArray) trainable = NULL;
      double accuracy;

      lp_module_load_state_dict (copy, anew ? begun : trained, TRUE, &error);
      if (!anew)
        lp_lora_linear_adapt (copy, NULL, 4, 8, 0, &error);
      lp_precision_plugin_convert_module (plugin, copy, &error);
      g_assert_no_error (error);
      trainable = anew ? lp_module_dup_parameters (copy) : lp_lora_linear_dup_adapters (copy);
      accuracy = train (copy, plugin, trainable, x, labels, unseen, unseen_labels, anew ? 100 : 40, anew ? 0.02 : 0.005);
      g_test_message ("%s: %.2f %%, %.2f %% before", precisions[i].name, accuracy, base);
      g_assert_cmpfloat (accuracy, >=, base - (anew ? 1.5 : 1.0));
    }
}

/* 4 bits are 4 bits. */
static void
test_memory (void)
{
  g_autoptr (LpModule) net = net_new (512, 1024, 256);
  const gint64 before = lp_tensor_get_n_bytes (lp_module_lookup_parameter (net, "0.weight"));
  g_autoptr (LpPrecisionPlugin) plugin = plugin_new ("nf4");

  g_assert_true (lp_precision_plugin_convert_module (plugin, net, NULL));
  g_assert_cmpint (lp_tensor_get_n_bytes (lp_module_lookup_parameter (net, "0.weight")), <=, (gint64) (0.15 * (double) before));
}

/* An optimizer of everything holds nothing for what is frozen in few bits. */
static void
test_optimizer (void)
{
  g_autoptr (LpModule) net = net_new (64, 32, 16);
  g_autoptr (LpPrecisionPlugin) plugin = plugin_new ("nf4");
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) kept = NULL;
  g_autoptr (LpOptimizer) optimizer = NULL;

  g_assert_true (lp_precision_plugin_convert_module (plugin, net, NULL));
  parameters = lp_module_dup_parameters (net);
  g_assert_cmpuint (parameters->len, ==, 4);
  optimizer = lp_adamw_new (parameters, 1e-3);
  kept = lp_param_group_dup_parameters (lp_optimizer_get_group (optimizer, 0));
  for (guint i = 0; i < kept->len; i++)
    g_assert_true (lp_dtype_is_native (lp_tensor_get_dtype (g_ptr_array_index (kept, i))));
  g_assert_cmpuint (kept->len, ==, 2);
}

static void
check_same (LpTensorDict *a,
            LpTensorDict *b,
            const char   *name)
{
  g_autoptr (GBytes) x = lp_tensor_dup_bytes (lp_tensor_dict_lookup (a, name), NULL);
  g_autoptr (GBytes) y = lp_tensor_dup_bytes (lp_tensor_dict_lookup (b, name), NULL);

  g_assert_true (g_bytes_equal (x, y));
}

/* A file as bitsandbytes writes it, made apart from LP; what LP makes of the same numbers; and back. */
static void
test_bitsandbytes (void)
{
  const char *const parts[] = { "0.weight", "0.weight.absmax", "0.weight.quant_map", "0.bias", "1.weight", "1.weight.absmax", "1.weight.quant_map",
                                "1.weight.nested_absmax", "1.weight.nested_quant_map" };
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "core", "golden", "packed.safetensors", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensorDict) file = lp_load_safetensors (path, &error);
  g_autoptr (LpTensorDict) state = file != NULL ? lp_bitsandbytes_unpack (file, &error) : NULL;
  g_autoptr (LpTensorDict) packed = NULL;
  g_autoptr (LpTensorDict) again = NULL;
  g_autoptr (LpTensorDict) broken = NULL;
  LpTensor *weight;

  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_dict_get_size (state), ==, 3);
  weight = lp_tensor_dict_lookup (state, "0.weight");
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (weight)), ==, "fp4");
  g_assert_cmpint (lp_tensor_get_dim (weight, 1), ==, 37);
  weight = lp_tensor_dict_lookup (state, "1.weight");
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (weight)), ==, "nf4-dq");
  g_assert_cmpint (lp_tensor_get_dim (weight, 0), ==, 35);

  packed = lp_bitsandbytes_pack (state, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (lp_tensor_dict_get_size (packed), ==, lp_tensor_dict_get_size (file));
  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    check_same (packed, file, parts[i]);
  g_assert_true (lp_save_safetensors (packed, NULL, "packed.safetensors", &error));
  g_assert_no_error (error);
  g_clear_object (&packed);
  packed = lp_load_safetensors ("packed.safetensors", &error);
  again = lp_bitsandbytes_unpack (packed, &error);
  g_assert_no_error (error);
  check_same (again, state, "0.weight");
  check_same (again, state, "1.weight");
  g_unlink ("packed.safetensors");

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      if (g_str_equal (parts[i], "0.bias"))
        continue;
      lp_tensor_dict_remove (packed, parts[i]);
      broken = lp_bitsandbytes_unpack (packed, &error);
      g_assert_null (broken);
      g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
      g_clear_error (&error);
      lp_tensor_dict_set (packed, parts[i], lp_tensor_dict_lookup (file, parts[i]));
    }
}

static char *
get_text (LpTensorDict *state,
          const char   *name)
{
  g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (lp_tensor_dict_lookup (state, name), NULL);

  return g_strndup (g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
}

static void
set_text (LpTensorDict *state,
          const char   *name,
          const char   *text)
{
  const gint64 size = (gint64) strlen (text);
  g_autoptr (GBytes) bytes = g_bytes_new (text, size);
  g_autoptr (LpTensor) tensor = lp_tensor_new_from_bytes (bytes, &size, 1, lp_dtype_u8 (), NULL);

  lp_tensor_dict_set (state, name, tensor);
}

static void
check_broken (LpTensorDict *state,
              const char   *field)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_bitsandbytes_unpack (state, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_test_message ("%s", error->message);
  g_assert_nonnull (strstr (error->message, "“W”"));
  g_assert_nonnull (strstr (error->message, field));
}

/* Texts and numbers that no bitsandbytes writes, one at a time. */
static void
test_bitsandbytes_nonsense (void)
{
  const char *const key = "W.quant_state.bitsandbytes__nf4";
  static const struct { const char *field, *before, *after; } texts[] = {
    { "dtype", "\"dtype\":\"float32\"", "\"dtype\":\"x\"" }, { "dtype", "\"dtype\":\"float32\"", "\"dtype\":7" },
    { "dtype", "\"dtype\":\"float32\",", "" }, { "nested_dtype", "nested_dtype\":\"float32", "nested_dtype\":\"float64" },
    { "nested_offset", "\"nested_offset\":", "\"nested_offset\":-" }, { "nested_offset", "\"nested_offset\":", "\"nested_offset\":1e300,\"x\":" },
    { "nested_offset", "\"nested_offset\":", "\"nested_offset\":\"x\",\"y\":" },
    { "nested_offset", "\"nested_offset\":", "\"nested_offset\":true,\"y\":" },
    { "nested_blocksize", "\"nested_blocksize\":256", "\"nested_blocksize\":64" },
    { "shape", "\"shape\":[32,64]", "\"shape\":[32,128]" }, { "shape", "\"shape\":[32,64]", "\"shape\":[9223372036854775807]" },
    { "shape", "\"shape\":[32,64]", "\"shape\":[32,-64]" }, { "quant_state", "{", "" }, { "quant_state", "}", ",\"shape\":[64,32]}" },
  };
  static const struct { const char *precision, *field; float value; } numbers[] = {
    { "nf4", "absmax", NAN }, { "nf4", "absmax", -3 }, { "nf4", "absmax", INFINITY }, { "nf4-dq", "nested_absmax", NAN },
    { "nf4-dq", "nested_absmax", -3 },
  };
  const gint64 dims[] = { 32, 64 };
  g_autoptr (LpTensor) values = lp_tensor_full (dims, 2, 0.5, lp_dtype_f32 (), NULL, NULL);
  g_autofree char *deep = g_strnfill (100000, '[');

  for (gsize i = 0; i < G_N_ELEMENTS (texts) + G_N_ELEMENTS (numbers) + 2; i++)
    {
      const gsize k = i - G_N_ELEMENTS (texts);
      const gboolean is_number = i >= G_N_ELEMENTS (texts) && k < G_N_ELEMENTS (numbers);
      g_autoptr (LpDType) dtype = lp_dtype_lookup (is_number ? numbers[k].precision : "nf4-dq", NULL);
      g_autoptr (LpTensor) weight = lp_tensor_to_dtype (values, dtype, NULL);
      g_autoptr (LpTensorDict) state = lp_tensor_dict_new ();
      g_autoptr (LpTensorDict) packed = NULL;

      lp_tensor_dict_set (state, "W", weight);
      packed = lp_bitsandbytes_pack (state, NULL);
      if (i < G_N_ELEMENTS (texts))
        {
          g_autofree char *text = get_text (packed, key);
          g_auto (GStrv) parts = g_strsplit (text, texts[i].before, 2);
          g_autofree char *changed = NULL;

          g_assert_cmpuint (g_strv_length (parts), ==, 2);
          changed = g_strjoinv (texts[i].after, parts);
          set_text (packed, key, changed);
          check_broken (packed, texts[i].field);
        }
      else if (is_number)
        {
          g_autofree char *name = g_strconcat ("W.", numbers[k].field, NULL);
          const gint64 n = lp_tensor_get_n_elements (lp_tensor_dict_lookup (packed, name));
          g_autoptr (LpTensor) changed = lp_tensor_full (&n, 1, numbers[k].value, lp_dtype_f32 (), NULL, NULL);

          lp_tensor_dict_set (packed, name, changed);
          check_broken (packed, numbers[k].field);
        }
      else if (k == G_N_ELEMENTS (numbers))
        {
          set_text (packed, key, deep);
          check_broken (packed, "quant_state: the JSON text is nested more than");
        }
      else
        {
          lp_tensor_dict_remove (packed, key);
          check_broken (packed, "no quant_state");
        }
    }
}

/* The fastest of three, as other programs take time, too. */
static double
time_unpack (LpTensorDict *state)
{
  double fastest = INFINITY;

  for (int i = 0; i < 3; i++)
    {
      const gint64 start = g_get_monotonic_time ();
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensorDict) unpacked = lp_bitsandbytes_unpack (state, &error);

      g_assert_no_error (error);
      fastest = MIN (fastest, (double) (g_get_monotonic_time () - start));
    }

  return fastest;
}

/* Many weights beside many other tensors take no longer than both take alone. */
static void
test_bitsandbytes_many (void)
{
  static const char *const parts[] = { "", ".absmax", ".quant_map", ".quant_state.bitsandbytes__nf4" };
  const gint64 n = 2;
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("nf4", NULL);
  g_autoptr (LpTensor) values = lp_tensor_full (&n, 1, 0.5, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) weight = lp_tensor_to_dtype (values, dtype, NULL);
  g_autoptr (LpTensorDict) state = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) weights = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) others = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) both = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) packed = NULL;

  lp_tensor_dict_set (state, "W", weight);
  packed = lp_bitsandbytes_pack (state, NULL);
  for (int i = 0; i < 4000; i++)
    for (gsize p = 0; p < G_N_ELEMENTS (parts); p++)
      {
        g_autofree char *key = g_strconcat ("W", parts[p], NULL);
        g_autofree char *name = g_strdup_printf ("w%d%s", i, parts[p]);

        lp_tensor_dict_set (weights, name, lp_tensor_dict_lookup (packed, key));
        lp_tensor_dict_set (both, name, lp_tensor_dict_lookup (packed, key));
      }
  for (int i = 0; i < 150000; i++)
    {
      g_autofree char *name = g_strdup_printf ("other%d", i);

      lp_tensor_dict_set (others, name, values);
      lp_tensor_dict_set (both, name, values);
    }

  g_assert_cmpfloat (time_unpack (both), <, 4 * (time_unpack (weights) + time_unpack (others)));
}

/* A weight has one state, whatever its name ends in. */
static void
test_bitsandbytes_two_states (void)
{
  const gint64 n = 2;
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("nf4", NULL);
  g_autoptr (LpTensor) values = lp_tensor_full (&n, 1, 0.5, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) weight = lp_tensor_to_dtype (values, dtype, NULL);
  g_autoptr (LpTensorDict) state = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) packed = NULL;

  lp_tensor_dict_set (state, "W", weight);
  packed = lp_bitsandbytes_pack (state, NULL);
  lp_tensor_dict_set (packed, "W.quant_state.bitsandbytes__fp4", lp_tensor_dict_lookup (packed, "W.quant_state.bitsandbytes__nf4"));
  check_broken (packed, "more than one quant_state");
}

/* The same weights as in the file, encoded here. */
static void
test_bitsandbytes_codes (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "..", "core", "golden", "packed.safetensors", NULL);
  g_autoptr (LpTensorDict) file = lp_load_safetensors (path, NULL);
  g_autoptr (LpTensorDict) state = lp_bitsandbytes_unpack (file, NULL);
  const char *const names[] = { "0.weight", "1.weight" };

  for (int i = 0; i < 2; i++)
    {
      LpTensor *packed = lp_tensor_dict_lookup (state, names[i]);
      const gint64 dims[] = { lp_tensor_get_dim (packed, 0), lp_tensor_get_dim (packed, 1) };
      g_autoptr (LpTensor) values = lp_tensor_empty (dims, 2, lp_dtype_f32 (), NULL, NULL);
      g_autoptr (LpTensor) encoded = NULL;
      g_autoptr (GBytes) a = NULL;
      g_autoptr (GBytes) b = NULL;
      float *x = (float *) (gsize) lp_tensor_get_address (values);
      guint32 seed = 12345;

      for (gint64 j = 0; j < dims[0] * dims[1]; j++)
        {
          seed = seed * 1664525u + 1013904223u;
          x[j] = ldexpf ((float) ((gint32) (seed >> 8) - (1 << 23)) / (1 << 23), (int) (seed & 7) - 4);
        }
      encoded = lp_tensor_to_dtype (values, lp_tensor_get_dtype (packed), NULL);
      a = lp_tensor_dup_bytes (encoded, NULL);
      b = lp_tensor_dup_bytes (packed, NULL);
      g_assert_true (g_bytes_equal (a, b));
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/quantized/names", test_names);
  g_test_add_func ("/quantized/refusals", test_refusals);
  g_test_add_func ("/quantized/ignore-modules", test_ignore_modules);
  g_test_add_func ("/quantized/int8", test_int8);
  g_test_add_func ("/quantized/int8-training", test_int8_training);
  g_test_add_func ("/quantized/training", test_training);
  g_test_add_func ("/quantized/memory", test_memory);
  g_test_add_func ("/quantized/optimizer", test_optimizer);
  g_test_add_func ("/quantized/bitsandbytes", test_bitsandbytes);
  g_test_add_func ("/quantized/bitsandbytes-nonsense", test_bitsandbytes_nonsense);
  g_test_add_func ("/quantized/bitsandbytes-many", test_bitsandbytes_many);
  g_test_add_func ("/quantized/bitsandbytes-two-states", test_bitsandbytes_two_states);
  g_test_add_func ("/quantized/bitsandbytes-codes", test_bitsandbytes_codes);

  return test_run_in_folder ();
}
