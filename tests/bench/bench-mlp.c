/* An MLP 784-512-512-10 with AdamW, by hand or by the trainer: bench-mlp hand|trainer BATCH-SIZE. For each number of steps
 * that it reads, it takes them and prints the seconds per step. */

#include <stdio.h>

#include "bench-net.h"

#define WARM_UP 5

static double
run_by_hand (BenchNet    *net,
             LpOptimizer *optimizer,
             LpBatch     *batch,
             gint64       n_steps)
{
  gint64 started = 0;

  for (gint64 i = 0; i < WARM_UP + n_steps; i++)
    {
      if (i == WARM_UP)
        started = g_get_monotonic_time ();
      bench_step (net, optimizer, batch);
    }

  return (double) (g_get_monotonic_time () - started) * 1e-6 / (double) n_steps;
}

int
main (int   argc,
      char *argv[])
{
  const gint64 sizes[] = { 784, 512, 512, 10 };
  const gboolean by_hand = argc > 1 && g_str_equal (argv[1], "hand");
  const gint64 batch_size = argc > 2 ? atoi (argv[2]) : 64;
  const gint64 dims[] = { 12800, sizes[0] };
  g_autoptr (LpDataset) dataset = bench_dataset_new (dims, 2, 10);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, batch_size, TRUE);
  g_autoptr (BenchNet) net = bench_mlp_new (sizes, G_N_ELEMENTS (sizes));
  g_autoptr (LpOptimizer) optimizer = bench_net_optimizer_new (net);
  g_autoptr (LpBatch) batch = NULL;
  int n_steps;

  net->warm_up = WARM_UP;
  if (!lp_data_loader_start_epoch (loader, 0, NULL) || (batch = lp_data_loader_next (loader, NULL)) == NULL)
    return 1;
  lp_data_loader_stop (loader);
  while (scanf ("%d", &n_steps) == 1)
    {
      printf ("%.9f\n", by_hand ? run_by_hand (net, optimizer, batch, n_steps) : bench_fit (net, loader, n_steps));
      fflush (stdout);
    }

  return 0;
}
