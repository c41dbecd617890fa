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
new_random (gint64 rows,
            gint64 columns,
            guint  seed)
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
  guint       history_length;
  guint       interval;
  double      factor;   /* of scales; 0: none */
};

G_DEFINE_FINAL_TYPE (CountingRecipe, counting_recipe, LP_TYPE_FP8_RECIPE)

static double
counting_recipe_compute_scale (LpFp8Recipe *recipe,
                               double       amax,
                               double       largest,
                               double       scale)
{
  CountingRecipe *self = COUNTING_RECIPE (recipe);

  self->n_scales++;
  scale = LP_FP8_RECIPE_CLASS (counting_recipe_parent_class)->compute_scale (recipe, amax, largest, scale);

  return self->factor != 0 ? self->factor * scale : scale;
}

static guint
counting_recipe_get_history_length (LpFp8Recipe *recipe)
{
  return COUNTING_RECIPE (recipe)->history_length;
}

static guint
counting_recipe_get_interval (LpFp8Recipe *recipe)
{
  return COUNTING_RECIPE (recipe)->interval;
}

static LpDType *
counting_recipe_get_dtype (LpFp8Recipe    *recipe,
                           LpOperandRole   role,
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
  LP_FP8_RECIPE_CLASS (klass)->get_history_length = counting_recipe_get_history_length;
  LP_FP8_RECIPE_CLASS (klass)->get_interval = counting_recipe_get_interval;
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

/* Some of the golden maxima are infinite, which is told once per operand. */
static void
count_infinities (const char     *domain,
                  GLogLevelFlags  level,
                  const char     *message,
                  gpointer        user_data)
{
  g_assert_nonnull (strstr (message, "holds infinities"));
  ++*(guint *) user_data;
}

static gboolean
is_fatal (const char     *domain,
          GLogLevelFlags  level,
          const char     *message,
          gpointer        user_data)
{
  return FALSE;
}

/* 1,000 steps that a script made by the rules of Transformer Engine; see golden-fp8.py. */
static void
test_golden (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "golden-fp8.txt", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) cases = NULL;
  guint handler, n_told = 0;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  cases = g_strsplit (g_strchomp (text), "\n", -1);
  g_assert_cmpuint (g_strv_length (cases), ==, 4);
  g_test_log_set_fatal_handler (is_fatal, NULL);
  handler = g_log_set_handler ("Lp", G_LOG_LEVEL_WARNING | G_LOG_FLAG_FATAL, count_infinities, &n_told);
  for (guint i = 0; cases[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (cases[i], " ", -1);

      run_golden_case (fields);
    }
  g_log_remove_handler ("Lp", handler);
  g_test_log_set_fatal_handler (NULL, NULL);
  g_assert_cmpuint (n_told, ==, 8);
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

static LpState *
save (LpFp8PrecisionPlugin *plugin)
{
  GError *error = NULL;
  LpState *state = lp_precision_plugin_save_state (LP_PRECISION_PLUGIN (plugin), &error);

  g_assert_no_error (error);

  return state;
}

static void
set_history (LpState    *state,
             const char *site,
             gint64      rows,
             gint64      columns,
             double      value,
             LpDType    *dtype)
{
  const gint64 dims[] = { rows, columns };
  g_autofree char *name = g_strconcat ("amax-history.", site, NULL);
  g_autoptr (LpTensor) history = lp_tensor_full (dims, columns > 0 ? 2 : 1, value, dtype, NULL, NULL);

  lp_tensor_dict_set (lp_state_get_tensors (state), name, history);
}

/* What no run saves is an error that names it, and nothing of the state is taken. */
static void
test_bad_state (void)
{
  const struct { const char *scales, *site; gint64 columns; double value; LpDType *dtype; const char *problem; } rows[] = {
    { "{':input': (-1.0, uint32 0)}", NULL, 0, 0, NULL, "scale of “:input” is -1" },
    { "{':input': (nan, uint32 0)}", NULL, 0, 0, NULL, "scale of “:input” is nan" },
    { "{':weight': (inf, uint32 0)}", NULL, 0, 0, NULL, "scale of “:weight” is inf" },
    { "{':weight': (1e-300, uint32 0)}", NULL, 0, 0, NULL, "scale of “:weight” is 1e-300" },
    { "{':weight': (1e300, uint32 0)}", NULL, 0, 0, NULL, "scale of “:weight” is 1e+300" },
    { "'x'", NULL, 0, 0, NULL, "“scales”" },
    { NULL, ":weight", 0, -5, lp_dtype_f32 (), "“amax-history.:weight” is -5" },
    { NULL, ":weight", 0, -INFINITY, lp_dtype_f32 (), "“amax-history.:weight” is -inf" },
    { NULL, ":input", 2, 1, lp_dtype_f32 (), "“amax-history.:input” is in f32, its number of axes 2" },
    { NULL, ":input", 0, 1, lp_dtype_f16 (), "“amax-history.:input” is in f16" },
    { NULL, ":grad-output", 0, 1, lp_dtype_f64 (), "“amax-history.:grad-output” is in f64" },
  };
  Setup setup = set_up (NULL, lp_linear_new (8, 16));

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpState) state = save (setup.plugin);
      g_autoptr (GError) error = NULL;

      lp_state_set_value (state, "scales",
                          g_variant_new_parsed (rows[i].scales != NULL ? rows[i].scales
                                                : "{':grad-output': (7.0, uint32 0), ':input': (7.0, 0), ':weight': (7.0, 0)}"));
      if (rows[i].site != NULL)
        set_history (state, rows[i].site, 1024, rows[i].columns, rows[i].value, rows[i].dtype);
      g_assert_false (lp_precision_plugin_load_state (LP_PRECISION_PLUGIN (setup.plugin), state, &error));
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].problem));
      g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (setup.plugin, ":input"), ==, 1);
    }
  tear_down (&setup);
}

