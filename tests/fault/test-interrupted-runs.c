#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "../unit/trainer/trainer-fixture.h"
#include "../test-folder.h"

#define N_KILLS 6

static char *program;

/* The run that is killed: shuffling, dropout, accumulation, a schedule, a scaler. It writes its weights to "weights". */
static int
run (const char *folder)
{
  g_autoptr (TestNet) net = test_net_new (3);
  g_autoptr (LpDataLoader) train = test_loader_new (300, 5, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (30, 10, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("16-mixed", 3);
  g_autoptr (LpCallback) checkpoint = lp_model_checkpoint_new (folder, NULL, LP_MONITOR_MIN);
  g_autoptr (GBytes) weights = NULL;
  g_autoptr (GError) error = NULL;

  net->with_schedule = TRUE;
  lp_model_checkpoint_set_every_n_train_steps (LP_MODEL_CHECKPOINT (checkpoint), 2);
  lp_trainer_set_accumulate_grad_batches (trainer, 2);
  lp_trainer_set_val_check_interval (trainer, 0.5);
  lp_trainer_set_enable_checkpointing (trainer, TRUE);
  lp_trainer_add_callback (trainer, checkpoint);
  if (!lp_trainer_fit (trainer, LP_MODEL (net), train, val, "last", NULL, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  if (lp_trainer_get_interrupted (trainer))
    return 3;

  weights = test_net_dup_weights (net);

  return g_file_set_contents ("weights", g_bytes_get_data (weights, NULL), g_bytes_get_size (weights), NULL) ? 0 : 2;
}

static GPid
start (const char *folder)
{
  char *argv[] = { program, (char *) "--run", (char *) folder, NULL };
  GPid pid;

  g_assert_true (g_spawn_async (NULL, argv, NULL, G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &pid, NULL));

  return pid;
}

static int
finish (GPid pid)
{
  int status;

  g_assert_cmpint (waitpid (pid, &status, 0), ==, pid);

  return status;
}

static GBytes *
take_weights (void)
{
  char *data;
  gsize size;

  g_assert_true (g_file_get_contents ("weights", &data, &size, NULL));
  g_unlink ("weights");

  return g_bytes_new_take (data, size);
}

static GBytes *
run_whole (gint64 *duration)
{
  gint64 begin = g_get_monotonic_time ();

  g_assert_cmpint (finish (start ("whole")), ==, 0);
  if (duration != NULL)
    *duration = g_get_monotonic_time () - begin;

  return take_weights ();
}

static void
test_kill (void)
{
  g_autoptr (GBytes) whole = NULL;
  gint64 duration;

  whole = run_whole (&duration);
  for (int i = 0; i < N_KILLS; i++)
    {
      g_autofree char *folder = g_strdup_printf ("killed-%d", i);
      g_autofree char *last = g_build_filename (folder, "last.safetensors", NULL);
      g_autoptr (LpTensorDict) tensors = NULL;
      g_autoptr (GBytes) weights = NULL;
      g_autoptr (GError) error = NULL;
      GPid pid = start (folder);

      g_usleep (g_test_rand_int_range ((gint32) (duration / 10), (gint32) (duration * 9 / 10)));
      kill (pid, SIGKILL);
      finish (pid);
      if (g_file_test (last, G_FILE_TEST_EXISTS))
        {
          tensors = lp_load_safetensors (last, &error);
          g_assert_no_error (error);
        }
      g_unlink ("weights");
      g_assert_cmpint (finish (start (folder)), ==, 0);
      weights = take_weights ();
      g_assert_true (g_bytes_equal (whole, weights));
    }
}

static void
test_terminate (void)
{
  g_autoptr (GBytes) whole = NULL;
  g_autoptr (GBytes) weights = NULL;
  gint64 duration;
  int status;
  GPid pid;

  whole = run_whole (NULL);
  g_assert_cmpint (finish (start ("again")), ==, 0);
  g_unlink ("weights");
  duration = g_get_monotonic_time ();
  g_assert_cmpint (finish (start ("timed")), ==, 0);
  duration = g_get_monotonic_time () - duration;
  g_unlink ("weights");

  pid = start ("terminated");
  g_usleep (duration / 2);
  kill (pid, SIGTERM);
  status = finish (pid);
  g_assert_true (WIFEXITED (status));
  if (WEXITSTATUS (status) == 3)
    {
      g_assert_true (g_file_test ("terminated/last.safetensors", G_FILE_TEST_EXISTS));
      g_assert_cmpint (finish (start ("terminated")), ==, 0);
    }
  weights = take_weights ();
  g_assert_true (g_bytes_equal (whole, weights));
}

/* A file that can't grow any more is what a full disk looks like. */
static void
test_full_disk (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 1);
  g_autoptr (LpDataLoader) train = test_loader_new (20, 5, TRUE);
  g_autoptr (GError) error = NULL;
  g_autofree char *before = NULL;
  g_autofree char *after = NULL;
  struct rlimit former, limit;
  gsize size_before, size_after;

  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_true (lp_trainer_save_checkpoint (trainer, "full/a.safetensors", FALSE, &error));
  g_assert_true (g_file_get_contents ("full/a.safetensors", &before, &size_before, NULL));

  getrlimit (RLIMIT_FSIZE, &former);
  limit = former;
  limit.rlim_cur = size_before / 2;
  signal (SIGXFSZ, SIG_IGN);
  setrlimit (RLIMIT_FSIZE, &limit);
  g_assert_false (lp_trainer_save_checkpoint (trainer, "full/a.safetensors", FALSE, &error));
  setrlimit (RLIMIT_FSIZE, &former);

  g_assert_error (error, LP_ERROR, LP_ERROR_IO);
  g_assert_nonnull (strstr (error->message, "full/a.safetensors"));
  g_assert_true (g_file_get_contents ("full/a.safetensors", &after, &size_after, NULL));
  g_assert_cmpmem (before, size_before, after, size_after);
  {
    g_autoptr (GDir) dir = g_dir_open ("full", 0, NULL);

    g_assert_cmpstr (g_dir_read_name (dir), ==, "a.safetensors");
    g_assert_null (g_dir_read_name (dir));
  }
}

static void
test_broken_checkpoint (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpTrainer) trainer = test_trainer_new (NULL, 2);
  g_autoptr (LpDataLoader) train = test_loader_new (20, 5, TRUE);
  g_autoptr (GError) error = NULL;
  g_autofree char *data = NULL;
  gsize size;

  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_true (lp_trainer_save_checkpoint (trainer, "broken/a.safetensors", TRUE, &error));
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, "broken/a.safetensors", NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "weights only"));
  g_clear_error (&error);

  g_assert_true (lp_trainer_save_checkpoint (trainer, "broken/b.safetensors", FALSE, &error));
  g_assert_true (g_file_get_contents ("broken/b.safetensors", &data, &size, NULL));
  for (gsize i = 0; i < size; i += MAX (size / 40, 1))
    {
      g_assert_true (g_file_set_contents ("broken/c.safetensors", data, i, NULL));
      g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, "broken/c.safetensors", NULL, &error));
      g_assert_nonnull (error);
      g_clear_error (&error);
    }
  for (gsize i = 8; i < MIN (size, 4000); i += 37)
    {
      char former = data[i];
      g_autoptr (GError) local = NULL;

      data[i] ^= 0x15;
      g_assert_true (g_file_set_contents ("broken/c.safetensors", data, size, NULL));
      lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, "broken/c.safetensors", NULL, &local);
      data[i] = former;
    }
}

int
main (int   argc,
      char *argv[])
{
  if (argc == 3 && strcmp (argv[1], "--run") == 0)
    return run (argv[2]);

  program = g_canonicalize_filename (argv[0], NULL);
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/interrupted/kill", test_kill);
  g_test_add_func ("/interrupted/terminate", test_terminate);
  g_test_add_func ("/interrupted/full-disk", test_full_disk);
  g_test_add_func ("/interrupted/broken-checkpoint", test_broken_checkpoint);

  return test_run_in_folder ();
}
