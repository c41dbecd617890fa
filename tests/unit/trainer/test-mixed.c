/* The 16-bit family in a trainer. */

#include "trainer-fixture.h"

static void
run (LpTrainer *trainer,
     TestNet   *net,
     gint64     n)
{
  g_autoptr (LpDataLoader) loader = test_loader_new (n, 4, FALSE);
  g_autoptr (GError) error = NULL;

  lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
}

static LpTrainer *
make_trainer (LpPrecisionPlugin *plugin,
              gint               max_epochs)
{
  LpTrainer *trainer = test_trainer_new (NULL, max_epochs);
  g_autoptr (GError) error = NULL;

  lp_trainer_set_precision_plugin (trainer, plugin, &error);
  g_assert_no_error (error);

  return trainer;
}

/* What the hook of the model does, and what it found. */
static gboolean looks;
static int n_looks;
static LpOptimizer *last_optimizer;

static void
before_optimizer_step (LpModel      *model,
                       LpOptimizer  *optimizer,
                       GError      **error)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpTensor) grad = NULL;
  g_autofree double *values = NULL;
  double largest = 0;
  gsize n;

  g_set_object (&last_optimizer, optimizer);
  if (!looks)
    return;

  parameters = lp_optimizer_dup_parameters (last_optimizer);
  grad = lp_tensor_dup_grad (g_ptr_array_index (parameters, 0));
  values = lp_tensor_dup_doubles (grad, &n, NULL);
  for (gsize i = 0; i < n; i++)
    largest = MAX (largest, fabs (values[i]));
  /* true, not scaled */
  g_assert_cmpfloat (largest, <, 10);
  n_looks++;
}

static TestNet *
make_net (void)
{
  TestNet *net = test_net_new (1);

  LP_MODEL_GET_CLASS (net)->on_before_optimizer_step = before_optimizer_step;

  return net;
}

/* The first steps overflow: they count as steps, and the schedule does not move for them. */
static void
test_skipped_steps (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (0x1p24, 2, 0.5, 2000, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
  g_autoptr (LpTrainer) trainer = make_trainer (plugin, 2);
  g_autoptr (TestNet) net = make_net ();
  gint64 skipped, applied, counted;

  net->with_schedule = TRUE;
  lp_trainer_set_gradient_clip_val (trainer, 1);
  run (trainer, net, 40);

  skipped = lp_trainer_get_n_skipped_steps (trainer);
  applied = 20 - skipped;
  g_assert_cmpint (skipped, >, 0);
  g_assert_cmpint (applied, >, 0);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 20);
  g_object_get (trainer, "n-skipped-steps", &counted, NULL);
  g_assert_cmpint (counted, ==, skipped);
  g_assert_cmpint (lp_grad_scaler_get_n_skipped (scaler), ==, skipped);
  g_assert_cmpint (lp_optimizer_get_n_skipped (last_optimizer), ==, skipped);
  g_assert_cmpint (lp_optimizer_get_step_count (last_optimizer), ==, applied);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, ldexp (1, 24 - (int) skipped));
  g_assert_cmpfloat_with_epsilon (lp_optimizer_get_lr (last_optimizer), 0.01 * (1 + cos (G_PI * applied / 100)) / 2, 1e-12);
}

/* Whether a hook looks at the gradients or not, the weights are the same. */
static void
test_hooks_see_true_gradients (void)
{
  GBytes *weights[2];

  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 1);
      g_autoptr (TestNet) net = make_net ();

      lp_trainer_set_gradient_clip_val (trainer, 0.1);
      looks = i == 1;
      run (trainer, net, 40);
      weights[i] = test_net_dup_weights (net);
    }
  g_assert_cmpint (n_looks, ==, 10);
  g_assert_true (g_bytes_equal (weights[0], weights[1]));
  g_bytes_unref (weights[0]);
  g_bytes_unref (weights[1]);
  looks = FALSE;
}

int
main (int   argc,
      char *argv[])
{
  int status;

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/mixed/skipped-steps", test_skipped_steps);
  g_test_add_func ("/mixed/hooks-see-true-gradients", test_hooks_see_true_gradients);

  status = g_test_run ();
  g_clear_object (&last_optimizer);

  return status;
}
