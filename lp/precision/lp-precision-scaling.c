#include <lp/precision/lp-precision-plugin-private.h>

/* What the virtual functions do in a class whose plugins have a gradient scaler. */

static LpGradScaler *
peek_scaler (LpPrecisionPlugin *self)
{
  return _lp_precision_plugin_class_get_data (LP_PRECISION_PLUGIN_GET_CLASS (self))->peek_scaler (self);
}

static LpTensor *
scale_loss (LpPrecisionPlugin  *self,
            LpTensor           *loss,
            GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);

  return scaler != NULL ? lp_grad_scaler_scale (scaler, loss, error) : g_object_ref (loss);
}

static gboolean
unscale_gradients (LpPrecisionPlugin  *self,
                   LpOptimizer        *optimizer,
                   GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);

  return scaler == NULL || lp_grad_scaler_unscale (scaler, optimizer, error);
}

static LpStepResult
optimizer_step (LpPrecisionPlugin  *self,
                LpOptimizer        *optimizer,
                LpStepClosure      *closure,
                GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);

  if (scaler == NULL)
    return lp_optimizer_step (optimizer, closure, error);

  return lp_grad_scaler_step (scaler, optimizer, closure, error);
}

static gboolean
end_step (LpPrecisionPlugin  *self,
          GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);

  return scaler == NULL || !lp_grad_scaler_get_pending (scaler) || lp_grad_scaler_update (scaler, error);
}

static LpState *
save_state (LpPrecisionPlugin  *self,
            GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);

  return scaler != NULL ? lp_grad_scaler_save_state (scaler) : lp_state_new ();
}

static gboolean
load_state (LpPrecisionPlugin  *self,
            LpState            *state,
            GError            **error)
{
  LpGradScaler *scaler = peek_scaler (self);
  const char *level = _lp_precision_plugin_peek_amp_level (self);

  if (scaler != NULL)
    return lp_grad_scaler_load_state (scaler, state, error);

  g_warning ("The saved state of a gradient scaler is passed over: %s%s has none", level != NULL ? "the amp level " : "",
             level != NULL ? level : _lp_precision_plugin_peek_precision (self));

  return TRUE;
}

void
_lp_precision_plugin_class_set_scaler (LpPrecisionPluginClass *klass,
                                       LpPeekScalerFunc        peek_scaler)
{
  _lp_precision_plugin_class_get_data (klass)->peek_scaler = peek_scaler;

  klass->scale_loss = scale_loss;
  klass->unscale_gradients = unscale_gradients;
  klass->optimizer_step = optimizer_step;
  klass->end_step = end_step;
  klass->save_state = save_state;
  klass->load_state = load_state;
}

gboolean
_lp_precision_plugin_check_no_f16 (LpPrecisionPlugin  *self,
                                   LpModule           *module,
                                   GError            **error)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (module);
  g_auto (GStrv) paths = lp_module_dup_parameter_names (module);

  for (guint i = 0; i < parameters->len; i++)
    {
      if (lp_tensor_get_dtype (g_ptr_array_index (parameters, i)) != lp_dtype_f16 ())
        continue;

      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_UNSUPPORTED,
                   "The weight “%s” is f16, whose gradients %s can't unscale: keep it in f32, or use 16-true", paths[i],
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  return TRUE;
}
