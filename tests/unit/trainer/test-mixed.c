/* The 16-bit family in a trainer. */

#include <omp.h>

#include <glib/gstdio.h>

#include "trainer-fixture.h"
#include "../../test-folder.h"

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

/* The weights that a resumed run starts with. */
static LpTensorDict *started;

static void
on_train_start (LpModel  *model,
                GError  **error)
{
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (LP_MODULE (model));
  g_auto (GStrv) names = lp_tensor_dict_dup_names (state);

  g_clear_object (&started);
  started = lp_tensor_dict_new ();
  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (LpTensor) copy = lp_tensor_copy (lp_tensor_dict_lookup (state, names[i]), NULL);

      lp_tensor_dict_set (started, names[i], copy);
    }
}

static void
watched_net_class_init (gpointer klass,
                        gpointer data)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  model_class->on_before_optimizer_step = before_optimizer_step;
  model_class->on_train_start = on_train_start;
}

static TestNet *
make_net (void)
{
  return test_net_new_subclass ("WatchedNet", watched_net_class_init, 1);
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

/* The optimizer's masters, by path of the saved state. */
static LpTensorDict *
dup_masters (LpOptimizer *optimizer)
{
  g_autoptr (LpState) state = lp_optimizer_save_state (optimizer, NULL);

  return g_object_ref (lp_state_get_tensors (state));
}

static GBytes *
fit_weights (LpPrecisionPlugin *plugin,
             int                n_threads)
{
  g_autoptr (LpTrainer) trainer = make_trainer (plugin, 2);
  g_autoptr (TestNet) net = make_net ();
  int former = omp_get_max_threads ();

  omp_set_num_threads (n_threads);
  run (trainer, net, 40);
  omp_set_num_threads (former);

  return test_net_dup_weights (net);
}

static void
test_half_masters (gconstpointer precision)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_half_precision_plugin_new_full (precision, TRUE, FALSE, &error);
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);
  g_autoptr (LpTensorDict) masters = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GBytes) weights = fit_weights (plugin, 2);
  LpTensor *parameter, *master;
  g_autoptr (LpTensor) grad = NULL;
  g_autoptr (LpTensor) rounded = NULL;
  g_autoptr (GBytes) stored = NULL;
  g_autoptr (GBytes) expected = NULL;

  g_assert_no_error (error);
  g_assert_cmpstr (lp_precision_traits_get_master (traits), ==, "f32");
  g_assert_cmpstr (lp_precision_traits_get_gradient (traits), ==, "f32");
  g_assert_cmpstr (lp_precision_traits_get_storage (traits), ==, lp_precision_traits_get_compute (traits));
  masters = dup_masters (last_optimizer);
  parameters = lp_optimizer_dup_parameters (last_optimizer);
  parameter = g_ptr_array_index (parameters, 0);
  master = lp_tensor_dict_lookup (masters, "0.0.master");
  g_assert_nonnull (master);
  g_assert_true (lp_tensor_get_dtype (master) == lp_dtype_f32 ());
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (parameter)), ==, lp_precision_traits_get_storage (traits));
  /* what is stored is the master, rounded */
  rounded = lp_tensor_to_dtype (master, lp_tensor_get_dtype (parameter), NULL);
  stored = lp_tensor_dup_bytes (parameter, NULL);
  expected = lp_tensor_dup_bytes (rounded, NULL);
  g_assert_true (g_bytes_equal (stored, expected));
  grad = lp_tensor_dup_grad (parameter);
  g_assert_true (lp_tensor_get_dtype (grad) == lp_dtype_f32 ());
}

/* By chance, yet the same bits whatever the number of threads, and not those of rounding to nearest. */
static void
test_half_stochastic (gconstpointer precision)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_half_precision_plugin_new_full (precision, FALSE, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) nearest = lp_half_precision_plugin_new (precision, NULL);
  g_autoptr (GBytes) one = fit_weights (plugin, 1);
  g_autoptr (GBytes) two = fit_weights (plugin, 2);
  g_autoptr (GBytes) three = fit_weights (plugin, 3);
  g_autoptr (GBytes) plain = fit_weights (nearest, 2);

  g_assert_true (g_bytes_equal (one, two));
  g_assert_true (g_bytes_equal (one, three));
  g_assert_false (g_bytes_equal (one, plain));
}

