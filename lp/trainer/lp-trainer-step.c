/* One batch of training. The order here is part of the contract with plugins, callbacks and models:
 *
 *   convert_input, training_step inside the scope, division by the window, zero_grad on the window's first batch, scale_loss,
 *   on_before_backward, backward, on_after_backward; at the end of a window: unscale_gradients, on_before_optimizer_step,
 *   clipping, optimizer_step, end_step, schedules */

#include <math.h>

#include <lp/trainer/lp-trainer-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-error.h>
#include <lp/ops/lp-ops.h>

LpBatch *
_lp_trainer_prepare_batch (LpTrainer  *self,
                           LpBatch    *batch,
                           GError    **error)
{
  LpModel *model = self->run.model;
  g_autoptr (LpBatch) converted = _lp_precision_convert_batch (self->run.plugin, batch, error);
  g_autoptr (LpBatch) ready = converted != NULL ? lp_model_on_before_batch_transfer (model, converted, error) : NULL;
  g_autoptr (LpBatch) there = ready != NULL ? lp_model_transfer_batch (model, ready, self->run.device, error) : NULL;

  return there != NULL ? lp_model_on_after_batch_transfer (model, there, error) : NULL;
}

static LpTensor *
compute_loss (LpTrainer  *self,
              LpBatch    *batch,
              GError    **error)
{
  LpRun *run = &self->run;
  LpStepScope scope;
  LpTensor *loss;
  GError *local = NULL;

  if (!_lp_precision_plugin_begin_step_scope (run->plugin, &scope, error))
    return NULL;
  loss = lp_model_training_step (run->model, batch, run->batch_idx, &local);
  _lp_precision_plugin_end_step_scope (run->plugin, &scope, G_OBJECT_TYPE_NAME (run->model), "training_step",
                                       local == NULL ? &local : NULL);
  if (local == NULL)
    return loss;

  g_clear_object (&loss);
  g_propagate_error (error, local);

  return NULL;
}

static gboolean
check_loss (LpTrainer  *self,
            LpTensor   *loss,
            GError    **error)
{
  LpRun *run = &self->run;

  if (lp_tensor_get_n_elements (loss) != 1)
    {
      g_autoptr (LpShape) shape = lp_tensor_dup_shape (loss);
      g_autofree char *text = lp_shape_to_string (shape);

      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "%s.training_step returned a tensor of shape %s; a loss has one element",
                   G_OBJECT_TYPE_NAME (run->model), text);
      return FALSE;
    }

  g_set_object (&run->last_loss, loss);
  if (run->reads_are_free)
    _lp_trainer_note_loss (self, isfinite (lp_tensor_get_item (loss, NULL)));

  return TRUE;
}

/* How many batches the window of the batch that is on has: the last one of an epoch may have fewer. */
static gint64
get_window_length (LpRun *run)
{
  gint64 start = run->batch_idx - run->window_done;

  return MIN (run->accumulate, run->n_train - start);
}

