#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include "trainer-fixture.h"
#include "../../test-folder.h"

static void
test_fit (gconstpointer precision)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (120, 8, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (60, 20, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (precision, 8);
  g_autoptr (GError) error = NULL;
  g_autofree char *reported = NULL;

  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 8 * 15);
  g_assert_cmpfloat (lp_trainer_get_metric (trainer, "val_acc"), >, 0.9);
  g_assert_cmpfloat (lp_trainer_get_metric (trainer, "train_loss"), <, 1);
  reported = lp_trainer_dup_precision (trainer);
  g_assert_cmpstr (reported, ==, precision);
  g_assert_null (lp_model_get_trainer (LP_MODEL (net)));
}

/* Whether it is there from the start or set later, no other number is taken instead. */
static void
test_settings_out_of_range (void)
{
  static const struct { const char *name; double value; } rows[] = {
    { "gradient-clip-val", -1 }, { "gradient-clip-val", NAN }, { "limit-train-batches", -1 }, { "accumulate-grad-batches", 0 },
    { "max-epochs", -2 }, { "max-steps", -2 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpTrainer) trainer = test_trainer_new ("32-true", 1);
      g_autoptr (TestNet) net = test_net_new (1);
      g_autoptr (LpDataLoader) loader = test_loader_new (20, 10, FALSE);
      GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (trainer), rows[i].name);
      g_auto (GValue) number = G_VALUE_INIT, value = G_VALUE_INIT;
      const char *names[] = { rows[i].name };
      g_autoptr (GObject) other = NULL;
      g_autoptr (GError) error = NULL;

      g_value_init (&number, G_TYPE_DOUBLE);
      g_value_set_double (&number, rows[i].value);
      g_value_init (&value, pspec->value_type);
      g_assert_true (g_value_transform (&number, &value));

      g_object_set_property (G_OBJECT (trainer), rows[i].name, &value);
      g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_assert_nonnull (strstr (error->message, rows[i].name));
      g_clear_error (&error);

      other = g_object_new_with_properties (LP_TYPE_TRAINER, 1, names, &value);
      g_assert_false (g_initable_init (G_INITABLE (other), NULL, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
    }
}

static void
test_validate_and_predict (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (50, 20, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) metrics = NULL;
  g_autoptr (GPtrArray) predictions = NULL;
  double value;

  metrics = lp_trainer_validate (trainer, LP_MODEL (net), loader, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_lookup (metrics, "val_acc", "d", &value));

  predictions = lp_trainer_predict (trainer, NULL, loader, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (predictions->len, ==, 3);
  g_assert_cmpint (lp_tensor_get_dim (g_ptr_array_index (predictions, 2), 0), ==, 10);
}

static void
test_accumulate (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (10 * 4, 4, TRUE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (GError) error = NULL;

  lp_trainer_set_accumulate_grad_batches (trainer, 4);
  lp_trainer_set_gradient_clip_val (trainer, 0.5);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 2 * 3);
}

static void
test_no_loss (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 4, TRUE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 1);
  g_autoptr (GError) error = NULL;

  net->skip_every = 2;
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 5);

  net->skip_every = 1;
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "TestNet"));
}

static void
test_not_finite (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 4, TRUE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 1);
  g_autoptr (GError) error = NULL;

  net->poison = TRUE;
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_NOT_FINITE);
}

static void
test_limits (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (100, 10, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (100, 10, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (GError) error = NULL;

  lp_trainer_set_limit_train_batches (trainer, 3);
  lp_trainer_set_limit_val_batches (trainer, 0.2);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 6);
  g_assert_cmpint (lp_trainer_get_num_val_batches (trainer), ==, 2);

  lp_trainer_set_limit_train_batches (trainer, 1);
  lp_trainer_set_max_steps (trainer, 13);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 13);

  lp_trainer_set_fast_dev_run (trainer, 1);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 1);
}

static void
test_conflicts (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = lp_full_precision_plugin_new ();
  g_autoptr (GError) error = NULL;
  GObject *trainer;

  trainer = g_initable_new (LP_TYPE_TRAINER, NULL, &error, "precision-request", "16-mixed", "precision-plugin", plugin, NULL);
  g_assert_null (trainer);
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT);
  g_clear_error (&error);

  g_assert_null (lp_trainer_new ("16-mixd", &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN);
  g_assert_nonnull (strstr (error->message, "16-mixed"));
}

