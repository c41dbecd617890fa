/* Runs in which no step is applied, since nothing is finite, and saved counts that no run can reach. */

#include <string.h>

#include <glib/gstdio.h>

#include "trainer-fixture.h"
#include "../../test-folder.h"

static void
poison_weights (TestNet *net)
{
  LpTensor *weight = lp_module_lookup_parameter (lp_module_lookup_child (LP_MODULE (net), "second"), "weight");
  g_autoptr (GError) error = NULL;

  lp_grad_mode_push (FALSE);
  g_assert_true (lp_tensor_fill (weight, (double) NAN, &error));
  lp_grad_mode_pop ();
  g_assert_no_error (error);
}

static LpDataLoader *
poisoned_loader_new (gint64 n)
{
  g_autoptr (LpTensor) x = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpDataset) dataset = NULL;
  g_autofree double *inputs = g_new (double, n * 8);
  g_autofree gint64 *targets = g_new0 (gint64, n);
  gint64 dims[2] = { n, 8 };

  for (gint64 i = 0; i < n * 8; i++)
    inputs[i] = (double) NAN;
  x = lp_tensor_new_from_doubles (inputs, n * 8, dims, 2, lp_dtype_f32 (), NULL);
  y = lp_tensor_new_from_int64s (targets, n, dims, 1, lp_dtype_i64 (), NULL);
  dataset = LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));

  return lp_data_loader_new (dataset, 4, FALSE);
}

static void
assert_says (const GError *error,
             const char   *texts[])
{
  g_assert_error (error, LP_ERROR, LP_ERROR_NOT_FINITE);
  g_test_message ("%s", error->message);
  for (gsize i = 0; texts[i] != NULL; i++)
    g_assert_nonnull (strstr (error->message, texts[i]));
}

/* Weights that are NaN: the epoch ends with an error that names one. */
static void
test_weights (gconstpointer data)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (data, 3);
  g_autoptr (GError) error = NULL;

  poison_weights (net);
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  assert_says (error, (const char *[]) { "Epoch 0", "10 steps", "second.weight", "the scale of the loss is 64", "checkpoint", NULL });
}

static void
test_data (gconstpointer data)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = poisoned_loader_new (40);
  g_autoptr (LpTrainer) trainer = test_trainer_new (data, 3);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  assert_says (error, (const char *[]) { "Epoch 0", "10 steps", "the loss is not", "in the data", "bf16-mixed", NULL });
}

/* Weights that break in the last epoch, after steps that were applied. */
static void
break_weights (LpTrainer *trainer,
               LpBatch   *batch,
               gint64     index,
               TestNet   *net)
{
  if (index == 7)
    poison_weights (net);
}

static void
test_broken_late (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 1);
  g_autoptr (GError) error = NULL;

  g_signal_connect (trainer, "train-batch-end", G_CALLBACK (break_weights), net);
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  assert_says (error, (const char *[]) { "2 steps", "second.weight", NULL });
}

/* In an epoch of many batches it doesn't take until its end. */
static void
test_long_epoch (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (800, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 1);
  g_autoptr (GError) error = NULL;

  poison_weights (net);
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  assert_says (error, (const char *[]) { "batch 99", "100 steps", "second.weight", NULL });
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 100);
}

/* The losses are finite, so the run goes on, but not without a word. */
static void
test_gradients (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 1);
  g_autoptr (GError) error = NULL;

  net->steep = TRUE;
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*No step of this fit was applied. 10 steps*the scale of the loss is 64*");
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_test_assert_expected_messages ();

  lp_trainer_set_max_epochs (trainer, 21);
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "100 steps in a row*gradient*bf16-mixed*");
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_test_assert_expected_messages ();
}

/* A scale that has to sink first is nothing to speak of. */
static void
test_sinking (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (0x1p36, 2, 0.5, 2000, TRUE, NULL);
  g_autoptr (LpPrecisionPlugin) plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (8, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 40);
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_trainer_set_precision_plugin (trainer, plugin, &error));
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_n_skipped_steps (trainer), >=, 4);
  g_assert_cmpint (lp_trainer_get_n_skipped_steps (trainer), <, 80);
}

/* Loops written by hand get the warning. */
static void
test_fabric (void)
{
  g_autoptr (LpFabric) fabric = lp_fabric_new ("16-mixed", NULL);
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (net));
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 0.01);
  gint64 dims[2] = { 4, 8 };
  g_autoptr (LpTensor) input = lp_tensor_ones (dims, 2, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (GError) error = NULL;

  poison_weights (net);
  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (net), &error));
  g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, &error));
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "100 steps in a row*second.weight*");
  for (int i = 0; i < 102; i++)
    {
      g_autoptr (LpTensor) output = lp_fabric_forward (fabric, LP_MODULE (net), input, &error);
      g_autoptr (LpTensor) loss = lp_tensor_mean (output, NULL, 0, FALSE, &error);

      g_assert_true (lp_optimizer_zero_grad (optimizer, &error));
      g_assert_true (lp_fabric_backward (fabric, loss, &error));
      g_assert_cmpint (lp_fabric_optimizer_step (fabric, optimizer, &error), ==, LP_STEP_SKIPPED);
    }
  g_test_assert_expected_messages ();
}

