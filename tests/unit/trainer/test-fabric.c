/* Training by hand with LpFabric, and its checkpoints. */

#include <string.h>

#include "trainer-fixture.h"
#include "../../test-folder.h"

#define PATH "lp-test-checkpoints/fabric.safetensors"

/* What a program with a loop of its own has. */
typedef struct
{
  LpFabric    *fabric;
  TestNet     *net;
  LpOptimizer *optimizer;
} Loop;

static void
loop_init (Loop              *loop,
           LpPrecisionPlugin *plugin,
           const char        *precision)
{
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GError) error = NULL;

  loop->fabric = plugin != NULL ? lp_fabric_new_with_plugin (plugin, &error) : lp_fabric_new (precision, &error);
  g_assert_no_error (error);
  loop->net = test_net_new (1);
  g_assert_true (lp_fabric_setup_module (loop->fabric, LP_MODULE (loop->net), &error));
  parameters = lp_module_dup_parameters (LP_MODULE (loop->net));
  loop->optimizer = lp_adamw_new (parameters, 0.01);
  g_assert_true (lp_fabric_setup_optimizer (loop->fabric, loop->optimizer, &error));
  g_assert_no_error (error);
}

static void
loop_clear (Loop *loop)
{
  g_clear_object (&loop->optimizer);
  g_clear_object (&loop->net);
  g_clear_object (&loop->fabric);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Loop, loop_clear)

/* Gives the loss before the step. */
static double
step (Loop    *loop,
      LpBatch *raw)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpBatch) batch = lp_fabric_convert_batch (loop->fabric, raw, &error);
  g_autoptr (LpTensor) output = lp_fabric_forward (loop->fabric, LP_MODULE (loop->net), lp_batch_get_tensor (batch, 0), &error);
  g_autoptr (LpTensor) loss = lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), &error);

  g_assert_no_error (error);
  g_assert_true (lp_optimizer_zero_grad (loop->optimizer, &error));
  g_assert_true (lp_fabric_backward (loop->fabric, loss, &error));
  g_assert_true (lp_fabric_clip_gradients (loop->fabric, loop->optimizer, 1, LP_CLIP_NORM, &error));
  g_assert_cmpint (lp_fabric_optimizer_step (loop->fabric, loop->optimizer, &error), !=, LP_STEP_FAILED);
  g_assert_no_error (error);

  return lp_tensor_get_item (loss, NULL);
}

/* Gives the losses of the first and the last step. */
static void
train (Loop   *loop,
       int     n_epochs,
       double *first,
       double *last)
{
  g_autoptr (LpDataLoader) loader = test_loader_new (60, 10, TRUE);
  g_autoptr (GError) error = NULL;
  LpBatch *next;
  int n = 0;

  for (int epoch = 0; epoch < n_epochs; epoch++)
    {
      g_assert_true (lp_data_loader_start_epoch (loader, epoch, &error));
      while ((next = lp_data_loader_next (loader, &error)) != NULL)
        {
          g_autoptr (LpBatch) batch = next;

          *last = step (loop, batch);
          if (n++ == 0)
            *first = *last;
        }
      g_assert_no_error (error);
    }
}

static void
test_train (gconstpointer precision)
{
  g_auto (Loop) loop = { NULL, };
  g_autoptr (LpState) extra = NULL;
  g_autoptr (GError) error = NULL;
  double first = 0, last = 0;

  loop_init (&loop, NULL, precision);
  train (&loop, 5, &first, &last);
  g_assert_cmpfloat (last, <, first);

  g_assert_true (lp_fabric_save (loop.fabric, PATH, NULL, &error));
  extra = lp_fabric_load (loop.fabric, PATH, &error);
  g_assert_no_error (error);
  g_assert_nonnull (extra);
}

/* A step that doesn't know of the loss scale would be thousands of times too long. */
static void
test_plain_step (gconstpointer precision)
{
  g_auto (Loop) loop = { NULL, };
  g_autoptr (LpDataLoader) loader = test_loader_new (10, 10, FALSE);
  g_autoptr (LpBatch) raw = NULL;
  g_autoptr (LpBatch) batch = NULL;
  g_autoptr (LpTensor) output = NULL;
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (GError) error = NULL;
  const gboolean scales = !g_str_equal (precision, "bf16-mixed");

  loop_init (&loop, NULL, precision);
  g_assert_true (lp_data_loader_start_epoch (loader, 0, &error));
  raw = lp_data_loader_next (loader, &error);
  batch = lp_fabric_convert_batch (loop.fabric, raw, &error);
  output = lp_fabric_forward (loop.fabric, LP_MODULE (loop.net), lp_batch_get_tensor (batch, 0), &error);
  loss = lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), &error);
  g_assert_true (lp_fabric_backward (loop.fabric, loss, &error));
  g_assert_no_error (error);

  g_assert_cmpint (lp_optimizer_step (loop.optimizer, NULL, &error), ==, scales ? LP_STEP_FAILED : LP_STEP_APPLIED);
  if (!scales)
    return;
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  g_assert_nonnull (strstr (error->message, "optimizer_step of the fabric"));
  g_clear_error (&error);
  g_assert_cmpint (lp_fabric_optimizer_step (loop.fabric, loop.optimizer, &error), !=, LP_STEP_FAILED);
  g_assert_no_error (error);
}