#define N_LARGE 70001

/* Updates far below the spacing of bf16: to nearest they are lost, by chance they are right on average. */
static GBytes *
creep (gboolean  stochastic,
       int       n_threads,
       double   *mean)
{
  gint64 dims[1] = { N_LARGE };
  g_autoptr (LpTensor) parameter = lp_tensor_ones (dims, 1, lp_dtype_bf16 (), NULL, NULL);
  g_autoptr (LpTensor) slope = lp_tensor_ones (dims, 1, lp_dtype_bf16 (), NULL, NULL);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autofree double *values = NULL;
  int former = omp_get_max_threads ();
  gsize n;

  lp_seed_everything (5);
  lp_tensor_set_requires_grad (parameter, TRUE);
  g_ptr_array_add (parameters, parameter);
  optimizer = lp_sgd_new (parameters, 0x1p-10);
  lp_param_group_set_stochastic_rounding (lp_optimizer_get_group (optimizer, 0), stochastic);
  omp_set_num_threads (n_threads);
  for (int i = 0; i < 32; i++)
    {
      lp_tensor_set_grad (parameter, slope);
      g_assert_cmpint (lp_optimizer_step (optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
    }
  omp_set_num_threads (former);

  *mean = 0;
  values = lp_tensor_dup_doubles (parameter, &n, NULL);
  for (gsize i = 0; i < n; i++)
    *mean += values[i] / n;

  return lp_tensor_dup_bytes (parameter, NULL);
}

static void
test_stochastic_mean (void)
{
  double nearest, mean, again;
  g_autoptr (GBytes) plain = creep (FALSE, 2, &nearest);
  g_autoptr (GBytes) one = creep (TRUE, 1, &mean);
  g_autoptr (GBytes) two = creep (TRUE, 2, &again);
  g_autoptr (GBytes) three = creep (TRUE, 3, &again);

  g_assert_cmpfloat_with_epsilon (nearest, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon (mean, 1 - 32 * 0x1p-10, 2e-4);
  g_assert_true (g_bytes_equal (one, two));
  g_assert_true (g_bytes_equal (one, three));
}

/* Stopped after two epochs and resumed: the bits of one that was left alone. */
static GBytes *
fit_and_resume (LpPrecisionPlugin *plugin,
                const char        *folder)
{
  g_autofree char *path = g_build_filename (folder, "half.safetensors", NULL);
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, TRUE);
  g_autoptr (LpTrainer) first = make_trainer (plugin, 1);
  g_autoptr (LpTrainer) second = NULL;
  g_autoptr (TestNet) net = make_net ();
  g_autoptr (TestNet) other = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_trainer_fit (first, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_true (lp_trainer_save_checkpoint (first, path, FALSE, &error));
  g_assert_no_error (error);
  other = test_net_new (7);
  second = make_trainer (plugin, 2);
  g_assert_true (lp_trainer_fit (second, LP_MODEL (other), loader, NULL, path, NULL, &error));
  g_assert_no_error (error);
  g_remove (path);

  return test_net_dup_weights (other);
}

static void
test_half_resume (gconstpointer precision)
{
  char *folder = test_folder_new ();

  for (int i = 0; i < 4; i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = lp_half_precision_plugin_new_full (precision, i & 1, i >> 1, NULL);
      g_autoptr (LpTrainer) trainer = make_trainer (plugin, 2);
      g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, TRUE);
      g_autoptr (TestNet) net = make_net ();
      g_autoptr (GBytes) whole = NULL;
      g_autoptr (GBytes) resumed = NULL;

      g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, NULL));
      whole = test_net_dup_weights (net);
      resumed = fit_and_resume (plugin, folder);
      g_assert_true (g_bytes_equal (whole, resumed));
    }
  test_folder_free (folder);
}

