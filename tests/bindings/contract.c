/* The contract of contract.txt, kept by a subclass in C: what concerns the virtual functions of a plugin. The rest of it
 * is in the unit tests. */

#include <lp/lp.h>

#include <string.h>

/* Overrides every virtual function; what the one called `target` does is up to `mode`. */
typedef struct
{
  LpPrecisionPlugin parent_instance;
  const char *target, *mode;
  int calls;
} Recorder;

typedef struct { LpPrecisionPluginClass parent_class; } RecorderClass;

GType recorder_get_type (void);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Recorder, g_object_unref)
G_DEFINE_TYPE (Recorder, recorder, LP_TYPE_PRECISION_PLUGIN)

/* Of whatever class it is a subclass. */
#define PARENT LP_PRECISION_PLUGIN_CLASS (g_type_class_peek_parent (LP_PRECISION_PLUGIN_GET_CLASS (self)))

static void
recorder_init (Recorder *self)
{
}

/* Whether the override has to misbehave. */
static gboolean
hit (LpPrecisionPlugin  *plugin,
     const char         *name,
     GError            **error)
{
  Recorder *self = (Recorder *) plugin;

  if (g_strcmp0 (self->target, name) != 0)
    return FALSE;

  self->calls++;
  if (g_str_equal (self->mode, "lp-error"))
    g_set_error_literal (error, LP_ERROR, LP_ERROR_NOT_FINITE, "told by the override");
  else if (g_str_equal (self->mode, "precision-error"))
    g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER, "told by the override");

  return !g_str_equal (self->mode, "override");
}

static LpTensor *
two_by_two (LpDType *dtype)
{
  return lp_tensor_new_from_doubles ((double[]) { 1, 2, 3, 4 }, 4, (gint64[]) { 2, 2 }, 2, dtype, NULL);
}

static LpTensor *
nonsense (LpPrecisionPlugin *plugin,
          const char        *name)
{
  const char *mode = ((Recorder *) plugin)->mode;

  if (g_str_equal (mode, "shape"))
    return lp_tensor_ones ((gint64[]) { 3 }, 1, NULL, NULL, NULL);
  if (g_str_equal (mode, "dtype"))
    return g_str_equal (name, "scale_loss") ? lp_tensor_scalar (1, lp_dtype_i64 (), NULL, NULL) : two_by_two (lp_dtype_i64 ());

  return NULL;
}

