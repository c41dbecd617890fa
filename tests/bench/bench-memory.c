/* bench-memory STEPS prints the resident KiB after a tenth of the steps and after all of them, by the trainer. */

#include <stdio.h>
#include <unistd.h>

#include "bench-net.h"

static long
resident_kib (void)
{
  long total = 0, resident = 0;
  FILE *file = fopen ("/proc/self/statm", "r");

  if (file == NULL || fscanf (file, "%ld %ld", &total, &resident) != 2)
    g_error ("no /proc/self/statm");
  fclose (file);

  return resident * (sysconf (_SC_PAGESIZE) / 1024);
}

static void
note_memory (LpTrainer *trainer,
             LpBatch   *batch,
             gint64     batch_idx,
             gpointer   data)
{
  gint64 *left = data;

  if (--*left == 0)
    printf ("%ld ", resident_kib ());
}

int
main (int   argc,
      char *argv[])
{
  const gint64 sizes[] = { 64, 128, 10 };
  const gint64 n_steps = argc > 1 ? atoi (argv[1]) : 1000;
  const gint64 dims[] = { 32 * 50, sizes[0] };
  g_autoptr (LpDataset) dataset = bench_dataset_new (dims, 2, 10);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 32, TRUE);
  g_autoptr (BenchNet) net = bench_mlp_new (sizes, G_N_ELEMENTS (sizes));
  g_autoptr (LpTrainer) trainer = bench_trainer_new ("32-true", n_steps);
  g_autoptr (GError) error = NULL;
  gint64 left = n_steps / 10;

  net->log_loss = TRUE;
  g_signal_connect (trainer, "train-batch-end", G_CALLBACK (note_memory), &left);
  if (!lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error))
    g_error ("%s", error->message);
  printf ("%ld\n", resident_kib ());

  return 0;
}