/* A net whose activations are beyond float16 whatever the loss scale is. */
static TestNet *
make_large_net (void)
{
  TestNet *net = make_net ();
  LpTensor *weight = lp_module_lookup_parameter (LP_MODULE (net), "first.weight");
  g_autoptr (LpTensor) large = lp_tensor_scale (weight, 1e6, NULL);
  g_autoptr (LpTensor) plain = lp_tensor_detach (large);

  g_assert_true (lp_tensor_assign (weight, plain, NULL));
  net->lr = 1e-3;

  return net;
}

static void
note_precision (LpTrainer  *trainer,
                GParamSpec *pspec,
                gpointer    notes)
{
  g_autofree char *precision = lp_trainer_dup_precision (trainer);

  g_string_append_printf (notes, "%s@%d ", precision, (int) lp_trainer_get_global_step (trainer));
}

static void
count_notify (GObject    *object,
              GParamSpec *pspec,
              gpointer    count)
{
  ++*(int *) count;
}

static void
test_fallback (void)
{
  int n_fallen = 0;
  g_autoptr (GError) error = NULL;
  g_autoptr (LpPrecisionPlugin) plugin = lp_fallback_mixed_precision_plugin_new (1024, NULL, &error);
  g_autoptr (LpTrainer) trainer = NULL;
  g_autoptr (TestNet) net = make_large_net ();
  g_autoptr (GString) notes = g_string_new (NULL);
  g_autoptr (LpPrecisionTraits) traits = NULL;
  g_autofree char *precision = NULL;

  g_assert_no_error (error);
  trainer = make_trainer (plugin, 2);
  g_signal_connect (trainer, "notify::precision", G_CALLBACK (note_precision), notes);
  g_signal_connect (plugin, "notify::fallen-back", G_CALLBACK (count_notify), &n_fallen);
  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "*fell to 512*bf16-mixed*");
  run (trainer, net, 40);
  g_test_assert_expected_messages ();

  /* 65536 to 512 takes 7 steps, which were skipped; from then on all are applied */
  g_assert_cmpstr (notes->str, ==, "bf16-mixed@7 ");
  g_assert_cmpint (n_fallen, ==, 1);
  precision = lp_trainer_dup_precision (trainer);
  g_assert_cmpstr (precision, ==, "bf16-mixed");
  g_assert_cmpint (lp_trainer_get_n_skipped_steps (trainer), ==, 7);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 20);
  g_assert_true (lp_fallback_mixed_precision_plugin_has_fallen_back (LP_FALLBACK_MIXED_PRECISION_PLUGIN (plugin)));
  g_assert_null (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (plugin)));
  traits = lp_precision_plugin_dup_traits (plugin, NULL);
  g_assert_cmpstr (lp_precision_traits_get_compute (traits), ==, "bf16");

  /* and another run begins where this one ended */
  run (trainer, net, 8);
  g_assert_cmpint (lp_trainer_get_n_skipped_steps (trainer), ==, 0);
}

