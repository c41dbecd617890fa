/* What a precision says that it stores and computes in is what it does: seen from outside, for every precision of the registry. */

#include <math.h>

#include <lp/lp.h>

#define WIDTH 16

/* Row 0 of the weight takes the second input from the first, row 1 is the second input. All formats have these numbers. */
static LpModule *
make_layer (void)
{
  LpModule *layer = lp_linear_new (WIDTH, WIDTH);
  g_autofree double *values = g_new0 (double, WIDTH * WIDTH);
  g_autoptr (LpTensor) weight = NULL;

  values[0] = 1;
  values[1] = -1;
  values[WIDTH + 1] = 1;
  weight = lp_tensor_new_from_doubles (values, WIDTH * WIDTH, (gint64[]) { WIDTH, WIDTH }, 2, NULL, NULL);
  g_assert_true (lp_tensor_assign (lp_linear_get_weight (LP_LINEAR (layer)), weight, NULL));
  g_assert_true (lp_tensor_fill (lp_module_lookup_parameter (layer, "bias"), 0, NULL));

  return layer;
}

typedef struct
{
  LpFabric *fabric;
  LpModule *layer;
  LpDType  *inputs;
} Setup;

/* Output @row for two inputs. */
static double
run (const Setup *setup,
     double       first,
     double       second,
     int          row)
{
  const double values[WIDTH] = { first, second };
  g_autoptr (LpTensor) x = lp_tensor_new_from_doubles (values, WIDTH, (gint64[]) { 1, WIDTH }, 2, setup->inputs, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = lp_fabric_forward (setup->fabric, setup->layer, x, &error);
  g_autofree double *out = NULL;
  gsize n;

  g_assert_no_error (error);
  out = lp_tensor_dup_doubles (y, &n, NULL);

  return out[row];
}

/* How many bits after the first survive in an input: the most of which 1 + 2^-bits is not 1. */
static int
measure_bits (const Setup *setup)
{
  int bits = 0;

  for (int i = 1; i <= 52; i++)
    if (run (setup, 1 + ldexp (1, -i), 1, 0) > 0.5 * ldexp (1, -i))
      bits = i;

  return bits;
}

/* Whether a small input survives beside a large one: not where they share a scale. */
static gboolean
has_exponents (const Setup *setup)
{
  return run (setup, 1, 0x1p-12, 1) != 0;
}

static const struct { const char *name; int bits; gboolean exponents; } formats[] = {
  { "f64", 52, TRUE }, { "f32", 23, TRUE }, { "f16", 10, TRUE }, { "bf16", 7, TRUE }, { "f8e4m3", 3, FALSE }, { "i8", 7, FALSE },
};

static void
check_compute (const Setup *setup,
               const char  *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (formats[i].name, name))
      {
        g_assert_cmpint (measure_bits (setup), ==, formats[i].bits);
        g_assert_cmpint (has_exponents (setup), ==, formats[i].exponents);
        return;
      }

  g_error ("%s is computed in, and has no row here", name);
}

static const char *
name_of (LpTensor *tensor)
{
  return lp_dtype_get_name (lp_tensor_get_dtype (tensor));
}

/* A parameter that is trained: the weight, where it is not frozen. */
static LpTensor *
get_trained (LpModule *layer)
{
  LpTensor *weight = lp_linear_get_weight (LP_LINEAR (layer));

  return lp_tensor_get_requires_grad (weight) ? weight : lp_module_lookup_parameter (layer, "bias");
}

