#include <math.h>

#include <lp/lp.h>

#include <lp/cpu/lp-cpu-device-private.h>

#define N 100

/* Training in 16 bits: the dtypes that optimizers keep moments in, how those come and go, what weights leave behind in memory, and rounding by
 * chance. */

static LpTensor *
new_parameter (LpDType *dtype)
{
  double values[N];
  LpTensor *parameter;

  for (int i = 0; i < N; i++)
    values[i] = sin (i);
  parameter = lp_tensor_new_from_doubles (values, N, (gint64[]) { 10, N / 10 }, 2, dtype, NULL);
  lp_tensor_set_requires_grad (parameter, TRUE);

  return parameter;
}

static LpOptimizer *
new_optimizer (LpTensor *parameter,
               gboolean  sgd)
{
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();

  g_ptr_array_add (parameters, parameter);

  return sgd ? lp_sgd_new_full (parameters, 0.01, 0.9, 0, 0, FALSE) : lp_adamw_new (parameters, 0.01);
}

static void
take_steps (LpOptimizer *optimizer,
            LpTensor    *parameter,
            int          n)
{
  for (int i = 0; i < n; i++)
    {
      g_autoptr (LpTensor) square = NULL;
      g_autoptr (LpTensor) sum = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (lp_optimizer_zero_grad (optimizer, &error));
      square = lp_tensor_mul (parameter, parameter, &error);
      sum = lp_tensor_sum (square, NULL, 0, FALSE, &error);
      lp_tensor_backward (sum, NULL, &error);
      g_assert_no_error (error);
      g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_APPLIED);
    }
}

static LpTensor *
dup_moment (LpOptimizer *optimizer,
            const char  *name)
{
  g_autoptr (LpState) state = lp_optimizer_save_state (optimizer, NULL);
  LpTensor *moment = lp_tensor_dict_lookup (lp_state_get_tensors (state), name);

  return moment != NULL ? g_object_ref (moment) : NULL;
}

static void
assert_moment (LpOptimizer *optimizer,
               const char  *name,
               const char  *dtype)
{
  g_autoptr (LpTensor) moment = dup_moment (optimizer, name);

  g_assert_nonnull (moment);
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (moment)), ==, dtype);
}

static void
assert_same_bits (LpTensor *a,
                  LpTensor *b)
{
  g_autoptr (GBytes) of_a = lp_tensor_dup_bytes (a, NULL);
  g_autoptr (GBytes) of_b = lp_tensor_dup_bytes (b, NULL);

  g_assert_true (g_bytes_equal (of_a, of_b));
}

/* Sixteen bits where there are only sixteen bits of the weight: in a master, f32. */
static void
test_dtypes (void)
{
  static const struct { const char *dtype; gboolean master, view; const char *moments; } rows[] = {
    { "f64", FALSE, FALSE, "f64" }, { "f32", FALSE, FALSE, "f32" }, { "bf16", FALSE, FALSE, "bf16" }, { "f16", FALSE, FALSE, "bf16" },
    { "bf16", TRUE, FALSE, "f32" }, { "f16", TRUE, FALSE, "f32" }, { "f32", TRUE, FALSE, "f32" }, { "f64", TRUE, FALSE, "f64" },
    { "bf16", FALSE, TRUE, "f32" }, { "f64", FALSE, TRUE, "f64" },
  };

  for (guint i = 0; i < 2 * G_N_ELEMENTS (rows); i++)
    {
      guint r = i / 2;
      g_autoptr (LpDType) dtype = lp_dtype_lookup (rows[r].dtype, NULL);
      g_autoptr (LpTensor) whole = new_parameter (dtype);
      g_autoptr (LpTensor) plain = lp_tensor_detach (whole);
      g_autoptr (LpTensor) parameter = rows[r].view ? lp_tensor_permute (plain, (int[]) { 1, 0 }, 2, NULL) : g_object_ref (whole);
      g_autoptr (LpOptimizer) optimizer = NULL;

      lp_tensor_set_requires_grad (parameter, TRUE);
      optimizer = new_optimizer (parameter, i % 2);
      if (rows[r].master)
        g_assert_true (lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, 0), lp_dtype_f32 (), NULL));
      take_steps (optimizer, parameter, 2);
      assert_moment (optimizer, "0.0.moment1", rows[r].moments);
      if (i % 2 == 0)
        assert_moment (optimizer, "0.0.moment2", rows[r].moments);
    }
}

