/* The same weights with one thread and with two, bit for bit. "--run NET PRECISION STEPS" trains and prints a checksum of the weights. */

#include <stdio.h>
#include <string.h>

#include "../bench/bench-net.h"

static char *program;

static BenchNet *
net_new (gboolean is_conv)
{
  const gint64 sizes[] = { 784, 512, 512, 10 };

  lp_seed_everything (1);

  return is_conv ? bench_conv_net_new () : bench_mlp_new (sizes, G_N_ELEMENTS (sizes));
}

static char *
dup_checksum (BenchNet *net)
{
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (LP_MODULE (net));
  g_auto (GStrv) names = lp_tensor_dict_dup_names (state);
  g_autoptr (GChecksum) checksum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (lp_tensor_dict_lookup (state, names[i]), NULL);

      g_checksum_update (checksum, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
    }

  return g_strdup (g_checksum_get_string (checksum));
}

static int
run (const char *net_name,
     const char *precision,
     gint64      n_steps)
{
  const gboolean is_conv = g_str_equal (net_name, "conv");
  const gint64 image_dims[] = { 320, 1, 28, 28 }, row_dims[] = { 320, 784 };
  g_autoptr (BenchNet) net = net_new (is_conv);
  g_autoptr (LpDataset) dataset = bench_dataset_new (is_conv ? image_dims : row_dims, is_conv ? 4 : 2, 10);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 64, TRUE);
  g_autoptr (LpTrainer) trainer = bench_trainer_new (precision, n_steps);
  g_autoptr (GError) error = NULL;
  g_autofree char *checksum = NULL;

  if (!lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error))
    {
      g_printerr ("%s\n", error->message);
      return 1;
    }
  checksum = dup_checksum (net);
  printf ("%s\n", checksum);

  return 0;
}

static char *
spawn (const char *net_name,
       const char *precision,
       const char *n_threads)
{
  char *argv[] = { program, (char *) "--run", (char *) net_name, (char *) precision, (char *) "6", NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "OMP_NUM_THREADS", n_threads, TRUE);
  g_autoptr (GError) error = NULL;
  char *output = NULL;
  int status;

  g_spawn_sync (NULL, argv, environment, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));

  return output;
}

static void
test_threads (gconstpointer data)
{
  g_auto (GStrv) words = g_strsplit (data, " ", 2);
  g_autofree char *one = spawn (words[0], words[1], "1");
  g_autofree char *two = spawn (words[0], words[1], "2");

  g_assert_cmpuint (strlen (one), ==, 65);
  g_assert_cmpstr (one, ==, two);
}

int
main (int   argc,
      char *argv[])
{
  static const char *cases[] = { "mlp 32-true", "mlp 16-mixed", "mlp bf16-mixed", "conv 32-true", "conv 16-mixed", "conv bf16-mixed" };

  if (argc == 5 && g_str_equal (argv[1], "--run"))
    return run (argv[2], argv[3], atoi (argv[4]));

  program = g_canonicalize_filename (argv[0], NULL);
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdelimit (g_strconcat ("/threads/", cases[i], NULL), " ", '/');

      g_test_add_data_func (path, cases[i], test_threads);
    }

  return g_test_run ();
}
