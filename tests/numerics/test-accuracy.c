/* Every built-in precision that trains learns about as well as 32-true: a small convolutional net on a part of Fashion-MNIST, or, where
 * that is not installed, on made-up images. The bounds are wide: they are for what is broken, not for what is a bit worse. */

#include <lp/lp.h>

#define FOLDER "/usr/share/datasets/fashion-mnist"
#define N_TRAIN 4000
#define N_TEST 2000
#define LEAST_FROZEN 0.2
#define LEAST 0.70
#define MOST_BEHIND 0.06

G_DECLARE_FINAL_TYPE (SmallNet, small_net, SMALL, NET, LpModel)

struct _SmallNet
{
  LpModel   parent_instance;

  LpModule *layers;
};

G_DEFINE_FINAL_TYPE (SmallNet, small_net, LP_TYPE_MODEL)

static LpTensor *
training_step (LpModel  *model,
               LpBatch  *batch,
               gint64    batch_idx,
               GError  **error)
{
  g_autoptr (LpTensor) logits = lp_module_forward (SMALL_NET (model)->layers, lp_batch_get_tensor (batch, 0), error);

  return lp_tensor_cross_entropy (logits, lp_batch_get_tensor (batch, 1), error);
}

static LpTensor *
test_step (LpModel  *model,
           LpBatch  *batch,
           gint64    batch_idx,
           GError  **error)
{
  g_autoptr (LpTensor) logits = lp_module_forward (SMALL_NET (model)->layers, lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) classes = lp_tensor_argmax (logits, 1, error);
  g_autoptr (LpTensor) hits = lp_tensor_equal (classes, lp_batch_get_tensor (batch, 1), error);
  g_autoptr (LpTensor) accuracy = lp_tensor_mean (hits, NULL, 0, FALSE, error);

  if (accuracy == NULL || !lp_model_log_tensor (model, "accuracy", accuracy, LP_LOG_ON_EPOCH, error))
    return NULL;

  return g_steal_pointer (&accuracy);
}

static GObject *
configure_optimizers (LpModel  *model,
                      GError  **error)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (model));

  return G_OBJECT (lp_adamw_new (parameters, 4e-3));
}

static void
small_net_class_init (SmallNetClass *klass)
{
  LP_MODEL_CLASS (klass)->training_step = training_step;
  LP_MODEL_CLASS (klass)->test_step = test_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = configure_optimizers;
}

static void
small_net_init (SmallNet *self)
{
  LpModule *layers[] = {
    lp_conv2d_new_full (1, 8, 5, 2, 2, 1, 1, TRUE), lp_relu_new (), lp_max_pool2d_new (2), lp_flatten_new (),
    lp_linear_new (8 * 7 * 7, 64), lp_relu_new (), lp_linear_new (64, 10),
  };

  self->layers = lp_sequential_new ();
  for (gsize i = 0; i < G_N_ELEMENTS (layers); i++)
    lp_sequential_append (LP_SEQUENTIAL (self->layers), layers[i]);
  lp_module_register_child (LP_MODULE (self), "layers", self->layers, NULL);
  g_object_unref (self->layers);   /* the model holds it */
}

static LpDataset *train_set, *test_set;

static LpTensor *
load (const char *name,
      gint64      n,
      LpDType    *dtype)
{
  g_autofree char *path = g_build_filename (FOLDER, name, NULL);
  g_autoptr (LpTensor) all = lp_load_idx (path, NULL);
  g_autoptr (LpTensor) part = lp_tensor_narrow (all, 0, 0, n, NULL);

  return lp_tensor_to_dtype (part, dtype, NULL);
}

static LpDataset *
load_fashion (const char *part,
              gint64      n)
{
  g_autofree char *image_name = g_strconcat (part, "-images-idx3-ubyte.gz", NULL);
  g_autofree char *label_name = g_strconcat (part, "-labels-idx1-ubyte.gz", NULL);
  g_autoptr (LpTensor) bytes = load (image_name, n, lp_dtype_f32 ());
  g_autoptr (LpTensor) scaled = lp_tensor_scale (bytes, 1 / 255.0, NULL);
  g_autoptr (LpTensor) images = lp_tensor_unsqueeze (scaled, 1, NULL);
  g_autoptr (LpTensor) labels = load (label_name, n, lp_dtype_i64 ());

  return LP_DATASET (lp_tensor_dataset_new_pair (images, labels, NULL));
}