/* Parameters of one group that keep different moments don't share them. */
static void
test_together (void)
{
  g_autoptr (LpTensor) narrow = new_parameter (lp_dtype_bf16 ());
  g_autoptr (LpTensor) wide = new_parameter (lp_dtype_f32 ());
  g_autoptr (LpTensor) alone = new_parameter (lp_dtype_f32 ());
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpOptimizer) both = NULL;
  g_autoptr (LpOptimizer) one = new_optimizer (alone, FALSE);

  g_ptr_array_add (parameters, narrow);
  g_ptr_array_add (parameters, wide);
  both = lp_adamw_new (parameters, 0.01);
  take_steps (both, narrow, 1);
  take_steps (both, wide, 3);
  take_steps (one, alone, 3);
  assert_moment (both, "0.0.moment2", "bf16");
  assert_moment (both, "0.1.moment2", "f32");
  assert_same_bits (wide, alone);
}

static void
move_state (LpOptimizer *from,
            LpOptimizer *to)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpState) state = lp_optimizer_save_state (from, &error);

  g_assert_no_error (error);
  g_assert_true (lp_optimizer_load_state (to, state, &error));
  g_assert_no_error (error);
}

/* The numbers that moments are rounded by hang on the count of steps, so a run that goes on has the bits of one never stopped. */
static void
test_resume (gconstpointer data)
{
  const gboolean sgd = GPOINTER_TO_INT (data);

  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) parameter = new_parameter (i == 0 ? lp_dtype_bf16 () : lp_dtype_f16 ());
      g_autoptr (LpTensor) other = new_parameter (lp_tensor_get_dtype (parameter));
      g_autoptr (LpOptimizer) optimizer = new_optimizer (parameter, sgd);
      g_autoptr (LpOptimizer) resumed = new_optimizer (other, sgd);
      g_autoptr (LpTensor) mine = NULL;
      g_autoptr (LpTensor) theirs = NULL;

      take_steps (optimizer, parameter, 5);
      g_assert_true (lp_tensor_assign (other, parameter, NULL));
      move_state (optimizer, resumed);
      take_steps (optimizer, parameter, 5);
      take_steps (resumed, other, 5);
      mine = dup_moment (optimizer, "0.0.moment1");
      theirs = dup_moment (resumed, "0.0.moment1");
      assert_same_bits (mine, theirs);
      assert_same_bits (parameter, other);
    }
}

