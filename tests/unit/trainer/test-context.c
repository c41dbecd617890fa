/* What a precision is told of the run that it is attached to, who runs its code, and what a step by hand ends. */

#include <string.h>

#include "trainer-fixture.h"

/* A precision that writes down what validate is told, and refuses an optimizer when it is asked to. */
typedef struct
{
  LpMixedPrecisionPlugin parent_instance;

  GString *told;
  gboolean refuses;
} Listener;

typedef struct { LpMixedPrecisionPluginClass parent_class; } ListenerClass;

static GType listener_get_type (void);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Listener, g_object_unref)
G_DEFINE_TYPE (Listener, listener, LP_TYPE_MIXED_PRECISION_PLUGIN)

enum { PROP_PRECISION = 1 };

/* Who asked for the name. */
static GThread *asked_by;

static gboolean
listener_validate (LpPrecisionPlugin   *plugin,
                   LpPrecisionContext  *context,
                   GError             **error)
{
  Listener *self = (Listener *) plugin;
  g_autoptr (GPtrArray) optimizers = lp_precision_context_dup_optimizers (context);
  LpDevice *device = lp_precision_context_get_device (context);

  if (!LP_PRECISION_PLUGIN_CLASS (listener_parent_class)->validate (plugin, context, error))
    return FALSE;
  g_string_append_printf (self->told, "%s %s %s %g %d %u\n", device != NULL ? lp_device_get_name (device) : "-",
                          lp_precision_context_get_strategy (context) != NULL ? "strategy" : "-",
                          lp_precision_context_get_module (context) != NULL ? "module" : "-",
                          lp_precision_context_get_clip_value (context), lp_precision_context_get_clip_algorithm (context),
                          optimizers->len);
  if (!self->refuses || optimizers->len == 0)
    return TRUE;

  g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "not this optimizer");
  return FALSE;
}

static void
listener_get_property (GObject    *object,
                       guint       prop_id,
                       GValue     *value,
                       GParamSpec *pspec)
{
  asked_by = g_thread_self ();
  g_value_set_string (value, "of its own");
}

/* The name is the parent's to set. */
static void
listener_set_property (GObject      *object,
                       guint         prop_id,
                       const GValue *value,
                       GParamSpec   *pspec)
{
}

static void
listener_finalize (GObject *object)
{
  g_string_free (((Listener *) object)->told, TRUE);

  G_OBJECT_CLASS (listener_parent_class)->finalize (object);
}

static void
listener_class_init (ListenerClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = listener_finalize;
  LP_PRECISION_PLUGIN_CLASS (klass)->validate = listener_validate;
}

static void
listener_init (Listener *self)
{
  self->told = g_string_new (NULL);
}

/* One whose name is answered by code of its own. */
typedef struct { LpFullPrecisionPlugin parent_instance; } Shadow;
typedef struct { LpFullPrecisionPluginClass parent_class; } ShadowClass;

static GType shadow_get_type (void);

G_DEFINE_TYPE (Shadow, shadow, LP_TYPE_FULL_PRECISION_PLUGIN)

static void
shadow_class_init (ShadowClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = listener_get_property;
  object_class->set_property = listener_set_property;
  g_object_class_override_property (object_class, PROP_PRECISION, "precision");
}

static void
shadow_init (Shadow *self)
{
}

static Listener *
new_listener (void)
{
  return g_object_new (listener_get_type (), "precision", "bf16-mixed", NULL);
}

static LpTrainer *
new_trainer (gpointer plugin)
{
  LpTrainer *trainer = test_trainer_new (NULL, 1);
  g_autoptr (GError) error = NULL;

  lp_trainer_set_precision_plugin (trainer, plugin, &error);
  g_assert_no_error (error);

  return trainer;
}

static void
test_trainer (void)
{
  g_autoptr (Listener) listener = new_listener ();
  g_autoptr (LpTrainer) trainer = new_trainer (listener);
  g_autoptr (LpDataLoader) loader = test_loader_new (8, 4, FALSE);
  g_autoptr (TestNet) net = test_net_new (1);
  g_autoptr (GError) error = NULL;

  g_object_set (trainer, "gradient-clip-val", 0.5, "gradient-clip-algorithm", LP_CLIP_VALUE, NULL);
  g_string_truncate (listener->told, 0);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_no_error (error);
  /* as it is attached, and when there are optimizers */
  g_assert_cmpstr (listener->told->str, ==, "cpu strategy module 0.5 1 0\ncpu strategy module 0.5 1 1\n");

  listener->refuses = TRUE;
  g_assert_false (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_cmpstr (error->message, ==, "not this optimizer");
  g_assert_cmpint (lp_trainer_get_global_step (trainer), ==, 0);
}

static void
test_fabric (void)
{
  g_autoptr (Listener) listener = new_listener ();
  g_autoptr (LpFabric) fabric = lp_fabric_new_with_plugin (LP_PRECISION_PLUGIN (listener), NULL);
  g_autoptr (LpModule) layer = lp_linear_new (2, 2);
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (layer);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 0.1);
  g_autoptr (GError) error = NULL;

  g_string_truncate (listener->told, 0);
  g_assert_true (lp_fabric_setup_module (fabric, layer, &error));
  g_assert_no_error (error);
  g_assert_nonnull (strstr (listener->told->str, "cpu strategy module 0 0 0\n"));
  listener->refuses = TRUE;
  g_assert_false (lp_fabric_setup_optimizer (fabric, optimizer, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED);
  g_assert_nonnull (g_str_has_suffix (listener->told->str, " 1\n") ? listener->told->str : NULL);
}

static gpointer
ask (gpointer trainer)
{
  return lp_trainer_dup_precision (trainer);
}

/* On the thread of the trainer its own code is asked; on others the record is read, which is nobody's code. */
static void
test_threads (void)
{
  g_autoptr (LpPrecisionPlugin) plugin = g_object_new (shadow_get_type (), NULL);
  g_autoptr (LpTrainer) trainer = new_trainer (plugin);
  g_autofree char *here = NULL, *there = NULL;

  asked_by = NULL;
  here = ask (trainer);
  g_assert_true (asked_by == g_thread_self ());
  asked_by = NULL;
  there = g_thread_join (g_thread_new (NULL, ask, trainer));
  g_assert_null (asked_by);
  g_assert_cmpstr (here, ==, "of its own");
  g_assert_cmpstr (there, ==, "32-true");
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/context/trainer", test_trainer);
  g_test_add_func ("/context/fabric", test_fabric);
  g_test_add_func ("/context/threads", test_threads);

  return g_test_run ();
}
