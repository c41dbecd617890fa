#include <lp/precision/lp-precision-plugin-private.h>

#include <lp/autograd/lp-matmul-private.h>
#include <lp/core/lp-error.h>

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
  _lp_matmul_hand_on (matmul);

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
  LpPushedScope pushed = { .dtype = FALSE };
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

  _lp_thread_get_depths (&pushed.before);
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

/* FALSE when somebody else has popped what it pushed. */
static gboolean
pop_last (LpPrecisionPluginData *data)
{
  LpPushedScope pushed = g_array_index (data->scopes, LpPushedScope, data->scopes->len - 1);
  LpThreadDepths now;
  gboolean scope, dtype;

  g_array_set_size (data->scopes, data->scopes->len - 1);
  _lp_thread_get_depths (&now);
  scope = pushed.scope && now.depths[LP_THREAD_SCOPES] > pushed.before.depths[LP_THREAD_SCOPES];
  dtype = pushed.dtype && now.depths[LP_THREAD_DTYPES] > pushed.before.depths[LP_THREAD_DTYPES];
  if (scope)
    lp_compute_scope_pop ();
  if (dtype)
    lp_default_dtype_pop ();

  return scope == pushed.scope && dtype == pushed.dtype;
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

  g_return_if_fail (LP_IS_PRECISION_PLUGIN (self));

  data = _lp_precision_plugin_get_data (self);
  /* inside a step that is on: its end will tell */
  if (data->scopes->len > data->floor)
    pop_last (data);
  else
    _lp_thread_stack_may_pop (LP_THREAD_SCOPES, 0);
}

/**
 * lp_precision_plugin_leave_scope: (rename-to lp_precision_plugin_pop_scope)
 * @self: a plugin
 * @error: return location for an error
 *
 * Leaves a step, if it is the caller's to leave.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE without [method@PrecisionPlugin.push_scope]; in a step of a trainer, which
 *   ends by itself; and when what it pushed is no longer there
 */
gboolean
lp_precision_plugin_leave_scope (LpPrecisionPlugin  *self,
                                 GError            **error)
{
  LpPrecisionPluginData *data;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  data = _lp_precision_plugin_get_data (self);
  if (data->scopes->len > data->floor && pop_last (data))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, data->floor > 0
               ? "The scope of the %s is that of a step that is on, and ends with it"
               : "There is no scope of the %s on this thread to pop", G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

gboolean
_lp_precision_plugin_begin_step_scope (LpPrecisionPlugin  *self,
                                       LpStepScope        *scope,
                                       GError            **error)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  if (!lp_precision_plugin_push_scope (self, error))
    return FALSE;
  scope->floor = data->floor;
  data->floor = data->scopes->len;
  _lp_thread_region_enter (&scope->region);

  return TRUE;
}

gboolean
_lp_precision_plugin_end_step_scope (LpPrecisionPlugin  *self,
                                     LpStepScope        *scope,
                                     const char         *type,
                                     const char         *method,
                                     GError            **error)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);
  gboolean ok = _lp_thread_region_leave (&scope->region, type, method, error);

  /* what these pushed is off the stacks of the thread by now */
  g_array_set_size (data->scopes, data->floor);
  data->floor = scope->floor;
  pop_last (data);

  return ok;
}

void
_lp_precision_plugin_hold (LpPrecisionPlugin *self)
{
  _lp_precision_plugin_get_data (self)->held = TRUE;
}

void
_lp_precision_plugin_release (LpPrecisionPlugin *self)
{
  _lp_precision_plugin_get_data (self)->held = FALSE;
}

void
_lp_precision_plugin_unwind_all (LpPrecisionPlugin *self)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);

  data->floor = 0;
  while (data->scopes->len > 0)
    pop_last (data);
  if (data->marks->len > 0)
    _lp_thread_restore (&g_array_index (data->marks, LpInitMark, 0).before);
  g_array_set_size (data->marks, 0);
  data->n_pushed = 0;
}