/* A mean of squares that each step moves by a fraction of an ulp goes where it should: each step rounds by other numbers. */
static void
test_go_on (void)
{
  g_autoptr (LpTensor) parameter = lp_tensor_ones ((gint64[]) { 64, 64 }, 2, lp_dtype_bf16 (), NULL, NULL);
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpTensor) moment = NULL;
  g_autofree double *values = NULL;
  double mean = 0;
  gsize n;

  lp_tensor_set_requires_grad (parameter, TRUE);
  optimizer = new_optimizer (parameter, FALSE);
  lp_param_group_set_lr (lp_optimizer_get_group (optimizer, 0), 0);
  for (int i = 0; i < 1000; i++)
    {
      g_autoptr (LpTensor) sum = NULL;

      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      sum = lp_tensor_sum (parameter, NULL, 0, FALSE, NULL);
      g_assert_true (lp_tensor_backward (sum, NULL, NULL));
      g_assert_cmpint (lp_optimizer_step (optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
    }

  moment = dup_moment (optimizer, "0.0.moment2");
  values = lp_tensor_dup_doubles (moment, &n, NULL);
  for (gsize i = 0; i < n; i++)
    mean += values[i] / n;
  g_assert_cmpfloat_with_epsilon (mean, 1 - pow (0.999, 1000), 0.003);
}

/* From f32 to bf16 it is said that something is rounded, and by how little; the way back loses nothing. */
static void
test_convert (void)
{
  g_autoptr (LpTensor) wide = new_parameter (lp_dtype_f32 ());
  g_autoptr (LpTensor) narrow = new_parameter (lp_dtype_bf16 ());
  g_autoptr (LpTensor) back = new_parameter (lp_dtype_f32 ());
  g_autoptr (LpOptimizer) first = new_optimizer (wide, FALSE);
  g_autoptr (LpOptimizer) second = new_optimizer (narrow, FALSE);
  g_autoptr (LpOptimizer) third = new_optimizer (back, FALSE);
  static const char *const names[] = { "0.0.moment1", "0.0.moment2" };

  take_steps (first, wide, 3);
  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "LpAdamW: moments were saved in f32, and are rounded to bf16");
  move_state (first, second);
  g_test_assert_expected_messages ();
  move_state (second, third);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpTensor) a = dup_moment (first, names[i]);
      g_autoptr (LpTensor) b = dup_moment (second, names[i]);
      g_autoptr (LpTensor) c = dup_moment (third, names[i]);
      gsize n;
      g_autofree double *x = lp_tensor_dup_doubles (a, &n, NULL);
      g_autofree double *y = lp_tensor_dup_doubles (b, &n, NULL);
      g_autofree double *z = lp_tensor_dup_doubles (c, &n, NULL);

      for (int j = 0; j < N; j++)
        {
          g_assert_cmpfloat (fabs (x[j] - y[j]), <=, fabs (x[j]) * 0x1p-8);
          g_assert_cmpfloat (y[j], ==, z[j]);
        }
    }
}

/* What a precision says of moments is what its optimizer has. */
static void
test_traits (gconstpointer data)
{
  const char *precision = data;
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_precision_registry_create (lp_precision_registry_get_default (), precision, NULL, &error);
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);
  g_autoptr (LpModule) layer = lp_linear_new (16, 16);
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpOptimizer) optimizer = NULL;

  g_assert_no_error (error);
  g_assert_true (lp_precision_plugin_convert_module (plugin, layer, NULL));
  parameters = lp_module_dup_parameters (layer);
  optimizer = lp_adamw_new (parameters, 0.01);
  g_assert_true (lp_precision_plugin_convert_optimizer (plugin, optimizer, NULL));
  take_steps (optimizer, lp_linear_get_weight (LP_LINEAR (layer)), 1);
  assert_moment (optimizer, "0.0.moment1", lp_precision_traits_get_moments (traits));
}

/* The weights from before a conversion don't wait for reuse. */
static void
test_conversion_memory (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_precision_registry_create (lp_precision_registry_get_default (), "bf16-true", NULL, NULL);
  g_autoptr (LpModule) layer = lp_linear_new (1024, 1024);

  g_assert_true (lp_precision_plugin_convert_module (plugin, layer, NULL));
  g_assert_cmpuint (_lp_cpu_get_waiting (), <, 1 << 20);
}

/* A weight of ones after one step of an optimizer of @plugin that rounds by chance. */
static GBytes *
step_once (LpPrecisionPlugin *plugin)
{
  g_autoptr (LpTensor) weight = lp_tensor_ones ((gint64[]) { 64 }, 1, lp_dtype_bf16 (), NULL, NULL);
  g_autoptr (LpTensor) grad = lp_tensor_ones ((gint64[]) { 64 }, 1, lp_dtype_bf16 (), NULL, NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (GError) error = NULL;

  lp_tensor_set_requires_grad (weight, TRUE);
  g_ptr_array_add (parameters, weight);
  optimizer = lp_sgd_new (parameters, 1e-3);
  g_assert_true (lp_precision_plugin_convert_optimizer (plugin, optimizer, &error));
  lp_tensor_set_grad (weight, grad);
  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_APPLIED);
  g_assert_no_error (error);

  return lp_tensor_dup_bytes (weight, &error);
}

