/* Programs that pop in a step what they haven't pushed, push and forget, or detach the plugin of the run that is on: an error that
 * names the function, and the thread as it was. */

#include <string.h>

#include "thread-state.h"
#include "trainer-fixture.h"

typedef enum
{
  POP_GRAD_MODE, POP_DTYPE, POP_SCOPE, POP_GENERATOR, POP_PLUGIN,
  PUSH_GRAD_MODE, PUSH_DTYPE, PUSH_SCOPE, PUSH_GENERATOR, PUSH_PLUGIN,
  LEAVE_GRAD_MODE, LEAVE_DTYPE, LEAVE_SCOPE, LEAVE_GENERATOR, LEAVE_PLUGIN, DETACH,
  N_MISDEEDS
} Misdeed;

static LpPrecisionPlugin *plugin;
static Misdeed misdeed;

static void
push_scope (void)
{
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (NULL, NULL);

  lp_compute_scope_push (scope);
}

static void
push_generator (void)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (3, 3);

  lp_generator_push (generator);
}

/* The checked ones give the error themselves; the others have no way to. */
static gboolean
misbehave (GError **error)
{
  switch (misdeed)
    {
    case POP_GRAD_MODE: lp_grad_mode_pop (); return TRUE;
    case POP_DTYPE: lp_default_dtype_pop (); return TRUE;
    case POP_SCOPE: lp_compute_scope_pop (); return TRUE;
    case POP_GENERATOR: lp_generator_pop (); return TRUE;
    case POP_PLUGIN: lp_precision_plugin_pop_scope (plugin); return TRUE;
    case PUSH_GRAD_MODE: lp_grad_mode_push (FALSE); return TRUE;
    case PUSH_DTYPE: lp_default_dtype_push (lp_dtype_f64 ()); return TRUE;
    case PUSH_SCOPE: push_scope (); return TRUE;
    case PUSH_GENERATOR: push_generator (); return TRUE;
    case PUSH_PLUGIN: return lp_precision_plugin_push_scope (plugin, error);
    case LEAVE_GRAD_MODE: return lp_grad_mode_leave (error);
    case LEAVE_DTYPE: return lp_default_dtype_leave (error);
    case LEAVE_SCOPE: return lp_compute_scope_leave (error);
    case LEAVE_GENERATOR: return lp_generator_leave (error);
    case LEAVE_PLUGIN: return lp_precision_plugin_leave_scope (plugin, error);
    case DETACH: return lp_precision_plugin_detach (plugin, error);
    case N_MISDEEDS: default: g_assert_not_reached ();
    }
}

static LpModelClass *net_class;

static LpTensor *
training_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) loss = net_class->training_step (model, batch, batch_idx, error);

  return misbehave (error) ? g_steal_pointer (&loss) : NULL;
}

static LpTensor *
validation_step (LpModel *model, LpBatch *batch, gint64 batch_idx, GError **error)
{
  g_autoptr (LpTensor) loss = net_class->validation_step (model, batch, batch_idx, error);

  return misbehave (error) ? g_steal_pointer (&loss) : NULL;
}

static void
on_after_backward (LpModel *model, GError **error)
{
  misbehave (error);
}

static void
on_train_start (LpModel *model, GError **error)
{
  misbehave (error);
}

static void
step_class_init (gpointer class, gpointer data)
{
  net_class = g_type_class_peek_parent (class);
  LP_MODEL_CLASS (class)->training_step = training_step;
  LP_MODEL_CLASS (class)->validation_step = validation_step;
}

static void
hook_class_init (gpointer class, gpointer data)
{
  LP_MODEL_CLASS (class)->on_after_backward = on_after_backward;
}

static void
start_class_init (gpointer class, gpointer data)
{
  LP_MODEL_CLASS (class)->on_train_start = on_train_start;
}

typedef struct
{
  const char     *name;
  GClassInitFunc  init;
  gboolean        validates;
} Place;

