/* Grad mode, compute scope, default dtype and generator of the thread are after a run what they were before it: when it returns, when
 * any of its hooks fails, when it is cancelled at any of them; with scopes of the caller around it and without. */

#include "thread-state.h"
#include "trainer-fixture.h"

typedef enum
{
  FAULT_NONE,
  FAULT_ERROR,
  FAULT_CANCEL
} Fault;

/* The hook that the fault happens in, counted from 1, and how many there were. */
static Fault fault;
static guint fault_at;
static guint n_hooks;
static GCancellable *cancellable;

static gboolean
hook (GError **error)
{
  if (++n_hooks != fault_at || fault == FAULT_NONE)
    return TRUE;

  if (fault == FAULT_CANCEL)
    {
      g_cancellable_cancel (cancellable);
      return TRUE;
    }
  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "hook %u fails", n_hooks);

  return FALSE;
}

/* What the caller of the run has. */
static const ThreadState *around;

/* A callback whose every hook is one. */

#define FAULTY_TYPE_CALLBACK (faulty_callback_get_type ())
G_DECLARE_FINAL_TYPE (FaultyCallback, faulty_callback, FAULTY, CALLBACK, LpCallback)

struct _FaultyCallback
{
  LpCallback parent_instance;
};

G_DEFINE_FINAL_TYPE (FaultyCallback, faulty_callback, LP_TYPE_CALLBACK)

static void
stage_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpStage stage, GError **error)
{
  hook (error);
}

static void
event_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, GError **error)
{
  hook (error);
}

static void
start_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  hook (error);
}

static void
end_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpTensor *outputs, LpBatch *batch, gint64   batch_idx,
          GError                                                                                              **error)
{
  hook (error);
}

static void
loss_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpTensor *loss, GError **error)
{
  hook (error);
}

static void
optimizer_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, LpOptimizer *optimizer, GError **error)
{
  hook (error);
}

static void
exception_hook (LpCallback *callback, LpTrainer *trainer, LpModel *model, const char *message, GError **error)
{
  /* before detach, which would put it right */
  thread_state_assert (around);
  hook (error);
}

static void
faulty_callback_class_init (FaultyCallbackClass *class)
{
  LpCallbackClass *klass = LP_CALLBACK_CLASS (class);

  klass->setup = klass->teardown = stage_hook;
  klass->on_fit_start = klass->on_fit_end = event_hook;
  klass->on_sanity_check_start = klass->on_sanity_check_end = event_hook;
  klass->on_train_start = klass->on_train_end = event_hook;
  klass->on_train_epoch_start = klass->on_train_epoch_end = event_hook;
  klass->on_validation_start = klass->on_validation_end = event_hook;
  klass->on_validation_epoch_start = klass->on_validation_epoch_end = event_hook;
  klass->on_test_start = klass->on_test_end = klass->on_test_epoch_start = klass->on_test_epoch_end = event_hook;
  klass->on_predict_start = klass->on_predict_end = event_hook;
  klass->on_predict_epoch_start = klass->on_predict_epoch_end = event_hook;
  klass->on_train_batch_start = klass->on_validation_batch_start = start_hook;
  klass->on_test_batch_start = klass->on_predict_batch_start = start_hook;
  klass->on_train_batch_end = klass->on_validation_batch_end = end_hook;
  klass->on_test_batch_end = klass->on_predict_batch_end = end_hook;
  klass->on_before_backward = loss_hook;
  klass->on_after_backward = event_hook;
  klass->on_before_zero_grad = klass->on_before_optimizer_step = optimizer_hook;
  klass->on_exception = exception_hook;
}

static void
faulty_callback_init (FaultyCallback *self)
{
}

/* A precision with a scope and a scaler whose functions are hooks. */

#define FAULTY_TYPE_PLUGIN (faulty_plugin_get_type ())
G_DECLARE_FINAL_TYPE (FaultyPlugin, faulty_plugin, FAULTY, PLUGIN, LpMixedPrecisionPlugin)

struct _FaultyPlugin
{
  LpMixedPrecisionPlugin parent_instance;
};

G_DEFINE_FINAL_TYPE (FaultyPlugin, faulty_plugin, LP_TYPE_MIXED_PRECISION_PLUGIN)

#define PARENT LP_PRECISION_PLUGIN_CLASS (faulty_plugin_parent_class)

static LpTensor *
convert_input (LpPrecisionPlugin *plugin, LpTensor *tensor, GError **error)
{
  return hook (error) ? PARENT->convert_input (plugin, tensor, error) : NULL;
}

static LpTensor *
scale_loss (LpPrecisionPlugin *plugin, LpTensor *loss, GError **error)
{
  return hook (error) ? PARENT->scale_loss (plugin, loss, error) : NULL;
}