static void
count_notify (LpTrainer  *trainer,
              GParamSpec *pspec,
              guint      *count)
{
  (*count)++;
}

static void
test_exchange (void)
{
  g_autoptr (LpTrainer) trainer = test_trainer_new ("bf16-mixed", 1);
  g_autoptr (LpPrecisionPlugin) plugin = lp_full_precision_plugin_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *before = lp_trainer_dup_precision (trainer);
  g_autofree char *after = NULL;
  guint count = 0;

  g_assert_cmpstr (before, ==, "bf16-mixed");
  g_signal_connect (trainer, "notify::precision", G_CALLBACK (count_notify), &count);
  g_assert_true (lp_trainer_set_precision_plugin (trainer, plugin, &error));
  g_assert_no_error (error);
  g_assert_cmpuint (count, ==, 1);
  after = lp_trainer_dup_precision (trainer);
  g_assert_cmpstr (after, ==, "32-true");
}

static void
on_done (GObject      *source,
         GAsyncResult *result,
         gpointer      loop)
{
  g_autoptr (GError) error = NULL;

  lp_trainer_fit_finish (LP_TRAINER (source), result, &error);
  g_assert_no_error (error);
  g_main_loop_quit (loop);
}

static gboolean
count_turns (gpointer data)
{
  (*(guint *) data)++;

  return G_SOURCE_CONTINUE;
}

static void
test_async (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 4, TRUE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (GMainLoop) loop = g_main_loop_new (NULL, FALSE);
  guint turns = 0;
  guint id = g_idle_add (count_turns, &turns);

  lp_trainer_fit_async (trainer, LP_MODEL (net), train, NULL, NULL, NULL, on_done, loop);
  g_main_loop_run (loop);
  g_source_remove (id);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 20);
  g_assert_cmpuint (turns, >=, 20);
}

static void
test_cancel (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 4, TRUE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autoptr (GError) error = NULL;

  g_signal_connect_swapped (trainer, "train-epoch-end", G_CALLBACK (g_cancellable_cancel), cancellable);
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, cancellable, &error));
  g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  g_assert_true (lp_trainer_get_interrupted (trainer));

  g_clear_error (&error);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
}

static void
stop_at (LpTrainer *trainer,
         LpBatch   *batch,
         gint64     batch_idx,
         gpointer   data)
{
  if (lp_trainer_get_global_step (trainer) == GPOINTER_TO_INT (data))
    lp_trainer_save_checkpoint (trainer, "lp-test-checkpoints/stopped.safetensors", FALSE, NULL);
}

/* A run that goes on from a checkpoint in the middle of an epoch ends with the same bits. */
static void
test_resume (gconstpointer precision)
{
  g_autoptr (GBytes) whole = NULL;
  g_autoptr (GBytes) resumed = NULL;
  g_autoptr (GError) error = NULL;
  double val_loss = 0;

  for (int part = 0; part < 2; part++)
    {
      g_autoptr (TestNet) net = test_net_new (3);
      g_autoptr (LpDataLoader) train = test_loader_new (90, 5, TRUE);
      g_autoptr (LpDataLoader) val = test_loader_new (30, 10, FALSE);
      g_autoptr (LpTrainer) trainer = test_trainer_new (precision, 3);

      net->with_schedule = TRUE;
      lp_trainer_set_accumulate_grad_batches (trainer, 2);
      lp_trainer_set_val_check_interval (trainer, 0.5);
      if (part == 0)
        g_signal_connect (trainer, "train-batch-end", G_CALLBACK (stop_at), GINT_TO_POINTER (13));
      else
        lp_seed_everything (99);
      g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val,
                                     part == 1 ? "lp-test-checkpoints/stopped.safetensors" : NULL, NULL, &error));
      g_assert_no_error (error);
      g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 27);
      *(part == 0 ? &whole : &resumed) = test_net_dup_weights (net);
      if (part == 0)
        val_loss = lp_trainer_get_metric (trainer, "train_loss");
      else
        {
          g_assert_cmpfloat (val_loss, ==, lp_trainer_get_metric (trainer, "train_loss"));
          g_assert_cmpint (net->n_steps, <, 54);
        }
    }

  g_assert_true (g_bytes_equal (whole, resumed));
}