static void
assert_same_values (LpTensor *a,
                    LpTensor *b)
{
  gsize n_a, n_b;
  g_autofree double *values_a = lp_tensor_dup_doubles (a, &n_a, NULL);
  g_autofree double *values_b = lp_tensor_dup_doubles (b, &n_b, NULL);

  g_assert_cmpmem (values_a, n_a * sizeof (double), values_b, n_b * sizeof (double));
}

/* Weights go on from the f32 masters, and that the precision is another is told. */
static void
test_other_precision (void)
{
  g_autoptr (LpPrecisionPlugin) half = g_object_new (LP_TYPE_HALF_PRECISION_PLUGIN, "precision", "bf16-true", "master-weights", TRUE, NULL);
  g_auto (Loop) low = { NULL, };
  g_auto (Loop) full = { NULL, };
  g_autoptr (LpState) extra = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GPtrArray) masters = NULL;
  g_autoptr (GError) error = NULL;
  double first = 0, last = 0;

  loop_init (&low, half, NULL);
  train (&low, 1, &first, &last);
  g_assert_true (lp_fabric_save (low.fabric, PATH, NULL, &error));
  loop_init (&full, NULL, "32-true");

  g_test_expect_message ("Lp", G_LOG_LEVEL_MESSAGE, "*fabric.safetensors*saved under bf16-true*masters in f32*goes on under 32-true*");
  extra = lp_fabric_load (full.fabric, PATH, &error);
  g_test_assert_expected_messages ();
  g_assert_no_error (error);
  g_assert_nonnull (extra);

  masters = lp_param_group_dup_masters (lp_optimizer_get_group (low.optimizer, 0));
  parameters = lp_module_dup_parameters (LP_MODULE (full.net));
  g_assert_cmpuint (masters->len, ==, parameters->len);
  for (guint i = 0; i < parameters->len; i++)
    assert_same_values (masters->pdata[i], parameters->pdata[i]);
}

/* Gradients that are not finite: clipping by norm is refused where they would end in the weights, and the step is skipped where the
 * precision skips it. */
static void
test_clip_not_finite (void)
{
  static const struct { const char *name; gboolean skips; } rows[] = {
    { "32-true", FALSE }, { "bf16-mixed", FALSE }, { "16-mixed", TRUE }, { "apex-O2", TRUE },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpFabric) fabric = lp_fabric_new (rows[i].name, NULL);
      g_autoptr (LpModule) layer = lp_linear_new (4, 4);
      g_autoptr (LpOptimizer) optimizer = NULL;
      g_autoptr (GPtrArray) parameters = NULL;
      g_autoptr (LpTensor) x = lp_tensor_full ((gint64[]) { 1, 4 }, 2, 1e30, NULL, NULL, NULL);
      g_autoptr (LpTensor) y = NULL, square = NULL, loss = NULL;
      g_autoptr (GError) error = NULL;

      g_assert_true (lp_fabric_setup_module (fabric, layer, &error));
      parameters = lp_module_dup_parameters (layer);
      optimizer = lp_sgd_new (parameters, 0.1);
      g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, &error));
      y = lp_fabric_forward (fabric, layer, x, &error);
      square = lp_tensor_square (y, &error);
      loss = lp_tensor_sum (square, NULL, 0, FALSE, &error);
      g_assert_true (lp_fabric_backward (fabric, loss, &error));
      g_assert_no_error (error);
      g_assert_cmpint (lp_fabric_clip_gradients (fabric, optimizer, 1, LP_CLIP_NORM, &error), ==, rows[i].skips);
      if (rows[i].skips)
        g_assert_cmpint (lp_fabric_optimizer_step (fabric, optimizer, &error), ==, LP_STEP_SKIPPED);
      else
        g_assert_error (error, LP_ERROR, LP_ERROR_NOT_FINITE);
    }
}

int
main (int   argc,
      char *argv[])
{
  static const char *names[] = { "32-true", "64-true", "bf16-true", "16-true", "bf16-mixed", "16-mixed" };

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("/fabric/train/", names[i], NULL);

      g_test_add_data_func (path, names[i], test_train);
    }
  g_test_add_data_func ("/fabric/plain-step/16-mixed", "16-mixed", test_plain_step);
  g_test_add_data_func ("/fabric/plain-step/apex-O2", "apex-O2", test_plain_step);
  g_test_add_data_func ("/fabric/plain-step/bf16-mixed", "bf16-mixed", test_plain_step);
  g_test_add_func ("/fabric/other-precision", test_other_precision);
  g_test_add_func ("/fabric/clip-not-finite", test_clip_not_finite);

  return test_run_in_folder ();
}
