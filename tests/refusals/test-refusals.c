/* The table of refusals.json, by each way in. */

#include <math.h>

#include <lp/lp.h>

#include <json-glib/json-glib.h>
#include <string.h>

/* A model that is one layer. */
typedef struct { LpModel parent_instance; } OneLayer;
typedef struct { LpModelClass parent_class; } OneLayerClass;

GType one_layer_get_type (void);
G_DEFINE_TYPE (OneLayer, one_layer, LP_TYPE_MODEL)

static LpTensor *
one_layer_training_step (LpModel  *model,
                         LpBatch  *batch,
                         gint64    batch_idx,
                         GError  **error)
{
  g_autoptr (LpTensor) output = lp_module_forward (lp_module_lookup_child (LP_MODULE (model), "layer"), lp_batch_get_tensor (batch, 0),
                                                   error);

  return output != NULL ? lp_tensor_sum (output, NULL, 0, FALSE, error) : NULL;
}

static GObject *
one_layer_configure_optimizers (LpModel  *model,
                                GError  **error)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (LP_MODULE (model));

  return G_OBJECT (lp_sgd_new (parameters, 0.1));
}

static void
one_layer_class_init (OneLayerClass *klass)
{
  LP_MODEL_CLASS (klass)->training_step = one_layer_training_step;
  LP_MODEL_CLASS (klass)->configure_optimizers = one_layer_configure_optimizers;
}

static void
one_layer_init (OneLayer *self)
{
}

/* For an optimizer that computes its gradients again. */
typedef struct { LpStepClosure parent_instance; } Closure;
typedef struct { LpStepClosureClass parent_class; } ClosureClass;

GType closure_get_type (void);
G_DEFINE_TYPE (Closure, closure, LP_TYPE_STEP_CLOSURE)

static void
closure_class_init (ClosureClass *klass)
{
}

static void
closure_init (Closure *self)
{
}

static LpModel *
new_model (const char *kind)
{
  LpModel *model = g_object_new (one_layer_get_type (), NULL);
  g_autoptr (LpModule) layer = g_strcmp0 (kind, "no-linear") == 0 ? lp_batch_norm2d_new (2) : lp_linear_new (2, 2);

  g_assert_true (lp_module_register_child (LP_MODULE (model), "layer", layer, NULL));
  if (g_strcmp0 (kind, "f16") == 0)
    g_assert_true (lp_module_to_dtype (LP_MODULE (model), lp_dtype_f16 (), NULL));

  return model;
}

static void
fit (LpTrainer  *trainer,
     LpModel    *model,
     GError    **error)
{
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 4, 2 }, 2, NULL, NULL, NULL);
  g_autoptr (LpTensor) y = lp_tensor_ones ((gint64[]) { 4 }, 1, NULL, NULL, NULL);
  g_autoptr (LpDataset) dataset = LP_DATASET (lp_tensor_dataset_new_pair (x, y, NULL));
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 2, FALSE);

  g_object_set (trainer, "max-epochs", 1, "enable-progress-bar", FALSE, "enable-model-summary", FALSE, "enable-checkpointing",
                FALSE, NULL);
  lp_trainer_fit (trainer, model, loader, NULL, NULL, NULL, error);
}

/* Properties from JSON. */

static void set_value (GValue *value, GParamSpec *pspec, JsonNode *node);

static GObject *
new_object (GType       type,
            JsonObject *properties)
{
  g_autoptr (GTypeClass) klass = g_type_class_ref (type);
  g_autoptr (GList) names = json_object_get_members (properties);
  guint n = g_list_length (names), i = 0;
  g_autofree const char **keys = g_new (const char *, n);
  g_autofree GValue *values = g_new0 (GValue, n);
  GObject *object;

  for (GList *l = names; l != NULL; l = l->next, i++)
    {
      GParamSpec *pspec = g_object_class_find_property (G_OBJECT_CLASS (klass), l->data);

      g_assert_nonnull (pspec);
      keys[i] = l->data;
      g_value_init (&values[i], G_PARAM_SPEC_VALUE_TYPE (pspec));
      set_value (&values[i], pspec, json_object_get_member (properties, l->data));
    }
  object = g_object_new_with_properties (type, n, keys, values);
  for (i = 0; i < n; i++)
    g_value_unset (&values[i]);

  return object;
}