static void
test_checkpoints (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (90, 5, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (30, 10, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 3);
  g_autoptr (LpCallback) checkpoint = lp_model_checkpoint_new ("lp-test-checkpoints/best", "val_loss", LP_MONITOR_MIN);
  g_autoptr (GError) error = NULL;
  g_autofree char *best = NULL;

  lp_trainer_set_enable_checkpointing (trainer, TRUE);
  lp_trainer_add_callback (trainer, checkpoint);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
  best = lp_model_checkpoint_dup_best_model_path (LP_MODEL_CHECKPOINT (checkpoint));
  g_assert_true (g_file_test (best, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test ("lp-test-checkpoints/best/last.safetensors", G_FILE_TEST_EXISTS));

  {
    g_autoptr (GVariant) metrics = lp_trainer_test (trainer, NULL, val, "best", NULL, &error);
    double loss;

    g_assert_no_error (error);
    g_assert_true (g_variant_lookup (metrics, "val_loss", "d", &loss));
    g_assert_cmpfloat_with_epsilon (loss, lp_model_checkpoint_get_best_model_score (LP_MODEL_CHECKPOINT (checkpoint)), 1e-6);
  }
}

static void
test_early_stopping (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 5, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (30, 10, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 50);
  g_autoptr (LpCallback) stopping = lp_early_stopping_new ("val_loss", LP_MONITOR_MIN, 2);
  g_autoptr (GError) error = NULL;
  g_autofree char *reason = NULL;

  net->lr = 0;
  lp_trainer_add_callback (trainer, stopping);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_trainer_get_current_epoch (trainer), ==, 2);
  reason = lp_early_stopping_dup_stop_reason (LP_EARLY_STOPPING (stopping));
  g_assert_nonnull (reason);
}

static void
test_loggers (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (40, 5, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (30, 10, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (LpLogger) csv = lp_csv_logger_new ("lp-test-checkpoints/logs", "run", "one");
  g_autoptr (LpLogger) board = lp_tensor_board_logger_new ("lp-test-checkpoints/logs", "run", "two");
  g_autoptr (GError) error = NULL;
  g_autofree char *text = NULL;

  lp_trainer_set_log_every_n_steps (trainer, 4);
  lp_trainer_add_logger (trainer, csv);
  lp_trainer_add_logger (trainer, board);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (g_file_get_contents ("lp-test-checkpoints/logs/run/one/metrics.csv", &text, NULL, NULL));
  g_assert_true (g_str_has_prefix (text, "step,train_loss_step,epoch,val_loss,val_acc,train_loss_epoch\n4,"));
}

int
main (int   argc,
      char *argv[])
{
  static const char *names[] = { "32-true", "64-true", "bf16-true", "16-true", "bf16-mixed", "16-mixed" };

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *fit = g_strconcat ("/trainer/fit/", names[i], NULL);
      g_autofree char *resume = g_strconcat ("/trainer/resume/", names[i], NULL);

      g_test_add_data_func (fit, names[i], test_fit);
      g_test_add_data_func (resume, names[i], test_resume);
    }
  g_test_add_func ("/trainer/settings-out-of-range", test_settings_out_of_range);
  g_test_add_func ("/trainer/validate-and-predict", test_validate_and_predict);
  g_test_add_func ("/trainer/accumulate", test_accumulate);
  g_test_add_func ("/trainer/no-loss", test_no_loss);
  g_test_add_func ("/trainer/not-finite", test_not_finite);
  g_test_add_func ("/trainer/limits", test_limits);
  g_test_add_func ("/trainer/conflicts", test_conflicts);
  g_test_add_func ("/trainer/exchange", test_exchange);
  g_test_add_func ("/trainer/async", test_async);
  g_test_add_func ("/trainer/cancel", test_cancel);
  g_test_add_func ("/trainer/checkpoints", test_checkpoints);
  g_test_add_func ("/trainer/early-stopping", test_early_stopping);
  g_test_add_func ("/trainer/loggers", test_loggers);

  return test_run_in_folder ();
}