static gboolean
zero_grad (LpTrainer  *self,
           GError    **error)
{
  LpRun *run = &self->run;

  for (guint i = 0; i < run->optimizers->len; i++)
    {
      LpOptimizer *optimizer = g_ptr_array_index (run->optimizers, i);

      if (!_lp_trainer_call_hook (self, on_before_zero_grad, error, optimizer) ||
          !lp_optimizer_zero_grad (optimizer, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
check_recorded (LpTrainer  *self,
                LpTensor   *loss,
                GError    **error)
{
  g_autoptr (GPtrArray) modules = NULL;

  if (lp_tensor_get_requires_grad (loss))
    return TRUE;

  modules = g_ptr_array_new ();
  g_ptr_array_add (modules, self->run.model);

  return _lp_check_recorded (loss, modules, self->run.plugin, error);
}

static gboolean
backward (LpTrainer  *self,
          LpTensor   *loss,
          GError    **error)
{
  LpRun *run = &self->run;
  g_autoptr (LpTensor) scaled = NULL;

  if (!check_recorded (self, loss, error))
    return FALSE;
  scaled = lp_precision_plugin_scale_loss (run->plugin, loss, error);

  return scaled != NULL &&
         _lp_trainer_call_hook (self, on_before_backward, error, scaled) &&
         lp_precision_plugin_backward (run->plugin, scaled, run->optimizers, error) &&
         _lp_trainer_call_hook (self, on_after_backward, error);
}

gboolean
_lp_trainer_unscale (LpTrainer    *self,
                     LpOptimizer  *optimizer,
                     GError      **error)
{
  LpRun *run = &self->run;

  if (g_ptr_array_find (run->unscaled, optimizer, NULL))
    return TRUE;
  if (!lp_precision_plugin_unscale_gradients (run->plugin, optimizer, error))
    return FALSE;

  g_ptr_array_add (run->unscaled, optimizer);
  return TRUE;
}

static gboolean
clip (LpTrainer    *self,
      LpOptimizer  *optimizer,
      GError      **error)
{
  GError *local = NULL;

  lp_model_configure_gradient_clipping (self->run.model, optimizer, self->settings.gradient_clip_val,
                                        self->settings.gradient_clip_algorithm, &local);
  if (local == NULL)
    return TRUE;

  g_propagate_error (error, local);
  return FALSE;
}

static LpStepResult
step_optimizer (LpTrainer    *self,
                LpOptimizer  *optimizer,
                gboolean      automatic,
                GError      **error)
{
  LpRun *run = &self->run;
  LpStepResult result;

  if (!_lp_trainer_unscale (self, optimizer, error) ||
      !_lp_trainer_call_hook (self, on_before_optimizer_step, error, optimizer) ||
      (automatic && !clip (self, optimizer, error)))
    return LP_STEP_FAILED;

  result = lp_precision_plugin_optimizer_step (run->plugin, optimizer, NULL, error);
  if (result == LP_STEP_FAILED)
    return LP_STEP_FAILED;

  self->global_step++;
  self->n_skipped_steps += result == LP_STEP_SKIPPED;

  return result;
}

static gboolean
end_step (LpTrainer  *self,
          GError    **error)
{
  g_ptr_array_set_size (self->run.unscaled, 0);
  g_ptr_array_set_size (self->run.stepped, 0);

  return lp_precision_plugin_end_step (self->run.plugin, error);
}

gboolean
_lp_trainer_step_schedulers (LpTrainer     *self,
                             LpLrInterval   interval,
                             GError       **error)
{
  LpOptimizerConfig *config = self->run.config;
  guint n_schedulers = config != NULL ? lp_optimizer_config_get_n_schedulers (config) : 0;

  for (guint i = 0; i < n_schedulers; i++)
    {
      LpLrScheduler *scheduler = lp_optimizer_config_get_scheduler (config, i);
      guint frequency = lp_optimizer_config_get_frequency (config, i);
      gint64 count = interval == LP_LR_INTERVAL_EPOCH ? self->current_epoch + 1 : self->run.applied_windows;

      if (lp_lr_scheduler_get_interval (scheduler) != interval || count % frequency != 0)
        continue;
      if (!lp_lr_scheduler_step (scheduler, error))
        return FALSE;
    }

  return TRUE;
}

gboolean
_lp_trainer_finish_window (LpTrainer  *self,
                           GError    **error)
{
  LpRun *run = &self->run;
  gboolean applied = FALSE;

  run->window_done = 0;
  if (run->window_losses == 0)
    return TRUE;

  run->window_losses = 0;
  for (guint i = 0; i < run->optimizers->len; i++)
    {
      LpStepResult result = step_optimizer (self, g_ptr_array_index (run->optimizers, i), TRUE, error);

      if (result == LP_STEP_FAILED)
        return FALSE;
      applied |= result != LP_STEP_SKIPPED;
    }

  if (!end_step (self, error) || !_lp_trainer_judge_step (self, applied, error))
    return FALSE;

  if (!applied)
    return TRUE;

  run->applied_windows++;

  return _lp_trainer_step_schedulers (self, LP_LR_INTERVAL_STEP, error);
}

static gboolean
automatic_step (LpTrainer  *self,
                LpTensor   *loss,
                GError    **error)
{
  LpRun *run = &self->run;
  gint64 length = get_window_length (run);
  gboolean first = run->window_done == 0;
  g_autoptr (LpTensor) divided = NULL;

  if (loss != NULL)
    {
      divided = length > 1 ? lp_tensor_scale (loss, 1.0 / length, error) : g_object_ref (loss);
      if (divided == NULL)
        return FALSE;
    }
  if (first && !zero_grad (self, error))
    return FALSE;
  if (divided != NULL && run->optimizers->len > 0)
    {
      if (!backward (self, divided, error))
        return FALSE;
      run->window_losses++;
    }

  run->epoch_losses += loss != NULL;
  run->window_done++;

  return run->window_done < length || _lp_trainer_finish_window (self, error);
}

/* The training step did it all; what is left is to end the step for the precision, once. */
static gboolean
manual_step (LpTrainer  *self,
             GError    **error)
{
  LpRun *run = &self->run;

  if (run->stepped->len == 0)
    return TRUE;

  return end_step (self, error);
}

static gboolean
training_step (LpTrainer  *self,
               LpBatch    *batch,
               LpTensor  **outputs,
               GError    **error)
{
  LpRun *run = &self->run;
  GError *local = NULL;

  run->log.in_step = TRUE;
  *outputs = compute_loss (self, batch, &local);
  run->log.in_step = FALSE;
  if (local != NULL)
    {
      g_propagate_error (error, local);
      return FALSE;
    }

  if (*outputs != NULL && !check_loss (self, *outputs, error))
    return FALSE;
  if (!lp_model_get_automatic_optimization (run->model))
    return manual_step (self, error);

  return automatic_step (self, *outputs, error);
}

/* Training is what it is in a caller's scope without gradients, too. */
gboolean
_lp_trainer_training_step (LpTrainer  *self,
                           LpBatch    *batch,
                           LpTensor  **outputs,
                           GError    **error)
{
  LpThreadRegion region;
  gboolean ok;

  lp_grad_mode_push (TRUE);
  _lp_thread_region_enter (&region);
  ok = training_step (self, batch, outputs, error);
  ok &= _lp_thread_region_leave (&region, G_OBJECT_TYPE_NAME (self->run.model), "training_step or a hook of its step",
                                 ok ? error : NULL);
  lp_grad_mode_pop ();

  return ok;
}

/* When every optimizer has been stepped, the next backward begins another step of the precision. */
gboolean
_lp_trainer_manual_backward (LpTrainer  *self,
                             LpTensor   *loss,
                             GError    **error)
{
  LpRun *run = &self->run;

  if (run->stepped->len > 0 && run->stepped->len == run->optimizers->len && !end_step (self, error))
    return FALSE;

  return backward (self, loss, error);
}

LpStepResult
_lp_trainer_manual_step (LpTrainer    *self,
                         LpOptimizer  *optimizer,
                         GError      **error)
{
  LpRun *run = &self->run;
  LpStepResult result;

  if (!g_ptr_array_find (run->optimizers, optimizer, NULL))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The optimizer is none of this run's");
      return LP_STEP_FAILED;
    }

  result = step_optimizer (self, optimizer, FALSE, error);
  if (result != LP_STEP_FAILED && !g_ptr_array_find (run->stepped, optimizer, NULL))
    g_ptr_array_add (run->stepped, optimizer);
  if (result != LP_STEP_FAILED && !_lp_trainer_judge_step (self, result != LP_STEP_SKIPPED, error))
    return LP_STEP_FAILED;

  return result;
}
