#pragma once

#include <lp/lp.h>

G_BEGIN_DECLS

#define WIDTH 16

/* A model of one layer, or two with an optimizer each, that writes down what it finds. */

typedef struct
{
  LpModel   parent_instance;
  guint     n_layers;
  gboolean  late;          /* makes its layer in configure_model */
  gint64    skip_odd;
  guint     first;         /* of the layers that are stepped by hand */
  gint64    n_backward;
  GString  *seen;          /* per stage: default dtype, input, label, output, a new tensor, one of an explicit dtype */
} Probe;

typedef struct { LpModelClass parent_class; } ProbeClass;

static GType probe_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Probe, g_object_unref)
G_DEFINE_TYPE (Probe, probe, LP_TYPE_MODEL)

static const char *
dtype_of (LpTensor *tensor)
{
  return lp_dtype_get_name (lp_tensor_get_dtype (tensor));
}

static LpModule *
get_layer (Probe *self,
           guint  i)
{
  return lp_module_lookup_child (LP_MODULE (self), i == 0 ? "layer" : "other");
}

static LpTensor *
get_weight (Probe *self,
            guint  i)
{
  return lp_linear_get_weight (LP_LINEAR (get_layer (self, i)));
}

static void
add_layers (Probe *self)
{
  for (guint i = 0; i < self->n_layers; i++)
    {
      g_autoptr (LpModule) layer = lp_linear_new (WIDTH, WIDTH);

      g_assert_true (lp_module_register_child (LP_MODULE (self), i == 0 ? "layer" : "other", layer, NULL));
      if (i == 0)
        continue;
      g_assert_true (lp_tensor_assign (get_weight (self, i), get_weight (self, 0), NULL));
      g_assert_true (lp_tensor_assign (lp_linear_get_bias (LP_LINEAR (layer)), lp_linear_get_bias (LP_LINEAR (get_layer (self, 0))), NULL));
    }
}

static LpTensor *
probe_forward (LpModule  *module,
               LpTensor  *input,
               GError   **error)
{
  return lp_module_forward (get_layer ((Probe *) module, 0), input, error);
}

static void
look (Probe      *self,
      const char *stage,
      LpBatch    *batch,
      LpTensor   *output)
{
  g_autoptr (LpTensor) made = lp_tensor_zeros ((gint64[]) { 2 }, 1, NULL, NULL, NULL);
  g_autoptr (LpTensor) explicit = lp_tensor_zeros ((gint64[]) { 2 }, 1, lp_dtype_f16 (), NULL, NULL);
  g_autofree char *line = g_strdup_printf ("%s: %s %s %s %s %s %s\n", stage, lp_dtype_get_name (lp_default_dtype_get ()),
                                           dtype_of (lp_batch_get_tensor (batch, 0)), dtype_of (lp_batch_get_tensor (batch, 1)),
                                           dtype_of (output), dtype_of (made), dtype_of (explicit));

  if (strstr (self->seen->str, line) == NULL)
    g_string_append (self->seen, line);
}

static LpTensor *
compute (Probe       *self,
         const char  *stage,
         guint        layer,
         LpBatch     *batch,
         GError     **error)
{
  g_autoptr (LpTensor) output = lp_module_forward (get_layer (self, layer), lp_batch_get_tensor (batch, 0), error);

  if (output != NULL)
    look (self, stage, batch, output);

  return lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), error);
}

/* By hand: each layer with its optimizer. */
static gboolean
step_by_hand (Probe    *self,
              LpBatch  *batch,
              GError  **error)
{
  LpModel *model = LP_MODEL (self);

  for (guint i = self->first; i < self->n_layers; i++)
    {
      LpOptimizer *optimizer = lp_model_get_optimizer (model, i);
      g_autoptr (LpTensor) loss = compute (self, "training", i, batch, error);

      if (loss == NULL || !lp_optimizer_zero_grad (optimizer, error) || !lp_model_manual_backward (model, loss, error) ||
          lp_model_optimizer_step (model, optimizer, error) == LP_STEP_FAILED)
        return FALSE;
      self->n_backward++;
    }

  return TRUE;
}

