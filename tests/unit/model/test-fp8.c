#include <math.h>
#include <string.h>

#include <lp/lp.h>

/* fp8: scales, what is quantized how often, what is refused, what is saved. */

static LpTensor *
new_tensor (const double *values,
            gint64        rows,
            gint64        columns)
{
  gint64 dims[] = { rows, columns };

  return lp_tensor_new_from_doubles (values, (gsize) (rows * columns), dims, 2, lp_dtype_bf16 (), NULL);
}

static LpTensor *
new_random (gint64   rows,
            gint64   columns,
            guint    seed)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree double *values = g_new (double, rows * columns);

  for (gint64 i = 0; i < rows * columns; i++)
    values[i] = g_rand_double_range (rand, -2, 2);

  return new_tensor (values, rows, columns);
}

/* A recipe that counts. */

#define COUNTING_TYPE_RECIPE (counting_recipe_get_type ())
G_DECLARE_FINAL_TYPE (CountingRecipe, counting_recipe, COUNTING, RECIPE, LpFp8Recipe)

struct _CountingRecipe
{
  LpFp8Recipe parent_instance;

  guint       n_scales;
  const char *forward_dtype;
};

G_DEFINE_FINAL_TYPE (CountingRecipe, counting_recipe, LP_TYPE_FP8_RECIPE)

static double
counting_recipe_compute_scale (LpFp8Recipe *recipe,
                               double       amax,
                               double       largest,
                               double       scale)
{
  COUNTING_RECIPE (recipe)->n_scales++;

  return LP_FP8_RECIPE_CLASS (counting_recipe_parent_class)->compute_scale (recipe, amax, largest, scale);
}

static LpDType *
counting_recipe_get_dtype (LpFp8Recipe   *recipe,
                           LpOperandRole  role,
                           GError        **error)
{
  CountingRecipe *self = COUNTING_RECIPE (recipe);

  if (self->forward_dtype != NULL && role != LP_OPERAND_GRAD_OUTPUT)
    return lp_dtype_lookup (self->forward_dtype, NULL);

  return LP_FP8_RECIPE_CLASS (counting_recipe_parent_class)->get_dtype (recipe, role, error);
}

static void
counting_recipe_class_init (CountingRecipeClass *klass)
{
  LP_FP8_RECIPE_CLASS (klass)->compute_scale = counting_recipe_compute_scale;
  LP_FP8_RECIPE_CLASS (klass)->get_dtype = counting_recipe_get_dtype;
}

static void
counting_recipe_init (CountingRecipe *self)
{
}

typedef struct
{
  LpFp8PrecisionPlugin *plugin;
  LpFabric             *fabric;
  LpModule             *layer;
} Setup;

static Setup
set_up (LpFp8Recipe *recipe,
        LpModule    *layer)
{
  GError *error = NULL;
  Setup self = { .layer = layer };

  self.plugin = LP_FP8_PRECISION_PLUGIN (lp_fp8_precision_plugin_new ("transformer-engine", recipe, &error));
  g_assert_no_error (error);
  self.fabric = lp_fabric_new_with_plugin (LP_PRECISION_PLUGIN (self.plugin), &error);
  g_assert_no_error (error);
  lp_fabric_setup_module (self.fabric, layer, &error);
  g_assert_no_error (error);

  return self;
}

static void
tear_down (Setup *self)
{
  GError *error = NULL;

  lp_fabric_close (self->fabric, &error);
  g_assert_no_error (error);
  g_object_unref (self->fabric);
  g_object_unref (self->plugin);
  g_object_unref (self->layer);
}

/* One forward and one backward pass in which the layer gets @input and @grad. */
static void
run_step (Setup    *self,
          LpTensor *input,
          LpTensor *grad)
{
  GError *error = NULL;
  g_autoptr (LpTensor) output = NULL;
  g_autoptr (LpTensor) weighted = NULL;
  g_autoptr (LpTensor) loss = NULL;

  lp_fabric_begin_autocast (self->fabric, &error);
  output = lp_module_forward (self->layer, input, &error);
  weighted = lp_tensor_mul (output, grad, &error);
  loss = lp_tensor_sum (weighted, NULL, 0, FALSE, &error);
  lp_fabric_end_autocast (self->fabric);
  g_assert_no_error (error);
  lp_fabric_backward (self->fabric, loss, &error);
  g_assert_no_error (error);
}

static float
from_bits (const char *text)
{
  union { guint32 bits; float value; } self = { (guint32) g_ascii_strtoull (text, NULL, 16) };

  return self.value;
}

static guint32
to_bits (double value)
{
  union { float value; guint32 bits; } self = { (float) value };

  return self.bits;
}

