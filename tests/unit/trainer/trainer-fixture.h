#pragma once

#include <math.h>

#include <lp/lp.h>

G_BEGIN_DECLS

/* A small net with dropout on made-up data, whose steps log. Public functions only, so that programs of the tests that link
 * the library can use it too. */

#define TEST_TYPE_NET (test_net_get_type ())
#define TEST_NET(object) (G_TYPE_CHECK_INSTANCE_CAST ((object), TEST_TYPE_NET, TestNet))

typedef struct
{
  LpModel    parent_instance;

  LpMetric  *accuracy;
  double     lr;
  gboolean   with_schedule;
  gint64     skip_every;      /* every such batch has no loss */
  gboolean   poison;          /* the loss is NaN */
  gboolean   steep;           /* the loss is finite, its gradient is not */
  GPtrArray *events;          /* names of what was called, if not NULL */
  gint64     n_steps;
} TestNet;

typedef struct { LpModelClass parent_class; } TestNetClass;

static GType test_net_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TestNet, g_object_unref)
G_DEFINE_TYPE (TestNet, test_net, LP_TYPE_MODEL)

static inline void
test_net_record (TestNet    *self,
                 const char *event)
{
  if (self->events != NULL)
    g_ptr_array_add (self->events, g_strdup (event));
}

static LpTensor *
test_net_forward (LpModule  *module,
                  LpTensor  *input,
                  GError   **error)
{
  g_autoptr (LpTensor) hidden = lp_module_forward (lp_module_lookup_child (module, "first"), input, error);
  g_autoptr (LpTensor) active = lp_tensor_relu (hidden, error);
  g_autoptr (LpTensor) dropped = lp_module_forward (lp_module_lookup_child (module, "dropout"), active, error);

  return lp_module_forward (lp_module_lookup_child (module, "second"), dropped, error);
}

static LpTensor *
test_net_training_step (LpModel  *model,
                        LpBatch  *batch,
                        gint64    batch_idx,
                        GError  **error)
{
  TestNet *self = TEST_NET (model);
  g_autoptr (LpTensor) output = NULL;
  g_autoptr (LpTensor) loss = NULL;

  test_net_record (self, "training_step");
  self->n_steps++;
  if (self->skip_every > 0 && batch_idx % self->skip_every == self->skip_every - 1)
    return NULL;
  output = lp_module_forward (LP_MODULE (model), lp_batch_get_tensor (batch, 0), error);
  loss = lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), error);
  if (loss == NULL)
    return NULL;
  if (self->poison)
    {
      g_autoptr (LpTensor) poisoned = lp_tensor_scale (loss, (double) NAN, error);

      return g_steal_pointer (&poisoned);
    }
  if (self->steep)
    {
      g_autoptr (LpTensor) nought = lp_tensor_scale (loss, 0, error);
      g_autoptr (LpTensor) root = lp_tensor_sqrt (nought, error);
      g_autoptr (LpTensor) sum = lp_tensor_add (loss, root, error);

      return g_steal_pointer (&sum);
    }
  if (!lp_model_log_tensor (model, "train_loss", loss, LP_LOG_ON_STEP | LP_LOG_ON_EPOCH, error))
    return NULL;

  return g_steal_pointer (&loss);
}

static LpTensor *
test_net_validation_step (LpModel  *model,
                          LpBatch  *batch,
                          gint64    batch_idx,
                          GError  **error)
{
  TestNet *self = TEST_NET (model);
  g_autoptr (LpTensor) output = lp_module_forward (LP_MODULE (model), lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) loss = lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), error);

  test_net_record (self, "validation_step");
  if (loss == NULL || !lp_model_log_tensor (model, "val_loss", loss, LP_LOG_PROG_BAR, error) ||
      !lp_metric_update (self->accuracy, output, lp_batch_get_tensor (batch, 1), error) ||
      !lp_model_log_metric (model, "val_acc", self->accuracy, LP_LOG_PROG_BAR, error))
    return NULL;

  return g_steal_pointer (&loss);
}

static GObject *
test_net_configure_optimizers (LpModel  *model,
                               GError  **error)
{
  TestNet *self = TEST_NET (model);
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (model));
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (parameters, self->lr);
  g_autoptr (LpLrScheduler) scheduler = NULL;
  LpOptimizerConfig *config;

  if (!self->with_schedule)
    return G_OBJECT (g_steal_pointer (&optimizer));

  config = lp_optimizer_config_new ();
  scheduler = lp_cosine_lr_new (optimizer, 100, 0);
  lp_optimizer_config_add_scheduler (config, scheduler, 1);

  return G_OBJECT (config);
}