static void
set_value (GValue     *value,
           GParamSpec *pspec,
           JsonNode   *node)
{
  if (JSON_NODE_HOLDS_OBJECT (node))
    g_value_take_object (value, new_object (pspec->value_type, json_node_get_object (node)));
  else if (G_IS_PARAM_SPEC_ENUM (pspec))
    g_value_set_enum (value, g_enum_get_value_by_nick (G_PARAM_SPEC_ENUM (pspec)->enum_class, json_node_get_string (node))->value);
  else
    {
      g_auto (GValue) plain = G_VALUE_INIT;

      json_node_get_value (node, &plain);
      g_assert_true (g_value_transform (&plain, value));
    }
}

static gboolean
has_objects (JsonObject *properties)
{
  g_autoptr (GList) nodes = json_object_get_values (properties);

  for (GList *l = nodes; l != NULL; l = l->next)
    if (JSON_NODE_HOLDS_OBJECT (l->data))
      return TRUE;

  return FALSE;
}

/* One row. */

static const char *
get_string (JsonObject *row,
            const char *name)
{
  return json_object_get_string_member_with_default (row, name, NULL);
}

static char *
dup_request (JsonObject *row)
{
  JsonNode *node = json_object_get_member (row, "request");

  if (node == NULL)
    return NULL;
  if (json_node_get_value_type (node) == G_TYPE_INT64)
    return g_strdup_printf ("%" G_GINT64_FORMAT, json_node_get_int (node));

  return json_node_dup_string (node);
}

static LpPrecisionPlugin *
dup_plugin (JsonObject *row)
{
  const char *type = get_string (row, "type");

  return type != NULL ? LP_PRECISION_PLUGIN (new_object (g_type_from_name (type), json_object_get_object_member (row, "properties")))
                      : NULL;
}

static void
by_constructor (JsonObject  *row,
                GError     **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = dup_plugin (row);

  g_initable_init (G_INITABLE (plugin), NULL, error);
}

static void
by_registry (JsonObject  *row,
             GError     **error)
{
  const char *entry = get_string (row, "entry");
  g_autofree char *request = entry != NULL ? g_strdup (entry) : dup_request (row);
  g_autoptr (LpPrecisionPlugin) plugin = NULL;
  GVariantDict config = G_VARIANT_DICT_INIT (NULL);
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;

  if (entry != NULL)
    {
      json_object_iter_init (&iter, json_object_get_object_member (row, "properties"));
      while (json_object_iter_next (&iter, &name, &node))
        if (json_node_get_value_type (node) == G_TYPE_STRING)
          g_variant_dict_insert (&config, name, "s", json_node_get_string (node));
        else
          g_variant_dict_insert (&config, name, "d", json_node_get_double (node));
    }
  plugin = lp_precision_registry_create (lp_precision_registry_get_default (), request, g_variant_dict_end (&config), error);
}

static void
by_owner (JsonObject  *row,
          GType        type,
          GError     **error)
{
  g_autofree char *request = dup_request (row);
  g_autoptr (LpPrecisionPlugin) plugin = dup_plugin (row);
  g_autoptr (GObject) owner = NULL;

  owner = g_initable_new (type, NULL, error, "precision-request", request, "precision-plugin", plugin, NULL);
}

static void
by_trainer (JsonObject  *row,
            GError     **error)
{
  by_owner (row, LP_TYPE_TRAINER, error);
}

static void
by_fabric (JsonObject  *row,
           GError     **error)
{
  by_owner (row, LP_TYPE_FABRIC, error);
}

/* A plugin that is good, with what comes to it in a run. */

static LpPrecisionContext *
new_context (LpModel *model)
{
  LpPrecisionContext *context = lp_precision_context_new ();

  lp_precision_context_set_module (context, LP_MODULE (model));

  return context;
}

static LpPrecisionPlugin *
dup_good_plugin (JsonObject         *row,
                 LpPrecisionContext *context)
{
  LpPrecisionPlugin *plugin = dup_plugin (row);

  g_assert_true (g_initable_init (G_INITABLE (plugin), NULL, NULL));
  if (json_object_get_boolean_member_with_default (row, "attached", FALSE))
    g_assert_true (lp_precision_plugin_attach (plugin, context, NULL));

  return plugin;
}

