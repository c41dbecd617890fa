#include <glib/gstdio.h>

#include "trainer-fixture.h"

/* A plugin that does the plain thing and writes down what it is asked to do. */

#define RECORDING_TYPE_PLUGIN (recording_plugin_get_type ())
G_DECLARE_FINAL_TYPE (RecordingPlugin, recording_plugin, RECORDING, PLUGIN, LpFullPrecisionPlugin)

struct _RecordingPlugin
{
  LpFullPrecisionPlugin parent_instance;
};

G_DEFINE_FINAL_TYPE (RecordingPlugin, recording_plugin, LP_TYPE_FULL_PRECISION_PLUGIN)

static GString *events;

static void
record (const char *event)
{
  if (events->len > 0)
    g_string_append_c (events, ' ');
  g_string_append (events, event);
}

#define PARENT LP_PRECISION_PLUGIN_CLASS (recording_plugin_parent_class)

static LpTensor *
recording_plugin_convert_input (LpPrecisionPlugin *plugin, LpTensor *tensor, GError **error)
{
  record ("convert_input");
  return PARENT->convert_input (plugin, tensor, error);
}

static LpTensor *
recording_plugin_scale_loss (LpPrecisionPlugin *plugin, LpTensor *loss, GError **error)
{
  record ("scale_loss");
  return PARENT->scale_loss (plugin, loss, error);
}

static gboolean
recording_plugin_backward (LpPrecisionPlugin *plugin, LpTensor *loss, GPtrArray *optimizers, GError **error)
{
  record ("backward");
  return PARENT->backward (plugin, loss, optimizers, error);
}

static gboolean
recording_plugin_unscale (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, GError **error)
{
  record ("unscale");
  return PARENT->unscale_gradients (plugin, optimizer, error);
}

static gboolean
recording_plugin_clip (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, double value, LpClipAlgorithm algorithm, GError **error)
{
  record ("clip");
  return PARENT->clip_gradients (plugin, optimizer, value, algorithm, error);
}

static LpStepResult
recording_plugin_step (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, LpStepClosure *closure, GError **error)
{
  record ("step");
  return PARENT->optimizer_step (plugin, optimizer, closure, error);
}

static gboolean
recording_plugin_end_step (LpPrecisionPlugin *plugin, GError **error)
{
  record ("end_step");
  return PARENT->end_step (plugin, error);
}

static gboolean
recording_plugin_attach (LpPrecisionPlugin *plugin, LpPrecisionContext *context, GError **error)
{
  record ("attach");
  return PARENT->attach (plugin, context, error);
}

static gboolean
recording_plugin_detach (LpPrecisionPlugin *plugin, GError **error)
{
  record ("detach");
  return PARENT->detach (plugin, error);
}

static gboolean
recording_plugin_convert_module (LpPrecisionPlugin *plugin, LpModule *module, GError **error)
{
  record ("convert_module");
  return PARENT->convert_module (plugin, module, error);
}

static void
recording_plugin_class_init (RecordingPluginClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

  plugin_class->convert_input = recording_plugin_convert_input;
  plugin_class->scale_loss = recording_plugin_scale_loss;
  plugin_class->backward = recording_plugin_backward;
  plugin_class->unscale_gradients = recording_plugin_unscale;
  plugin_class->clip_gradients = recording_plugin_clip;
  plugin_class->optimizer_step = recording_plugin_step;
  plugin_class->end_step = recording_plugin_end_step;
  plugin_class->attach = recording_plugin_attach;
  plugin_class->detach = recording_plugin_detach;
  plugin_class->convert_module = recording_plugin_convert_module;
}

static void
recording_plugin_init (RecordingPlugin *self)
{
}

/* A callback that writes down the hooks. */

#define RECORDING_TYPE_CALLBACK (recording_callback_get_type ())
G_DECLARE_FINAL_TYPE (RecordingCallback, recording_callback, RECORDING, CALLBACK, LpCallback)

struct _RecordingCallback
{
  LpCallback parent_instance;
};

G_DEFINE_FINAL_TYPE (RecordingCallback, recording_callback, LP_TYPE_CALLBACK)

#define EVENT_HOOK(name, text) \
  static void \
  name (LpCallback *callback, LpTrainer *trainer, LpModel *model, GError **error) \
  { \
    record (text); \
  }

EVENT_HOOK (on_fit_start, "fit[")
EVENT_HOOK (on_fit_end, "]fit")
EVENT_HOOK (on_train_start, "train[")
EVENT_HOOK (on_train_end, "]train")
EVENT_HOOK (on_train_epoch_start, "epoch[")
EVENT_HOOK (on_train_epoch_end, "]epoch")
EVENT_HOOK (on_validation_start, "validation[")
EVENT_HOOK (on_validation_end, "]validation")
EVENT_HOOK (on_sanity_check_start, "sanity[")
EVENT_HOOK (on_sanity_check_end, "]sanity")
EVENT_HOOK (on_after_backward, "on_after_backward")

