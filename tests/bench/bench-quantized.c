/* Steps of an MLP 1024-4096-4096-1024 on a batch of 1024: everything trained in f32, and frozen in 4 bits with adapters of rank 16.
 * bench-quantized [ROUNDS]: the two take turns; one JSON object per figure. */

#include <stdio.h>
#include <stdlib.h>

#include <lp/lp.h>

#define BATCH 1024
#define MAX_ROUNDS 100

typedef struct
{
  LpModule          *net;
  LpPrecisionPlugin *plugin;
  LpOptimizer       *optimizer;
  double             seconds[MAX_ROUNDS];
  gint64             used, peak;     /* bytes of tensors: before a step, and at most in one */
} Side;

static void
fail_if (GError *error)
{
  if (error != NULL)
    g_error ("%s", error->message);
}

static LpModule *
net_new (void)
{
  const gint64 sizes[] = { 1024, 4096, 4096, 1024 };
  LpModule *net = lp_sequential_new ();

  for (int i = 0; i < 3; i++)
    {
      if (i > 0)
        lp_sequential_append (LP_SEQUENTIAL (net), lp_relu_new ());
      lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (sizes[i], sizes[i + 1]));
    }

  return net;
}

static void
side_init (Side       *self,
           const char *precision)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GError) error = NULL;
  const gboolean frozen = !g_str_equal (precision, "32-true");

  self->net = net_new ();
  self->plugin = lp_precision_registry_create (lp_precision_registry_get_default (), precision, NULL, &error);
  fail_if (error);
  if (frozen)
    lp_lora_linear_adapt (self->net, NULL, 16, 32, 0, &error);
  fail_if (error);
  lp_precision_plugin_convert_module (self->plugin, self->net, &error);
  fail_if (error);
  parameters = frozen ? lp_lora_linear_dup_adapters (self->net) : lp_module_dup_parameters (self->net);
  self->optimizer = lp_adamw_new (parameters, 1e-4);
}

static void
step (Side     *self,
      LpTensor *x,
      LpTensor *target)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;

  lp_precision_plugin_push_scope (self->plugin, &error);
  fail_if (error);
  y = lp_module_forward (self->net, x, &error);
  loss = y != NULL ? lp_tensor_mse_loss (y, target, LP_REDUCTION_MEAN, &error) : NULL;
  lp_precision_plugin_pop_scope (self->plugin);
  fail_if (error);
  lp_optimizer_zero_grad (self->optimizer, &error);
  fail_if (error);
  lp_tensor_backward (loss, NULL, &error);
  fail_if (error);
  lp_optimizer_step (self->optimizer, NULL, &error);
  fail_if (error);
}

static int
compare (gconstpointer a,
         gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static gint64
weight_bytes (LpModule *net)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (net);
  gint64 n = 0;

  for (guint i = 0; i < modules->len; i++)
    if (LP_IS_LINEAR (modules->pdata[i]))
      n += lp_tensor_get_n_bytes (lp_linear_get_weight (modules->pdata[i]));

  return n;
}

int
main (int   argc,
      char *argv[])
{
  static const char *const names[] = { "32-true", "nf4" };
  const int n_rounds = argc > 1 ? CLAMP (atoi (argv[1]), 1, MAX_ROUNDS) : 5;
  const gint64 dims[] = { BATCH, 1024 };
  LpDevice *device = lp_device_get_default ();
  g_autoptr (LpTensor) x = lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) target = lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
  Side sides[2] = { { NULL } };

  for (int s = 0; s < 2; s++)
    {
      const gint64 before = lp_device_get_used_bytes (device);

      side_init (&sides[s], names[s]);
      step (&sides[s], x, target);
      sides[s].used = lp_device_get_used_bytes (device) - before;
      lp_device_reset_peak_bytes (device);
      step (&sides[s], x, target);
      sides[s].peak = lp_device_get_peak_bytes (device) - before;
    }
  for (int r = 0; r < n_rounds; r++)
    for (int s = 0; s < 2; s++)
      {
        const gint64 started = g_get_monotonic_time ();

        step (&sides[s], x, target);
        sides[s].seconds[r] = (double) (g_get_monotonic_time () - started) * 1e-6;
      }
  for (int s = 0; s < 2; s++)
    {
      qsort (sides[s].seconds, n_rounds, sizeof (double), compare);
      printf ("{\"name\": \"%s\", \"seconds\": %.4f, \"weights\": %" G_GINT64_FORMAT ", \"used\": %" G_GINT64_FORMAT ", \"peak\": %"
              G_GINT64_FORMAT "}\n", names[s], sides[s].seconds[n_rounds / 2], weight_bytes (sides[s].net), sides[s].used, sides[s].peak);
    }

  return 0;
}
