/* What the trainer adds to a step: bench-overhead ROUNDS STEPS prints the medians of µs per step, by hand, by the trainer, and
 * by the trainer with one logged value; the three take turns. */

#include <stdio.h>

#include "bench-net.h"

#define BATCH_SIZE 8
#define WARM_UP 100

/* Seconds per step of a loop without the trainer, on the same loader. */
static double
run_by_hand (BenchNet     *net,
             LpDataLoader *loader,
             gint64        n_steps)
{
  g_autoptr (LpOptimizer) optimizer = bench_net_optimizer_new (net);
  g_autoptr (GError) error = NULL;
  gint64 started = 0;

  if (!lp_data_loader_start_epoch (loader, 0, &error))
    g_error ("%s", error->message);
  for (gint64 i = 0; i < WARM_UP + n_steps; i++)
    {
      g_autoptr (LpBatch) batch = lp_data_loader_next (loader, &error);

      if (batch == NULL)
        g_error ("%s", error != NULL ? error->message : "the data ended");
      if (i == WARM_UP)
        started = g_get_monotonic_time ();
      bench_step (net, optimizer, batch);
    }
  started = g_get_monotonic_time () - started;
  lp_data_loader_stop (loader);

  return (double) started * 1e-6 / (double) n_steps;
}

int
main (int   argc,
      char *argv[])
{
  const gint64 sizes[] = { 8, 16, 3 };
  const int n_rounds = argc > 1 ? atoi (argv[1]) : 15;
  const gint64 n_steps = argc > 2 ? atoi (argv[2]) : 1000;
  const gint64 dims[] = { (WARM_UP + n_steps) * BATCH_SIZE, sizes[0] };
  g_autoptr (LpDataset) dataset = bench_dataset_new (dims, 2, sizes[2]);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, BATCH_SIZE, TRUE);
  g_autoptr (BenchNet) net = bench_mlp_new (sizes, G_N_ELEMENTS (sizes));
  g_autofree double *times = g_new (double, 3 * n_rounds);

  net->warm_up = WARM_UP;
  for (int i = 0; i < n_rounds; i++)
    {
      times[i] = run_by_hand (net, loader, n_steps) * 1e6;
      net->log_loss = FALSE;
      times[n_rounds + i] = bench_fit (net, loader, n_steps) * 1e6;
      net->log_loss = TRUE;
      times[2 * n_rounds + i] = bench_fit (net, loader, n_steps) * 1e6;
    }
  for (int i = 0; i < 3; i++)
    printf ("%.3f ", bench_median (times + i * n_rounds, n_rounds));
  printf ("\n");

  return 0;
}