/* A bright square whose place is the class, in noise. */
static LpDataset *
make_images (gint64  n,
             guint64 seed)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (seed, 0);
  g_autofree double *pixels = g_new (double, n * 28 * 28);
  g_autofree gint64 *classes = g_new (gint64, n);
  g_autoptr (LpTensor) images = NULL;
  g_autoptr (LpTensor) labels = NULL;

  for (gint64 i = 0; i < n; i++)
    {
      classes[i] = lp_generator_next (generator) % 10;
      for (int at = 0; at < 28 * 28; at++)
        {
          const gboolean inside = at / 28 / 7 == classes[i] / 4 && at % 28 / 7 == classes[i] % 4;

          pixels[i * 28 * 28 + at] = lp_generator_next_double (generator) * 0.8 + (inside ? 0.2 : 0);
        }
    }
  images = lp_tensor_new_from_doubles (pixels, n * 28 * 28, (gint64[]) { n, 1, 28, 28 }, 4, lp_dtype_f32 (), NULL);
  labels = lp_tensor_new_from_int64s (classes, n, &n, 1, lp_dtype_i64 (), NULL);

  return LP_DATASET (lp_tensor_dataset_new_pair (images, labels, NULL));
}

static void
make_sets (void)
{
  const gboolean real = g_file_test (FOLDER, G_FILE_TEST_IS_DIR);

  train_set = real ? load_fashion ("train", N_TRAIN) : make_images (N_TRAIN, 1);
  test_set = real ? load_fashion ("t10k", N_TEST) : make_images (N_TEST, 2);
}

/* Precisions with frozen weights are for finetuning what was trained before: what is left to train still learns something. */
static gboolean
is_frozen (LpModule *net)
{
  return !lp_tensor_get_requires_grad (lp_module_lookup_parameter (net, "layers.4.weight"));
}

static double
measure_accuracy (const char *precision,
                  gboolean   *frozen)
{
  g_autoptr (LpDataLoader) train = lp_data_loader_new (train_set, 64, TRUE);
  g_autoptr (LpDataLoader) test = lp_data_loader_new (test_set, 500, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTrainer) trainer = lp_trainer_new (precision, &error);
  g_autoptr (GVariant) results = NULL;
  g_autoptr (LpModel) net = NULL;
  double accuracy = 0;

  g_assert_no_error (error);
  g_object_set (trainer, "max-epochs", 2, "enable-checkpointing", FALSE, "enable-progress-bar", FALSE,
                "enable-model-summary", FALSE, NULL);
  lp_seed_everything (1);
  net = g_object_new (small_net_get_type (), NULL);
  lp_trainer_fit (trainer, net, train, NULL, NULL, NULL, &error);
  g_assert_no_error (error);
  *frozen = is_frozen (LP_MODULE (net));
  results = lp_trainer_test (trainer, net, test, NULL, NULL, &error);
  g_assert_no_error (error);
  g_assert_true (g_variant_lookup (results, "accuracy", "d", &accuracy));

  return accuracy;
}

static double reference;

static void
test_precision (gconstpointer precision)
{
  gboolean frozen;
  double accuracy = measure_accuracy (precision, &frozen);

  g_test_message ("%s: %.4f, 32-true: %.4f", (const char *) precision, accuracy, reference);
  g_assert_cmpfloat (accuracy, >, frozen ? LEAST_FROZEN : reference - MOST_BEHIND);
}

static void
test_reference (void)
{
  gboolean frozen;

  reference = measure_accuracy ("32-true", &frozen);
  g_assert_false (frozen);
  g_test_message ("32-true: %.4f", reference);
  g_assert_cmpfloat (reference, >, LEAST);
}

int
main (int   argc,
      char *argv[])
{
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());
  int status;

  g_test_init (&argc, &argv, NULL);
  /* precisions warn about layers that they leave alone */
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
  make_sets ();
  g_test_add_func ("/accuracy/32-true", test_reference);
  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);
      g_autofree char *path = g_strconcat ("/accuracy/", name, NULL);

      if (g_str_equal (lp_registry_entry_get_origin (entry), "built-in") && !g_str_equal (name, "32-true"))
        g_test_add_data_func_full (path, g_strdup (name), test_precision, g_free);
    }
  status = g_test_run ();
  g_object_unref (train_set);
  g_object_unref (test_set);

  return status;
}