/* A run resumed after the change goes on in bf16; one resumed before it, in f16. */
static void
test_fallback_state (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_fallback_mixed_precision_plugin_new (1024, NULL, NULL);
  g_autoptr (LpPrecisionPlugin) other = lp_fallback_mixed_precision_plugin_new (1024, NULL, NULL);
  g_autoptr (LpState) before = lp_precision_plugin_save_state (plugin, NULL);
  g_autoptr (LpState) after = NULL;
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "fallen.safetensors", NULL);
  g_autoptr (LpTrainer) trainer = make_trainer (plugin, 1);
  g_autoptr (LpTrainer) second = make_trainer (other, 2);
  g_autoptr (TestNet) net = make_large_net ();
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, FALSE);
  g_autofree char *precision = NULL;
  g_autofree char *again = NULL;
  g_autoptr (GError) error = NULL;

  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "*fell to 512*bf16-mixed*");
  run (trainer, net, 40);
  g_test_assert_expected_messages ();
  g_assert_true (lp_trainer_save_checkpoint (trainer, path, FALSE, &error));
  g_assert_true (lp_trainer_fit (second, LP_MODEL (net), loader, NULL, path, NULL, &error));
  g_assert_no_error (error);
  precision = lp_trainer_dup_precision (second);
  g_assert_cmpstr (precision, ==, "bf16-mixed");
  g_assert_cmpint (lp_trainer_get_n_skipped_steps (second), ==, 7);

  after = lp_precision_plugin_save_state (other, NULL);
  g_assert_true (lp_precision_plugin_load_state (other, before, &error));
  again = lp_precision_plugin_dup_precision (other);
  g_assert_cmpstr (again, ==, "16-mixed");
  g_assert_cmpfloat (lp_grad_scaler_get_scale (lp_mixed_precision_plugin_get_scaler (LP_MIXED_PRECISION_PLUGIN (other))),
                     ==, 65536);
  g_assert_true (lp_precision_plugin_load_state (other, after, &error));
  g_assert_true (lp_fallback_mixed_precision_plugin_has_fallen_back (LP_FALLBACK_MIXED_PRECISION_PLUGIN (other)));
  g_remove (path);
  test_folder_free (folder);
}

