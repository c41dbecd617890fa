/* A convolutional net on Fashion-MNIST, in any precision: fashion-mnist [PRECISION [EPOCHS [SEED [FOLDER [PART]]]]].
 * PART is the share of the training batches that is used, 1 for all. */

#include <lp/lp.h>

G_DECLARE_FINAL_TYPE (FashionNet, fashion_net, FASHION, NET, LpModel)
struct _FashionNet
{
  LpModel parent_instance;
  LpModule *layers;
};
G_DEFINE_FINAL_TYPE (FashionNet, fashion_net, LP_TYPE_MODEL)

static void fashion_net_init (FashionNet *self)
{
  LpModule *layers[] = {
    lp_conv2d_new_full (1, 16, 5, 2, 2, 1, 1, TRUE), lp_relu_new (),
    lp_conv2d_new_full (16, 32, 3, 1, 1, 1, 1, TRUE), lp_relu_new (), lp_max_pool2d_new (2),
    lp_flatten_new (), lp_linear_new (32 * 7 * 7, 128), lp_relu_new (), lp_linear_new (128, 10),
  };
  self->layers = lp_sequential_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (layers); i++)
    lp_sequential_append (LP_SEQUENTIAL (self->layers), layers[i]);
  lp_module_register_child (LP_MODULE (self), "layers", self->layers, NULL);
  g_object_unref (self->layers); /* the model holds it */
}

static LpTensor *training_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) logits = lp_module_forward (FASHION_NET (model)->layers, lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) loss = lp_tensor_cross_entropy (logits, lp_batch_get_tensor (batch, 1), error);
  if (loss == NULL || !lp_model_log_tensor (model, "loss", loss, LP_LOG_ON_EPOCH | LP_LOG_PROG_BAR, error))
    return NULL;
  return g_steal_pointer (&loss);
}

static LpTensor *validation_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) logits = lp_module_forward (FASHION_NET (model)->layers, lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) classes = lp_tensor_argmax (logits, 1, error);
  g_autoptr (LpTensor) hits = lp_tensor_equal (classes, lp_batch_get_tensor (batch, 1), error);
  g_autoptr (LpTensor) accuracy = lp_tensor_mean (hits, NULL, 0, FALSE, error);
  if (accuracy == NULL || !lp_model_log_tensor (model, "accuracy", accuracy, LP_LOG_ON_EPOCH | LP_LOG_PROG_BAR, error))
    return NULL;
  return g_steal_pointer (&accuracy);
}

static GObject *configure_optimizers (LpModel *model, GError **error)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (model));
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (parameters, 2e-3);
  gint64 n_steps = lp_trainer_get_estimated_stepping_batches (lp_model_get_trainer (model));
  g_autoptr (LpLrScheduler) scheduler = lp_cosine_lr_new (optimizer, n_steps, 0);
  LpOptimizerConfig *config = lp_optimizer_config_new ();
  lp_optimizer_config_add_optimizer (config, optimizer);
  lp_optimizer_config_add_scheduler (config, scheduler, 1);
  return G_OBJECT (config);
}

static void fashion_net_class_init (FashionNetClass *klass)
{
  LP_MODEL_CLASS (klass)->training_step = training_step;
  LP_MODEL_CLASS (klass)->validation_step = LP_MODEL_CLASS (klass)->test_step = validation_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = configure_optimizers;
}

static LpDataset *load (const char *folder, const char *part, GError **error)
{
  g_autofree char *image_path = g_strdup_printf ("%s/%s-images-idx3-ubyte.gz", folder, part);
  g_autofree char *label_path = g_strdup_printf ("%s/%s-labels-idx1-ubyte.gz", folder, part);
  g_autoptr (LpTensor) bytes = lp_load_idx (image_path, error);
  g_autoptr (LpTensor) floats = lp_tensor_to_dtype (bytes, lp_dtype_f32 (), error);
  g_autoptr (LpTensor) scaled = lp_tensor_scale (floats, 1 / 255.0, error);
  g_autoptr (LpTensor) images = lp_tensor_unsqueeze (scaled, 1, error);
  g_autoptr (LpTensor) numbers = images != NULL ? lp_load_idx (label_path, error) : NULL;
  g_autoptr (LpTensor) labels = lp_tensor_to_dtype (numbers, lp_dtype_i64 (), error);
  return labels != NULL ? LP_DATASET (lp_tensor_dataset_new_pair (images, labels, error)) : NULL;
}

static gboolean run (const char *precision, int epochs, guint64 seed, const char *folder, double part, GError **error)
{
  g_autoptr (LpTrainer) trainer = lp_trainer_new (precision, error);
  g_autoptr (LpLogger) logger = lp_csv_logger_new (".", "fashion-mnist", precision);
  g_autoptr (LpDataset) train = trainer != NULL ? load (folder, "train", error) : NULL;
  g_autoptr (LpDataset) test = train != NULL ? load (folder, "t10k", error) : NULL;
  g_autoptr (GPtrArray) parts = test != NULL ? lp_dataset_split (train, (gint64[]) { 55000, 5000 }, 2, 0, error) : NULL;
  if (parts == NULL)
    return FALSE;
  g_object_set (trainer, "max-epochs", epochs, "limit-train-batches", part, "enable-checkpointing", FALSE, NULL);
  lp_trainer_add_logger (trainer, logger);
  g_autoptr (LpDataLoader) train_loader = lp_data_loader_new (parts->pdata[0], 128, TRUE);
  g_autoptr (LpDataLoader) val_loader = lp_data_loader_new (parts->pdata[1], 500, FALSE);
  g_autoptr (LpDataLoader) test_loader = lp_data_loader_new (test, 500, FALSE);
  lp_seed_everything (seed);
  g_autoptr (LpModel) model = g_object_new (fashion_net_get_type (), NULL);
  gint64 started = g_get_monotonic_time ();
  if (!lp_trainer_fit (trainer, model, train_loader, val_loader, NULL, NULL, error))
    return FALSE;
  double seconds = (g_get_monotonic_time () - started) / 1e6 / epochs, accuracy = 0;
  g_autoptr (GVariant) results = lp_trainer_test (trainer, model, test_loader, NULL, NULL, error);
  if (results == NULL || !g_variant_lookup (results, "accuracy", "d", &accuracy))
    return FALSE;
  g_autoptr (LpPrecisionPlugin) plugin = lp_trainer_dup_precision_plugin (trainer);
  g_autofree char *says = lp_precision_plugin_dup_precision (plugin);
  g_autofree char *trainer_says = lp_trainer_dup_precision (trainer);
  LpTensor *weight = lp_module_lookup_parameter (LP_MODULE (model), "layers.6.weight");
  g_print ("plugin=%s trainer=%s storage=%s bytes=%" G_GINT64_FORMAT " accuracy=%.4f seconds=%.2f\n", says, trainer_says,
           lp_dtype_get_name (lp_tensor_get_dtype (weight)), lp_tensor_get_n_bytes (weight), accuracy, seconds);
  return TRUE;
}

int main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (!run (argc > 1 ? argv[1] : "32-true", argc > 2 ? atoi (argv[2]) : 6, argc > 3 ? atoi (argv[3]) : 1,
            argc > 4 ? argv[4] : "/usr/share/datasets/fashion-mnist", argc > 5 ? g_ascii_strtod (argv[5], NULL) : 1, &error))
    g_printerr ("fashion-mnist: %s\n", error->message);
  return error != NULL;
}