static void
try_run (const Place *place,
         const char  *precision)
{
  g_autoptr (LpTrainer) trainer = test_trainer_new (precision, 1);
  g_autoptr (TestNet) net = test_net_new_subclass (place->name, place->init, 1);
  g_autoptr (LpDataLoader) loader = test_loader_new (8, 4, FALSE);
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) results = NULL;
  g_autoptr (LpPrecisionPlugin) owned = lp_trainer_dup_precision_plugin (trainer);
  ThreadState state = thread_state_get ();

  plugin = owned;
  if (place->validates)
    results = lp_trainer_validate (trainer, LP_MODEL (net), loader, NULL, NULL, &error);
  else
    lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error);
  g_test_message ("%s %d: %s", precision, misdeed, error != NULL ? error->message : "no error");
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  if (misdeed <= PUSH_PLUGIN && (misdeed != POP_PLUGIN))
    g_assert_nonnull (strstr (error->message, place->name));
  thread_state_assert (&state);

  /* and the plugin and its trainer can be used again */
  misdeed = N_MISDEEDS;
  g_clear_object (&net);
  net = test_net_new (1);
  g_clear_error (&error);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  thread_state_assert (&state);
}

/* With stacks of the caller's to damage. */
static void
test_place (gconstpointer data)
{
  const char *const precisions[] = { "32-true", "bf16-mixed", "bf16-true" };

  for (gsize i = 0; i < G_N_ELEMENTS (precisions); i++)
    for (int kind = 0; kind < N_MISDEEDS; kind++)
      {
        /* a scope with nothing in it leaves nothing */
        if (kind == PUSH_PLUGIN && i == 0)
          continue;
        lp_default_dtype_push (lp_dtype_f32 ());
        push_scope ();
        push_generator ();
        lp_grad_mode_push (TRUE);
        misdeed = kind;
        try_run (data, precisions[i]);
        lp_grad_mode_pop ();
        lp_generator_pop ();
        lp_compute_scope_pop ();
        lp_default_dtype_pop ();
      }
}

/* Hooks that push for the time of a run may; what they forget is taken off and told. */
static void
test_run (void)
{
  g_autoptr (LpTrainer) trainer = test_trainer_new ("bf16-mixed", 1);
  g_autoptr (TestNet) net = test_net_new_subclass ("StartNet", start_class_init, 1);
  g_autoptr (LpDataLoader) loader = test_loader_new (8, 4, FALSE);
  g_autoptr (GError) error = NULL;
  ThreadState state = thread_state_get ();

  misdeed = PUSH_GRAD_MODE;
  g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*LpTrainer.hooks left a grad mode on this thread*");
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  g_test_assert_expected_messages ();
  thread_state_assert (&state);
}

/* begin_init that pushes, end_init that forgets. */

#define SLOPPY_TYPE_PLUGIN (sloppy_plugin_get_type ())
G_DECLARE_FINAL_TYPE (SloppyPlugin, sloppy_plugin, SLOPPY, PLUGIN, LpHalfPrecisionPlugin)

struct _SloppyPlugin
{
  LpHalfPrecisionPlugin parent_instance;
};

G_DEFINE_FINAL_TYPE (SloppyPlugin, sloppy_plugin, LP_TYPE_HALF_PRECISION_PLUGIN)

static gboolean
sloppy_begin_init (LpPrecisionPlugin *self, GError **error)
{
  return LP_PRECISION_PLUGIN_CLASS (sloppy_plugin_parent_class)->begin_init (self, error) && misbehave (error);
}

static void
sloppy_plugin_class_init (SloppyPluginClass *class)
{
  LP_PRECISION_PLUGIN_CLASS (class)->begin_init = sloppy_begin_init;
}

static void
sloppy_plugin_init (SloppyPlugin *self)
{
}

