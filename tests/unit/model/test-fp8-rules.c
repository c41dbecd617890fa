/* fp8: which format an operand is in, which layers take part, what other processes tell, what a scale is made of. */

#include <float.h>
#include <math.h>

#include <lp/lp.h>

/* Two processes, of which the other one's maxima are 100. */
typedef struct { LpStrategy parent_instance; } Pair;
typedef struct { LpStrategyClass parent_class; } PairClass;

static GType pair_get_type (void);

G_DEFINE_TYPE (Pair, pair, LP_TYPE_STRATEGY)

static LpDevice *
pair_dup_device (LpStrategy *strategy, GError **error)
{
  return g_object_ref (lp_device_get_default ());
}

static gint
pair_get_rank (LpStrategy *strategy)
{
  return 0;
}

static gint
pair_get_world_size (LpStrategy *strategy)
{
  return 2;
}

static LpTensor *
pair_all_reduce (LpStrategy *strategy, LpTensor *tensor, LpReduceOp op, GError **error)
{
  g_autoptr (LpTensor) theirs = lp_tensor_scalar (100, lp_dtype_f32 (), NULL, error);

  g_assert_cmpint (op, ==, LP_REDUCE_OP_MAX);

  return lp_tensor_maximum (tensor, theirs, error);
}

static void
pair_class_init (PairClass *klass)
{
  LpStrategyClass *strategy_class = LP_STRATEGY_CLASS (klass);

  strategy_class->dup_device = pair_dup_device;
  strategy_class->get_rank = pair_get_rank;
  strategy_class->get_world_size = pair_get_world_size;
  strategy_class->all_reduce = pair_all_reduce;
}

static void
pair_init (Pair *self)
{
}

typedef struct
{
  LpPrecisionPlugin *plugin;
  LpFabric          *fabric;
  LpModule          *net;
} Setup;

static Setup
set_up (LpFp8Recipe *recipe,
        LpModule    *net,
        gboolean     two)
{
  g_autoptr (LpStrategy) strategy = two ? g_object_new (pair_get_type (), NULL) : NULL;
  g_autoptr (GError) error = NULL;
  Setup self = { .net = net };

  self.plugin = g_object_new (LP_TYPE_FP8_PRECISION_PLUGIN, "recipe", recipe, "weights-dtype", "f32", NULL);
  self.fabric = g_initable_new (LP_TYPE_FABRIC, NULL, &error, "precision-plugin", self.plugin, "strategy", strategy, NULL);
  g_assert_no_error (error);
  g_assert_true (lp_fabric_setup_module (self.fabric, net, &error));
  g_assert_no_error (error);

  return self;
}

static void
tear_down (Setup *self)
{
  g_assert_true (lp_fabric_close (self->fabric, NULL));
  g_object_unref (self->fabric);
  g_object_unref (self->plugin);
  g_object_unref (self->net);
}

static double
get_scale (const Setup *self,
           const char  *site)
{
  return lp_fp8_precision_plugin_get_scale (LP_FP8_PRECISION_PLUGIN (self->plugin), site);
}