static char *
replace (const char *text,
         const char *name,
         const char *value)
{
  g_autofree char *pattern = g_strdup_printf ("'%s': <[^>]*>", name);
  g_autofree char *with = g_strdup_printf ("'%s': <%s>", name, value);
  g_autoptr (GRegex) regex = g_regex_new (pattern, 0, 0, NULL);

  g_assert_true (g_regex_match (regex, text, 0, NULL));

  return g_regex_replace_literal (regex, text, -1, 0, with, 0, NULL);
}

/* The header of a safetensors file, with one number replaced; the tensors behind it stay. */
static void
tamper (const char *from,
        const char *to,
        const char *name,
        const char *value)
{
  g_autofree char *data = NULL;
  g_autofree char *header = NULL;
  g_autofree char *changed = NULL;
  g_autoptr (GString) file = g_string_new (NULL);
  gsize size;
  guint64 length;

  g_assert_true (g_file_get_contents (from, &data, &size, NULL));
  memcpy (&length, data, 8);
  header = g_strndup (data + 8, length);
  changed = replace (header, name, value);
  while (strlen (changed) % 8 != 0)
    {
      char *padded = g_strconcat (changed, " ", NULL);

      g_free (changed);
      changed = padded;
    }
  length = strlen (changed);
  g_string_append_len (file, (const char *) &length, 8);
  g_string_append (file, changed);
  g_string_append_len (file, data + 8 + strlen (header), size - 8 - strlen (header));
  g_assert_true (g_file_set_contents (to, file->str, file->len, NULL));
}

/* The message names the file, the number and what it is. */
static void
test_saved_counts (void)
{
  static const struct { const char *name, *value, *shown; } rows[] = {
    { "batches-done", "int64 -5", "-5" }, { "batches-done", "int64 11", "11" }, { "batches-done", "int64 9007199254740993", "9007199254740993" },
    { "batches-done", "1.5", "1.5" }, { "total-batches", "int64 3", "3" }, { "epoch", "int64 -1", "-1" },
    { "global-step", "int64 -9223372036854775808", "-9223372036854775808" }, { "skipped-steps", "int64 77", "77" },
    { "applied-windows", "int64 78", "78" }, { "epoch-losses", "int64 79", "79" }, { "bad-in-a-row", "int64 -2", "-2" },
    { "skipped-in-a-row", "int64 80", "80" }, { "last-logged-step", "int64 81", "81" }, { "resume-point", "int64 3000", "3000" },
    { "seconds", "nan", "nan" }, { "seconds", "-3.0", "-3.0" }, { "validation-due", "'x'", "'x'" },
    { "step-count", "int64 -7", "-7" }, { "n-skipped", "int64 -8", "-8" }, { "lr", "[nan]", "nan" }, { "base-lr", "[-4.0]", "-4" },
    { "weight-decay", "[inf]", "inf" }, { "0.steps", "[-6.0, 1.0, 1.0, 1.0]", "-6" }, { "position", "int64 -9", "-9" },
    { "scale", "-2.0", "-2" }, { "_growth_tracker", "int64 -3", "-3" }, { "n_skipped", "int64 -4", "-4" },
  };
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "good", NULL);
  g_autofree char *bad = g_build_filename (folder, "bad", NULL);
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 1);
  g_autoptr (LpDataLoader) loader = test_loader_new (40, 4, FALSE);

  net->with_schedule = TRUE;
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, NULL));
  g_assert_true (lp_trainer_save_checkpoint (trainer, path, FALSE, NULL));
  lp_trainer_set_max_epochs (trainer, 2);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, path, NULL, NULL));
  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;

      tamper (path, bad, rows[i].name, rows[i].value);
      g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, bad, NULL, &error));
      if (!g_error_matches (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE))
        g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, bad));
      g_assert_nonnull (strstr (error->message, rows[i].name));
      g_assert_nonnull (strstr (error->message, rows[i].shown));
    }
  g_remove (path);
  g_remove (bad);
  test_folder_free (folder);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/skipped-steps/weights/16-mixed", "16-mixed", test_weights);
  g_test_add_data_func ("/skipped-steps/weights/apex-O1", "apex-O1", test_weights);
  g_test_add_data_func ("/skipped-steps/weights/apex-O2", "apex-O2", test_weights);
  g_test_add_data_func ("/skipped-steps/data/16-mixed", "16-mixed", test_data);
  g_test_add_data_func ("/skipped-steps/data/apex-O2", "apex-O2", test_data);
  g_test_add_func ("/skipped-steps/broken-late", test_broken_late);
  g_test_add_func ("/skipped-steps/long-epoch", test_long_epoch);
  g_test_add_func ("/skipped-steps/gradients", test_gradients);
  g_test_add_func ("/skipped-steps/sinking", test_sinking);
  g_test_add_func ("/skipped-steps/fabric", test_fabric);
  g_test_add_func ("/skipped-steps/saved-counts", test_saved_counts);

  return g_test_run ();
}
