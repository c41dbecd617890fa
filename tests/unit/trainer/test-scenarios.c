/* Scenarios of doc/lightning-parity.md that no other test covers. */

#include <math.h>
#include <string.h>

#include <glib/gstdio.h>
#include <lp/lp.h>

#include "probe-fixture.h"
#include "../../test-folder.h"

/* A precision that counts, and looks at gradients and clips. */

typedef struct
{
  LpMixedPrecisionPlugin parent_instance;
  int                    n_unscale, n_clip, n_step, n_end, n_backward;
  double                 value;
  LpClipAlgorithm        algorithm;
  double                 norm, largest;    /* of the gradients at the step */
} Counter;

typedef struct { LpMixedPrecisionPluginClass parent_class; } CounterClass;

GType counter_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Counter, g_object_unref)
G_DEFINE_TYPE (Counter, counter, LP_TYPE_MIXED_PRECISION_PLUGIN)

#define PARENT LP_PRECISION_PLUGIN_CLASS (counter_parent_class)

static double
get_largest (LpOptimizer *optimizer)
{
  g_autoptr (GPtrArray) parameters = lp_optimizer_dup_parameters (optimizer);
  double largest = 0;

  for (guint i = 0; i < parameters->len; i++)
    {
      g_autoptr (LpTensor) grad = lp_tensor_dup_grad (g_ptr_array_index (parameters, i));
      gsize n;
      g_autofree double *values = lp_tensor_dup_doubles (grad, &n, NULL);

      for (gsize j = 0; j < n; j++)
        largest = MAX (largest, fabs (values[j]));
    }

  return largest;
}

static gboolean
counter_backward (LpPrecisionPlugin *plugin, LpTensor *loss, GPtrArray *optimizers, GError **error)
{
  ((Counter *) plugin)->n_backward++;

  return PARENT->backward (plugin, loss, optimizers, error);
}

static gboolean
counter_unscale (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, GError **error)
{
  ((Counter *) plugin)->n_unscale++;

  return PARENT->unscale_gradients (plugin, optimizer, error);
}

static gboolean
counter_clip (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, double value, LpClipAlgorithm algorithm, GError **error)
{
  Counter *self = (Counter *) plugin;

  self->n_clip++;
  self->value = value;
  self->algorithm = algorithm;

  return PARENT->clip_gradients (plugin, optimizer, value, algorithm, error);
}

static LpStepResult
counter_step (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, LpStepClosure *closure, GError **error)
{
  Counter *self = (Counter *) plugin;
  LpTensor *coefficient = lp_optimizer_get_clip_coefficient (optimizer);
  double factor = coefficient != NULL ? lp_tensor_get_item (coefficient, NULL) : 1;

  self->n_step++;
  self->norm = lp_optimizer_compute_grad_norm (optimizer, NULL) * factor;
  self->largest = get_largest (optimizer) * factor;

  return PARENT->optimizer_step (plugin, optimizer, closure, error);
}

static gboolean
counter_end_step (LpPrecisionPlugin *plugin, GError **error)
{
  ((Counter *) plugin)->n_end++;

  return PARENT->end_step (plugin, error);
}

static void
counter_class_init (CounterClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  plugin_class->backward = counter_backward;
  plugin_class->unscale_gradients = counter_unscale;
  plugin_class->clip_gradients = counter_clip;
  plugin_class->optimizer_step = counter_step;
  plugin_class->end_step = counter_end_step;
}

static void
counter_init (Counter *self)
{
}

static Counter *
new_counter (void)
{
  return g_object_new (counter_get_type (), "precision", "16-mixed", NULL);
}

/* Runs. */

static LpDataLoader *
new_loader (gint64 n)
{
  g_autoptr (LpTensor) x = lp_tensor_full ((gint64[]) { n, WIDTH }, 2, 0.5, NULL, NULL, NULL);
  g_autoptr (LpTensor) y = lp_tensor_zeros ((gint64[]) { n }, 1, lp_dtype_i64 (), NULL, NULL);
  g_autoptr (LpDataset) dataset = LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));

  return lp_data_loader_new (dataset, 4, FALSE);
}

static LpTrainer *
new_trainer (gpointer plugin,
             int      max_epochs)
{
  g_autoptr (GError) error = NULL;
  LpTrainer *trainer = plugin != NULL ? lp_trainer_new_with_plugin (plugin, &error) : lp_trainer_new (NULL, &error);

  g_assert_no_error (error);
  g_object_set (trainer, "max-epochs", max_epochs, "enable-progress-bar", FALSE, "enable-model-summary", FALSE, "enable-checkpointing",
                FALSE, NULL);

  return trainer;
}