static LpTensor *
probe_training_step (LpModel  *model,
                     LpBatch  *batch,
                     gint64    batch_idx,
                     GError  **error)
{
  Probe *self = (Probe *) model;

  if (self->n_layers > 1)
    {
      step_by_hand (self, batch, error);
      return NULL;
    }
  if (self->skip_odd && batch_idx % 2 == 1)
    return NULL;

  return compute (self, "training", 0, batch, error);
}

static LpTensor *
probe_validation_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  return compute ((Probe *) model, "validation", 0, batch, error);
}

static LpTensor *
probe_test_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  return compute ((Probe *) model, "test", 0, batch, error);
}

static LpTensor *
probe_predict_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) loss = compute ((Probe *) model, "predict", 0, batch, error);

  return loss != NULL ? lp_module_forward (LP_MODULE (model), lp_batch_get_tensor (batch, 0), error) : NULL;
}

static void
probe_configure_model (LpModel  *model,
                       GError  **error)
{
  if (((Probe *) model)->late && get_layer ((Probe *) model, 0) == NULL)
    add_layers ((Probe *) model);
}

static LpOptimizer *
make_optimizer (LpModule *module)
{
  g_autoptr (GPtrArray) all = lp_module_dup_parameters (module);
  g_autoptr (GPtrArray) trained = g_ptr_array_new ();

  for (guint i = 0; i < all->len; i++)
    if (lp_tensor_get_requires_grad (g_ptr_array_index (all, i)))
      g_ptr_array_add (trained, g_ptr_array_index (all, i));

  return lp_sgd_new (trained, 0.01);
}

static GObject *
probe_configure_optimizers (LpModel  *model,
                            GError  **error)
{
  Probe *self = (Probe *) model;
  g_autoptr (LpOptimizerConfig) config = lp_optimizer_config_new ();

  for (guint i = 0; i < self->n_layers; i++)
    {
      g_autoptr (LpOptimizer) optimizer = make_optimizer (get_layer (self, i));

      g_string_append_printf (self->seen, "optimizer: %s\n", dtype_of (get_weight (self, i)));
      lp_optimizer_config_add_optimizer (config, optimizer);
    }

  return G_OBJECT (g_steal_pointer (&config));
}

static void
probe_on_fit_start (LpModel  *model,
                    GError  **error)
{
  Probe *self = (Probe *) model;

  g_string_append_printf (self->seen, "fit start: %s %s\n", lp_dtype_get_name (lp_default_dtype_get ()), dtype_of (get_weight (self, 0)));
}

static void
probe_on_train_epoch_end (LpModel  *model,
                          GError  **error)
{
  g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
}

static void
probe_finalize (GObject *object)
{
  g_string_free (((Probe *) object)->seen, TRUE);

  G_OBJECT_CLASS (probe_parent_class)->finalize (object);
}

static void
probe_class_init (ProbeClass *klass)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = probe_finalize;
  LP_MODULE_CLASS (klass)->forward = probe_forward;
  model_class->training_step = probe_training_step;
  model_class->validation_step = probe_validation_step;
  model_class->test_step = probe_test_step;
  model_class->predict_step = probe_predict_step;
  model_class->configure_model = probe_configure_model;
  model_class->configure_optimizers = probe_configure_optimizers;
  model_class->on_fit_start = probe_on_fit_start;
  model_class->on_train_epoch_end = probe_on_train_epoch_end;
}

static void
probe_init (Probe *self)
{
  self->n_layers = 1;
  self->seen = g_string_new (NULL);
}

static Probe *
new_probe_of (GType    type,
              guint    n_layers,
              gboolean late)
{
  Probe *self = g_object_new (type, NULL);

  lp_seed_everything (3);
  self->n_layers = n_layers;
  self->late = late;
  if (!late)
    add_layers (self);
  lp_model_set_automatic_optimization (LP_MODEL (self), n_layers == 1);

  return self;
}

static Probe *
new_probe (guint    n_layers,
           gboolean late)
{
  return new_probe_of (probe_get_type (), n_layers, late);
}

G_END_DECLS