static gboolean
backward (LpPrecisionPlugin *plugin, LpTensor *loss, GPtrArray *optimizers, GError **error)
{
  return hook (error) && PARENT->backward (plugin, loss, optimizers, error);
}

static gboolean
unscale (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, GError **error)
{
  return hook (error) && PARENT->unscale_gradients (plugin, optimizer, error);
}

static gboolean
clip (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, double value, LpClipAlgorithm algorithm, GError **error)
{
  return hook (error) && PARENT->clip_gradients (plugin, optimizer, value, algorithm, error);
}

static LpStepResult
optimizer_step (LpPrecisionPlugin *plugin, LpOptimizer *optimizer, LpStepClosure *closure, GError **error)
{
  return hook (error) ? PARENT->optimizer_step (plugin, optimizer, closure, error) : LP_STEP_FAILED;
}

static gboolean
end_step (LpPrecisionPlugin *plugin, GError **error)
{
  return hook (error) && PARENT->end_step (plugin, error);
}

static gboolean
attach (LpPrecisionPlugin *plugin, LpPrecisionContext *context, GError **error)
{
  return hook (error) && PARENT->attach (plugin, context, error);
}

static gboolean
detach (LpPrecisionPlugin *plugin, GError **error)
{
  gboolean ok = PARENT->detach (plugin, error);

  return ok && hook (error);
}

static gboolean
convert_module (LpPrecisionPlugin *plugin, LpModule *module, GError **error)
{
  return hook (error) && PARENT->convert_module (plugin, module, error);
}

static void
faulty_plugin_class_init (FaultyPluginClass *class)
{
  LpPrecisionPluginClass *klass = LP_PRECISION_PLUGIN_CLASS (class);

  klass->convert_input = convert_input;
  klass->scale_loss = scale_loss;
  klass->backward = backward;
  klass->unscale_gradients = unscale;
  klass->clip_gradients = clip;
  klass->optimizer_step = optimizer_step;
  klass->end_step = end_step;
  klass->attach = attach;
  klass->detach = detach;
  klass->convert_module = convert_module;
}

static void
faulty_plugin_init (FaultyPlugin *self)
{
}

/* The steps of the net fail inside the scopes that the trainer made for them. */

/* of TestNet */
static LpModelClass *net_class;

static LpTensor *
training_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  return hook (error) ? net_class->training_step (model, batch, batch_idx, error) : NULL;
}

static LpTensor *
validation_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  return hook (error) ? net_class->validation_step (model, batch, batch_idx, error) : NULL;
}

static LpTensor *
test_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  return hook (error) ? net_class->test_step (model, batch, batch_idx, error) : NULL;
}

static LpBatch *
before_transfer (LpModel *model, LpBatch *batch, GError **error)
{
  return hook (error) ? net_class->on_before_batch_transfer (model, batch, error) : NULL;
}

static LpBatch *
after_transfer (LpModel *model, LpBatch *batch, GError **error)
{
  return hook (error) ? net_class->on_after_batch_transfer (model, batch, error) : NULL;
}

static GPtrArray *
configure_callbacks (LpModel *model, GError **error)
{
  return hook (error) ? net_class->configure_callbacks (model, error) : NULL;
}

static GObject *
configure_optimizers (LpModel *model, GError **error)
{
  return hook (error) ? net_class->configure_optimizers (model, error) : NULL;
}

static void
faulty_net_class_init (gpointer class,
                       gpointer data)
{
  LpModelClass *klass = LP_MODEL_CLASS (class);

  net_class = g_type_class_peek_parent (class);
  klass->training_step = training_step;
  klass->validation_step = validation_step;
  klass->test_step = test_step;
  klass->configure_optimizers = configure_optimizers;
  klass->on_before_batch_transfer = before_transfer;
  klass->on_after_batch_transfer = after_transfer;
  klass->configure_callbacks = configure_callbacks;
}

static gboolean
fit (LpTrainer *trainer, LpModel *model, LpDataLoader *train, LpDataLoader *val, GError **error)
{
  return lp_trainer_fit (trainer, model, train, val, NULL, cancellable, error);
}

static gboolean
validate (LpTrainer *trainer, LpModel *model, LpDataLoader *train, LpDataLoader *val, GError **error)
{
  g_autoptr (GVariant) results = lp_trainer_validate (trainer, model, val, NULL, cancellable, error);

  return results != NULL;
}

static gboolean
test (LpTrainer *trainer, LpModel *model, LpDataLoader *train, LpDataLoader *val, GError **error)
{
  g_autoptr (GVariant) results = lp_trainer_test (trainer, model, val, NULL, cancellable, error);

  return results != NULL;
}

static gboolean
predict (LpTrainer *trainer, LpModel *model, LpDataLoader *train, LpDataLoader *val, GError **error)
{
  g_autoptr (GPtrArray) results = lp_trainer_predict (trainer, model, val, NULL, cancellable, error);

  return results != NULL;
}