static void
test_init (void)
{
  const Misdeed kinds[] = { PUSH_GRAD_MODE, PUSH_DTYPE, PUSH_SCOPE, PUSH_GENERATOR, POP_DTYPE };

  for (gsize i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autoptr (LpPrecisionPlugin) sloppy = g_initable_new (SLOPPY_TYPE_PLUGIN, NULL, NULL, "precision", "bf16-true", NULL);
      ThreadState state = thread_state_get ();
      g_autoptr (GError) error = NULL;

      misdeed = kinds[i];
      g_assert_true (lp_precision_plugin_begin_init (sloppy, &error));
      g_assert_false (lp_precision_plugin_end_init (sloppy, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
      g_assert_nonnull (strstr (error->message, "SloppyPlugin"));
      thread_state_assert (&state);
    }
}

/* The module's forward pops, or fails with something pushed. */
static LpTensor *
forward (LpModule *module, LpTensor *input, GError **error)
{
  if (!misbehave (error))
    return NULL;
  if (misdeed >= PUSH_GRAD_MODE)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "failed");
      return NULL;
    }

  return g_object_ref (input);
}

static void
forward_class_init (gpointer class, gpointer data)
{
  LP_MODULE_CLASS (class)->forward = forward;
}

static void
test_fabric (void)
{
  for (int kind = 0; kind < N_MISDEEDS; kind++)
    {
      g_autoptr (LpFabric) fabric = lp_fabric_new ("bf16-mixed", NULL);
      g_autoptr (TestNet) net = test_net_new_subclass ("ForwardNet", forward_class_init, 1);
      g_autoptr (LpTensor) input = lp_tensor_ones ((gint64[]) { 1, 8 }, 2, lp_dtype_f32 (), NULL, NULL);
      g_autoptr (LpPrecisionPlugin) owned = lp_fabric_dup_precision_plugin (fabric);
      int code = kind >= PUSH_GRAD_MODE && kind <= PUSH_PLUGIN ? LP_ERROR_ARGUMENT : LP_ERROR_STATE;
      g_autoptr (GError) error = NULL;
      ThreadState state = thread_state_get ();

      g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (net), NULL));
      plugin = owned;
      misdeed = kind;
      g_assert_null (lp_fabric_forward (fabric, LP_MODULE (net), input, &error));
      g_assert_error (error, LP_ERROR, code);
      thread_state_assert (&state);
      g_clear_error (&error);
      g_assert_false (lp_fabric_leave_autocast (fabric, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
      g_clear_error (&error);
      g_assert_true (lp_fabric_begin_autocast (fabric, &error));
      g_assert_true (lp_fabric_leave_autocast (fabric, &error));
      thread_state_assert (&state);
      g_assert_true (lp_fabric_close (fabric, &error));
    }
}

/* A loop by hand whose scope somebody else has popped. */
static void
test_by_hand (void)
{
  g_autoptr (LpPrecisionPlugin) mixed = lp_mixed_precision_plugin_new ("bf16-mixed", NULL, NULL);
  g_autoptr (GError) error = NULL;
  ThreadState state = thread_state_get ();

  g_assert_false (lp_precision_plugin_leave_scope (mixed, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  g_clear_error (&error);
  g_assert_true (lp_precision_plugin_push_scope (mixed, &error));
  g_assert_true (lp_compute_scope_leave (&error));
  g_assert_false (lp_precision_plugin_leave_scope (mixed, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  thread_state_assert (&state);
}

int
main (int   argc,
      char *argv[])
{
  static const Place places[] = {
    { "StepNet", step_class_init, FALSE }, { "StepNet", step_class_init, TRUE }, { "HookNet", hook_class_init, FALSE },
  };

  g_test_init (&argc, &argv, NULL);

  g_test_add_data_func ("/stacks/training-step", &places[0], test_place);
  g_test_add_data_func ("/stacks/validation-step", &places[1], test_place);
  g_test_add_data_func ("/stacks/hook", &places[2], test_place);
  g_test_add_func ("/stacks/run", test_run);
  g_test_add_func ("/stacks/init", test_init);
  g_test_add_func ("/stacks/fabric", test_fabric);
  g_test_add_func ("/stacks/by-hand", test_by_hand);

  return g_test_run ();
}
