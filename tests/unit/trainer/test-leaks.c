/* A thousand steps under every precision that the registry lists leave no more memory in use than the first two hundred. */

#include <malloc.h>

#include <lp/lp.h>

#define WARM_UP 200
#define N_STEPS 1000
/* Not a byte a step. */
#define TOLERANCE 700

/* As wide as fp8 wants layers to be. */
#define WIDTH 16

typedef struct { LpModel parent_instance; } Wide;
typedef struct { LpModelClass parent_class; } WideClass;

GType wide_get_type (void);
G_DEFINE_TYPE (Wide, wide, LP_TYPE_MODEL)

static LpTensor *
compute_loss (LpModule  *module,
              LpTensor  *inputs,
              LpTensor  *targets,
              GError   **error)
{
  g_autoptr (LpTensor) output = lp_module_forward (lp_module_lookup_child (module, "layer"), inputs, error);

  return lp_tensor_cross_entropy (output, targets, error);
}

static LpTensor *
wide_training_step (LpModel  *model,
                    LpBatch  *batch,
                    gint64    batch_idx,
                    GError  **error)
{
  return compute_loss (LP_MODULE (model), lp_batch_get_tensor (batch, 0), lp_batch_get_tensor (batch, 1), error);
}

static LpOptimizer *
make_optimizer (LpModule *module)
{
  g_autoptr (GPtrArray) all = lp_module_dup_parameters (module);
  g_autoptr (GPtrArray) trained = g_ptr_array_new ();

  for (guint i = 0; i < all->len; i++)
    if (lp_tensor_get_requires_grad (g_ptr_array_index (all, i)))
      g_ptr_array_add (trained, g_ptr_array_index (all, i));

  return lp_adamw_new (trained, 1e-4);
}

static GObject *
wide_configure_optimizers (LpModel  *model,
                           GError  **error)
{
  return G_OBJECT (make_optimizer (LP_MODULE (model)));
}

static void
wide_class_init (WideClass *klass)
{
  LP_MODEL_CLASS (klass)->training_step = wide_training_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = wide_configure_optimizers;
}

static void
wide_init (Wide *self)
{
  g_autoptr (LpModule) layer = lp_linear_new (WIDTH, WIDTH);

  lp_module_register_child (LP_MODULE (self), "layer", layer, NULL);
}

/* What is in use: of the heap, and of tensors. */
static gint64
count_bytes (void)
{
  return (gint64) mallinfo2 ().uordblks + lp_device_get_used_bytes (lp_device_get_default ());
}

static gint64 early, late;
static int n_noted;

static void
note (gint64 step)
{
  if (step == WARM_UP)
    early = count_bytes ();
  if (step == N_STEPS)
    late = count_bytes ();
  n_noted += step == WARM_UP || step == N_STEPS;
}

static void
on_batch_end (LpTrainer *trainer)
{
  note (lp_trainer_get_global_step (trainer));
}

static void
assert_flat (void)
{
  g_test_message ("%" G_GINT64_FORMAT " bytes after %d steps, %+" G_GINT64_FORMAT " after %d", early, WARM_UP, late - early, N_STEPS);
  g_assert_cmpint (n_noted, ==, 2);
  g_assert_cmpint (late - early, <=, TOLERANCE);
}

static LpTensor *
make_inputs (void)
{
  return lp_tensor_ones ((gint64[]) { 8, WIDTH }, 2, NULL, NULL, NULL);
}

static LpTensor *
make_targets (void)
{
  return lp_tensor_zeros ((gint64[]) { 8 }, 1, lp_dtype_i64 (), NULL, NULL);
}