static LpPrecisionPlugin *
new_plugin (const char *name)
{
  g_autoptr (GError) error = NULL;
  LpPrecisionPlugin *plugin = lp_precision_registry_create (lp_precision_registry_get_default (), name, NULL, &error);

  g_assert_no_error (error);

  return plugin;
}

static void
fit (LpTrainer  *trainer,
     Probe      *probe,
     gint64      n,
     const char *path)
{
  g_autoptr (LpDataLoader) loader = new_loader (n);
  g_autoptr (GError) error = NULL;

  lp_trainer_fit (trainer, LP_MODEL (probe), loader, NULL, path, NULL, &error);
  g_assert_no_error (error);
}

static gboolean
is_mixed (const char *name)
{
  return g_str_has_suffix (name, "-mixed");
}

/* By name or by plugin, from trainer or Fabric: the same answer, which is what the plugin does. No trace of a module that failed in
 * the making. */
static void
test_every_precision (gconstpointer name)
{
  g_autoptr (LpPrecisionPlugin) plugin = new_plugin (name);
  g_autoptr (LpTrainer) by_name = lp_trainer_new (name, NULL);
  g_autoptr (LpTrainer) by_plugin = new_trainer (plugin, 1);
  g_autoptr (LpFabric) fabric = lp_fabric_new (name, NULL);
  g_autoptr (LpPrecisionTraits) traits = lp_precision_plugin_dup_traits (plugin, NULL);
  g_autofree char *told = lp_precision_plugin_dup_precision (plugin);
  g_autofree char *backend = lp_precision_plugin_dup_amp_backend (plugin);
  g_autofree char *one = lp_trainer_dup_precision (by_name);
  g_autofree char *two = lp_trainer_dup_precision (by_plugin);
  g_autofree char *three = lp_fabric_dup_precision (fabric);
  g_autoptr (Probe) probe = new_probe (1, FALSE);

  g_assert_cmpstr (one, ==, told);
  g_assert_cmpstr (two, ==, told);
  g_assert_cmpstr (three, ==, told);
  g_assert_cmpint (g_str_equal (told, "32-true"), ==, g_str_equal (lp_precision_traits_get_storage (traits), "f32") &&
                                                      g_str_equal (lp_precision_traits_get_compute (traits), "f32"));
  g_assert_true (!is_mixed (told) || backend != NULL);

  g_assert_true (lp_precision_plugin_begin_init (plugin, NULL));
  g_assert_true (lp_precision_plugin_detach (plugin, NULL));
  g_assert_true (lp_precision_plugin_end_init (plugin, NULL));
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());

  fit (by_plugin, probe, 8, NULL);
  g_assert_cmpstr (dtype_of (get_weight (probe, 0)), ==, lp_precision_traits_get_storage (traits));
}

/* The same in all four stages; integers keep their type; what a step makes has the dtype of the precision. */
static void
test_stages (void)
{
  static const struct { const char *name, *made, *input, *output, *weight; } rows[] = {
    { "32-true", "f32", "f32", "f32", "f32" },
    { "64-true", "f64", "f64", "f64", "f64" },
    { "16-true", "f16", "f16", "f16", "f16" },
    { "bf16-true", "bf16", "bf16", "bf16", "bf16" },
    { "16-mixed", "f32", "f32", "f16", "f32" },
    { "bf16-mixed", "f32", "f32", "bf16", "f32" },
  };
  static const char *const stages[] = { "training", "validation", "test", "predict" };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = new_plugin (rows[i].name);
      g_autoptr (LpTrainer) trainer = new_trainer (plugin, 1);
      g_autoptr (Probe) probe = new_probe (1, FALSE);
      g_autoptr (LpDataLoader) loader = new_loader (8);
      g_autoptr (GVariant) validated = NULL, tested = NULL;
      g_autoptr (GPtrArray) predicted = NULL;
      g_autofree char *start = g_strdup_printf ("fit start: f32 %s\n", rows[i].weight);

      fit (trainer, probe, 8, NULL);
      validated = lp_trainer_validate (trainer, LP_MODEL (probe), loader, NULL, NULL, NULL);
      tested = lp_trainer_test (trainer, LP_MODEL (probe), loader, NULL, NULL, NULL);
      predicted = lp_trainer_predict (trainer, LP_MODEL (probe), loader, NULL, NULL, NULL);
      g_assert_nonnull (validated);
      g_assert_nonnull (tested);
      g_assert_nonnull (predicted);
      g_assert_nonnull (strstr (probe->seen->str, start));
      for (gsize j = 0; j < G_N_ELEMENTS (stages); j++)
        {
          g_autofree char *line = g_strdup_printf ("%s: %s %s i64 %s %s f16\n", stages[j], rows[i].made, rows[i].input, rows[i].output,
                                                   rows[i].made);

          if (strstr (probe->seen->str, line) == NULL)
            g_error ("%s: no “%s” in %s", rows[i].name, line, probe->seen->str);
        }
    }
}