static void
on_train_batch_start (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  record ("batch[");
}

static void
on_train_batch_end (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpTensor *outputs, LpBatch  *batch,
                    gint64 batch_idx, GError                                                             **error)
{
  record ("]batch");
}

static void
on_before_backward (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpTensor *loss, GError **error)
{
  record ("on_before_backward");
}

static void
on_before_zero_grad (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpOptimizer *optimizer, GError **error)
{
  record ("zero_grad");
}

static void
on_before_optimizer_step (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpOptimizer *optimizer, GError **error)
{
  record ("on_before_optimizer_step");
}

static void
recording_callback_class_init (RecordingCallbackClass *klass)
{
  LpCallbackClass *callback_class = LP_CALLBACK_CLASS (klass);

  callback_class->on_fit_start = on_fit_start;
  callback_class->on_fit_end = on_fit_end;
  callback_class->on_train_start = on_train_start;
  callback_class->on_train_end = on_train_end;
  callback_class->on_train_epoch_start = on_train_epoch_start;
  callback_class->on_train_epoch_end = on_train_epoch_end;
  callback_class->on_train_batch_start = on_train_batch_start;
  callback_class->on_train_batch_end = on_train_batch_end;
  callback_class->on_validation_start = on_validation_start;
  callback_class->on_validation_end = on_validation_end;
  callback_class->on_sanity_check_start = on_sanity_check_start;
  callback_class->on_sanity_check_end = on_sanity_check_end;
  callback_class->on_before_zero_grad = on_before_zero_grad;
  callback_class->on_before_backward = on_before_backward;
  callback_class->on_after_backward = on_after_backward;
  callback_class->on_before_optimizer_step = on_before_optimizer_step;
}

static void
recording_callback_init (RecordingCallback *self)
{
}

static LpTrainer *
make_trainer (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_object_new (RECORDING_TYPE_PLUGIN, NULL);
  g_autoptr (LpCallback) callback = g_object_new (RECORDING_TYPE_CALLBACK, NULL);
  g_autoptr (GError) error = NULL;
  LpTrainer *trainer = lp_trainer_new_with_plugin (plugin, &error);

  g_assert_no_error (error);
  lp_trainer_set_max_epochs (trainer, 1);
  lp_trainer_set_enable_progress_bar (trainer, FALSE);
  lp_trainer_set_enable_model_summary (trainer, FALSE);
  lp_trainer_set_enable_checkpointing (trainer, FALSE);
  lp_trainer_add_callback (trainer, callback);

  return trainer;
}

static void
fit (LpTrainer    *trainer,
     TestNet      *net,
     LpDataLoader *train,
     LpDataLoader *val)
{
  g_autoptr (GError) error = NULL;

  g_string_set_size (events, 0);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, val, NULL, NULL, &error));
  g_assert_no_error (error);
}

#define STEP_FRONT "convert_input batch[ "
#define BACKWARD "scale_loss on_before_backward backward on_after_backward "
#define STEP_END "unscale on_before_optimizer_step clip step end_step "

static void
test_automatic (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (12, 4, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (4, 4, FALSE);
  g_autoptr (LpTrainer) trainer = make_trainer ();

  lp_trainer_set_gradient_clip_val (trainer, 1);
  lp_trainer_set_accumulate_grad_batches (trainer, 2);
  fit (trainer, net, train, val);
  g_assert_cmpstr (events->str, ==,
                   "attach convert_module fit[ "
                   "sanity[ validation[ convert_input ]validation ]sanity "
                   "train[ epoch[ "
                   STEP_FRONT "zero_grad " BACKWARD "]batch "
                   STEP_FRONT BACKWARD STEP_END "]batch "
                   STEP_FRONT "zero_grad " BACKWARD STEP_END "]batch "
                   "validation[ convert_input ]validation "
                   "]epoch ]train detach ]fit");
}

static void
test_no_loss (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (8, 4, TRUE);
  g_autoptr (LpTrainer) trainer = make_trainer ();

  net->skip_every = 2;
  lp_trainer_set_gradient_clip_val (trainer, 1);
  fit (trainer, net, train, NULL);
  g_assert_cmpstr (events->str, ==,
                   "attach convert_module fit[ train[ epoch[ "
                   STEP_FRONT "zero_grad " BACKWARD STEP_END "]batch "
                   STEP_FRONT "zero_grad ]batch "
                   "]epoch ]train detach ]fit");
}

static LpTensor *
manual_training_step (LpModel  *model,
                      LpBatch  *batch,
                      gint64    batch_idx,
                      GError  **error)
{
  LpOptimizer *optimizer = lp_model_get_optimizer (model, 0);
  g_autoptr (LpTensor) output = lp_module_forward (LP_MODULE (model), lp_batch_get_tensor (batch, 0), error);
  g_autoptr (LpTensor) loss = lp_tensor_cross_entropy (output, lp_batch_get_tensor (batch, 1), error);

  if (loss == NULL || !lp_optimizer_zero_grad (optimizer, error) || !lp_model_manual_backward (model, loss, error) ||
      !lp_model_clip_gradients (model, optimizer, 1, LP_CLIP_NORM, error))
    return NULL;
  lp_model_optimizer_step (model, optimizer, error);

  return NULL;
}

static void
manual_net_class_init (gpointer klass,
                       gpointer data)
{
  LP_MODEL_CLASS (klass)->training_step = manual_training_step;
}

static void
test_manual (gconstpointer precision)
{
  g_autoptr (TestNet) net = test_net_new_subclass ("ManualNet", manual_net_class_init, 1);
  g_autoptr (LpDataLoader) train = test_loader_new (8, 4, TRUE);
  g_autoptr (LpTrainer) trainer = precision == NULL ? make_trainer () : test_trainer_new (precision, 1);
  g_autoptr (GError) error = NULL;

  lp_model_set_automatic_optimization (LP_MODEL (net), FALSE);
  fit (trainer, net, train, NULL);
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 2);
  if (precision == NULL)
    g_assert_cmpstr (events->str, ==,
                     "attach convert_module fit[ train[ epoch[ "
                     STEP_FRONT BACKWARD "unscale clip on_before_optimizer_step step end_step ]batch "
                     STEP_FRONT BACKWARD "unscale clip on_before_optimizer_step step end_step ]batch "
                     "]epoch ]train detach ]fit");

  lp_trainer_set_gradient_clip_val (trainer, 1);
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_CONFLICT);
}