static void
run_plugin (JsonObject  *row,
            GError     **error)
{
  g_autoptr (LpModel) model = new_model (get_string (row, "model"));
  g_autoptr (LpPrecisionContext) context = new_context (model);
  g_autoptr (LpPrecisionPlugin) plugin = dup_good_plugin (row, context);

  if (lp_precision_plugin_attach (plugin, context, error))
    lp_precision_plugin_convert_module (plugin, LP_MODULE (model), error);
}

static void
run_owner (JsonObject  *row,
           GType        type,
           GError     **error)
{
  g_autoptr (LpModel) model = new_model (get_string (row, "model"));
  g_autoptr (LpPrecisionContext) context = new_context (model);
  g_autoptr (LpPrecisionPlugin) plugin = dup_good_plugin (row, context);
  g_autoptr (GObject) owner = g_initable_new (type, NULL, NULL, "precision-plugin", plugin, NULL);

  g_assert_nonnull (owner);
  if (LP_IS_TRAINER (owner))
    fit (LP_TRAINER (owner), model, error);
  else
    lp_fabric_setup_module (LP_FABRIC (owner), LP_MODULE (model), error);
}

static void
run_trainer (JsonObject  *row,
             GError     **error)
{
  run_owner (row, LP_TYPE_TRAINER, error);
}

static void
run_fabric (JsonObject  *row,
            GError     **error)
{
  run_owner (row, LP_TYPE_FABRIC, error);
}

static void
run_closure (JsonObject  *row,
             GError     **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = dup_good_plugin (row, NULL);
  g_autoptr (LpStepClosure) closure = g_object_new (closure_get_type (), NULL);
  g_autoptr (LpModel) model = new_model (NULL);
  g_autoptr (LpOptimizer) optimizer = LP_OPTIMIZER (one_layer_configure_optimizers (model, NULL));

  g_assert_cmpint (lp_precision_plugin_optimizer_step (plugin, optimizer, closure, error), ==, LP_STEP_FAILED);
}

/* What is not a plugin's. */

static void
call_register (JsonObject  *row,
               GError     **error)
{
  g_autoptr (LpRegistryEntry) entry = lp_registry_entry_new ("a-layer", LP_TYPE_LINEAR, NULL, NULL);

  lp_registry_add (LP_REGISTRY (lp_precision_registry_get_default ()), entry, error);
}

static void
call_fabric_clip (JsonObject  *row,
                  GError     **error)
{
  g_autoptr (LpFabric) fabric = lp_fabric_new (NULL, NULL);
  g_autoptr (LpModel) model = new_model (NULL);
  g_autoptr (LpOptimizer) optimizer = LP_OPTIMIZER (one_layer_configure_optimizers (model, NULL));

  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (model), NULL));
  g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, NULL));
  lp_fabric_clip_gradients (fabric, optimizer, json_object_get_double_member (row, "argument"), LP_CLIP_NORM, error);
}

static void
call_fabric_clip_infinite (JsonObject  *row,
                           GError     **error)
{
  g_autoptr (LpFabric) fabric = lp_fabric_new (NULL, NULL);
  g_autoptr (LpModel) model = new_model (NULL);
  g_autoptr (LpOptimizer) optimizer = LP_OPTIMIZER (one_layer_configure_optimizers (model, NULL));
  LpTensor *weight = lp_module_lookup_parameter (LP_MODULE (model), "layer.weight");
  g_autoptr (LpTensor) grad = lp_tensor_full ((gint64[]) { 2, 2 }, 2, (double) INFINITY, NULL, NULL, NULL);

  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (model), NULL));
  g_assert_true (lp_fabric_setup_optimizer (fabric, optimizer, NULL));
  lp_tensor_set_grad (weight, grad);
  lp_fabric_clip_gradients (fabric, optimizer, 1, LP_CLIP_NORM, error);
}

static void
call_manual (JsonObject  *row,
             GError     **error)
{
  g_autoptr (LpModel) model = new_model (NULL);
  g_autoptr (LpTrainer) trainer = lp_trainer_new (NULL, NULL);

  lp_model_set_automatic_optimization (model, FALSE);
  if (g_str_equal (get_string (row, "argument"), "gradient-clip-val"))
    g_object_set (trainer, "gradient-clip-val", 2.0, NULL);
  else
    g_object_set (trainer, "accumulate-grad-batches", 2, NULL);
  fit (trainer, model, error);
}