static void
test_configure_model (void)
{
  static const char *const rows[][2] = { { "64-true", "f64" }, { "bf16-true", "bf16" }, { "16-mixed", "f32" }, { "apex-O2", "f16" } };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = new_plugin (rows[i][0]);
      g_autoptr (LpTrainer) trainer = new_trainer (plugin, 1);
      g_autoptr (Probe) probe = new_probe (1, TRUE);
      g_autofree char *line = g_strdup_printf ("optimizer: %s\n", rows[i][1]);

      fit (trainer, probe, 8, NULL);
      g_assert_nonnull (strstr (probe->seen->str, line));
    }
}

static void
test_two_optimizers (void)
{
  g_autoptr (Counter) counter = new_counter ();
  g_autoptr (LpTrainer) trainer = new_trainer (counter, 1);
  g_autoptr (Probe) probe = new_probe (2, FALSE);

  fit (trainer, probe, 12, NULL);
  g_assert_cmpint (probe->n_backward, ==, 6);
  g_assert_cmpint (counter->n_backward, ==, 6);
  g_assert_cmpint (counter->n_step, ==, 6);
  g_assert_cmpint (counter->n_clip, ==, 0);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 6);
}

/* The scaler counts iterations, not optimizers. */
static void
test_two_optimizers_one_update (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (256, 2, 0.5, 100, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
  g_autoptr (LpTrainer) trainer = new_trainer (plugin, 1);
  g_autoptr (Probe) probe = new_probe (2, FALSE);

  fit (trainer, probe, 12, NULL);
  g_assert_cmpint (probe->n_backward, ==, 6);
  g_assert_cmpint (lp_grad_scaler_get_growth_tracker (scaler), ==, 3);
}

/* The first optimizer never steps. */
static void
test_idle_optimizer (void)
{
  g_autoptr (Counter) counter = new_counter ();
  g_autoptr (LpTrainer) trainer = new_trainer (counter, 1);
  g_autoptr (Probe) probe = new_probe (2, FALSE);

  probe->first = 1;
  fit (trainer, probe, 12, NULL);
  g_assert_cmpint (counter->n_step, ==, 3);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 3);
}

static GBytes *
dup_weight (Probe *probe,
            guint  i)
{
  return lp_tensor_dup_bytes (get_weight (probe, i), NULL);
}

/* Two layers with the same weights and gradients: rounded to nearest they stay the same, by chance they don't; and a run that is resumed
 * rounds like one that never stopped. */
static void
test_streams (void)
{
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "two.safetensors", NULL);

  for (int by_chance = 0; by_chance < 2; by_chance++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = lp_half_precision_plugin_new_full ("bf16-true", FALSE, by_chance, NULL);
      g_autoptr (LpTrainer) whole = new_trainer (plugin, 4);
      g_autoptr (LpTrainer) first = new_trainer (plugin, 2);
      g_autoptr (LpTrainer) second = new_trainer (plugin, 4);
      g_autoptr (Probe) one = new_probe (2, FALSE);
      g_autoptr (Probe) other = NULL;
      g_autoptr (GBytes) left = NULL, right = NULL, left_again = NULL, right_again = NULL;

      fit (whole, one, 16, NULL);
      left = dup_weight (one, 0);
      right = dup_weight (one, 1);
      g_assert_cmpint (g_bytes_equal (left, right), ==, !by_chance);

      other = new_probe (2, FALSE);
      fit (first, other, 16, NULL);
      g_assert_true (lp_trainer_save_checkpoint (first, path, FALSE, NULL));
      fit (second, other, 16, path);
      left_again = dup_weight (other, 0);
      right_again = dup_weight (other, 1);
      g_assert_true (g_bytes_equal (left, left_again));
      g_assert_true (g_bytes_equal (right, right_again));
    }
  test_folder_free (folder);
}