static void
check_warning (Setup      *setup,
               LpState    *state,
               const char *pattern)
{
  GError *error = NULL;

  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, pattern);
  g_assert_true (lp_precision_plugin_load_state (LP_PRECISION_PLUGIN (setup->plugin), state, &error));
  g_assert_no_error (error);
  g_test_assert_expected_messages ();
}

/* What is missing, left over or of another recipe is told. */
static void
test_other_state (void)
{
  g_autoptr (LpFp8Recipe) recipe = lp_current_scaling_new (0);
  Setup setup = set_up (NULL, lp_linear_new (8, 16)), current = set_up (recipe, lp_linear_new (8, 16));
  g_autoptr (LpState) state = save (setup.plugin);
  g_autoptr (LpState) none = save (current.plugin);
  g_autoptr (LpState) after = NULL;
  LpTensor *history;

  set_history (state, ":input", 16, 0, 2.5, lp_dtype_f32 ());
  check_warning (&setup, state, "*another length*“:input”");
  after = save (setup.plugin);
  history = lp_tensor_dict_lookup (lp_state_get_tensors (after), "amax-history.:input");
  g_assert_cmpint (lp_tensor_get_dim (history, 0), ==, 1024);
  g_assert_cmpfloat (((const float *) (gsize) lp_tensor_get_address (history))[15], ==, 2.5);
  g_assert_cmpfloat (((const float *) (gsize) lp_tensor_get_address (history))[16], ==, 0);

  set_history (state, ":input", 1024, 0, INFINITY, lp_dtype_f32 ());
  check_warning (&setup, state, "*not finite*“:input”");
  set_history (state, ":input", 1024, 0, 1, lp_dtype_f32 ());
  set_history (state, "nolayer:x", 1024, 0, 1, lp_dtype_f32 ());
  check_warning (&setup, state, "*tensors are passed over*“amax-history.nolayer:x”");
  lp_tensor_dict_remove (lp_state_get_tensors (state), "amax-history.nolayer:x");
  check_warning (&current, state, "*tensors are passed over*“amax-history.:input”*");
  check_warning (&setup, none, "*no amax-history*“:input”*");
  lp_tensor_dict_remove (lp_state_get_tensors (state), "amax-history.:weight");
  check_warning (&setup, state, "*no amax-history*“:weight”");
  lp_state_set_value (none, "scales", g_variant_new_parsed ("{':input': (7.0, uint32 0), ':weight': (7.0, 0)}"));
  check_warning (&current, none, "*no scale*“:grad-output”");
  lp_state_set_value (none, "scales", g_variant_new_parsed ("{':input': (7.0, uint32 0), ':weight': (7.0, 0), ':grad-output': (1, 0), 'x': (1, 0)}"));
  check_warning (&current, none, "*no layer*“x”");

  tear_down (&setup);
  tear_down (&current);
}