/* Two optimizers of a loop without trainer or Fabric don't round alike. */
static void
test_streams (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_half_precision_plugin_new_full ("bf16-true", FALSE, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) again = lp_half_precision_plugin_new_full ("bf16-true", FALSE, TRUE, NULL);
  g_autoptr (GBytes) one = NULL, other = NULL, same = NULL;

  lp_seed_everything (1);
  one = step_once (plugin);
  other = step_once (plugin);
  same = step_once (again);
  g_assert_false (g_bytes_equal (one, other));
  g_assert_true (g_bytes_equal (one, same));
}

/* Weights that are alike, in one group and in two, under two seeds. */
static GPtrArray *
step_several (guint64 seed)
{
  g_autoptr (GPtrArray) first = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) second = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpParamGroup) group = NULL;
  GPtrArray *stored = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);

  lp_seed_everything (seed);
  for (int i = 0; i < 3; i++)
    {
      LpTensor *weight = lp_tensor_ones ((gint64[]) { 256 }, 1, lp_dtype_bf16 (), NULL, NULL);
      g_autoptr (LpTensor) grad = lp_tensor_ones ((gint64[]) { 256 }, 1, lp_dtype_bf16 (), NULL, NULL);

      lp_tensor_set_requires_grad (weight, TRUE);
      lp_tensor_set_grad (weight, grad);
      g_ptr_array_add (i < 2 ? first : second, weight);
    }
  optimizer = lp_sgd_new (first, 1e-3);
  group = lp_param_group_new (second, 1e-3);
  g_assert_true (lp_optimizer_add_group (optimizer, group, NULL));
  for (guint i = 0; i < 2; i++)
    lp_param_group_set_stochastic_rounding (lp_optimizer_get_group (optimizer, i), TRUE);
  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
  for (guint i = 0; i < 3; i++)
    g_ptr_array_add (stored, lp_tensor_dup_bytes (i < 2 ? first->pdata[i] : second->pdata[0], NULL));

  return stored;
}

/* Each parameter is rounded by numbers of its own, which follow from the seed. */
static void
test_streams_differ (void)
{
  g_autoptr (GPtrArray) one = step_several (1);
  g_autoptr (GPtrArray) again = step_several (1);
  g_autoptr (GPtrArray) other = step_several (2);

  for (guint i = 0; i < 3; i++)
    {
      g_assert_true (g_bytes_equal (one->pdata[i], again->pdata[i]));
      g_assert_false (g_bytes_equal (one->pdata[i], other->pdata[i]));
      g_assert_false (g_bytes_equal (one->pdata[i], one->pdata[(i + 1) % 3]));
    }
}

int
main (int   argc,
      char *argv[])
{
  static const char *const precisions[] = { "32-true", "64-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed", "apex-O1", "apex-O2",
                                            "apex-O3", "transformer-engine", "transformer-engine-float16", "int8-training" };

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/half/moments/dtypes", test_dtypes);
  g_test_add_func ("/half/moments/together", test_together);
  g_test_add_data_func ("/half/moments/resume/adamw", GINT_TO_POINTER (FALSE), test_resume);
  g_test_add_data_func ("/half/moments/resume/sgd", GINT_TO_POINTER (TRUE), test_resume);
  g_test_add_func ("/half/moments/go-on", test_go_on);
  g_test_add_func ("/half/moments/convert", test_convert);
  g_test_add_func ("/half/conversion", test_conversion_memory);
  for (guint i = 0; i < G_N_ELEMENTS (precisions); i++)
    {
      g_autofree char *path = g_strconcat ("/half/moments/traits/", precisions[i], NULL);

      g_test_add_data_func (path, precisions[i], test_traits);
    }
  g_test_add_func ("/half/streams", test_streams);
  g_test_add_func ("/half/streams-differ", test_streams_differ);

  return g_test_run ();
}