static LpBatch *
record_before_transfer (LpModel  *model,
                        LpBatch  *batch,
                        GError  **error)
{
  record ("before_transfer");
  return g_object_ref (batch);
}

static LpBatch *
record_after_transfer (LpModel  *model,
                       LpBatch  *batch,
                       GError  **error)
{
  record ("after_transfer");
  return g_object_ref (batch);
}

static GPtrArray *
one_callback (LpModel  *model,
              GError  **error)
{
  GPtrArray *callbacks = g_ptr_array_new ();

  g_ptr_array_add (callbacks, g_object_new (RECORDING_TYPE_CALLBACK, NULL));

  return callbacks;
}

static void
hooked_net_class_init (gpointer klass,
                       gpointer data)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  model_class->on_before_batch_transfer = record_before_transfer;
  model_class->on_after_batch_transfer = record_after_transfer;
  model_class->configure_callbacks = one_callback;
}

/* The model's callback takes the place of the trainer's, so that each event is there once, in each of two runs. */
static void
test_model_hooks (void)
{
  g_autoptr (TestNet) net = test_net_new_subclass ("HookedNet", hooked_net_class_init, 1);
  g_autoptr (LpDataLoader) train = test_loader_new (4, 4, TRUE);
  g_autoptr (LpTrainer) trainer = make_trainer ();

  for (int i = 0; i < 2; i++)
    {
      fit (trainer, net, train, NULL);
      g_assert_cmpstr (events->str, ==,
                       "attach convert_module fit[ train[ epoch[ "
                       "convert_input before_transfer after_transfer batch[ zero_grad " BACKWARD
                       "unscale on_before_optimizer_step step end_step ]batch "
                       "]epoch ]train detach ]fit");
    }
}

static void
test_in_use (void)
{
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (TestNet) other_net = test_net_new (1);
  g_autoptr (LpDataLoader) train = test_loader_new (8, 4, TRUE);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpFabric) fabric = NULL;
  g_autoptr (LpTrainer) trainer = make_trainer ();
  g_autoptr (LpPrecisionPlugin) plugin = lp_trainer_dup_precision_plugin (trainer);

  fabric = lp_fabric_new_with_plugin (plugin, &error);
  g_assert_no_error (error);
  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (other_net), &error));
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT);
  g_assert_true (lp_fabric_close (fabric, NULL));
  g_clear_error (&error);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), train, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
}

int
main (int   argc,
      char *argv[])
{
  static const char *names[] = { "32-true", "64-true", "bf16-true", "16-true", "bf16-mixed", "16-mixed",
                                 "apex-O0", "apex-O1", "apex-O2", "apex-O3" };
  int status;

  g_test_init (&argc, &argv, NULL);
  events = g_string_new (NULL);

  g_test_add_func ("/order/automatic", test_automatic);
  g_test_add_func ("/order/no-loss", test_no_loss);
  g_test_add_data_func ("/order/manual", NULL, test_manual);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autofree char *path = g_strconcat ("/manual/", names[i], NULL);

      g_test_add_data_func (path, names[i], test_manual);
    }
  g_test_add_func ("/order/model-hooks", test_model_hooks);
  g_test_add_func ("/order/in-use", test_in_use);

  status = g_test_run ();
  g_string_free (events, TRUE);

  return status;
}