/* Five batches, two of them without a loss. */
static void
test_skipped_losses (void)
{
  g_autoptr (Counter) counter = new_counter ();
  g_autoptr (LpTrainer) trainer = new_trainer (counter, 1);
  g_autoptr (Probe) probe = new_probe (1, FALSE);

  probe->skip_odd = TRUE;
  lp_trainer_set_gradient_clip_val (trainer, 0.5);
  fit (trainer, probe, 20, NULL);
  g_assert_cmpint (counter->n_backward, ==, 3);
  g_assert_cmpint (counter->n_unscale, ==, 3);
  g_assert_cmpint (counter->n_clip, ==, 3);
  g_assert_cmpint (counter->n_step, ==, 3);
  g_assert_cmpint (counter->n_end, ==, 3);
}

/* No value: no clipping. Else what was asked for, on gradients of true size. */
static void
test_clipping (void)
{
  static const struct { double value; LpClipAlgorithm algorithm; } rows[] = {
    { 0, LP_CLIP_NORM }, { 0.05, LP_CLIP_NORM }, { 1e-6, LP_CLIP_VALUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (Counter) counter = new_counter ();
      g_autoptr (LpTrainer) trainer = new_trainer (counter, 1);
      g_autoptr (Probe) probe = new_probe (1, FALSE);

      g_object_set (trainer, "gradient-clip-val", rows[i].value, "gradient-clip-algorithm", rows[i].algorithm, NULL);
      fit (trainer, probe, 8, NULL);
      g_assert_cmpint (counter->n_clip > 0, ==, rows[i].value > 0);
      g_assert_true (counter->n_clip == 0 || (counter->value == rows[i].value && counter->algorithm == rows[i].algorithm));
      if (rows[i].value == 0)
        g_assert_cmpfloat (counter->norm, >, 0.1);
      else if (rows[i].algorithm == LP_CLIP_NORM)
        g_assert_cmpfloat (counter->norm, <=, 0.05 * 1.001);
      else
        g_assert_cmpfloat (counter->largest, <=, 1e-6 * 1.001);
    }
}

/* Gradients as hooks see them: scaled after the backward pass, true before the step. */

static double after_backward, before_step;

static void
on_after_backward (LpModel  *model,
                   GError  **error)
{
  after_backward = get_largest (lp_model_get_optimizer (model, 0));
}

static void
on_before_optimizer_step (LpModel      *model,
                          LpOptimizer  *optimizer,
                          GError      **error)
{
  before_step = get_largest (optimizer);
}

typedef Probe HookedProbe;
typedef ProbeClass HookedProbeClass;

static GType hooked_probe_get_type (void);
G_DEFINE_TYPE (HookedProbe, hooked_probe, probe_get_type ())

static void
hooked_probe_class_init (HookedProbeClass *klass)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  model_class->on_after_backward = on_after_backward;
  model_class->on_before_optimizer_step = on_before_optimizer_step;
}

static void
hooked_probe_init (HookedProbe *self)
{
}

static void
test_hooks (void)
{
  for (int window = 1; window <= 2; window++)
    {
      g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (1024, 2, 0.5, 2000, TRUE, NULL);
      g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
      g_autoptr (LpTrainer) trainer = new_trainer (plugin, 2);
      g_autoptr (Probe) probe = new_probe_of (hooked_probe_get_type (), 1, FALSE);

      g_object_set (trainer, "accumulate-grad-batches", window, "gradient-clip-val", 1e-3, "gradient-clip-algorithm", LP_CLIP_VALUE, NULL);
      fit (trainer, probe, 8, NULL);
      g_assert_cmpfloat (before_step, >, 1e-3);
      g_assert_cmpfloat_with_epsilon (after_backward / before_step, 1024, 1e-3);
    }
}

/* In a loop of the program's own: low inside, f32 for the caller, weights and gradients as the precision stores them; clipping works on
 * true gradients. */
