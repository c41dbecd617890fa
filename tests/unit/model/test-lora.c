#include <math.h>

#include <lp/lp.h>

static LpTensor *
normal (gint64 rows,
        gint64 columns)
{
  const gint64 dims[] = { rows, columns };

  return lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
}

static LpModule *
net_new (void)
{
  LpModule *net = lp_sequential_new ();
  g_autoptr (LpModule) first = lp_linear_new (12, 20);
  g_autoptr (LpModule) relu = lp_relu_new ();
  g_autoptr (LpModule) second = lp_linear_new (20, 4);

  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (first));
  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (relu));
  lp_sequential_append (LP_SEQUENTIAL (net), g_object_ref (second));

  return net;
}

static LpTensor *
run (LpModule *net,
     LpTensor *x)
{
  g_autoptr (GError) error = NULL;
  LpTensor *y = lp_module_forward (net, x, &error);

  g_assert_no_error (error);

  return y;
}

static double
distance (LpTensor *a,
          LpTensor *b)
{
  gsize n;
  g_autofree double *x = lp_tensor_dup_doubles (a, &n, NULL);
  g_autofree double *y = lp_tensor_dup_doubles (b, &n, NULL);
  double most = 0;

  for (gsize i = 0; i < n; i++)
    most = MAX (most, fabs (x[i] - y[i]));

  return most;
}

static void
adapt (LpModule *net)
{
  g_autoptr (GError) error = NULL;

  lp_lora_linear_adapt (net, NULL, 4, 8, 0, &error);
  g_assert_no_error (error);
}

static double
train (LpModule *net,
       LpTensor *x,
       LpTensor *target,
       int       n_steps)
{
  g_autoptr (GPtrArray) adapters = lp_lora_linear_dup_adapters (net);
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (adapters, 0.02);
  g_autoptr (GError) error = NULL;
  double loss_value = 0;

  for (int i = 0; i < n_steps; i++)
    {
      g_autoptr (LpTensor) y = lp_module_forward (net, x, &error);
      g_autoptr (LpTensor) loss = lp_tensor_mse_loss (y, target, LP_REDUCTION_MEAN, &error);

      lp_optimizer_zero_grad (optimizer, &error);
      lp_tensor_backward (loss, NULL, &error);
      lp_optimizer_step (optimizer, NULL, &error);
      g_assert_no_error (error);
      loss_value = lp_tensor_get_item (loss, NULL);
    }

  return loss_value;
}

static void
test_adapt (void)
{
  g_autoptr (LpModule) net = net_new ();
  g_autoptr (LpTensor) x = normal (9, 12);
  g_autoptr (LpTensor) before = run (net, x);
  g_autoptr (GPtrArray) adapters = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpTensor) after = NULL;
  LpModule *layer;
  guint n_trained = 0;

  adapt (net);
  layer = lp_module_lookup_child (net, "0");
  g_assert_true (LP_IS_LORA_LINEAR (layer));
  g_assert_true (LP_IS_LINEAR (lp_module_lookup_child (net, "0.base")));
  g_assert_cmpstr (lp_module_get_path (lp_lora_linear_get_base (LP_LORA_LINEAR (layer))), ==, "0.base");
  g_assert_cmpuint (lp_lora_linear_get_rank (LP_LORA_LINEAR (layer)), ==, 4);
  after = run (net, x);
  g_assert_cmpfloat (distance (before, after), ==, 0);

  adapters = lp_lora_linear_dup_adapters (net);
  g_assert_cmpuint (adapters->len, ==, 4);
  parameters = lp_module_dup_parameters (net);
  g_assert_cmpuint (parameters->len, ==, 8);
  for (guint i = 0; i < parameters->len; i++)
    n_trained += lp_tensor_get_requires_grad (parameters->pdata[i]);
  g_assert_cmpuint (n_trained, ==, 4);

  /* again: there is nothing without adapters any more */
  {
    g_autoptr (GError) error = NULL;

    g_assert_false (lp_lora_linear_adapt (net, NULL, 4, 8, 0, &error));
    g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  }
}

