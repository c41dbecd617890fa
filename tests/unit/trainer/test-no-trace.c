/* After a run under any precision of the registry the process is as before it, however the run ended. */

#include <lp/tensor/lp-device-private.h>
#include <lp/tensor/lp-kernels-private.h>

#include "trainer-fixture.h"

typedef enum { END_WELL, FAIL_IN_STEP, FAIL_IN_HOOK, CANCEL, N_ENDS } End;

static End ending;
static GCancellable *cancellable;

static LpTensor *
ending_step (LpModel  *model,
             LpBatch  *batch,
             gint64    batch_idx,
             GError  **error)
{
  if (ending == CANCEL && batch_idx == 2)
    g_cancellable_cancel (cancellable);
  if (ending == FAIL_IN_STEP && batch_idx == 2)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "told by the step");
      return NULL;
    }

  return test_net_training_step (model, batch, batch_idx, error);
}

static void
ending_hook (LpModel      *model,
             LpOptimizer  *optimizer,
             GError      **error)
{
  if (ending == FAIL_IN_HOOK)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "told by the hook");
}

static void
ending_net_class_init (gpointer klass,
                       gpointer data)
{
  LpModelClass *model_class = LP_MODEL_CLASS (klass);

  model_class->training_step = ending_step;
  model_class->on_before_optimizer_step = ending_hook;
}

/* The environment, and functions that everybody calls: of the device, and of classes. */
static char *
dup_process (void)
{
  g_auto (GStrv) environment = g_get_environ ();
  g_autofree char *text = g_strjoinv ("\n", environment);
  g_autoptr (GChecksum) functions = g_checksum_new (G_CHECKSUM_SHA256);
  const GType types[] = { LP_TYPE_TENSOR, LP_TYPE_LINEAR, LP_TYPE_ADAMW, LP_TYPE_TRAINER, LP_TYPE_DEVICE };

  g_checksum_update (functions, (gconstpointer) _lp_device_get_kernels (lp_device_get_default ()), sizeof (LpKernelTable));
  for (gsize i = 0; i < G_N_ELEMENTS (types); i++)
    {
      g_autoptr (GTypeClass) klass = g_type_class_ref (types[i]);
      GTypeQuery query;

      g_type_query (types[i], &query);
      /* what GObject keeps of its own lies before */
      g_checksum_update (functions, (guchar *) klass + sizeof (GObjectClass), (gssize) (query.class_size - sizeof (GObjectClass)));
    }

  return g_strconcat (text, "\n", g_checksum_get_string (functions), NULL);
}

/* Before any plugin was attached. */
static char *process_before;

/* On every way out the process is as before. */
static void
test_no_trace (gconstpointer name)
{
  for (ending = END_WELL; ending < N_ENDS; ending++)
    {
      g_autoptr (LpTrainer) trainer = test_trainer_new (name, 1);
      g_autoptr (LpPrecisionPlugin) plugin = lp_trainer_dup_precision_plugin (trainer);
      g_autoptr (LpDataLoader) loader = test_loader_new (24, 4, FALSE);
      g_autoptr (TestNet) net = test_net_new_subclass ("EndingNet", ending_net_class_init, 1);
      g_autoptr (LpComputeScope) scope = NULL;
      g_autofree char *after = NULL;
      g_autoptr (GError) error = NULL;

      cancellable = g_cancellable_new ();
      if (g_str_has_prefix (name, "transformer-engine"))
        g_test_expect_message ("Lp", G_LOG_LEVEL_WARNING, "*fp8 takes multiples*");
      lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, cancellable, &error);
      g_test_assert_expected_messages ();
      g_clear_object (&cancellable);

      if (ending == FAIL_IN_STEP || ending == FAIL_IN_HOOK)
        g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
      g_assert_false (lp_precision_plugin_is_attached (plugin));
      g_assert_true (lp_default_dtype_get () == lp_dtype_f32 ());
      g_assert_true (lp_grad_mode_is_enabled ());
      scope = lp_compute_scope_dup_current ();
      g_assert_null (scope);
      after = dup_process ();
      g_assert_cmpstr (process_before, ==, after);
    }
}

int
main (int   argc,
      char *argv[])
{
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());
  int status;

  g_test_init (&argc, &argv, NULL);
  process_before = dup_process ();

  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      g_autoptr (LpRegistryEntry) entry = g_list_model_get_item (registry, i);
      const char *name = lp_registry_entry_get_name (entry);
      g_autofree char *path = g_strconcat ("/no-trace/", name, NULL);

      g_test_add_data_func (path, name, test_no_trace);
    }

  status = g_test_run ();
  g_free (process_before);

  return status;
}
