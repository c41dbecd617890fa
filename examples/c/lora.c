/* A trained net goes on in 4 bits: lora [PRECISION [EPOCHS [SEED [FOLDER [PART [TUNING_EPOCHS]]]]]].
 * The net of fashion-mnist.c is trained in 32-true; its linear layers get adapters and are stored as PRECISION says, nf4 unless told;
 * then the adapters are trained. PART is the share of the training batches that is used, 1 for all. */

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
  return lp_tensor_cross_entropy (logits, lp_batch_get_tensor (batch, 1), error);
}

static LpTensor *test_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) logits = lp_module_forward (FASHION_NET (model)->layers, lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) classes = lp_tensor_argmax (logits, 1, error);
  g_autoptr (LpTensor) hits = lp_tensor_equal (classes, lp_batch_get_tensor (batch, 1), error);
  g_autoptr (LpTensor) accuracy = lp_tensor_mean (hits, NULL, 0, FALSE, error);
  if (accuracy == NULL || !lp_model_log_tensor (model, "accuracy", accuracy, LP_LOG_ON_EPOCH, error))
    return NULL;
  return g_steal_pointer (&accuracy);
}

/* The adapters, if there are some. */
static GObject *configure_optimizers (LpModel *model, GError **error)
{
  g_autoptr (GPtrArray) adapters = lp_lora_linear_dup_adapters (LP_MODULE (model));
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (model));
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (adapters->len > 0 ? adapters : parameters, 2e-3);
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
  LP_MODEL_CLASS (klass)->test_step = test_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = configure_optimizers;
}

static LpDataLoader *load (const char *folder, const char *part, gint64 batch_size, gboolean shuffle, GError **error)
{
  g_autofree char *image_path = g_strdup_printf ("%s/%s-images-idx3-ubyte.gz", folder, part);
  g_autofree char *label_path = g_strdup_printf ("%s/%s-labels-idx1-ubyte.gz", folder, part);
  g_autoptr (LpTensor) bytes = lp_load_idx (image_path, error);
  g_autoptr (LpTensor) floats = lp_tensor_to_dtype (bytes, lp_dtype_f32 (), error);
  g_autoptr (LpTensor) scaled = lp_tensor_scale (floats, 1 / 255.0, error);
  g_autoptr (LpTensor) images = lp_tensor_unsqueeze (scaled, 1, error);
  g_autoptr (LpTensor) numbers = images != NULL ? lp_load_idx (label_path, error) : NULL;
  g_autoptr (LpTensor) labels = lp_tensor_to_dtype (numbers, lp_dtype_i64 (), error);
  g_autoptr (LpDataset) dataset = labels != NULL ? LP_DATASET (lp_tensor_dataset_new_pair (images, labels, error)) : NULL;
  return dataset != NULL ? lp_data_loader_new (dataset, batch_size, shuffle) : NULL;
}

static LpTrainer *trainer_for (const char *precision, int epochs, double part, GError **error)
{
  LpTrainer *trainer = lp_trainer_new (precision, error);
  if (trainer != NULL)
    g_object_set (trainer, "max-epochs", epochs, "limit-train-batches", part, "enable-checkpointing", FALSE, NULL);
  return trainer;
}

static gboolean test (LpTrainer *trainer, LpModel *model, LpDataLoader *loader, double *accuracy, GError **error)
{
  g_autoptr (GVariant) results = lp_trainer_test (trainer, model, loader, NULL, NULL, error);
  return results != NULL && g_variant_lookup (results, "accuracy", "d", accuracy);
}

static gboolean run (const char *precision, int epochs, guint64 seed, const char *folder, double part, int tuning_epochs, GError **error)
{
  g_autoptr (LpTrainer) trainer = trainer_for ("32-true", epochs, part, error);
  g_autoptr (LpTrainer) tuner = trainer != NULL ? trainer_for (precision, tuning_epochs, part, error) : NULL;
  g_autoptr (LpDataLoader) train = tuner != NULL ? load (folder, "train", 128, TRUE, error) : NULL;
  g_autoptr (LpDataLoader) held_back = train != NULL ? load (folder, "t10k", 500, FALSE, error) : NULL;
  double trained = 0, stored = 0, tuned = 0;
  if (held_back == NULL)
    return FALSE;
  lp_seed_everything (seed);
  g_autoptr (LpModel) model = g_object_new (fashion_net_get_type (), NULL);
  if (!lp_trainer_fit (trainer, model, train, NULL, NULL, NULL, error) || !test (trainer, model, held_back, &trained, error))
    return FALSE;

  gint64 plain_bytes = lp_tensor_get_n_bytes (lp_module_lookup_parameter (LP_MODULE (model), "layers.6.weight"));
  if (!lp_lora_linear_adapt (LP_MODULE (model), NULL, 16, 32, 0, error) || !test (tuner, model, held_back, &stored, error)
      || !lp_trainer_fit (tuner, model, train, NULL, NULL, NULL, error) || !test (tuner, model, held_back, &tuned, error))
    return FALSE;

  LpTensor *weight = lp_module_lookup_parameter (LP_MODULE (model), "layers.6.base.weight");
  LpTensor *lora_a = lp_module_lookup_parameter (LP_MODULE (model), "layers.6.lora_a");
  LpTensor *lora_b = lp_module_lookup_parameter (LP_MODULE (model), "layers.6.lora_b");
  g_print ("storage=%s bytes=%" G_GINT64_FORMAT " of=%" G_GINT64_FORMAT " adapters=%" G_GINT64_FORMAT " trained=%.4f stored=%.4f tuned=%.4f\n",
           lp_dtype_get_name (lp_tensor_get_dtype (weight)), lp_tensor_get_n_bytes (weight), plain_bytes,
           lp_tensor_get_n_bytes (lora_a) + lp_tensor_get_n_bytes (lora_b), trained, stored, tuned);
  return TRUE;
}

int main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  if (!run (argc > 1 ? argv[1] : "nf4", argc > 2 ? atoi (argv[2]) : 6, argc > 3 ? atoi (argv[3]) : 1,
            argc > 4 ? argv[4] : "/usr/share/datasets/fashion-mnist", argc > 5 ? g_ascii_strtod (argv[5], NULL) : 1,
            argc > 6 ? atoi (argv[6]) : 2, &error))
    g_printerr ("lora: %s\n", error->message);
  return error != NULL;
}