static void
test_net_finalize (GObject *object)
{
  TestNet *self = TEST_NET (object);

  g_clear_object (&self->accuracy);
  g_clear_pointer (&self->events, g_ptr_array_unref);

  G_OBJECT_CLASS (test_net_parent_class)->finalize (object);
}

static void
test_net_class_init (TestNetClass *klass)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = test_net_finalize;
  LP_MODULE_CLASS (klass)->forward = test_net_forward;
  model_class->training_step = test_net_training_step;
  model_class->validation_step = test_net_validation_step;
  model_class->test_step = test_net_validation_step;
  model_class->configure_optimizers = test_net_configure_optimizers;
}

static void
test_net_init (TestNet *self)
{
  LpModule *module = LP_MODULE (self);
  g_autoptr (LpModule) first = lp_linear_new (8, 16);
  g_autoptr (LpModule) dropout = lp_dropout_new (0.2);
  g_autoptr (LpModule) second = lp_linear_new (16, 3);

  lp_module_register_child (module, "first", first, NULL);
  lp_module_register_child (module, "dropout", dropout, NULL);
  lp_module_register_child (module, "second", second, NULL);
  self->accuracy = lp_accuracy_new ();
  self->lr = 0.01;
}

static inline TestNet *
test_net_new (guint64 seed)
{
  lp_seed_everything (seed);

  return g_object_new (TEST_TYPE_NET, NULL);
}

/* A net of the subclass @name, which is made if there is none yet. */
static inline TestNet *
test_net_new_subclass (const char     *name,
                       GClassInitFunc  class_init,
                       guint64         seed)
{
  GType type = g_type_from_name (name);

  if (type == G_TYPE_INVALID)
    type = g_type_register_static_simple (TEST_TYPE_NET, name, sizeof (TestNetClass), class_init, sizeof (TestNet), NULL, 0);
  lp_seed_everything (seed);

  return g_object_new (type, NULL);
}

/* Points around three centres. */
static inline LpDataset *
test_dataset_new (gint64 n)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (7, 1);
  g_autofree double *inputs = g_new (double, n * 8);
  g_autofree gint64 *targets = g_new (gint64, n);
  g_autoptr (LpTensor) x = NULL;
  g_autoptr (LpTensor) y = NULL;
  gint64 dims[2] = { n, 8 };

  for (gint64 i = 0; i < n; i++)
    {
      targets[i] = lp_generator_next (generator) % 3;
      for (int j = 0; j < 8; j++)
        inputs[i * 8 + j] = (j % 3 == targets[i] ? 1 : 0) + lp_generator_next_double (generator) - 0.5;
    }
  x = lp_tensor_new_from_doubles (inputs, n * 8, dims, 2, lp_dtype_f32 (), NULL);
  y = lp_tensor_new_from_int64s (targets, n, dims, 1, lp_dtype_i64 (), NULL);

  return LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));
}

static inline LpDataLoader *
test_loader_new (gint64   n,
                 gint64   batch_size,
                 gboolean shuffle)
{
  g_autoptr (LpDataset) dataset = test_dataset_new (n);

  return lp_data_loader_new (dataset, batch_size, shuffle);
}

static inline LpTrainer *
test_trainer_new (const char *precision,
                  gint        max_epochs)
{
  g_autoptr (GError) error = NULL;
  LpTrainer *trainer = lp_trainer_new (precision, &error);

  g_assert_no_error (error);
  lp_trainer_set_max_epochs (trainer, max_epochs);
  lp_trainer_set_enable_progress_bar (trainer, FALSE);
  lp_trainer_set_enable_model_summary (trainer, FALSE);
  lp_trainer_set_enable_checkpointing (trainer, FALSE);

  return trainer;
}

/* All weights as one run of bytes. */
static inline GBytes *
test_net_dup_weights (TestNet *self)
{
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (LP_MODULE (self));
  g_auto (GStrv) names = lp_tensor_dict_dup_names (state);
  GByteArray *all = g_byte_array_new ();

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (lp_tensor_dict_lookup (state, names[i]), NULL);

      g_byte_array_append (all, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
    }

  return g_byte_array_free_to_bytes (all);
}

G_END_DECLS