static void
call_device (JsonObject  *row,
             GError     **error)
{
  g_autoptr (LpDevice) device = lp_device_lookup (get_string (row, "argument"), error);
}

static void
call_strategy (JsonObject  *row,
               GError     **error)
{
  g_autoptr (GObject) strategy = lp_registry_create (LP_REGISTRY (lp_strategy_registry_get_default ()), get_string (row, "argument"), NULL,
                                                     error);
}

typedef void (* Way) (JsonObject *row, GError **error);

typedef struct
{
  JsonObject *row;
  Way         way;
} Case;

static void
check (gconstpointer data)
{
  const Case *self = data;
  g_auto (GStrv) words = g_strsplit (get_string (self->row, "error"), " ", 2);
  gboolean ours = g_str_equal (words[0], "precision");
  g_autoptr (GEnumClass) codes = g_type_class_ref (ours ? LP_TYPE_PRECISION_ERROR : LP_TYPE_ERROR);
  GEnumValue *code = g_enum_get_value_by_nick (codes, words[1]);
  JsonArray *names = json_object_get_array_member (self->row, "names");
  GQuark domain = ours ? LP_PRECISION_ERROR : LP_ERROR;
  g_autoptr (GError) error = NULL;

  g_assert_nonnull (code);
  self->way (self->row, &error);
  g_assert_error (error, domain, code->value);
  for (guint i = 0; i < json_array_get_length (names); i++)
    if (strstr (error->message, json_array_get_string_element (names, i)) == NULL)
      g_error ("“%s” is not in: %s", json_array_get_string_element (names, i), error->message);
}

static void
add (JsonObject *row,
     const char *name,
     Way         way)
{
  g_autofree char *path = g_strdup_printf ("/refusals/%s/%s", get_string (row, "id"), name);
  Case *self = g_new (Case, 1);

  self->row = row;
  self->way = way;
  g_test_add_data_func_full (path, self, check, g_free);
}

static void
add_call (JsonObject *row)
{
  static const struct { const char *name; Way way; } calls[] = {
    { "register-a-layer", call_register },
    { "fabric-clip", call_fabric_clip },
    { "fabric-clip-infinite", call_fabric_clip_infinite },
    { "manual", call_manual },
    { "device", call_device },
    { "strategy", call_strategy },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (calls); i++)
    if (g_str_equal (get_string (row, "call"), calls[i].name))
      add (row, "call", calls[i].way);
}

static void
add_row (JsonArray *array,
         guint      index,
         JsonNode  *node,
         gpointer   user_data)
{
  JsonObject *row = json_node_get_object (node);

  if (json_object_has_member (row, "call"))
    add_call (row);
  else if (json_object_has_member (row, "closure"))
    add (row, "plugin", run_closure);
  else if (json_object_has_member (row, "model") || json_object_has_member (row, "attached"))
    {
      add (row, "plugin", run_plugin);
      add (row, "trainer", run_trainer);
      add (row, "fabric", run_fabric);
    }
  else
    {
      gboolean both = json_object_has_member (row, "type") && json_object_has_member (row, "request");

      if (json_object_has_member (row, "type") && !both)
        add (row, "constructor", by_constructor);
      if (!both && (json_object_has_member (row, "request") || !has_objects (json_object_get_object_member (row, "properties"))))
        add (row, "registry", by_registry);
      add (row, "trainer", by_trainer);
      add (row, "fabric", by_fabric);
    }
}

int
main (int    argc,
      char **argv)
{
  g_autoptr (JsonParser) parser = json_parser_new ();

  g_test_init (&argc, &argv, NULL);
  g_assert_true (json_parser_load_from_file (parser, argv[1], NULL));
  lp_precision_registry_get_default ();
  g_type_ensure (LP_TYPE_FALLBACK_MIXED_PRECISION_PLUGIN);
  json_array_foreach_element (json_object_get_array_member (json_node_get_object (json_parser_get_root (parser)), "rows"), add_row, NULL);

  return g_test_run ();
}
