#include <lp/precision/lp-precision-plugin-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/autograd/lp-matmul-private.h>
#include <lp/ops/lp-ops.h>

/* What the virtual functions do unless a class overrides them, and what several overrides have in common. */

static gboolean
lp_precision_plugin_real_validate (LpPrecisionPlugin   *self,
                                   LpPrecisionContext  *context,
                                   GError             **error)
{
  g_autofree char *precision = lp_precision_plugin_dup_precision (self);
  g_autoptr (LpPrecisionState) state = lp_precision_plugin_dup_state (self);

  if (precision == NULL || precision[0] == '\0')
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNKNOWN,
                   "This %s has no name: give its “precision” when it is made", G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  return lp_precision_plugin_validate_state (self, state, error);
}

static gboolean
lp_precision_plugin_real_validate_state (LpPrecisionPlugin  *self,
                                         LpPrecisionState   *state,
                                         GError            **error)
{
  const char *backend = lp_precision_state_get_amp_backend (state);
  const char *level = lp_precision_state_get_amp_level (state);

  if (level == NULL || (backend != NULL && !g_str_equal (backend, "native")))
    return TRUE;

  g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_LEVEL,
               "%s can't have the amp level “%s”: %s has no levels; leave it out", G_OBJECT_TYPE_NAME (self), level,
               backend != NULL ? "the native backend" : "a precision without a backend");
  return FALSE;
}

static gboolean
lp_precision_plugin_real_supports (LpPrecisionPlugin  *self,
                                   LpDevice           *device,
                                   GError            **error)
{
  return TRUE;
}

static LpPrecisionTraits *
lp_precision_plugin_real_dup_traits (LpPrecisionPlugin  *self,
                                     GError            **error)
{
  return lp_precision_traits_new ("f32", "f32", "f32", "f32", "f32");
}

static LpDType *
lp_precision_plugin_real_get_default_dtype (LpPrecisionPlugin  *self,
                                            GError            **error)
{
  return NULL;
}

static gboolean
lp_precision_plugin_real_begin_init (LpPrecisionPlugin  *self,
                                     GError            **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (LpDType) dtype = lp_precision_plugin_get_default_dtype (self, &local);

  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (dtype != NULL)
    {
      lp_default_dtype_push (dtype);
      _lp_precision_plugin_get_data (self)->n_pushed++;
    }

  return TRUE;
}

/* The caller pops what was pushed. */
static gboolean
lp_precision_plugin_real_end_init (LpPrecisionPlugin  *self,
                                   GError            **error)
{
  return TRUE;
}

static gboolean
lp_precision_plugin_real_convert_module (LpPrecisionPlugin  *self,
                                         LpModule           *module,
                                         GError            **error)
{
  return TRUE;
}

static gboolean
lp_precision_plugin_real_convert_optimizer (LpPrecisionPlugin  *self,
                                            LpOptimizer        *optimizer,
                                            GError            **error)
{
  return TRUE;
}

static LpTensor *
lp_precision_plugin_real_convert (LpPrecisionPlugin  *self,
                                  LpTensor           *tensor,
                                  GError            **error)
{
  return g_object_ref (tensor);
}

static LpCastPolicy *
lp_precision_plugin_real_get_cast_policy (LpPrecisionPlugin  *self,
                                          GError            **error)
{
  return NULL;
}

LpTensor *
_lp_precision_plugin_real_quantize_operand (LpPrecisionPlugin  *self,
                                            LpOperand          *operand,
                                            GError            **error)
{
  return g_object_ref (lp_operand_get_tensor (operand));
}

LpTensor *
_lp_precision_plugin_real_matmul (LpPrecisionPlugin  *self,
                                  LpMatmul           *matmul,
                                  GError            **error)
{
  g_autoptr (LpTensor) left = NULL;
  g_autoptr (LpTensor) right = NULL;

  left = lp_precision_plugin_quantize_operand (self, lp_matmul_get_left (matmul), error);
  if (left == NULL)
    return NULL;
  right = lp_precision_plugin_quantize_operand (self, lp_matmul_get_right (matmul), error);
  if (right == NULL)
    return NULL;

  if (LP_PRECISION_PLUGIN_GET_CLASS (self)->matmul == _lp_precision_plugin_real_matmul)
    _lp_matmul_fuse_bias (matmul);

  return lp_matmul_compute (matmul, left, right, error);
}

static gboolean
lp_precision_plugin_real_backward (LpPrecisionPlugin  *self,
                                   LpTensor           *loss,
                                   GPtrArray          *optimizers,
                                   GError            **error)
{
  return lp_tensor_backward (loss, NULL, error);
}

static gboolean
lp_precision_plugin_real_unscale_gradients (LpPrecisionPlugin  *self,
                                            LpOptimizer        *optimizer,
                                            GError            **error)
{
  return TRUE;
}

static gboolean
lp_precision_plugin_real_clip_gradients (LpPrecisionPlugin  *self,
                                         LpOptimizer        *optimizer,
                                         double              value,
                                         LpClipAlgorithm     algorithm,
                                         GError            **error)
{
  return lp_optimizer_clip_gradients (optimizer, value, algorithm, error);
}

static LpStepResult
lp_precision_plugin_real_optimizer_step (LpPrecisionPlugin  *self,
                                         LpOptimizer        *optimizer,
                                         LpStepClosure      *closure,
                                         GError            **error)
{
  return lp_optimizer_step (optimizer, closure, error);
}