static void
test_trainer (gconstpointer name)
{
  g_autoptr (LpTensor) x = make_inputs ();
  g_autoptr (LpTensor) y = make_targets ();
  g_autoptr (LpDataset) dataset = LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 4, FALSE);
  g_autoptr (LpModel) model = g_object_new (wide_get_type (), NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTrainer) trainer = lp_trainer_new (name, &error);

  g_assert_no_error (error);
  g_object_set (trainer, "max-steps", (gint64) N_STEPS, "max-epochs", -1, "enable-progress-bar", FALSE, "enable-model-summary", FALSE,
                "enable-checkpointing", FALSE, "gradient-clip-val", 1.0, NULL);
  g_signal_connect (trainer, "train-batch-end", G_CALLBACK (on_batch_end), NULL);
  n_noted = 0;
  lp_trainer_fit (trainer, model, loader, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  assert_flat ();
}

static void
step (LpFabric    *fabric,
      LpModule    *module,
      LpOptimizer *optimizer,
      LpBatch     *batch)
{
  g_autoptr (LpBatch) converted = lp_fabric_convert_batch (fabric, batch, NULL);
  g_autoptr (LpTensor) loss = NULL;

  g_assert_true (lp_fabric_begin_autocast (fabric, NULL));
  loss = compute_loss (module, lp_batch_get_tensor (converted, 0), lp_batch_get_tensor (converted, 1), NULL);
  lp_fabric_end_autocast (fabric);
  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  g_assert_true (lp_fabric_backward (fabric, loss, NULL));
  g_assert_true (lp_fabric_clip_gradients (fabric, optimizer, 1, LP_CLIP_NORM, NULL));
  g_assert_cmpint (lp_fabric_optimizer_step (fabric, optimizer, NULL), !=, LP_STEP_FAILED);
}

/* Without a trainer. */
static void
test_plugin (gconstpointer name)
{
  g_autoptr (LpTensor) x = make_inputs ();
  g_autoptr (LpTensor) y = make_targets ();
  g_autoptr (LpBatch) batch = lp_batch_new_pair (x, y);
  g_autoptr (LpModule) module = g_object_new (wide_get_type (), NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpFabric) fabric = lp_fabric_new (name, &error);
  g_autoptr (LpOptimizer) optimizer = NULL;

  g_assert_no_error (error);
  g_assert_true (lp_fabric_setup_module (fabric, module, &error));
  optimizer = make_optimizer (module);
  g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, &error));
  n_noted = 0;
  for (int i = 1; i <= N_STEPS; i++)
    {
      step (fabric, module, optimizer, batch);
      note (i);
    }
  assert_flat ();
}

/* Making, using and dropping plugins and trainers. */
static void
test_made_and_dropped (gconstpointer name)
{
  n_noted = 0;
  for (int i = 1; i <= N_STEPS; i++)
    {
      g_autoptr (LpTrainer) trainer = lp_trainer_new (name, NULL);
      g_autoptr (LpPrecisionPlugin) plugin = lp_trainer_dup_precision_plugin (trainer);
      g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
      g_autoptr (LpState) state = NULL;
      g_autofree char *precision = lp_trainer_dup_precision (trainer);

      g_assert_true (lp_precision_plugin_attach (plugin, context, NULL));
      state = lp_precision_plugin_save_state (plugin, NULL);
      g_assert_true (lp_precision_plugin_load_state (plugin, state, NULL));
      g_assert_true (lp_precision_plugin_detach (plugin, NULL));
      note (i);
    }
  assert_flat ();
}

int
main (int    argc,
      char **argv)
{
  static const struct { const char *name; GTestDataFunc function; } tests[] = {
    { "trainer", test_trainer }, { "plugin", test_plugin }, { "made-and-dropped", test_made_and_dropped },
  };
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());

  g_test_init (&argc, &argv, NULL);

  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);

      for (gsize j = 0; j < G_N_ELEMENTS (tests); j++)
        {
          g_autofree char *path = g_strdup_printf ("/leaks/%s/%s", tests[j].name, name);

          g_test_add_data_func (path, name, tests[j].function);
        }
    }

  return g_test_run ();
}
