/* What a gradient scaler costs in a step of an MLP 1024-4096-4096-1024 with AdamW under 16-mixed: bench-scaler BATCH-SIZE ROUNDS.
 * Two equal nets take steps by turns, one with a scaler and one whose scaler is not enabled. Prints the seconds per step of
 * each: with a scaler, without. */

#include <stdio.h>

#include "bench-net.h"

#define WARM_UP 2

typedef struct
{
  BenchNet          *net;
  LpOptimizer       *optimizer;
  GPtrArray         *optimizers;
  LpPrecisionPlugin *plugin;
  double            *times;
} Lane;

static void
lane_init (Lane     *self,
           gboolean  enabled,
           int       n_rounds)
{
  const gint64 sizes[] = { 1024, 4096, 4096, 1024 };
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (1024, 2, 0.5, 2000, enabled, NULL);

  self->net = bench_mlp_new (sizes, G_N_ELEMENTS (sizes));
  self->optimizer = bench_net_optimizer_new (self->net);
  self->optimizers = g_ptr_array_new ();
  g_ptr_array_add (self->optimizers, self->optimizer);
  self->plugin = lp_mixed_precision_plugin_new ("16-mixed", scaler, NULL);
  self->times = g_new (double, n_rounds);
}

static void
lane_clear (Lane *self)
{
  g_object_unref (self->net);
  g_object_unref (self->optimizer);
  g_ptr_array_unref (self->optimizers);
  g_object_unref (self->plugin);
  g_free (self->times);
}

static void
lane_step (Lane    *self,
           LpBatch *batch,
           int      round)
{
  const gint64 started = g_get_monotonic_time ();
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) scaled = NULL;
  g_autoptr (GError) error = NULL;

  if (!lp_precision_plugin_push_scope (self->plugin, &error))
    g_error ("%s", error->message);
  loss = bench_net_loss (self->net, batch, &error);
  lp_precision_plugin_pop_scope (self->plugin);
  if (!lp_optimizer_zero_grad (self->optimizer, &error) ||
      (scaled = lp_precision_plugin_scale_loss (self->plugin, loss, &error)) == NULL ||
      !lp_precision_plugin_backward (self->plugin, scaled, self->optimizers, &error) ||
      !lp_precision_plugin_unscale_gradients (self->plugin, self->optimizer, &error) ||
      lp_precision_plugin_optimizer_step (self->plugin, self->optimizer, NULL, &error) != LP_STEP_APPLIED ||
      !lp_precision_plugin_end_step (self->plugin, &error))
    g_error ("%s", error != NULL ? error->message : "a step was skipped");
  if (round >= 0)
    self->times[round] = (double) (g_get_monotonic_time () - started) * 1e-6;
}

int
main (int   argc,
      char *argv[])
{
  const gint64 batch_size = argc > 1 ? atoi (argv[1]) : 128;
  const int n_rounds = argc > 2 ? atoi (argv[2]) : 15;
  const gint64 dims[] = { batch_size, 1024 };
  g_autoptr (LpDataset) dataset = bench_dataset_new (dims, 2, 1000);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, batch_size, FALSE);
  g_autoptr (LpBatch) batch = NULL;
  Lane with, without;

  if (!lp_data_loader_start_epoch (loader, 0, NULL) || (batch = lp_data_loader_next (loader, NULL)) == NULL)
    return 1;
  lane_init (&with, TRUE, n_rounds);
  lane_init (&without, FALSE, n_rounds);
  for (int round = -WARM_UP; round < n_rounds; round++)
    {
      lane_step (&with, batch, round);
      lane_step (&without, batch, round);
    }
  printf ("%.6f %.6f\n", bench_median (with.times, n_rounds), bench_median (without.times, n_rounds));
  lp_data_loader_stop (loader);
  lane_clear (&with);
  lane_clear (&without);

  return 0;
}
