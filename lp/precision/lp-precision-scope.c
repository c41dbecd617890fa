#include <lp/precision/lp-precision-plugin-private.h>

/* Lets a compute scope call back into the plugin; nothing below this layer knows a plugin. */

#define LP_TYPE_PRECISION_QUANTIZER (lp_precision_quantizer_get_type ())
G_DECLARE_FINAL_TYPE (LpPrecisionQuantizer, lp_precision_quantizer, LP, PRECISION_QUANTIZER, LpOperandQuantizer)

struct _LpPrecisionQuantizer
{
  LpOperandQuantizer  parent_instance;

  LpPrecisionPlugin  *plugin;
};

G_DEFINE_FINAL_TYPE (LpPrecisionQuantizer, lp_precision_quantizer, LP_TYPE_OPERAND_QUANTIZER)

static LpTensor *
lp_precision_quantizer_quantize_operand (LpOperandQuantizer  *quantizer,
                                         LpOperand           *operand,
                                         GError             **error)
{
  return lp_precision_plugin_quantize_operand (LP_PRECISION_QUANTIZER (quantizer)->plugin, operand, error);
}

static LpTensor *
lp_precision_quantizer_matmul (LpOperandQuantizer  *quantizer,
                               LpMatmul            *matmul,
                               GError             **error)
{
  return lp_precision_plugin_matmul (LP_PRECISION_QUANTIZER (quantizer)->plugin, matmul, error);
}

static void
lp_precision_quantizer_finalize (GObject *object)
{
  g_clear_object (&LP_PRECISION_QUANTIZER (object)->plugin);

  G_OBJECT_CLASS (lp_precision_quantizer_parent_class)->finalize (object);
}

static void
lp_precision_quantizer_class_init (LpPrecisionQuantizerClass *klass)
{
  LpOperandQuantizerClass *quantizer_class = LP_OPERAND_QUANTIZER_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = lp_precision_quantizer_finalize;
  quantizer_class->quantize_operand = lp_precision_quantizer_quantize_operand;
  quantizer_class->matmul = lp_precision_quantizer_matmul;
}

static void
lp_precision_quantizer_init (LpPrecisionQuantizer *self)
{
}

/* It calls back into the plugin. */
static LpOperandQuantizer *
new_quantizer (LpPrecisionPlugin *plugin)
{
  LpPrecisionQuantizer *self = g_object_new (LP_TYPE_PRECISION_QUANTIZER, NULL);

  self->plugin = g_object_ref (plugin);

  return LP_OPERAND_QUANTIZER (self);
}

static gboolean
quantizes (LpPrecisionPlugin *self)
{
  LpPrecisionPluginClass *klass = LP_PRECISION_PLUGIN_GET_CLASS (self);

  return klass->quantize_operand != _lp_precision_plugin_real_quantize_operand ||
         klass->matmul != _lp_precision_plugin_real_matmul;
}

/* A scope of a policy alone is kept for the next step; one with a quantizer holds the plugin, and is not. */
static LpComputeScope *
get_policy_scope (LpPrecisionPlugin *self,
                  LpCastPolicy      *policy)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  if (data->scope == NULL || lp_compute_scope_get_policy (data->scope) != policy)
    {
      g_clear_object (&data->scope);
      data->scope = lp_compute_scope_new (policy, NULL);
    }

  return g_object_ref (data->scope);
}

/**
 * lp_precision_plugin_dup_scope:
 * @self: a plugin
 * @error: return location for an error
 *
 * Gets the compute scope of a step: the cast policy of the plugin, and its quantizer, if its class overrides
 * [vfunc@PrecisionPlugin.quantize_operand] or [vfunc@PrecisionPlugin.matmul].
 *
 * Returns: (transfer full) (nullable): the scope, or %NULL if the plugin has neither, or with an error
 */
LpComputeScope *
lp_precision_plugin_dup_scope (LpPrecisionPlugin  *self,
                               GError            **error)
{
  g_autoptr (LpCastPolicy) policy = NULL;
  g_autoptr (LpOperandQuantizer) quantizer = NULL;
  GError *local = NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), NULL);

  policy = lp_precision_plugin_get_cast_policy (self, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return NULL;
    }
  if (!quantizes (self))
    return policy != NULL ? get_policy_scope (self, policy) : NULL;

  quantizer = new_quantizer (self);

  return lp_compute_scope_new (policy, quantizer);
}

/**
 * lp_precision_plugin_push_scope:
 * @self: a plugin
 * @error: return location for an error
 *
 * Enters a step on this thread: operations compute as the plugin says, and tensors made without a dtype have the one of
 * the plugin. On success [method@PrecisionPlugin.pop_scope] has to follow, on every way out. Steps of training,
 * validation, test and prediction are alike.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_push_scope (LpPrecisionPlugin  *self,
                                GError            **error)
{
  g_autoptr (LpComputeScope) scope = NULL;
  g_autoptr (LpDType) dtype = NULL;
  LpPushedScope pushed = { FALSE, FALSE };
  GError *local = NULL;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  dtype = lp_precision_plugin_get_default_dtype (self, &local);
  if (local == NULL)
    scope = lp_precision_plugin_dup_scope (self, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }

  if (dtype != NULL)
    {
      lp_default_dtype_push (dtype);
      pushed.dtype = TRUE;
    }
  if (scope != NULL)
    {
      lp_compute_scope_push (scope);
      pushed.scope = TRUE;
    }
  g_array_append_val (_lp_precision_plugin_get_data (self)->scopes, pushed);

  return TRUE;
}

/**
 * lp_precision_plugin_pop_scope:
 * @self: a plugin
 *
 * Leaves a step.
 */
void
lp_precision_plugin_pop_scope (LpPrecisionPlugin *self)
{
  LpPrecisionPluginData *data;
  LpPushedScope pushed;

  g_return_if_fail (LP_IS_PRECISION_PLUGIN (self));

  data = _lp_precision_plugin_get_data (self);
  g_return_if_fail (data->scopes->len > 0);

  pushed = g_array_index (data->scopes, LpPushedScope, data->scopes->len - 1);
  g_array_set_size (data->scopes, data->scopes->len - 1);
  if (pushed.scope)
    lp_compute_scope_pop ();
  if (pushed.dtype)
    lp_default_dtype_pop ();
}

void
_lp_precision_plugin_unwind (LpPrecisionPlugin *self,
                             guint              n)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  for (; data->n_pushed > n; data->n_pushed--)
    lp_default_dtype_pop ();
}

void
_lp_precision_plugin_unwind_all (LpPrecisionPlugin *self)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  while (data->scopes->len > 0)
    lp_precision_plugin_pop_scope (self);
  _lp_precision_plugin_unwind (self, 0);
  g_array_set_size (data->marks, 0);
}