/* As the step sees the gradient, and what it updates. */
static void
check_step (const Setup       *setup,
            LpPrecisionTraits *traits)
{
  LpTensor *trained = get_trained (setup->layer);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 8, WIDTH }, 2, setup->inputs, NULL, NULL);
  g_autoptr (LpBatch) batch = lp_batch_new ();
  g_autoptr (LpBatch) converted = NULL;
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (GPtrArray) masters = NULL;
  g_autoptr (LpTensor) y = NULL, loss = NULL, grad = NULL;
  g_autoptr (LpState) state = NULL;
  LpTensor *moment;
  GError *error = NULL;

  g_ptr_array_add (parameters, trained);
  optimizer = lp_adamw_new (parameters, 1e-3);
  g_assert_true (lp_fabric_setup_optimizer (setup->fabric, optimizer, &error));
  lp_batch_append (batch, x, NULL);
  converted = lp_fabric_convert_batch (setup->fabric, batch, &error);
  g_assert_true (lp_fabric_begin_autocast (setup->fabric, &error));
  y = lp_module_forward (setup->layer, lp_batch_get_tensor (converted, 0), &error);
  loss = lp_tensor_mean (y, NULL, 0, FALSE, &error);
  lp_fabric_end_autocast (setup->fabric);
  g_assert_true (lp_optimizer_zero_grad (optimizer, &error));
  g_assert_true (lp_fabric_backward (setup->fabric, loss, &error));
  grad = lp_tensor_dup_grad (trained);
  g_assert_cmpint (lp_fabric_optimizer_step (setup->fabric, optimizer, &error), !=, LP_STEP_FAILED);
  g_assert_no_error (error);
  masters = lp_param_group_dup_masters (lp_optimizer_get_group (optimizer, 0));
  state = lp_optimizer_save_state (optimizer, NULL);
  moment = lp_tensor_dict_lookup (lp_state_get_tensors (state), "0.0.moment1");

  g_assert_cmpstr (name_of (grad), ==, lp_precision_traits_get_gradient (traits));
  g_assert_cmpstr (name_of (masters->pdata[0]), ==, lp_precision_traits_get_master (traits));
  /* a step may have been skipped */
  g_assert_true (moment == NULL || g_str_equal (name_of (moment), lp_precision_traits_get_moments (traits)));
  /* gradients are what processes would exchange */
  g_assert_cmpstr (lp_precision_traits_get_reduce (traits), ==, lp_precision_traits_get_gradient (traits));
}

static void
check (LpPrecisionPlugin *plugin)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, &error);
  g_autoptr (LpFabric) fabric = lp_fabric_new_with_plugin (plugin, &error);
  g_autoptr (LpModule) layer = make_layer ();
  Setup setup = { fabric, layer, lp_dtype_f32 () };

  g_assert_no_error (error);
  if (g_str_equal (lp_precision_traits_get_storage (traits), "f64"))
    setup.inputs = lp_dtype_f64 ();
  g_assert_true (lp_fabric_setup_module (fabric, layer, &error));
  g_assert_no_error (error);
  g_assert_cmpstr (name_of (lp_linear_get_weight (LP_LINEAR (layer))), ==, lp_precision_traits_get_storage (traits));
  check_compute (&setup, lp_precision_traits_get_compute (traits));
  check_step (&setup, traits);
}

static void
test_entry (gconstpointer name)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_precision_registry_create (lp_precision_registry_get_default (), name, NULL, &error);

  g_assert_no_error (error);
  check (plugin);
}

/* Options that change what is stored or computed in. */
static void
test_options (void)
{
  const char *const quantized[] = { "f32", "f16", "bf16" };
  const gboolean on_off[] = { FALSE, TRUE };
  const LpApexOverride masters[] = { LP_APEX_OVERRIDE_OFF, LP_APEX_OVERRIDE_ON };

  for (guint i = 0; i < G_N_ELEMENTS (quantized); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = lp_quantized_precision_plugin_new ("nf4", NULL, quantized[i], NULL);

      check (plugin);
    }
  for (guint i = 0; i < 2; i++)
    {
      g_autoptr (LpPrecisionPlugin) half = lp_half_precision_plugin_new_full ("bf16-true", on_off[i], FALSE, NULL);
      g_autoptr (LpPrecisionPlugin) apex =
        g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, "amp-level", "O3", "master-weights", masters[i], NULL);
      g_autoptr (LpPrecisionPlugin) bare =
        g_object_new (LP_TYPE_APEX_MIXED_PRECISION_PLUGIN, "amp-level", "O2", "master-weights", masters[i], NULL);
      g_autoptr (LpPrecisionPlugin) fp8 = g_object_new (LP_TYPE_FP8_PRECISION_PLUGIN, "weights-dtype", i == 0 ? "f32" : NULL, NULL);

      check (half);
      check (apex);
      check (bare);
      check (fp8);
    }
}

int
main (int   argc,
      char *argv[])
{
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);
      g_autofree char *path = g_strconcat ("/traits/", name, NULL);

      if (!g_str_equal (name, "auto"))
        g_test_add_data_func (path, name, test_entry);
    }
  g_test_add_func ("/traits/options", test_options);

  return g_test_run ();
}