static void
test_fallback_refusals (void)
{
  g_autoptr (LpGradScaler) low = lp_grad_scaler_new_full (8, 2, 0.5, 10, TRUE, NULL);
  g_autoptr (LpGradScaler) stuck = g_object_new (LP_TYPE_GRAD_SCALER, "min-scale", 2.0, NULL);
  g_autoptr (LpPrecisionPlugin) named = NULL;
  g_autoptr (LpPrecisionPlugin) mixed = NULL;
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_fallback_mixed_precision_plugin_new (0, NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_null (lp_fallback_mixed_precision_plugin_new (16, low, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_null (lp_fallback_mixed_precision_plugin_new (1, stuck, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_null (g_initable_new (LP_TYPE_FALLBACK_MIXED_PRECISION_PLUGIN, NULL, &error, "precision", "bf16-mixed", NULL));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_clear_error (&error);
  named = lp_precision_registry_create (lp_precision_registry_get_default (), "16-mixed-fallback", NULL, &error);
  g_assert_no_error (error);
  mixed = lp_mixed_precision_plugin_new ("16-mixed", stuck, NULL);
  state = lp_precision_plugin_save_state (mixed, NULL);
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*“min_scale”*is 2, so the scale can't fall*");
  g_assert_true (lp_precision_plugin_load_state (named, state, &error));
  g_assert_no_error (error);
  g_test_assert_expected_messages ();
  g_assert_true (LP_IS_FALLBACK_MIXED_PRECISION_PLUGIN (named));
}

static void
test_progress_bar (void)
{
  if (g_test_subprocess ())
    {
      g_autoptr (LpPrecisionPlugin) plugin = lp_fallback_mixed_precision_plugin_new (1024, NULL, NULL);
      g_autoptr (LpTrainer) trainer = make_trainer (plugin, 1);
      g_autoptr (TestNet) net = make_large_net ();

      lp_trainer_set_enable_progress_bar (trainer, TRUE);
      run (trainer, net, 40);
      return;
    }

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr ("*epoch 0 7/10*bf16-mixed*epoch 0 10/10*bf16-mixed*");
}

static void
test_auto (void)
{
  g_autoptr (LpTrainer) trainer = NULL;
  g_autoptr (LpFabric) fabric = NULL;
  g_autofree char *reason = NULL;
  g_autofree char *same = NULL;
  g_autofree char *precision = NULL;
  g_autofree char *request = NULL;
  g_autofree char *none = NULL;
  g_autoptr (TestNet) net = make_net ();
  g_autoptr (LpPrecisionPlugin) other = NULL;

  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "*is the fastest precision that trains safely on cpu*");
  trainer = test_trainer_new ("auto", 1);
  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "*is the fastest precision that trains safely on cpu*");
  fabric = lp_fabric_new ("auto", NULL);
  g_test_assert_expected_messages ();
  reason = lp_trainer_dup_precision_reason (trainer);
  same = lp_fabric_dup_precision_reason (fabric);
  g_assert_cmpstr (reason, ==, same);
  precision = lp_trainer_dup_precision (trainer);
  request = lp_trainer_dup_precision_request (trainer);
  g_assert_cmpstr (request, ==, "auto");
  g_assert_true (g_str_has_prefix (reason, precision));
  run (trainer, net, 8);

  /* of an exchanged plugin there is nothing to say */
  other = lp_mixed_precision_plugin_new ("16-mixed", NULL, NULL);
  g_assert_true (lp_trainer_set_precision_plugin (trainer, other, NULL));
  none = lp_trainer_dup_precision_reason (trainer);
  g_assert_null (none);
}

/* The family, and whether they save a scaler. */
static const struct { const char *name; gboolean scaler; } family[] = {
  { "32-true", FALSE }, { "64-true", FALSE }, { "16-true", FALSE }, { "bf16-true", FALSE },
  { "bf16-true with masters", FALSE },
  { "16-mixed", TRUE }, { "bf16-mixed", FALSE }, { "16-mixed-fallback", TRUE },
  { "apex-O0", FALSE }, { "apex-O1", TRUE }, { "apex-O2", TRUE }, { "apex-O3", FALSE },
};

static LpTrainer *
make_relative (guint i,
               int   max_epochs)
{
  g_autoptr (LpPrecisionPlugin) plugin = NULL;

  if (!g_str_has_suffix (family[i].name, "masters"))
    return test_trainer_new (family[i].name, max_epochs);

  plugin = lp_half_precision_plugin_new_full ("bf16-true", TRUE, TRUE, NULL);

  return make_trainer (plugin, max_epochs);
}

static int n_warnings, n_messages;

static GLogWriterOutput
count_logs (GLogLevelFlags   level,
            const GLogField *fields,
            gsize            n_fields,
            gpointer         data)
{
  n_warnings += (level & G_LOG_LEVEL_WARNING) != 0;
  n_messages += (level & G_LOG_LEVEL_MESSAGE) != 0;

  return G_LOG_WRITER_HANDLED;
}

static gboolean
not_fatal (const char     *domain,
           GLogLevelFlags  level,
           const char     *message,
           gpointer        data)
{
  return FALSE;
}

static void
assert_near (LpModule     *module,
             LpTensorDict *before)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (before);

  g_assert_cmpuint (g_strv_length (names), ==, 4);
  for (guint i = 0; names[i] != NULL; i++)
    {
      gsize n, m;
      g_autofree double *a = lp_tensor_dup_doubles (lp_tensor_dict_lookup (before, names[i]), &n, NULL);
      g_autofree double *b = lp_tensor_dup_doubles (lp_tensor_dict_lookup (started, names[i]), &m, NULL);

      g_assert_cmpuint (n, ==, m);
      for (gsize j = 0; j < n; j++)
        g_assert_cmpfloat_with_epsilon (a[j], b[j], 1.0 / 128 * fabs (a[j]) + 1e-6);
    }
}

static gboolean
reports_the_same (guint i,
                  guint j)
{
  g_autoptr (LpTrainer) a = make_relative (i, 1);
  g_autoptr (LpTrainer) b = make_relative (j, 1);
  g_autofree char *of_a = lp_trainer_dup_precision (a);
  g_autofree char *of_b = lp_trainer_dup_precision (b);
  g_autoptr (LpPrecisionPlugin) plugin_a = lp_trainer_dup_precision_plugin (a);
  g_autoptr (LpPrecisionPlugin) plugin_b = lp_trainer_dup_precision_plugin (b);

  g_autoptr (LpPrecisionTraits) traits_a = lp_precision_plugin_dup_traits (plugin_a, NULL);
  g_autoptr (LpPrecisionTraits) traits_b = lp_precision_plugin_dup_traits (plugin_b, NULL);

  return G_OBJECT_TYPE (plugin_a) == G_OBJECT_TYPE (plugin_b) && g_str_equal (of_a, of_b) &&
         g_str_equal (lp_precision_traits_get_storage (traits_a), lp_precision_traits_get_storage (traits_b)) &&
         g_str_equal (lp_precision_traits_get_master (traits_a), lp_precision_traits_get_master (traits_b));
}

static guint
get_moment_bits (guint i)
{
  g_autoptr (LpTrainer) trainer = make_relative (i, 1);
  g_autoptr (LpPrecisionPlugin) plugin = lp_trainer_dup_precision_plugin (trainer);
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);
  g_autoptr (LpDType) dtype = lp_dtype_lookup (lp_precision_traits_get_moments (traits), NULL);

  return lp_dtype_get_bits (dtype);
}

/* A run under one precision, resumed under another: weights come over, and what is dropped is told. */
static void
test_resume_under (gconstpointer data)
{
  guint i = GPOINTER_TO_UINT (data);
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "first.safetensors", NULL);
  g_autoptr (LpTrainer) first = make_relative (i, 1);
  g_autoptr (TestNet) net = make_net ();
  g_autoptr (LpDataLoader) loader = test_loader_new (24, 4, FALSE);
  g_autoptr (LpTensorDict) saved = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_trainer_fit (first, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_true (lp_trainer_save_checkpoint (first, path, FALSE, &error));
  saved = lp_module_dup_state_dict (LP_MODULE (net));

  for (guint j = 0; j < G_N_ELEMENTS (family); j++)
    {
      g_autoptr (LpTrainer) second = make_relative (j, 2);
      g_autoptr (TestNet) other = make_net ();
      g_autoptr (GBytes) weights = NULL;

      g_test_message ("%s to %s", family[i].name, family[j].name);
      n_warnings = n_messages = 0;
      g_assert_true (lp_trainer_fit (second, LP_MODEL (other), loader, NULL, path, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpint (lp_trainer_get_global_step (second), ==, 12);
      assert_near (LP_MODULE (other), saved);
      g_assert_cmpint (n_warnings, ==, family[i].scaler && !family[j].scaler ? 1 : 0);
      g_assert_cmpint (n_messages, ==, (reports_the_same (i, j) ? 0 : 1) + (get_moment_bits (i) > get_moment_bits (j) ? 1 : 0));
    }

  test_folder_free (folder);
}

static void
test_resume (gconstpointer data)
{
  if (g_test_subprocess ())
    {
      g_test_log_set_fatal_handler (not_fatal, NULL);
      g_log_set_writer_func (count_logs, NULL, NULL);
      test_resume_under (data);
      return;
    }

  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
}

int
main (int   argc,
      char *argv[])
{
  int status;

  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/mixed/skipped-steps", test_skipped_steps);
  g_test_add_func ("/mixed/hooks-see-true-gradients", test_hooks_see_true_gradients);

  g_test_add_data_func ("/half/masters/16-true", "16-true", test_half_masters);
  g_test_add_data_func ("/half/masters/bf16-true", "bf16-true", test_half_masters);
  g_test_add_data_func ("/half/stochastic/16-true", "16-true", test_half_stochastic);
  g_test_add_data_func ("/half/stochastic/bf16-true", "bf16-true", test_half_stochastic);
  g_test_add_func ("/half/stochastic/mean", test_stochastic_mean);
  g_test_add_data_func ("/half/resume/bf16-true", "bf16-true", test_half_resume);

  g_test_add_func ("/auto", test_auto);
  g_test_add_func ("/fallback/run", test_fallback);
  g_test_add_func ("/fallback/state", test_fallback_state);
  g_test_add_func ("/fallback/refusals", test_fallback_refusals);
  g_test_add_func ("/fallback/progress-bar", test_progress_bar);

  for (guint i = 0; i < G_N_ELEMENTS (family); i++)
    {
      g_autofree char *resume = g_strconcat ("/resume/", family[i].name, NULL);

      g_strdelimit (resume, " ", '-');
      g_test_add_data_func (resume, GUINT_TO_POINTER (i), test_resume);
    }

  status = g_test_run ();
  g_clear_object (&last_optimizer);
  g_clear_object (&started);

  return status;
}
