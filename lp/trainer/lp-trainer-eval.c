/* Passes of validation, test and prediction. */

#include <lp/trainer/lp-trainer-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-random.h>

/* Calls the validation, test or predict form of a hook. */
#define CALL_KIND_HOOK(self, hook, error, ...) \
  ((self)->run.eval.kind == LP_EVAL_VALIDATION \
     ? _lp_trainer_call_hook (self, on_validation_##hook, error, ##__VA_ARGS__) \
     : (self)->run.eval.kind == LP_EVAL_TEST \
         ? _lp_trainer_call_hook (self, on_test_##hook, error, ##__VA_ARGS__) \
         : _lp_trainer_call_hook (self, on_predict_##hook, error, ##__VA_ARGS__))

static void
save_modes (LpTrainer *self)
{
  LpEval *eval = &self->run.eval;

  eval->modules = lp_module_dup_modules (LP_MODULE (self->run.model));
  eval->modes = g_array_sized_new (FALSE, FALSE, sizeof (gboolean), eval->modules->len + 1);
  for (guint i = 0; i < eval->modules->len; i++)
    {
      gboolean mode = lp_module_get_training (g_ptr_array_index (eval->modules, i));

      g_array_append_val (eval->modes, mode);
    }
}

/* Setting a module's mode sets its children's too, so only those that differ are set, parents first. */
static void
restore_modes (LpEval *eval)
{
  for (guint i = 0; eval->modules != NULL && i < eval->modules->len; i++)
    {
      LpModule *module = g_ptr_array_index (eval->modules, i);
      gboolean mode = g_array_index (eval->modes, gboolean, i);

      if (lp_module_get_training (module) != mode)
        lp_module_set_training (module, mode);
    }
  g_clear_pointer (&eval->modules, g_ptr_array_unref);
  g_clear_pointer (&eval->modes, g_array_unref);
}

gboolean
_lp_trainer_eval_start (LpTrainer     *self,
                        LpEvalKind     kind,
                        gboolean       sanity,
                        LpDataLoader  *loader,
                        gint64         n_batches,
                        GError       **error)
{
  LpRun *run = &self->run;
  LpEval *eval = &run->eval;

  eval->active = TRUE;
  eval->kind = kind;
  eval->sanity = sanity;
  eval->loader = loader;
  eval->n_batches = n_batches;
  eval->batch_idx = 0;
  if (sanity)
    eval->random = lp_generator_dup_state (lp_generator_get_default ());

  save_modes (self);
  lp_module_set_training (LP_MODULE (run->model), FALSE);
  run->log.phase = kind == LP_EVAL_PREDICT ? LP_LOG_PHASE_NONE : LP_LOG_PHASE_EVAL;
  _lp_log_start_epoch (&run->log, LP_LOG_PHASE_EVAL);

  if (!lp_data_loader_start_epoch (loader, 0, error) || !CALL_KIND_HOOK (self, start, error) ||
      !CALL_KIND_HOOK (self, epoch_start, error))
    return FALSE;
  if (kind == LP_EVAL_VALIDATION)
    _lp_trainer_emit (self, LP_TRAINER_SIGNAL_VALIDATION_START);

  return TRUE;
}

static LpTensor *
call_step (LpTrainer  *self,
           LpBatch    *batch,
           GError    **error)
{
  static const char *const methods[] = { "validation_step", "test_step", "predict_step" };
  LpRun *run = &self->run;
  LpStepScope scope;
  LpTensor *outputs;
  GError *local = NULL;

  lp_grad_mode_push (FALSE);
  if (!_lp_precision_plugin_begin_step_scope (run->plugin, &scope, error))
    {
      lp_grad_mode_pop ();
      return NULL;
    }

  switch (run->eval.kind)
    {
    case LP_EVAL_VALIDATION:
      outputs = lp_model_validation_step (run->model, batch, run->eval.batch_idx, &local);
      break;
    case LP_EVAL_TEST:
      outputs = lp_model_test_step (run->model, batch, run->eval.batch_idx, &local);
      break;
    case LP_EVAL_PREDICT:
    default:
      outputs = lp_model_predict_step (run->model, batch, run->eval.batch_idx, &local);
    }

  _lp_precision_plugin_end_step_scope (run->plugin, &scope, G_OBJECT_TYPE_NAME (run->model), methods[run->eval.kind],
                                       local == NULL ? &local : NULL);
  lp_grad_mode_pop ();
  if (local == NULL)
    return outputs;

  g_clear_object (&outputs);
  g_propagate_error (error, local);

  return NULL;
}

static gboolean
keep_prediction (LpTrainer  *self,
                 LpTensor   *outputs,
                 GError    **error)
{
  LpTensor *converted;

  if (self->run.eval.kind != LP_EVAL_PREDICT)
    return TRUE;

  converted = lp_dtype_is_floating (lp_tensor_get_dtype (outputs))
              ? lp_precision_plugin_convert_output (self->run.plugin, outputs, error)
              : g_object_ref (outputs);
  if (converted == NULL)
    return FALSE;
  g_ptr_array_add (self->run.eval.predictions, converted);

  return TRUE;
}

static gboolean
run_batch (LpTrainer  *self,
           LpBatch    *raw,
           GError    **error)
{
  LpRun *run = &self->run;
  LpEval *eval = &run->eval;
  GError *local = NULL;
  g_autoptr (LpBatch) batch = _lp_trainer_prepare_batch (self, raw, error);
  g_autoptr (LpTensor) outputs = NULL;

  if (batch == NULL)
    return FALSE;

  run->batch_samples = lp_batch_get_n_samples (batch);
  if (!CALL_KIND_HOOK (self, batch_start, error, batch, eval->batch_idx))
    return FALSE;
  outputs = call_step (self, batch, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }

  if (!keep_prediction (self, outputs, error) ||
      !CALL_KIND_HOOK (self, batch_end, error, outputs, batch, eval->batch_idx))
    return FALSE;
  _lp_trainer_emit (self, LP_TRAINER_SIGNAL_EVAL_BATCH_END, batch, eval->batch_idx);

  return TRUE;
}

gboolean
_lp_trainer_eval_batch (LpTrainer  *self,
                        gboolean   *more,
                        GError    **error)
{
  LpEval *eval = &self->run.eval;
  GError *local = NULL;
  g_autoptr (LpBatch) raw = NULL;

  *more = FALSE;
  if (eval->batch_idx >= eval->n_batches)
    return TRUE;

  raw = lp_data_loader_next (eval->loader, &local);
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }
  if (raw == NULL)
    return TRUE;
  if (!run_batch (self, raw, error))
    return FALSE;

  eval->batch_idx++;
  *more = eval->batch_idx < eval->n_batches;

  return TRUE;
}

void
_lp_trainer_eval_abort (LpTrainer *self)
{
  LpEval *eval = &self->run.eval;

  if (!eval->active)
    return;

  restore_modes (eval);
  lp_data_loader_stop (eval->loader);
  if (eval->random != NULL)
    lp_generator_set_state (lp_generator_get_default (), eval->random, NULL);
  g_clear_pointer (&eval->random, g_variant_unref);
  eval->active = FALSE;
}

gboolean
_lp_trainer_eval_end (LpTrainer  *self,
                      GError    **error)
{
  LpRun *run = &self->run;
  LpEval *eval = &run->eval;

  if (!_lp_trainer_settle_epoch (self, LP_LOG_PHASE_EVAL, error) || !CALL_KIND_HOOK (self, epoch_end, error))
    return FALSE;
  if (eval->kind != LP_EVAL_PREDICT && !eval->sanity && !_lp_trainer_flush_epoch (self, LP_LOG_PHASE_EVAL, error))
    return FALSE;
  if (eval->sanity)
    _lp_log_forget (&run->log, LP_LOG_PHASE_EVAL);
  if (!CALL_KIND_HOOK (self, end, error))
    return FALSE;
  if (eval->kind == LP_EVAL_VALIDATION)
    _lp_trainer_emit (self, LP_TRAINER_SIGNAL_VALIDATION_END);

  _lp_trainer_eval_abort (self);

  return TRUE;
}
