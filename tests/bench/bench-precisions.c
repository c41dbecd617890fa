/* Steps of an MLP 1024-4096-4096-1024 on a batch of 1024 with AdamW. Precisions that freeze the weights train adapters of rank 16.
 * bench-precisions ROUNDS PRECISION…: how long they take, in turns; one JSON object per precision.
 * bench-precisions memory PRECISION: the memory that they take after warm-up, as one JSON object. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lp/lp.h>

#include <lp/cpu/lp-cpu-encoded-private.h>

#define BATCH 1024
#define MAX_ROUNDS 100
#define MAX_SIDES 16

typedef struct
{
  LpModule          *net;
  LpPrecisionPlugin *plugin;
  LpOptimizer       *optimizer;
  GPtrArray         *optimizers;
  double             seconds[MAX_ROUNDS];
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

/* Whether a precision freezes what it converts. */
static gboolean
freezes (LpPrecisionPlugin *plugin)
{
  g_autofree char *precision = lp_precision_plugin_dup_precision (plugin);

  return LP_IS_QUANTIZED_PRECISION_PLUGIN (plugin) && !g_str_equal (precision, "int8-training");
}

static void
side_init (Side       *self,
           const char *precision)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GError) error = NULL;
  gboolean frozen;

  self->net = net_new ();
  self->plugin = lp_precision_registry_create (lp_precision_registry_get_default (), precision, NULL, &error);
  fail_if (error);
  frozen = freezes (self->plugin);
  if (frozen)
    lp_lora_linear_adapt (self->net, NULL, 16, 32, 0, &error);
  fail_if (error);
  lp_precision_plugin_convert_module (self->plugin, self->net, &error);
  fail_if (error);
  parameters = frozen ? lp_lora_linear_dup_adapters (self->net) : lp_module_dup_parameters (self->net);
  self->optimizer = lp_adamw_new (parameters, 1e-4);
  self->optimizers = g_ptr_array_new ();
  g_ptr_array_add (self->optimizers, self->optimizer);
  lp_precision_plugin_convert_optimizer (self->plugin, self->optimizer, &error);
  fail_if (error);
}

static void
step (Side     *self,
      LpTensor *x,
      LpTensor *target)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) input = lp_precision_plugin_convert_input (self->plugin, x, &error);
  g_autoptr (LpTensor) wanted = lp_precision_plugin_convert_input (self->plugin, target, &error);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (LpTensor) scaled = NULL;

  fail_if (error);
  lp_precision_plugin_push_scope (self->plugin, &error);
  fail_if (error);
  y = lp_module_forward (self->net, input, &error);
  loss = y != NULL ? lp_tensor_mse_loss (y, wanted, LP_REDUCTION_MEAN, &error) : NULL;
  lp_precision_plugin_pop_scope (self->plugin);
  fail_if (error);
  lp_optimizer_zero_grad (self->optimizer, &error);
  fail_if (error);
  scaled = lp_precision_plugin_scale_loss (self->plugin, loss, &error);
  fail_if (error);
  lp_precision_plugin_backward (self->plugin, scaled, self->optimizers, &error);
  fail_if (error);
  lp_precision_plugin_unscale_gradients (self->plugin, self->optimizer, &error);
  fail_if (error);
  lp_precision_plugin_optimizer_step (self->plugin, self->optimizer, NULL, &error);
  fail_if (error);
  lp_precision_plugin_end_step (self->plugin, &error);
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

static LpTensor *
normal_new (void)
{
  const gint64 dims[] = { BATCH, 1024 };

  return lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
}

/* A line of /proc/self/status in bytes. */
static gint64
read_status (const char *name)
{
  g_autofree char *text = NULL;
  const char *line;

  if (!g_file_get_contents ("/proc/self/status", &text, NULL, NULL) || (line = strstr (text, name)) == NULL)
    g_error ("There is no %s in /proc/self/status", name);

  return g_ascii_strtoll (line + strlen (name), NULL, 10) << 10;
}

/* From here on VmHWM counts again. */
static void
reset_resident_peak (void)
{
  FILE *file = fopen ("/proc/self/clear_refs", "w");

  if (file == NULL || fputs ("5", file) < 0 || fclose (file) != 0)
    g_error ("The kernel can't reset the peak of resident memory");
}

/* The process is empty when it has loaded the library and made a first tensor. What the allocator holds at most, and what is
 * resident at most, is of the third step. */
static void
measure_memory (const char *precision)
{
  LpDevice *device = lp_device_get_default ();
  g_autoptr (LpTensor) first = lp_tensor_scalar (1, NULL, NULL, NULL);
  const gint64 empty = read_status ("VmRSS:");
  g_autoptr (LpTensor) x = normal_new ();
  g_autoptr (LpTensor) target = normal_new ();
  Side side = { NULL };
  gint64 used;

  side_init (&side, precision);
  step (&side, x, target);
  step (&side, x, target);
  used = lp_device_get_used_bytes (device);
  lp_device_reset_peak_bytes (device);
  _lp_cpu_take_decoded_peak ();
  reset_resident_peak ();
  step (&side, x, target);
  printf ("{\"name\": \"%s\", \"weights\": %" G_GINT64_FORMAT ", \"used\": %" G_GINT64_FORMAT ", \"peak\": %" G_GINT64_FORMAT
          ", \"empty\": %" G_GINT64_FORMAT ", \"resident\": %" G_GINT64_FORMAT ", \"decoded\": %" G_GINT64_FORMAT "}\n", precision,
          weight_bytes (side.net), used, lp_device_get_peak_bytes (device), empty, read_status ("VmHWM:") - empty,
          _lp_cpu_take_decoded_peak ());
}

int
main (int   argc,
      char *argv[])
{
  const int n_rounds = argc > 1 ? CLAMP (atoi (argv[1]), 1, MAX_ROUNDS) : 5;
  const int n_sides = CLAMP (argc - 2, 0, MAX_SIDES);
  g_autoptr (LpTensor) x = NULL;
  g_autoptr (LpTensor) target = NULL;
  Side sides[MAX_SIDES] = { { NULL } };

  if (argc == 3 && g_str_equal (argv[1], "memory"))
    {
      measure_memory (argv[2]);
      return 0;
    }

  x = normal_new ();
  target = normal_new ();
  for (int s = 0; s < n_sides; s++)
    {
      side_init (&sides[s], argv[2 + s]);
      step (&sides[s], x, target);
    }
  for (int r = 0; r < n_rounds; r++)
    for (int s = 0; s < n_sides; s++)
      {
        const gint64 started = g_get_monotonic_time ();

        step (&sides[s], x, target);
        sides[s].seconds[r] = (double) (g_get_monotonic_time () - started) * 1e-6;
      }
  for (int s = 0; s < n_sides; s++)
    {
      qsort (sides[s].seconds, n_rounds, sizeof (double), compare);
      printf ("{\"name\": \"%s\", \"seconds\": %.4f}\n", argv[2 + s], sides[s].seconds[n_rounds / 2]);
    }

  return 0;
}
