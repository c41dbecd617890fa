#pragma once

#include <lp/lp.h>

G_BEGIN_DECLS

/* A multilayer perceptron or a small convolutional net on made-up data, public functions only. The model notes when its
 * steps begin, so that the warm-up of a run can be left out. */

#define BENCH_TYPE_NET (bench_net_get_type ())
G_DECLARE_FINAL_TYPE (BenchNet, bench_net, BENCH, NET, LpModel)

struct _BenchNet
{
  LpModel   parent_instance;

  LpModule *layers;
  gboolean  log_loss;
  gint64    warm_up;      /* steps before the clock starts */
  gint64    n_steps;
  gint64    started;      /* µs */
};

G_DEFINE_FINAL_TYPE (BenchNet, bench_net, LP_TYPE_MODEL)

static inline LpTensor *
bench_net_loss (BenchNet  *self,
                LpBatch   *batch,
                GError   **error)
{
  g_autoptr (LpTensor) output = lp_module_forward (self->layers, lp_batch_get_tensor (batch, 0), error);

  return lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), error);
}

static LpTensor *
bench_net_training_step (LpModel  *model,
                         LpBatch  *batch,
                         gint64    batch_idx,
                         GError  **error)
{
  BenchNet *self = BENCH_NET (model);
  g_autoptr (LpTensor) loss = NULL;

  if (self->n_steps++ == self->warm_up)
    self->started = g_get_monotonic_time ();
  loss = bench_net_loss (self, batch, error);
  if (loss == NULL || (self->log_loss && !lp_model_log_tensor (model, "loss", loss, LP_LOG_DEFAULT, error)))
    return NULL;

  return g_steal_pointer (&loss);
}

static inline LpOptimizer *
bench_net_optimizer_new (BenchNet *self)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (self));

  return lp_adamw_new (parameters, 1e-3);
}

static GObject *
bench_net_configure_optimizers (LpModel  *model,
                                GError  **error)
{
  return G_OBJECT (bench_net_optimizer_new (BENCH_NET (model)));
}

static void
bench_net_class_init (BenchNetClass *klass)
{
  LP_MODEL_CLASS (klass)->training_step = bench_net_training_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = bench_net_configure_optimizers;
}

static void
bench_net_init (BenchNet *self)
{
}

static inline BenchNet *
bench_net_new_from (GPtrArray *layers)
{
  BenchNet *self = g_object_new (BENCH_TYPE_NET, NULL);

  self->layers = lp_sequential_new_from (layers);
  lp_module_register_child (LP_MODULE (self), "layers", self->layers, NULL);
  g_object_unref (self->layers);   /* the model holds it */

  return self;
}

/* Linear layers with ReLU between them. */
static inline BenchNet *
bench_mlp_new (const gint64 *sizes,
               gsize         n_sizes)
{
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func (g_object_unref);

  lp_seed_everything (1);
  for (gsize i = 0; i + 1 < n_sizes; i++)
    {
      if (i > 0)
        g_ptr_array_add (layers, lp_relu_new ());
      g_ptr_array_add (layers, lp_linear_new (sizes[i], sizes[i + 1]));
    }

  return bench_net_new_from (layers);
}

static inline BenchNet *
bench_conv_net_new (void)
{
  LpModule *modules[] = {
    lp_conv2d_new_full (1, 8, 3, 1, 1, 1, 1, TRUE), lp_batch_norm2d_new (8), lp_relu_new (), lp_max_pool2d_new (2),
    lp_conv2d_new_full (8, 16, 3, 1, 1, 1, 1, TRUE), lp_relu_new (), lp_flatten_new (), lp_dropout_new (0.1), lp_linear_new (16 * 14 * 14, 10),
  };
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func (g_object_unref);

  for (gsize i = 0; i < G_N_ELEMENTS (modules); i++)
    g_ptr_array_add (layers, modules[i]);

  return bench_net_new_from (layers);
}

/* Even noise of the shape @dims, and classes below @n_classes. */
static inline LpDataset *
bench_dataset_new (const gint64 *dims,
                   gsize         n_dims,
                   gint64        n_classes)
{
  g_autoptr (LpTensor) x = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autofree gint64 *classes = g_new (gint64, dims[0]);

  lp_seed_everything (2);
  x = lp_tensor_uniform (dims, n_dims, -1, 1, lp_dtype_f32 (), NULL, NULL);
  for (gint64 i = 0; i < dims[0]; i++)
    classes[i] = i * 7 % n_classes;
  y = lp_tensor_new_from_int64s (classes, dims[0], dims, 1, lp_dtype_i64 (), NULL);

  return LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));
}

/* A trainer that does nothing but train. */
static inline LpTrainer *
bench_trainer_new (const char *precision,
                   gint64      max_steps)
{
  g_autoptr (GError) error = NULL;
  LpTrainer *trainer = lp_trainer_new (precision, &error);

  if (trainer == NULL)
    g_error ("%s", error->message);
  lp_trainer_set_max_epochs (trainer, -1);
  lp_trainer_set_max_steps (trainer, max_steps);
  lp_trainer_set_enable_progress_bar (trainer, FALSE);
  lp_trainer_set_enable_model_summary (trainer, FALSE);
  lp_trainer_set_enable_checkpointing (trainer, FALSE);

  return trainer;
}

/* Seconds per step of @n_steps by the trainer. */
static inline double
bench_fit (BenchNet     *net,
           LpDataLoader *loader,
           gint64        n_steps)
{
  g_autoptr (LpTrainer) trainer = bench_trainer_new ("32-true", n_steps + net->warm_up);
  g_autoptr (GError) error = NULL;

  net->n_steps = 0;
  if (!lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error))
    g_error ("%s", error->message);

  return (double) (g_get_monotonic_time () - net->started) * 1e-6 / (double) n_steps;
}

/* One step as a C program without the trainer writes it. */
static inline void
bench_step (BenchNet    *net,
            LpOptimizer *optimizer,
            LpBatch     *batch)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) loss = NULL;

  if (!lp_optimizer_zero_grad (optimizer, &error) || (loss = bench_net_loss (net, batch, &error)) == NULL ||
      !lp_tensor_backward (loss, NULL, &error) || lp_optimizer_step (optimizer, NULL, &error) == LP_STEP_FAILED)
    g_error ("%s", error->message);
}

static inline int
bench_compare_doubles (gconstpointer a,
                       gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return x < y ? -1 : x > y;
}

static inline double
bench_median (double *values,
              gsize   n)
{
  qsort (values, n, sizeof (double), bench_compare_doubles);

  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

G_END_DECLS