static void
test_fabric (void)
{
  static const struct { const char *name, *inside, *output, *stored; } rows[] = {
    { "16-mixed", "f16", "f32", "f32" }, { "bf16-mixed", "bf16", "f32", "f32" }, { "64-true", "f64", "f32", "f64" },
    { "bf16-true", "bf16", "f32", "bf16" }, { "32-true", "f32", "f32", "f32" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpFabric) fabric = lp_fabric_new (rows[i].name, NULL);
      g_autoptr (Probe) probe = new_probe (1, FALSE);
      g_autoptr (LpOptimizer) optimizer = NULL;
      g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 4, WIDTH }, 2, NULL, NULL, NULL);
      g_autoptr (LpTensor) y = lp_tensor_zeros ((gint64[]) { 4 }, 1, lp_dtype_i64 (), NULL, NULL);
      g_autoptr (LpBatch) batch = lp_batch_new_pair (x, y);
      g_autoptr (LpBatch) converted = NULL;
      g_autoptr (LpTensor) inside = NULL, output = NULL, loss = NULL, grad = NULL;

      g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (probe), NULL));
      optimizer = make_optimizer (LP_MODULE (probe));
      g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, NULL));
      output = lp_fabric_forward (fabric, LP_MODULE (probe), x, NULL);
      g_assert_cmpstr (dtype_of (output), ==, rows[i].output);
      converted = lp_fabric_convert_batch (fabric, batch, NULL);
      g_assert_cmpstr (dtype_of (lp_batch_get_tensor (converted, 1)), ==, "i64");
      g_assert_true (lp_fabric_begin_autocast (fabric, NULL));
      inside = lp_module_forward (LP_MODULE (probe), lp_batch_get_tensor (converted, 0), NULL);
      loss = lp_tensor_cross_entropy (inside, y, NULL);
      lp_fabric_end_autocast (fabric);
      g_assert_cmpstr (dtype_of (inside), ==, rows[i].inside);
      g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
      g_assert_true (lp_fabric_backward (fabric, loss, NULL));
      g_assert_true (lp_fabric_clip_gradients (fabric, optimizer, 1e-6, LP_CLIP_VALUE, NULL));
      g_assert_cmpfloat (get_largest (optimizer), <=, 1e-6 * 1.01);
      grad = lp_tensor_dup_grad (get_weight (probe, 0));
      g_assert_cmpstr (dtype_of (grad), ==, rows[i].stored);
      g_assert_cmpstr (dtype_of (get_weight (probe, 0)), ==, rows[i].stored);
      g_assert_cmpint (lp_fabric_optimizer_step (fabric, optimizer, NULL), ==, LP_STEP_APPLIED);
    }
}

/* The first scale after a restart is the last before it, and a step at once works. */
static void
test_resumed_scale (void)
{
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "scale.safetensors", NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (256, 2, 0.5, 3, TRUE, NULL);
  g_autoptr (LpGradScaler) fresh = lp_grad_scaler_new_full (256, 2, 0.5, 3, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
  g_autoptr (LpPrecisionPlugin) again = lp_mixed_precision_plugin_new ("16-mixed", fresh, NULL);
  g_autoptr (LpTrainer) first = new_trainer (plugin, 1);
  g_autoptr (LpTrainer) second = new_trainer (again, 2);
  g_autoptr (Probe) probe = new_probe (1, FALSE);
  g_autofree char *bytes = NULL;
  gsize length;

  fit (first, probe, 16, NULL);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 512);
  g_assert_true (lp_trainer_save_checkpoint (first, path, FALSE, NULL));
  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  /* behind the length of the header */
  g_assert_nonnull (g_strstr_len (bytes + 8, length - 8, "plugin-id"));
  fit (second, probe, 16, path);
  /* steps 5 to 8: one after the first doubling, then the second and another */
  g_assert_cmpfloat (lp_grad_scaler_get_scale (fresh), ==, 1024);
  test_folder_free (folder);
}

/* Sums of metrics don't depend on the default dtype; sizes are those of what is stored; nothing asked is a state of its own. */
static void
test_metric (void)
{
  LpDType *dtypes[] = { lp_dtype_bf16 (), lp_dtype_f16 () };

  for (gsize i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      g_autoptr (LpMetric) metric = lp_mean_metric_new ();
      double mean = 0;

      lp_default_dtype_push (dtypes[i]);
      for (int j = 0; j < 1000; j++)
        lp_mean_metric_add_value (LP_MEAN_METRIC (metric), j == 0 ? 1001 : 1, 1);
      mean = lp_metric_compute_value (metric, NULL);
      lp_default_dtype_pop ();
      g_assert_cmpfloat (mean, ==, 2);
    }
}