/* Every input is @value, every gradient of an output @grad. */
static void
run_step (const Setup *self,
          LpModule    *layer,
          double       value,
          double       grad)
{
  g_autoptr (LpTensor) x = lp_tensor_full ((gint64[]) { 1, 8 }, 2, value, NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = NULL, sum = NULL, loss = NULL;

  g_assert_true (lp_fabric_begin_autocast (self->fabric, &error));
  y = lp_module_forward (layer, x, &error);
  sum = lp_tensor_sum (y, NULL, 0, FALSE, &error);
  loss = lp_tensor_scale (sum, grad, &error);
  lp_fabric_end_autocast (self->fabric);
  g_assert_no_error (error);
  g_assert_true (lp_fabric_backward (self->fabric, loss, &error));
  g_assert_no_error (error);
}

static LpModule *
make_layer (double weight)
{
  LpModule *layer = lp_linear_new (8, 16);

  g_assert_true (lp_tensor_fill (lp_linear_get_weight (LP_LINEAR (layer)), weight, NULL));
  g_assert_true (lp_tensor_fill (lp_module_lookup_parameter (layer, "bias"), 0, NULL));

  return layer;
}

static double
first_of (LpTensor *tensor)
{
  gsize n;
  g_autofree double *values = lp_tensor_dup_doubles (tensor, &n, NULL);

  return values[0];
}

/* 1.125 is a number of E4M3, not of E5M2; 1024 is one of E5M2, and beyond E4M3. */
static void
test_formats (void)
{
  static const struct { double weight, input, grad; double output, input_grad, weight_grad; } rows[] = {
    { 1.125, 1, 1, 8 * 1.125, 16 * 1.125, 1 },
    { 1, 1.125, 1, 8 * 1.125, 16, 1.125 },
    { 1, 1, 1024, 8, 16 * 1024, 1024 },
    { 1, 1, 1.125, 8, 16, 1 },                       /* tie, to even */
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      Setup setup = set_up (NULL, make_layer (rows[i].weight), FALSE);
      g_autoptr (LpTensor) x = lp_tensor_full ((gint64[]) { 1, 8 }, 2, rows[i].input, NULL, NULL, NULL);
      g_autoptr (LpTensor) y = NULL, sum = NULL, loss = NULL, dx = NULL, dw = NULL;

      lp_tensor_set_requires_grad (x, TRUE);
      g_assert_true (lp_fabric_begin_autocast (setup.fabric, NULL));
      y = lp_module_forward (setup.net, x, NULL);
      sum = lp_tensor_sum (y, NULL, 0, FALSE, NULL);
      loss = lp_tensor_scale (sum, rows[i].grad, NULL);
      lp_fabric_end_autocast (setup.fabric);
      g_assert_true (lp_fabric_backward (setup.fabric, loss, NULL));
      dx = lp_tensor_dup_grad (x);
      dw = lp_tensor_dup_grad (lp_linear_get_weight (LP_LINEAR (setup.net)));
      g_assert_cmpfloat (first_of (y), ==, rows[i].output);
      g_assert_cmpfloat (first_of (dx), ==, rows[i].input_grad);
      g_assert_cmpfloat (first_of (dw), ==, rows[i].weight_grad);
      tear_down (&setup);
    }
}

/* Multiples of 8 inputs and of 16 outputs; the others compute in 16 bits. */
static void
test_eligible (void)
{
  static const struct { gint64 in, out; gboolean taken; } rows[] = {
    { 8, 16, TRUE }, { 24, 48, TRUE }, { 12, 16, FALSE }, { 8, 24, FALSE }, { 8, 8, FALSE }, { 9, 17, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, rows[i].in }, 2, NULL, NULL, NULL);
      g_autoptr (LpTensor) y = NULL;
      Setup setup;

      if (!rows[i].taken)
        g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*multiples of 8 inputs and of 16 outputs*bf16*");
      setup = set_up (NULL, lp_linear_new (rows[i].in, rows[i].out), FALSE);
      g_test_assert_expected_messages ();
      g_assert_cmpfloat (get_scale (&setup, ":weight"), ==, rows[i].taken ? 1 : 0);
      g_assert_true (lp_fabric_begin_autocast (setup.fabric, NULL));
      y = lp_module_forward (setup.net, x, NULL);
      lp_fabric_end_autocast (setup.fabric);
      g_assert_true (lp_tensor_get_dtype (y) == lp_dtype_bf16 ());
      tear_down (&setup);
    }
}

/* The maxima of all processes count. */
static void
test_two_processes (void)
{
  Setup alone = set_up (NULL, make_layer (1), FALSE), two = set_up (NULL, make_layer (1), TRUE);

  run_step (&alone, alone.net, 2, 1);
  run_step (&two, two.net, 2, 1);
  g_assert_cmpfloat (get_scale (&alone, ":input"), ==, 224);
  g_assert_cmpfloat (get_scale (&two, ":input"), ==, (double) (448.0f / 100.0f));
  g_assert_cmpfloat (get_scale (&two, ":grad-output"), ==, (double) (57344.0f / 100.0f));
  tear_down (&alone);
  tear_down (&two);
}

static LpFp8Recipe *
make_recipe (guint length,
             guint interval)
{
  return g_object_new (LP_TYPE_DELAYED_SCALING, "amax-history-length", length, "interval", interval, NULL);
}