static void
run_golden_case (char **fields)
{
  g_autoptr (LpFp8Recipe) recipe = g_object_new (LP_TYPE_DELAYED_SCALING,
                                                 "amax-history-length", (guint) atoi (fields[1]),
                                                 "amax-compute-algorithm",
                                                 g_str_equal (fields[2], "max") ? LP_AMAX_MAX : LP_AMAX_MOST_RECENT,
                                                 "margin", atoi (fields[3]),
                                                 "interval", (guint) atoi (fields[4]),
                                                 NULL);
  Setup setup = set_up (recipe, lp_linear_new (8, 16));

  for (guint step = 5; fields[step] != NULL; step++)
    {
      g_auto (GStrv) values = g_strsplit (fields[step], ",", -1);
      double input_values[8] = { 0 }, grad_values[16] = { 0 };
      g_autoptr (LpTensor) input = NULL;
      g_autoptr (LpTensor) grad = NULL;

      input_values[3] = -from_bits (values[0]);
      grad_values[5] = from_bits (values[1]);
      input = new_tensor (input_values, 1, 8);
      grad = new_tensor (grad_values, 1, 16);
      run_step (&setup, input, grad);
      g_assert_cmphex (to_bits (lp_fp8_precision_plugin_get_scale (setup.plugin, ":input")), ==, strtoull (values[2], NULL, 16));
      g_assert_cmphex (to_bits (lp_fp8_precision_plugin_get_scale (setup.plugin, ":grad-output")), ==, strtoull (values[3], NULL, 16));
    }
  tear_down (&setup);
}

/* 1,000 steps that a script made by the rules of Transformer Engine; see golden-fp8.py. */
static void
test_golden (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "golden-fp8.txt", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) cases = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  cases = g_strsplit (g_strchomp (text), "\n", -1);
  g_assert_cmpuint (g_strv_length (cases), ==, 4);
  for (guint i = 0; cases[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (cases[i], " ", -1);

      run_golden_case (fields);
    }
}

static double
get (LpTensor *tensor,
     gint64    row,
     gint64    column)
{
  g_autoptr (LpTensor) one = lp_tensor_narrow (tensor, 0, row, 1, NULL);
  g_autoptr (LpTensor) cell = lp_tensor_narrow (one, 1, column, 1, NULL);
  g_autoptr (LpTensor) wide = lp_tensor_to_dtype (cell, lp_dtype_f64 (), NULL);

  return lp_tensor_get_item (wide, NULL);
}

/* What is quantized stands for its elements over the scale, alone and in products. */
static void
test_quantize (void)
{
  GError *error = NULL;
  g_autoptr (LpTensor) a = new_random (5, 24, 1);
  g_autoptr (LpTensor) b = new_random (7, 24, 2);
  LpDType *e4m3 = lp_dtype_lookup ("f8e4m3", NULL), *e5m2 = lp_dtype_lookup ("f8e5m2", NULL);
  g_autoptr (LpTensor) qa = lp_tensor_quantize (a, e4m3, 100, &error);
  g_autoptr (LpTensor) qb = lp_tensor_quantize (b, e5m2, 0x1p10, &error);
  g_autoptr (LpTensor) wide_a = NULL;
  g_autoptr (LpTensor) wide_b = NULL;
  g_autoptr (LpTensor) product = NULL;
  g_autoptr (LpTensor) refused = NULL;

  g_assert_no_error (error);
  g_assert_cmphex (to_bits (lp_tensor_get_factor (qa)), ==, to_bits (1.0f / 100.0f));
  g_assert_cmpfloat (lp_tensor_get_factor (a), ==, 1);
  wide_a = lp_tensor_to_dtype (qa, lp_dtype_f32 (), &error);
  wide_b = lp_tensor_to_dtype (qb, lp_dtype_f32 (), &error);
  product = lp_tensor_linear (qa, qb, NULL, &error);
  g_assert_no_error (error);
  for (gint64 i = 0; i < 5; i++)
    for (gint64 j = 0; j < 24; j++)
      g_assert_cmpfloat_with_epsilon (get (wide_a, i, j), get (a, i, j), fabs (get (a, i, j)) / 16 + 1e-4);
  for (gint64 i = 0; i < 5; i++)
    for (gint64 j = 0; j < 7; j++)
      {
        double sum = 0;

        for (gint64 k = 0; k < 24; k++)
          sum += get (wide_a, i, k) * get (wide_b, j, k);
        g_assert_cmpfloat_with_epsilon (get (product, i, j), sum, 1e-5);
      }

  refused = lp_tensor_quantize (a, e4m3, 0, &error);
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  refused = lp_tensor_quantize (a, lp_dtype_bf16 (), 1, &error);
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
}

/* Per micro-batch the input and the gradient once each, although each goes into two products; the weight once per change. */
static void
test_counts (void)
{
  GError *error = NULL;
  g_autoptr (CountingRecipe) recipe = g_object_new (COUNTING_TYPE_RECIPE, NULL);
  Setup setup = set_up (LP_FP8_RECIPE (recipe), lp_linear_new (8, 16));
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (setup.layer);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 0.1);
  g_autoptr (LpTensor) grad = new_random (4, 16, 3);
  g_autoptr (LpTensor) input = NULL;

  g_assert_true (lp_fabric_setup_optimizer (setup.fabric, optimizer, &error));
  for (guint step = 0; step < 2; step++)
    {
      recipe->n_scales = 0;
      for (guint i = 0; i < 2; i++)
        {
          g_autoptr (LpTensor) leaf = new_random (4, 8, 10 + i);

          lp_tensor_set_requires_grad (leaf, TRUE);
          run_step (&setup, leaf, grad);
        }
      g_assert_cmpuint (recipe->n_scales, ==, 2 * 2 + 1);
      lp_fabric_optimizer_step (setup.fabric, optimizer, &error);
      g_assert_no_error (error);
    }

  /* without gradients nothing is kept or counts */
  input = new_random (4, 8, 20);
  recipe->n_scales = 0;
  lp_grad_mode_push (FALSE);
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) output = lp_fabric_forward (setup.fabric, setup.layer, input, &error);

      g_assert_no_error (error);
    }
  lp_grad_mode_pop ();
  g_assert_cmpuint (recipe->n_scales, ==, 4);

  tear_down (&setup);
}