static void
test_summary (void)
{
  static const struct { const char *name; int bytes; } rows[] = {
    { "32-true", 4 }, { "16-true", 2 }, { "bf16-true", 2 }, { "64-true", 8 }, { "16-mixed", 4 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpPrecisionPlugin) plugin = new_plugin (rows[i].name);
      g_autoptr (LpTrainer) trainer = new_trainer (plugin, 1);
      g_autoptr (Probe) probe = new_probe (1, FALSE);
      g_autofree char *expected = g_strdup_printf (": %d bytes", (WIDTH * WIDTH + WIDTH) * rows[i].bytes);
      g_autofree char *summary = NULL;

      fit (trainer, probe, 4, NULL);
      summary = lp_model_summarize (LP_MODEL (probe), -1);
      g_assert_nonnull (strstr (summary, expected));
    }
}

static void
test_defaults (void)
{
  g_autoptr (LpTrainer) trainer = lp_trainer_new (NULL, NULL);
  g_autoptr (LpFabric) fabric = lp_fabric_new (NULL, NULL);
  g_autoptr (LpTrainer) asked = lp_trainer_new ("32-true", NULL);
  g_autofree char *one = lp_trainer_dup_precision (trainer);
  g_autofree char *two = lp_fabric_dup_precision (fabric);
  g_autofree char *request = NULL, *none = lp_fabric_dup_precision_request (fabric), *named = NULL;

  g_object_get (trainer, "precision-request", &request, NULL);
  g_object_get (asked, "precision-request", &named, NULL);
  g_assert_cmpstr (one, ==, "32-true");
  g_assert_cmpstr (two, ==, "32-true");
  g_assert_null (request);
  g_assert_null (none);
  g_assert_cmpstr (named, ==, "32-true");
}

/* The state of a tensor is found in one pass over its name, and the longest name of a state is taken. */
static void
test_dots (void)
{
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "dots.safetensors", NULL);
  g_autofree char *dots = g_strnfill (1000000, '.');
  g_autofree char *name = g_strconcat ("lp:", dots, NULL);
  const gint64 none = 0, start = g_get_monotonic_time ();
  g_autoptr (LpTensor) tensor = lp_tensor_zeros (&none, 1, NULL, NULL, NULL);
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (GVariant) metadata =
    g_variant_ref_sink (g_variant_new_parsed ("{'lp.checkpoint': '{\"format\":1,\"version\":\"1\",\"sections\":{}}'}"));
  g_autoptr (LpTrainer) trainer = new_trainer (NULL, 1);
  g_autoptr (Probe) probe = new_probe (1, FALSE);
  g_autoptr (LpDataLoader) loader = new_loader (4);
  g_autoptr (GError) error = NULL;

  lp_tensor_dict_set (tensors, name, tensor);
  g_assert_true (lp_save_safetensors (tensors, metadata, path, NULL));
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (probe), loader, NULL, path, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "belongs to no state"));
  g_assert_cmpuint (strlen (error->message), <, 2000);
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
  test_folder_free (folder);
}

int
main (int    argc,
      char **argv)
{
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);
      g_autofree char *path = g_strdup_printf ("/scenarios/every-precision/%s", name);

      if (!g_str_equal (name, "auto"))
        g_test_add_data_func (path, name, test_every_precision);
    }
  g_test_add_func ("/scenarios/stages", test_stages);
  g_test_add_func ("/scenarios/configure-model", test_configure_model);
  g_test_add_func ("/scenarios/two-optimizers", test_two_optimizers);
  g_test_add_func ("/scenarios/two-optimizers-one-update", test_two_optimizers_one_update);
  g_test_add_func ("/scenarios/idle-optimizer", test_idle_optimizer);
  g_test_add_func ("/scenarios/streams", test_streams);
  g_test_add_func ("/scenarios/skipped-losses", test_skipped_losses);
  g_test_add_func ("/scenarios/clipping", test_clipping);
  g_test_add_func ("/scenarios/hooks", test_hooks);
  g_test_add_func ("/scenarios/fabric", test_fabric);
  g_test_add_func ("/scenarios/resumed-scale", test_resumed_scale);
  g_test_add_func ("/scenarios/metric", test_metric);
  g_test_add_func ("/scenarios/summary", test_summary);
  g_test_add_func ("/scenarios/defaults", test_defaults);
  g_test_add_func ("/scenarios/dots", test_dots);

  return g_test_run ();
}