static gboolean
lp_precision_plugin_real_succeed (LpPrecisionPlugin  *self,
                                  GError            **error)
{
  return TRUE;
}

static LpState *
lp_precision_plugin_real_save_state (LpPrecisionPlugin  *self,
                                     GError            **error)
{
  return lp_state_new ();
}

static gboolean
lp_precision_plugin_real_load_state (LpPrecisionPlugin  *self,
                                     LpState            *state,
                                     GError            **error)
{
  return TRUE;
}

static gboolean
lp_precision_plugin_real_attach (LpPrecisionPlugin   *self,
                                 LpPrecisionContext  *context,
                                 GError             **error)
{
  return TRUE;
}

static char *
lp_precision_plugin_real_dup_state_id (LpPrecisionPlugin *self)
{
  return g_strdup (G_OBJECT_TYPE_NAME (self));
}

static char **
lp_precision_plugin_real_dup_state_aliases (LpPrecisionPlugin *self)
{
  return g_new0 (char *, 1);
}

static guint
lp_precision_plugin_real_get_state_version (LpPrecisionPlugin *self)
{
  return 1;
}

void
_lp_precision_plugin_class_set_defaults (LpPrecisionPluginClass *klass)
{
  klass->validate = lp_precision_plugin_real_validate;
  klass->validate_state = lp_precision_plugin_real_validate_state;
  klass->supports = lp_precision_plugin_real_supports;
  klass->dup_traits = lp_precision_plugin_real_dup_traits;
  klass->get_default_dtype = lp_precision_plugin_real_get_default_dtype;
  klass->begin_init = lp_precision_plugin_real_begin_init;
  klass->end_init = lp_precision_plugin_real_end_init;
  klass->convert_module = lp_precision_plugin_real_convert_module;
  klass->convert_optimizer = lp_precision_plugin_real_convert_optimizer;
  klass->convert_input = lp_precision_plugin_real_convert;
  klass->convert_output = lp_precision_plugin_real_convert;
  klass->get_cast_policy = lp_precision_plugin_real_get_cast_policy;
  klass->quantize_operand = _lp_precision_plugin_real_quantize_operand;
  klass->matmul = _lp_precision_plugin_real_matmul;
  klass->scale_loss = lp_precision_plugin_real_convert;
  klass->backward = lp_precision_plugin_real_backward;
  klass->unscale_gradients = lp_precision_plugin_real_unscale_gradients;
  klass->clip_gradients = lp_precision_plugin_real_clip_gradients;
  klass->optimizer_step = lp_precision_plugin_real_optimizer_step;
  klass->end_step = lp_precision_plugin_real_succeed;
  klass->save_state = lp_precision_plugin_real_save_state;
  klass->load_state = lp_precision_plugin_real_load_state;
  klass->attach = lp_precision_plugin_real_attach;
  klass->detach = lp_precision_plugin_real_succeed;
  klass->dup_state_id = lp_precision_plugin_real_dup_state_id;
  klass->dup_state_aliases = lp_precision_plugin_real_dup_state_aliases;
  klass->get_state_version = lp_precision_plugin_real_get_state_version;
}

static void
append_names (GString           *text,
              const char *const *names)
{
  for (guint i = 0; names[i] != NULL; i++)
    g_string_append_printf (text, "%s“%s”", i > 0 ? ", " : "", names[i]);
}

gboolean
_lp_precision_plugin_check_backend (LpPrecisionPlugin  *self,
                                    const char         *backend,
                                    const char         *wanted,
                                    GError            **error)
{
  if (g_strcmp0 (backend, wanted) == 0)
    return TRUE;

  if (backend == NULL)
    g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "The amp backend of a %s is %s, which can't be taken away: "
                 "give it", G_OBJECT_TYPE_NAME (self), wanted);
  else
    g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "%s can't have the amp backend “%s”; leave it out%s%s",
                 G_OBJECT_TYPE_NAME (self), backend, wanted != NULL ? " or give " : "", wanted != NULL ? wanted : "");

  return FALSE;
}

gboolean
_lp_precision_plugin_check_names (LpPrecisionPlugin  *self,
                                  LpPrecisionState   *state,
                                  const char *const  *names,
                                  const char         *amp_backend,
                                  GError            **error)
{
  const char *precision = lp_precision_state_get_precision (state);
  const char *backend = lp_precision_state_get_amp_backend (state);
  g_autoptr (GString) text = g_string_new (NULL);

  if (precision == NULL || !g_strv_contains (names, precision))
    {
      append_names (text, names);
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED, "%s has no precision “%s”; it has %s",
                   G_OBJECT_TYPE_NAME (self), precision != NULL ? precision : "", text->str);
      return FALSE;
    }

  return _lp_precision_plugin_check_backend (self, backend, amp_backend, error) &&
         lp_precision_plugin_real_validate_state (self, state, error);
}

LpTensor *
_lp_precision_plugin_give_out (LpTensor  *tensor,
                               LpDType   *dtype,
                               GError   **error)
{
  if (lp_tensor_get_dtype (tensor) != dtype)
    return g_object_ref (tensor);

  return lp_tensor_to_dtype (tensor, lp_default_dtype_get (), error);
}