static void
test_eligible (void)
{
  GError *error = NULL;
  LpModule *net = lp_sequential_new ();
  g_autoptr (LpTensor) input = new_random (4, 8, 1);
  g_autoptr (LpTensor) grad = new_random (4, 1, 2);
  g_autoptr (GPtrArray) parameters = NULL;
  Setup setup;

  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (8, 16));
  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (16, 1));
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*compute in bf16*“1” (16 to 1)*");
  setup = set_up (NULL, net);
  g_test_assert_expected_messages ();

  run_step (&setup, input, grad);
  g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (setup.plugin, "0:weight"), >, 1);
  g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (setup.plugin, "1:weight"), ==, 0);
  parameters = lp_module_dup_parameters (net);
  for (guint i = 0; i < parameters->len; i++)
    {
      g_autoptr (LpTensor) grad_of = NULL;

      g_assert_true (lp_tensor_get_dtype (g_ptr_array_index (parameters, i)) == lp_dtype_bf16 ());
      grad_of = lp_tensor_dup_grad (g_ptr_array_index (parameters, i));
      g_assert_nonnull (grad_of);
    }
  g_assert_no_error (error);
  tear_down (&setup);
}

static void
test_refusals (void)
{
  GError *error = NULL;
  g_autoptr (CountingRecipe) recipe = g_object_new (COUNTING_TYPE_RECIPE, NULL);
  g_autoptr (LpPrecisionPlugin) plugin = NULL;

  recipe->forward_dtype = "f8e5m2";
  plugin = lp_fp8_precision_plugin_new ("transformer-engine", LP_FP8_RECIPE (recipe), &error);
  g_assert_null (plugin);
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "f8e5m2"));
  g_clear_error (&error);

  g_assert_null (lp_fp8_precision_plugin_new ("fp8", NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_clear_error (&error);

  plugin = g_initable_new (LP_TYPE_FP8_PRECISION_PLUGIN, NULL, &error, "weights-dtype", "f16", NULL);
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT);
  g_assert_nonnull (strstr (error->message, "transformer-engine-float16"));
  g_clear_error (&error);
}

static void
test_state (void)
{
  GError *error = NULL;
  Setup before = set_up (NULL, lp_linear_new (8, 16)), after = set_up (NULL, lp_linear_new (8, 16));
  g_autoptr (LpTensor) grad = new_random (4, 16, 2);
  g_autoptr (LpState) state = NULL;
  g_autoptr (LpState) again = NULL;
  g_autoptr (LpState) broken = lp_state_new ();

  for (guint i = 0; i < 3; i++)
    {
      g_autoptr (LpTensor) input = new_random (4, 8, i);

      run_step (&before, input, grad);
    }
  state = lp_precision_plugin_save_state (LP_PRECISION_PLUGIN (before.plugin), &error);
  g_assert_no_error (error);
  g_assert_true (lp_precision_plugin_load_state (LP_PRECISION_PLUGIN (after.plugin), state, &error));
  g_assert_no_error (error);
  for (guint i = 0; i < 2; i++)
    {
      static const char *const sites[] = { ":input", ":grad-output" };
      g_autoptr (LpTensor) input = new_random (4, 8, 100 + i);

      for (guint k = 0; k < G_N_ELEMENTS (sites); k++)
        g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (before.plugin, sites[k]), ==,
                           lp_fp8_precision_plugin_get_scale (after.plugin, sites[k]));
      run_step (&before, input, grad);
      run_step (&after, input, grad);
    }

  lp_state_set_value (broken, "plugin-id", g_variant_new_string ("fp8"));
  lp_state_set_value (broken, "scales", g_variant_new_parsed ("{':input': (-1.0, uint32 0)}"));
  again = lp_precision_plugin_save_state (LP_PRECISION_PLUGIN (after.plugin), &error);
  g_assert_false (lp_precision_plugin_load_state (LP_PRECISION_PLUGIN (after.plugin), broken, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
  g_clear_error (&error);

  tear_down (&before);
  tear_down (&after);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/fp8/golden", test_golden);
  g_test_add_func ("/fp8/quantize", test_quantize);
  g_test_add_func ("/fp8/counts", test_counts);
  g_test_add_func ("/fp8/eligible", test_eligible);
  g_test_add_func ("/fp8/refusals", test_refusals);
  g_test_add_func ("/fp8/state", test_state);

  return g_test_run ();
}