#define PLAIN(type, name, params, args, wrong) \
  static type \
  recorder_##name params \
  { \
    return hit (self, #name, error) ? wrong : PARENT->name args; \
  }
#define BOOLEAN_0(name) PLAIN (gboolean, name, (LpPrecisionPlugin *self, GError **error), (self, error), FALSE)
#define BOOLEAN_1(name, type) PLAIN (gboolean, name, (LpPrecisionPlugin *self, type *a, GError **error), (self, a, error), FALSE)
#define TENSOR(name, type) \
  PLAIN (LpTensor *, name, (LpPrecisionPlugin *self, type *a, GError **error), (self, a, error), nonsense (self, #name))
#define OBJECT(name, type) PLAIN (type *, name, (LpPrecisionPlugin *self, GError **error), (self, error), NULL)

BOOLEAN_1 (validate, LpPrecisionContext)
BOOLEAN_1 (validate_state, LpPrecisionState)
BOOLEAN_1 (supports, LpDevice)
OBJECT (dup_traits, LpPrecisionTraits)
OBJECT (get_default_dtype, LpDType)
BOOLEAN_0 (begin_init)
BOOLEAN_0 (end_init)
BOOLEAN_1 (convert_module, LpModule)
BOOLEAN_1 (convert_optimizer, LpOptimizer)
TENSOR (convert_input, LpTensor)
TENSOR (convert_output, LpTensor)
OBJECT (get_cast_policy, LpCastPolicy)
TENSOR (quantize_operand, LpOperand)
TENSOR (matmul, LpMatmul)
TENSOR (scale_loss, LpTensor)
PLAIN (gboolean, backward, (LpPrecisionPlugin *self, LpTensor *a, GPtrArray *b, GError **error), (self, a, b, error), FALSE)
BOOLEAN_1 (unscale_gradients, LpOptimizer)
PLAIN (gboolean, clip_gradients,
       (LpPrecisionPlugin *self, LpOptimizer *a, double b, LpClipAlgorithm c, GError **error), (self, a, b, c, error), FALSE)
PLAIN (LpStepResult, optimizer_step, (LpPrecisionPlugin *self, LpOptimizer *a, LpStepClosure *b, GError **error),
       (self, a, b, error), (g_str_equal (((Recorder *) self)->mode, "number") ? 77 : 0))
BOOLEAN_0 (end_step)
OBJECT (save_state, LpState)
BOOLEAN_1 (load_state, LpState)
BOOLEAN_1 (attach, LpPrecisionContext)
BOOLEAN_0 (detach)

static char *
recorder_dup_state_id (LpPrecisionPlugin *self)
{
  return hit (self, "dup_state_id", NULL) ? NULL : PARENT->dup_state_id (self);
}

static char **
recorder_dup_state_aliases (LpPrecisionPlugin *self)
{
  return hit (self, "dup_state_aliases", NULL) ? NULL : PARENT->dup_state_aliases (self);
}

static guint
recorder_get_state_version (LpPrecisionPlugin *self)
{
  return hit (self, "get_state_version", NULL) ? 0 : PARENT->get_state_version (self);
}

static void
recorder_class_init (RecorderClass *klass)
{
  LpPrecisionPluginClass *plugin_class = LP_PRECISION_PLUGIN_CLASS (klass);

#define SET(name) plugin_class->name = recorder_##name
  SET (validate); SET (validate_state); SET (supports); SET (dup_traits); SET (get_default_dtype); SET (begin_init);
  SET (end_init); SET (convert_module); SET (convert_optimizer); SET (convert_input); SET (convert_output); SET (get_cast_policy);
  SET (quantize_operand); SET (matmul); SET (scale_loss); SET (backward); SET (unscale_gradients); SET (clip_gradients);
  SET (optimizer_step); SET (end_step); SET (save_state); SET (load_state); SET (attach); SET (detach); SET (dup_state_id);
  SET (dup_state_aliases); SET (get_state_version);
}

static void
invoke_product (LpPrecisionPlugin  *plugin,
                GError            **error)
{
  g_autoptr (LpTensor) tensor = two_by_two (NULL);
  g_autoptr (LpTensor) result = NULL;

  if (!lp_precision_plugin_push_scope (plugin, error))
    return;
  result = lp_tensor_matmul (tensor, tensor, error);
  lp_precision_plugin_pop_scope (plugin);
}

static void
invoke (const char         *name,
        LpPrecisionPlugin  *plugin,
        GError            **error)
{
  g_autoptr (LpPrecisionContext) context = lp_precision_context_new ();
  g_autoptr (LpPrecisionState) state = lp_precision_plugin_dup_state (plugin);
  g_autoptr (LpTensor) tensor = two_by_two (NULL);
  g_autoptr (LpTensor) weight = lp_tensor_ones ((gint64[]) { 2 }, 1, NULL, NULL, NULL);
  g_autoptr (LpTensor) gradient = lp_tensor_ones ((gint64[]) { 2 }, 1, NULL, NULL, NULL);
  g_autoptr (LpTensor) loss = NULL;
  g_autoptr (GPtrArray) weights = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpModule) module = lp_linear_new (16, 16);
  g_autofree char *id = lp_precision_plugin_dup_state_id (plugin);
  g_autoptr (LpState) saved = lp_state_new ();
  g_autoptr (GObject) object = NULL;
  g_autoptr (GPtrArray) none = g_ptr_array_new ();

  lp_tensor_set_requires_grad (weight, TRUE);
  lp_tensor_set_grad (weight, gradient);
  loss = lp_tensor_sum (weight, NULL, 0, FALSE, NULL);
  g_ptr_array_add (weights, weight);
  optimizer = lp_sgd_new (weights, 0.1);
  lp_state_set_value (saved, "plugin-id", g_variant_new_string (id));

#define CASE(called, call) \
  if (g_str_equal (name, called)) \
    { \
      call; \
      return; \
    }
#define TAKE(call) object = (GObject *) (call)
  CASE ("validate", lp_precision_plugin_validate (plugin, context, error))
  CASE ("validate_state", lp_precision_plugin_validate_state (plugin, state, error))
  CASE ("supports", lp_precision_plugin_supports (plugin, lp_device_get_default (), error))
  CASE ("dup_traits", TAKE (lp_precision_plugin_dup_traits (plugin, error)))
  CASE ("get_default_dtype", TAKE (lp_precision_plugin_get_default_dtype (plugin, error)))
  CASE ("begin_init", if (lp_precision_plugin_begin_init (plugin, error)) lp_precision_plugin_end_init (plugin, error))
  CASE ("end_init", if (lp_precision_plugin_begin_init (plugin, error)) lp_precision_plugin_end_init (plugin, error))
  CASE ("convert_module", lp_precision_plugin_convert_module (plugin, module, error))
  CASE ("convert_optimizer", lp_precision_plugin_convert_optimizer (plugin, optimizer, error))
  CASE ("convert_input", TAKE (lp_precision_plugin_convert_input (plugin, tensor, error)))
  CASE ("convert_output", TAKE (lp_precision_plugin_convert_output (plugin, tensor, error)))
  CASE ("get_cast_policy", TAKE (lp_precision_plugin_get_cast_policy (plugin, error)))
  CASE ("quantize_operand", invoke_product (plugin, error))
  CASE ("matmul", invoke_product (plugin, error))
  CASE ("scale_loss", TAKE (lp_precision_plugin_scale_loss (plugin, loss, error)))
  CASE ("backward", lp_precision_plugin_backward (plugin, loss, none, error))
  CASE ("unscale_gradients", lp_precision_plugin_unscale_gradients (plugin, optimizer, error))
  CASE ("clip_gradients", lp_precision_plugin_clip_gradients (plugin, optimizer, 0.1, LP_CLIP_NORM, error))
  CASE ("optimizer_step", lp_precision_plugin_optimizer_step (plugin, optimizer, NULL, error))
  CASE ("end_step", lp_precision_plugin_end_step (plugin, error))
  CASE ("save_state", TAKE (lp_precision_plugin_save_state (plugin, error)))
  CASE ("load_state", lp_precision_plugin_load_state (plugin, saved, error))
  CASE ("attach", if (lp_precision_plugin_attach (plugin, context, error)) lp_precision_plugin_detach (plugin, error))
  CASE ("detach", if (lp_precision_plugin_attach (plugin, context, error)) lp_precision_plugin_detach (plugin, error))
  CASE ("dup_state_id", g_free (lp_precision_plugin_dup_state_id (plugin)))
  CASE ("dup_state_aliases", g_strfreev (lp_precision_plugin_dup_state_aliases (plugin)))
  CASE ("get_state_version", lp_precision_plugin_get_state_version (plugin))
  g_assert_not_reached ();
}

/* A subclass of the class behind @entry, or of the base class. */
static GType
recorder_type_of (LpRegistryEntry *entry)
{
  GType parent = entry != NULL ? lp_registry_entry_get_gtype (entry) : LP_TYPE_PRECISION_PLUGIN;
  g_autofree char *name = g_strconcat ("RecorderOf", g_type_name (parent), NULL);
  GTypeQuery query;

  if (entry == NULL)
    return recorder_get_type ();
  if (g_type_from_name (name) != 0)
    return g_type_from_name (name);

  g_type_query (parent, &query);
  g_assert_cmpuint (query.instance_size, <=, G_STRUCT_OFFSET (Recorder, target));

  return g_type_register_static_simple (parent, name, query.class_size, (GClassInitFunc) (void (*) (void)) recorder_class_init, sizeof (Recorder),
                                        NULL, 0);
}

static Recorder *
recorder_new (LpRegistryEntry *entry,
              const char      *target,
              const char      *mode)
{
  g_autoptr (GVariant) fixed = entry != NULL ? lp_registry_entry_dup_values (entry) : NULL;
  const char *precision = entry != NULL ? lp_registry_entry_get_name (entry) : "contract", *level = NULL;
  Recorder *self;

  if (fixed != NULL)
    {
      g_variant_lookup (fixed, "precision", "&s", &precision);
      g_variant_lookup (fixed, "amp-level", "&s", &level);
    }
  self = g_object_new (recorder_type_of (entry), "precision", precision, "amp-level", level, NULL);
  g_assert_true (g_initable_init (G_INITABLE (self), NULL, NULL));
  self->target = target;
  self->mode = mode;

  return self;
}

static void
expect (LpRegistryEntry *entry,
        const char      *name,
        const char      *mode,
        GQuark           domain,
        int              code,
        const char      *mentions)
{
  g_autoptr (Recorder) plugin = recorder_new (entry, name, mode);
  g_autoptr (GError) error = NULL;

  invoke (name, LP_PRECISION_PLUGIN (plugin), &error);
  g_assert_error (error, domain, code);
  g_assert_nonnull (strstr (error->message, mentions));
}

/* It is called, and chaining up gives what it gives without an override. */
static void
check_override (LpRegistryEntry *entry,
                const char      *name)
{
  g_autoptr (Recorder) plain = recorder_new (entry, NULL, NULL);
  g_autoptr (Recorder) plugin = recorder_new (entry, name, "override");
  g_autoptr (GError) expected = NULL;
  g_autoptr (GError) error = NULL;

  invoke (name, LP_PRECISION_PLUGIN (plain), &expected);
  invoke (name, LP_PRECISION_PLUGIN (plugin), &error);
  if (expected != NULL)
    g_assert_error (error, expected->domain, expected->code);
  else
    g_assert_no_error (error);
  g_assert_true (entry != NULL || error == NULL);
  g_assert_cmpint (plugin->calls, >, 0);
}

typedef struct
{
  LpRegistryEntry *entry;
  const char      *line;
} Case;

static void
check (gconstpointer data)
{
  const Case *self = data;
  g_auto (GStrv) words = g_strsplit (self->line, " ", -1);
  const char *name = words[1];

  if (g_str_equal (words[0], "override"))
    check_override (self->entry, name);
  else if (g_str_equal (words[0], "error"))
    {
      expect (self->entry, name, "lp-error", LP_ERROR, LP_ERROR_NOT_FINITE, "told by the override");
      expect (self->entry, name, "precision-error", LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER, "told by the override");
    }
  else if (g_str_equal (words[0], "fallback"))
    {
      g_autoptr (Recorder) plugin = recorder_new (self->entry, name, "nothing");
      g_autofree char *id = lp_precision_plugin_dup_state_id (LP_PRECISION_PLUGIN (plugin));
      g_auto (GStrv) aliases = lp_precision_plugin_dup_state_aliases (LP_PRECISION_PLUGIN (plugin));

      if (g_str_equal (name, "dup_state_id"))
        g_assert_cmpstr (id, ==, G_OBJECT_TYPE_NAME (plugin));
      else
        g_assert_cmpuint (g_strv_length (aliases), ==, 0);
    }
  else
    expect (self->entry, name, g_str_equal (words[0], "broken") ? "broken" : words[2], LP_ERROR, LP_ERROR_SUBCLASS, "Recorder");
}

static void
add (LpRegistryEntry *entry,
     const char      *line)
{
  g_autofree char *path = g_strconcat ("/", entry != NULL ? g_type_name (lp_registry_entry_get_gtype (entry)) : "base", "/", line, NULL);
  Case *self = g_new (Case, 1);

  self->entry = entry;
  self->line = line;
  g_test_add_data_func_full (path, self, check, g_free);
}

/* One entry for each class of the registry, after NULL for the base class. */
static GPtrArray *
dup_classes (void)
{
  GListModel *registry = G_LIST_MODEL (lp_precision_registry_get_default ());
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  GPtrArray *classes = g_ptr_array_new ();

  g_ptr_array_add (classes, NULL);
  for (guint i = 0; i < g_list_model_get_n_items (registry); i++)
    {
      LpRegistryEntry *entry = g_list_model_get_item (registry, i);
      GType type = lp_registry_entry_get_gtype (entry);

      if (type != G_TYPE_NONE && type != G_TYPE_INVALID && g_hash_table_add (seen, GSIZE_TO_POINTER (type)))
        g_ptr_array_add (classes, entry);
    }

  return classes;
}

int
main (int    argc,
      char **argv)
{
  const char *plugin_checks[] = { "override ", "error ", "broken ", "nonsense ", "fallback ", NULL };
  g_autofree char *text = NULL;
  g_auto (GStrv) lines = NULL;
  g_autoptr (GPtrArray) classes = NULL;

  g_test_init (&argc, &argv, NULL);
  /* plugins may warn of the little state that they get here */
  g_log_set_always_fatal (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL);
  g_assert_true (g_file_get_contents (argv[1], &text, NULL, NULL));
  lines = g_strsplit (text, "\n", -1);
  classes = dup_classes ();

  for (guint c = 0; c < classes->len; c++)
    for (int i = 0; lines[i] != NULL; i++)
      for (int j = 0; plugin_checks[j] != NULL; j++)
        if (g_str_has_prefix (lines[i], plugin_checks[j]))
          add (g_ptr_array_index (classes, c), lines[i]);

  return g_test_run ();
}