static void
test_patterns (void)
{
  const char *const some[] = { "nothing", "2*", NULL }, *const none[] = { "x*", NULL };
  g_autoptr (LpModule) net = net_new ();
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_lora_linear_adapt (net, none, 4, 8, 0, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_lora_linear_adapt (net, some, 0, 8, 0, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_lora_linear_adapt (net, some, 2, 8, 1.5, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_true (LP_IS_LINEAR (lp_module_lookup_child (net, "2")));

  g_assert_true (lp_lora_linear_adapt (net, some, 2, 8, 0.5, &error));
  g_assert_no_error (error);
  g_assert_true (LP_IS_LINEAR (lp_module_lookup_child (net, "0")));
  g_assert_true (LP_IS_LORA_LINEAR (lp_module_lookup_child (net, "2")));
  g_assert_false (lp_tensor_get_requires_grad (lp_module_lookup_parameter (net, "0.weight")));
}

/* y = base (x) + alpha / rank B A x, by hand. */
static void
test_forward (void)
{
  g_autoptr (LpModule) base = lp_linear_new (5, 3);
  g_autoptr (LpModule) layer = lp_lora_linear_new (LP_LINEAR (base), 2, 6, 0);
  g_autoptr (LpTensor) x = normal (4, 5);
  g_autoptr (LpTensor) b = normal (3, 2);
  g_autoptr (LpTensor) low = NULL;
  g_autoptr (LpTensor) product = NULL;
  g_autoptr (LpTensor) scaled = NULL;
  g_autoptr (LpTensor) plain = run (base, x);
  g_autoptr (LpTensor) expected = NULL;
  g_autoptr (LpTensor) y = NULL;

  lp_tensor_assign (lp_module_lookup_parameter (layer, "lora_b"), b, NULL);
  y = run (layer, x);
  low = lp_tensor_linear (x, lp_module_lookup_parameter (layer, "lora_a"), NULL, NULL);
  product = lp_tensor_linear (low, b, NULL, NULL);
  scaled = lp_tensor_scale (product, 3, NULL);
  expected = lp_tensor_add (plain, scaled, NULL);
  g_assert_cmpfloat (distance (y, expected), <, 1e-5);
  g_assert_cmpfloat (distance (y, plain), >, 0.1);
}

static void
test_merge (void)
{
  const char *const dtypes[] = { "f32", "nf4" };

  for (int d = 0; d < 2; d++)
    {
      g_autoptr (LpModule) net = net_new ();
      g_autoptr (LpTensor) x = normal (32, 12);
      g_autoptr (LpTensor) target = normal (32, 4);
      g_autoptr (LpDType) dtype = lp_dtype_lookup (dtypes[d], NULL);
      g_autoptr (LpTensor) plain = lp_tensor_detach (lp_module_lookup_parameter (net, "0.weight"));
      g_autoptr (LpTensor) stored = lp_tensor_to_dtype (plain, dtype, NULL);
      g_autoptr (LpTensor) separate = NULL;
      g_autoptr (LpTensor) merged = NULL;
      g_autoptr (LpTensor) again = NULL;
      g_autoptr (GError) error = NULL;
      LpLoraLinear *layer;
      double first, last;

      lp_module_set_parameter (net, "0.weight", stored, &error);
      g_assert_no_error (error);
      adapt (net);
      first = train (net, x, target, 1);
      last = train (net, x, target, 60);
      g_assert_cmpfloat (last, <, 0.9 * first);
      g_assert_true (lp_module_lookup_parameter (net, "0.base.weight") == stored);

      layer = LP_LORA_LINEAR (lp_module_lookup_child (net, "0"));
      separate = run (net, x);
      g_assert_true (lp_lora_linear_merge (layer, &error));
      g_assert_true (lp_lora_linear_merge (layer, &error));
      g_assert_true (lp_lora_linear_get_merged (layer));
      g_assert_true (lp_tensor_get_dtype (lp_module_lookup_parameter (net, "0.base.weight")) == lp_dtype_f32 ());
      merged = run (net, x);
      g_assert_cmpfloat (distance (separate, merged), <, 1e-4);
      g_assert_true (lp_lora_linear_unmerge (layer, &error));
      g_assert_true (lp_lora_linear_unmerge (layer, &error));
      g_assert_no_error (error);
      g_assert_true (lp_module_lookup_parameter (net, "0.base.weight") == stored);
      again = run (net, x);
      g_assert_cmpfloat (distance (separate, again), ==, 0);
    }
}

static void
test_state (void)
{
  g_autoptr (LpModule) net = net_new ();
  g_autoptr (LpModule) other = net_new ();
  g_autoptr (LpTensor) x = normal (32, 12);
  g_autoptr (LpTensor) target = normal (32, 4);
  g_autoptr (LpTensorDict) base = lp_module_dup_state_dict (net);
  g_autoptr (LpTensorDict) state = NULL;
  g_autoptr (LpTensor) a = NULL;
  g_autoptr (LpTensor) b = NULL;
  g_autoptr (GError) error = NULL;
  g_auto (GStrv) names = NULL;

  g_assert_true (lp_module_load_state_dict (other, base, TRUE, &error));
  adapt (net);
  adapt (other);
  train (net, x, target, 10);
  state = lp_lora_linear_dup_state (net);
  names = lp_tensor_dict_dup_names (state);
  g_assert_cmpuint (g_strv_length (names), ==, 4);
  g_assert_true (g_strv_contains ((const char *const *) names, "0.lora_a"));
  g_assert_true (g_strv_contains ((const char *const *) names, "2.lora_b"));
  g_assert_true (lp_lora_linear_load_state (other, state, &error));
  g_assert_no_error (error);
  a = run (net, x);
  b = run (other, x);
  g_assert_cmpfloat (distance (a, b), ==, 0);

  lp_tensor_dict_remove (state, "0.lora_a");
  g_assert_false (lp_lora_linear_load_state (other, state, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

/* The state of a network whose adapters are merged, loaded into one like it: they must not count twice. */
static void
test_merged_state (void)
{
  g_autoptr (LpModule) net = net_new ();
  g_autoptr (LpModule) other = net_new ();
  g_autoptr (LpTensor) x = normal (32, 12);
  g_autoptr (LpTensor) target = normal (32, 4);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) same = NULL;
  g_autoptr (LpTensorDict) state = NULL;
  g_autoptr (GError) error = NULL;

  adapt (net);
  adapt (other);
  train (net, x, target, 10);
  y = run (net, x);
  g_assert_true (lp_lora_linear_merge (LP_LORA_LINEAR (lp_module_lookup_child (net, "0")), &error));
  state = lp_module_dup_state_dict (net);
  g_assert_true (lp_module_load_state_dict (other, state, TRUE, &error));
  g_assert_no_error (error);
  same = run (other, x);
  g_assert_cmpfloat (distance (y, same), ==, 0);
}

static void
test_unload (gconstpointer name)
{
  g_autoptr (LpModule) net = net_new ();
  g_autoptr (LpModule) plain = net_new ();
  g_autoptr (LpModule) shared = lp_sequential_new ();
  g_autoptr (LpDType) dtype = lp_dtype_lookup (name, NULL);
  g_autoptr (LpTensor) stored = lp_tensor_to_dtype (lp_module_lookup_parameter (net, "0.weight"), dtype, NULL);
  g_autoptr (LpTensor) values = lp_tensor_detach (stored);
  g_autoptr (LpTensor) x = normal (32, 12);
  g_autoptr (LpTensor) target = normal (32, 4);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) merged = NULL;
  g_autoptr (LpTensor) loaded = NULL;
  g_autoptr (LpTensorDict) state = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_module_set_parameter (net, "0.weight", values, &error));
  adapt (net);
  train (net, x, target, 10);
  y = run (net, x);

  /* a layer that is merged already, and one in two places */
  g_assert_true (lp_lora_linear_merge (LP_LORA_LINEAR (lp_module_lookup_child (net, "2")), &error));
  g_assert_true (lp_module_register_child (shared, "a", net, &error));
  g_assert_true (lp_module_register_child (shared, "b", lp_module_lookup_child (net, "0"), &error));
  g_assert_true (lp_lora_linear_merge_and_unload (shared, &error));
  g_assert_no_error (error);
  g_assert_true (LP_IS_LINEAR (lp_module_lookup_child (net, "0")));
  g_assert_true (lp_module_lookup_child (shared, "b") == lp_module_lookup_child (net, "0"));
  merged = run (net, x);
  g_assert_cmpfloat (distance (y, merged), <, 1e-4);

  state = lp_module_dup_state_dict (net);
  g_assert_true (lp_module_load_state_dict (plain, state, TRUE, &error));
  g_assert_no_error (error);
  loaded = run (plain, x);
  g_assert_cmpfloat (distance (merged, loaded), ==, 0);
  g_assert_true (lp_lora_linear_merge_and_unload (net, &error));
  g_assert_no_error (error);
}

static void
test_unload_itself (void)
{
  g_autoptr (LpModule) base = lp_linear_new (5, 3);
  g_autoptr (LpModule) layer = lp_lora_linear_new (LP_LINEAR (base), 2, 6, 0);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_lora_linear_merge_and_unload (layer, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_assert_false (lp_lora_linear_get_merged (LP_LORA_LINEAR (layer)));
}

static void
test_dropout (void)
{
  g_autoptr (LpModule) base = lp_linear_new (50, 3);
  g_autoptr (LpModule) layer = lp_lora_linear_new (LP_LINEAR (base), 2, 2, 0.5);
  g_autoptr (LpTensor) x = normal (4, 50);
  g_autoptr (LpTensor) ones = lp_tensor_ones ((gint64[]) { 3, 2 }, 2, NULL, NULL, NULL);
  g_autoptr (LpTensor) a = NULL;
  g_autoptr (LpTensor) b = NULL;
  g_autoptr (LpTensor) c = NULL;
  g_autoptr (LpTensor) d = NULL;

  lp_tensor_assign (lp_module_lookup_parameter (layer, "lora_b"), ones, NULL);
  a = run (layer, x);
  b = run (layer, x);
  g_assert_cmpfloat (distance (a, b), >, 0);
  lp_module_set_training (layer, FALSE);
  c = run (layer, x);
  d = run (layer, x);
  g_assert_cmpfloat (distance (c, d), ==, 0);
}

static void
test_without_base (void)
{
  g_autoptr (LpModule) layer = g_object_new (LP_TYPE_LORA_LINEAR, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_module_check (layer, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_lora_linear_merge (LP_LORA_LINEAR (layer), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lora/adapt", test_adapt);
  g_test_add_func ("/lora/patterns", test_patterns);
  g_test_add_func ("/lora/forward", test_forward);
  g_test_add_func ("/lora/merge", test_merge);
  g_test_add_func ("/lora/state", test_state);
  g_test_add_func ("/lora/merged-state", test_merged_state);
  g_test_add_data_func ("/lora/unload/f32", "f32", test_unload);
  g_test_add_data_func ("/lora/unload/nf4", "nf4", test_unload);
  g_test_add_func ("/lora/unload/itself", test_unload_itself);
  g_test_add_func ("/lora/dropout", test_dropout);
  g_test_add_func ("/lora/without-base", test_without_base);

  return g_test_run ();
}