/* Numbers that no subclass means. */
static void
test_recipe (void)
{
  static const struct { guint length, interval; const char *problem; } rows[] = {
    { (guint) -5, 1, "CountingRecipe.get_history_length gave 4294967291" }, { 1u << 31, 1, "get_history_length gave 2147483648" },
    { (1 << 20) + 1, 1, "get_history_length gave 1048577" }, { 16, (guint) -1, "get_interval gave 4294967295" },
  };
  static const double factors[] = { NAN, -1, 1e-320, INFINITY };
  const guint lengths[] = { 0, 4 };
  GError *error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (CountingRecipe) recipe = g_object_new (COUNTING_TYPE_RECIPE, NULL);

      recipe->history_length = rows[i].length;
      recipe->interval = rows[i].interval;
      g_assert_null (lp_fp8_precision_plugin_new ("transformer-engine", LP_FP8_RECIPE (recipe), &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].problem));
      g_clear_error (&error);
    }

  for (gsize i = 0; i < G_N_ELEMENTS (factors) * G_N_ELEMENTS (lengths); i++)
    {
      g_autoptr (CountingRecipe) recipe = g_object_new (COUNTING_TYPE_RECIPE, NULL);
      g_autoptr (LpTensor) input = new_random (4, 8, 1);
      g_autoptr (LpTensor) output = NULL;
      g_autoptr (LpTensor) loss = NULL;
      Setup setup;

      recipe->history_length = lengths[i % 2];
      recipe->factor = factors[i / 2];
      setup = set_up (LP_FP8_RECIPE (recipe), lp_linear_new (8, 16));
      lp_fabric_begin_autocast (setup.fabric, NULL);
      output = lp_module_forward (setup.layer, input, &error);
      lp_fabric_end_autocast (setup.fabric);
      if (output != NULL)
        {
          g_assert_cmpuint (recipe->history_length, ==, 4);
          loss = lp_tensor_sum (output, NULL, 0, FALSE, NULL);
          g_assert_false (lp_fabric_backward (setup.fabric, loss, &error));
        }
      g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, "CountingRecipe.compute_scale gave "));
      g_clear_error (&error);
      tear_down (&setup);
    }
}

/* An infinity becomes the largest number, which is told once per operand; NaN stays NaN and needs no telling. */
static void
test_infinities (void)
{
  for (guint i = 0; i < 4; i++)
    {
      const double bad = i % 2 == 0 ? INFINITY : NAN;
      g_autoptr (LpFp8Recipe) recipe = i < 2 ? lp_current_scaling_new (0) : NULL;
      Setup setup = set_up (recipe, lp_linear_new (8, 16));
      g_autoptr (LpTensor) input = lp_tensor_full ((gint64[]) { 4, 8 }, 2, bad, lp_dtype_bf16 (), NULL, NULL);
      g_autoptr (LpTensor) grad = new_random (4, 16, 3);

      for (guint step = 0; step < 2; step++)
        {
          g_autoptr (LpTensor) output = NULL;
          g_autoptr (GError) error = NULL;

          if (step == 0 && isinf (bad))
            g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*“:input”*infinities*");
          lp_grad_mode_push (FALSE);
          output = lp_fabric_forward (setup.fabric, setup.layer, input, &error);
          lp_grad_mode_pop ();
          g_assert_no_error (error);
          g_test_assert_expected_messages ();
          g_assert_true (!isfinite (get (output, 0, 0)) == isnan (bad));
        }
      run_step (&setup, input, grad);
      /* a maximum that is not finite never makes a scale */
      g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (setup.plugin, ":input"), ==, 1);
      tear_down (&setup);
    }
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
  g_test_add_func ("/fp8/bad-state", test_bad_state);
  g_test_add_func ("/fp8/other-state", test_other_state);
  g_test_add_func ("/fp8/recipe", test_recipe);
  g_test_add_func ("/fp8/infinities", test_infinities);

  return g_test_run ();
}