static void
take_result (GObject *trainer, GAsyncResult *result, gpointer user_data)
{
  *(GAsyncResult **) user_data = g_object_ref (result);
}

/* Between two batches the main loop's other sources see what the caller of the run had. */
static gboolean
fit_async (LpTrainer *trainer, LpModel *model, LpDataLoader *train, LpDataLoader *val, GError **error)
{
  g_autoptr (GAsyncResult) result = NULL;
  ThreadState state = thread_state_get ();

  lp_trainer_fit_async (trainer, model, train, val, NULL, cancellable, take_result, &result);
  thread_state_assert (&state);
  while (result == NULL)
    {
      g_main_context_iteration (NULL, TRUE);
      thread_state_assert (&state);
    }

  return lp_trainer_fit_finish (trainer, result, error);
}

typedef gboolean (* EntryPoint) (LpTrainer *, LpModel *, LpDataLoader *, LpDataLoader *, GError **);

static gboolean
run (EntryPoint   entry,
     GError     **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_initable_new (FAULTY_TYPE_PLUGIN, NULL, NULL, "precision", "16-mixed", NULL);
  g_autoptr (LpTrainer) trainer = lp_trainer_new_with_plugin (plugin, NULL);
  g_autoptr (LpCallback) callback = g_object_new (FAULTY_TYPE_CALLBACK, NULL);
  g_autoptr (TestNet) net = test_net_new_subclass ("FaultyNet", faulty_net_class_init, 1);
  g_autoptr (LpDataLoader) train = test_loader_new (6, 2, TRUE);
  g_autoptr (LpDataLoader) val = test_loader_new (4, 4, FALSE);

  g_assert_nonnull (trainer);
  lp_trainer_set_max_epochs (trainer, 1);
  lp_trainer_set_enable_progress_bar (trainer, FALSE);
  lp_trainer_set_enable_model_summary (trainer, FALSE);
  lp_trainer_set_enable_checkpointing (trainer, FALSE);
  lp_trainer_set_gradient_clip_val (trainer, 1);
  lp_trainer_set_accumulate_grad_batches (trainer, 2);
  lp_trainer_add_callback (trainer, callback);
  lp_data_loader_set_prefetch (train, 0);
  lp_data_loader_set_prefetch (val, 0);
  n_hooks = 0;

  return entry (trainer, LP_MODEL (net), train, val, error);
}

static void
run_with_fault (EntryPoint entry,
                Fault      kind,
                guint      at)
{
  g_autoptr (GError) error = NULL;
  ThreadState state = thread_state_get ();
  gboolean ok;

  fault = kind;
  fault_at = at;
  cancellable = g_cancellable_new ();
  around = &state;
  ok = run (entry, &error);
  g_clear_object (&cancellable);
  g_assert_true (ok == (error == NULL));
  if (kind == FAULT_NONE)
    g_assert_no_error (error);
  if (kind == FAULT_ERROR)
    g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  if (kind == FAULT_CANCEL && !ok)
    g_assert_error (error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
  thread_state_assert (&state);
}

static void
run_with_all_faults (EntryPoint entry)
{
  guint n;

  run_with_fault (entry, FAULT_NONE, 0);
  n = n_hooks;
  g_assert_cmpuint (n, >, 8);
  for (guint i = 1; i <= n; i++)
    {
      run_with_fault (entry, FAULT_ERROR, i);
      run_with_fault (entry, FAULT_CANCEL, i);
    }
}

static void
test_scopes (gconstpointer data)
{
  EntryPoint entry = (EntryPoint) data;
  g_autoptr (LpCastPolicy) policy = lp_cast_policy_new (lp_dtype_bf16 ());
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (policy, NULL);
  g_autoptr (LpGenerator) generator = lp_generator_new (5, 0);
  ThreadState state = thread_state_get ();

  run_with_all_faults (entry);

  lp_grad_mode_push (FALSE);
  lp_default_dtype_push (lp_dtype_f64 ());
  lp_compute_scope_push (scope);
  lp_generator_push (generator);
  run_with_all_faults (entry);
  lp_generator_pop ();
  lp_compute_scope_pop ();
  lp_default_dtype_pop ();
  lp_grad_mode_pop ();
  thread_state_assert (&state);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/scopes/fit", (gconstpointer) fit, test_scopes);
  g_test_add_data_func ("/scopes/fit-async", (gconstpointer) fit_async, test_scopes);
  g_test_add_data_func ("/scopes/validate", (gconstpointer) validate, test_scopes);
  g_test_add_data_func ("/scopes/test", (gconstpointer) test, test_scopes);
  g_test_add_data_func ("/scopes/predict", (gconstpointer) predict, test_scopes);

  return g_test_run ();
}