/* A layer that didn't run keeps its history: of two maxima the older one is still there. */
static void
test_idle_layer (void)
{
  g_autoptr (LpFp8Recipe) recipe = make_recipe (2, 1);
  LpModule *net = lp_sequential_new (), *one = make_layer (1), *other = make_layer (1);
  Setup setup;

  lp_sequential_append (LP_SEQUENTIAL (net), one);
  lp_sequential_append (LP_SEQUENTIAL (net), other);
  setup = set_up (recipe, net, FALSE);
  run_step (&setup, one, 4, 1);
  for (int i = 0; i < 3; i++)
    run_step (&setup, other, 1, 1);
  run_step (&setup, one, 1, 1);
  g_assert_cmpfloat (get_scale (&setup, "0:input"), ==, 448 / 4);
  g_assert_cmpfloat (get_scale (&setup, "1:input"), ==, 448);
  run_step (&setup, one, 1, 1);
  g_assert_cmpfloat (get_scale (&setup, "0:input"), ==, 448);
  tear_down (&setup);
}

/* How many steps of the interval have gone by is saved. */
static void
test_interval_resumes (void)
{
  g_autoptr (LpFp8Recipe) recipe = make_recipe (4, 3);
  Setup before = set_up (recipe, make_layer (1), FALSE), after = set_up (recipe, make_layer (1), FALSE);
  g_autoptr (LpState) state = NULL;

  for (int i = 0; i < 2; i++)
    run_step (&before, before.net, 2, 1);
  g_assert_cmpfloat (get_scale (&before, ":input"), ==, 1);
  state = lp_precision_plugin_save_state (before.plugin, NULL);
  g_assert_true (lp_precision_plugin_load_state (after.plugin, state, NULL));
  run_step (&after, after.net, 2, 1);
  g_assert_cmpfloat (get_scale (&after, ":input"), ==, 224);
  tear_down (&before);
  tear_down (&after);
}

/* Another layer at the same place begins anew, the same one goes on. */
static void
test_other_layer (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_fp8_precision_plugin_new ("transformer-engine", NULL, NULL);
  g_autoptr (LpModule) one = lp_linear_new (8, 16);
  g_autoptr (LpModule) other = lp_linear_new (8, 16);
  g_autoptr (LpState) state = NULL;
  LpFp8PrecisionPlugin *self = LP_FP8_PRECISION_PLUGIN (plugin);

  g_assert_true (lp_precision_plugin_convert_module (plugin, one, NULL));
  state = lp_precision_plugin_save_state (plugin, NULL);
  lp_state_set_value (state, "scales",
                      g_variant_new_parsed ("{':input': (8.0, uint32 0), ':weight': (8.0, uint32 0), ':grad-output': (8.0, uint32 0)}"));
  g_assert_true (lp_precision_plugin_load_state (plugin, state, NULL));
  g_assert_true (lp_precision_plugin_convert_module (plugin, one, NULL));
  g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (self, ":input"), ==, 8);
  g_assert_true (lp_precision_plugin_convert_module (plugin, other, NULL));
  g_assert_cmpfloat (lp_fp8_precision_plugin_get_scale (self, ":input"), ==, 1);
}

/* a: the maximum; what can't be divided by leaves the scale, and what would be infinite is the largest float32. */
static void
test_scales (void)
{
  g_autoptr (LpFp8Recipe) recipe = make_recipe (4, 1);
  g_autoptr (LpFp8Recipe) careful = g_object_new (LP_TYPE_DELAYED_SCALING, "margin", 2, NULL);
  static const struct { double amax, scale; } rows[] = {
    { 2, 224 }, { 448, 1 }, { 0, 5 }, { INFINITY, 5 }, { NAN, 5 }, { 1e-38, FLT_MAX }, { 0x1p-149, FLT_MAX },
  };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    g_assert_cmpfloat (lp_fp8_recipe_compute_scale (recipe, rows[i].amax, 448, 5), ==, rows[i].scale);
  g_assert_cmpfloat (lp_fp8_recipe_compute_scale (careful, 2, 448, 5), ==, 56);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/fp8-rules/formats", test_formats);
  g_test_add_func ("/fp8-rules/eligible", test_eligible);
  g_test_add_func ("/fp8-rules/two-processes", test_two_processes);
  g_test_add_func ("/fp8-rules/idle-layer", test_idle_layer);
  g_test_add_func ("/fp8-rules/interval-resumes", test_interval_resumes);
  g_test_add_func ("/fp8-rules/other-layer", test_other_layer);
  g_test_add_func ("/fp8-rules/scales", test_scales);

  return g_test_run ();
}
