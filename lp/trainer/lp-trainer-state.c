/* How a run stands, and what takes part in it. */

#include <math.h>

#include <lp/trainer/lp-trainer-private.h>

/**
 * lp_trainer_add_callback:
 * @self: a trainer
 * @callback: a callback
 *
 * Adds a callback. It takes part in the next run.
 */
void
lp_trainer_add_callback (LpTrainer  *self,
                         LpCallback *callback)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (LP_IS_CALLBACK (callback));

  if (!g_ptr_array_find (self->callbacks, callback, NULL))
    g_ptr_array_add (self->callbacks, g_object_ref (callback));
}

/**
 * lp_trainer_remove_callback:
 * @self: a trainer
 * @callback: a callback
 *
 * Removes a callback. It still takes part in a run that is on.
 */
void
lp_trainer_remove_callback (LpTrainer  *self,
                            LpCallback *callback)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_ptr_array_remove (self->callbacks, callback);
}

static GPtrArray *
copy_objects (GPtrArray *objects)
{
  GPtrArray *copy = g_ptr_array_new_with_free_func (g_object_unref);

  for (guint i = 0; objects != NULL && i < objects->len; i++)
    g_ptr_array_add (copy, g_object_ref (g_ptr_array_index (objects, i)));

  return copy;
}

/**
 * lp_trainer_dup_callbacks:
 * @self: a trainer
 *
 * Gets the callbacks, in the order in which they were added.
 *
 * Returns: (transfer container) (element-type LpCallback): the callbacks
 */
GPtrArray *
lp_trainer_dup_callbacks (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return copy_objects (self->callbacks);
}

/**
 * lp_trainer_add_logger:
 * @self: a trainer
 * @logger: a logger
 *
 * Adds a logger.
 */
void
lp_trainer_add_logger (LpTrainer *self,
                       LpLogger  *logger)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (LP_IS_LOGGER (logger));

  if (!g_ptr_array_find (self->loggers, logger, NULL))
    g_ptr_array_add (self->loggers, g_object_ref (logger));
}

/**
 * lp_trainer_dup_loggers:
 * @self: a trainer
 *
 * Gets the loggers.
 *
 * Returns: (transfer container) (element-type LpLogger): the loggers
 */
GPtrArray *
lp_trainer_dup_loggers (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return copy_objects (self->loggers);
}

/**
 * lp_trainer_get_model:
 * @self: a trainer
 *
 * Gets the model of the run, or of the last one.
 *
 * Returns: (transfer none) (nullable): the model
 */
LpModel *
lp_trainer_get_model (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return self->run.model;
}

/**
 * lp_trainer_dup_optimizers:
 * @self: a trainer
 *
 * Gets the optimizers of the fit, or of the last one.
 *
 * Returns: (transfer container) (element-type LpOptimizer): the optimizers
 */
GPtrArray *
lp_trainer_dup_optimizers (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return copy_objects (self->run.optimizers);
}

/**
 * lp_trainer_get_strategy:
 * @self: a trainer
 *
 * Gets how many devices and processes work together.
 *
 * Returns: (transfer none): the strategy
 */
LpStrategy *
lp_trainer_get_strategy (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return self->strategy;
}

/**
 * lp_trainer_get_device:
 * @self: a trainer
 *
 * Gets the device of the run, or of the last one.
 *
 * Returns: (transfer none) (nullable): the device; %NULL before the first run
 */
LpDevice *
lp_trainer_get_device (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return self->run.device;
}

/**
 * lp_trainer_dup_callback_metrics:
 * @self: a trainer
 *
 * Gets all logged values.
 *
 * Returns: (transfer full): an `a{sd}`
 */
GVariant *
lp_trainer_dup_callback_metrics (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_variant_ref_sink (_lp_log_dup_all (&self->run.log, 0, 0));
}

/**
 * lp_trainer_dup_logged_metrics:
 * @self: a trainer
 *
 * Gets the values that loggers got.
 *
 * Returns: (transfer full): an `a{sd}`
 */
GVariant *
lp_trainer_dup_logged_metrics (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_variant_ref_sink (_lp_log_dup_all (&self->run.log, 0, LP_LOG_NO_LOGGER));
}

/**
 * lp_trainer_dup_progress_bar_metrics:
 * @self: a trainer
 *
 * Gets the values that the progress bar shows.
 *
 * Returns: (transfer full): an `a{sd}`
 */
GVariant *
lp_trainer_dup_progress_bar_metrics (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_variant_ref_sink (_lp_log_dup_all (&self->run.log, LP_LOG_PROG_BAR, 0));
}

/**
 * lp_trainer_get_metric:
 * @self: a trainer
 * @name: the name of a logged value
 *
 * Gets a logged value.
 *
 * Returns: the value; NaN if there is none
 */
double
lp_trainer_get_metric (LpTrainer  *self,
                       const char *name)
{
  double value = NAN;

  g_return_val_if_fail (LP_IS_TRAINER (self), NAN);
  g_return_val_if_fail (name != NULL, NAN);

  _lp_log_lookup (&self->run.log, name, &value);

  return value;
}

/**
 * lp_trainer_get_current_epoch:
 * @self: a trainer
 *
 * Gets the number of the epoch, from 0 on.
 *
 * Returns: the number
 */
gint64
lp_trainer_get_current_epoch (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->current_epoch;
}

/**
 * lp_trainer_get_global_step:
 * @self: a trainer
 *
 * Gets how many optimizer steps were made, of all optimizers, skipped ones included.
 *
 * Returns: the number of steps
 */
gint64
lp_trainer_get_global_step (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->global_step;
}

/**
 * lp_trainer_get_batch_idx:
 * @self: a trainer
 *
 * Gets the number of the batch that is on, or was last.
 *
 * Returns: the number, from 0 on
 */
gint64
lp_trainer_get_batch_idx (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.eval.active ? self->run.eval.batch_idx : self->run.batch_idx;
}

/**
 * lp_trainer_get_is_last_batch:
 * @self: a trainer
 *
 * Gets whether the batch that is on is the last one of its epoch.
 *
 * Returns: whether it is
 */
gboolean
lp_trainer_get_is_last_batch (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.is_last_batch;
}

/**
 * lp_trainer_get_num_training_batches:
 * @self: a trainer
 *
 * Gets how many batches an epoch of training has, limits considered.
 *
 * Returns: the number of batches
 */
gint64
lp_trainer_get_num_training_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.n_train;
}

/**
 * lp_trainer_get_num_val_batches:
 * @self: a trainer
 *
 * Gets how many batches a validation has, limits considered.
 *
 * Returns: the number of batches
 */
gint64
lp_trainer_get_num_val_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.n_val;
}

/**
 * lp_trainer_get_n_skipped_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps were skipped because gradients were not finite.
 *
 * Returns: the number of steps
 */
gint64
lp_trainer_get_n_skipped_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->n_skipped_steps;
}

/**
 * lp_trainer_get_stage:
 * @self: a trainer
 *
 * Gets the entry point that is running.
 *
 * Returns: the entry point
 */
LpStage
lp_trainer_get_stage (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.active ? self->run.stage : LP_STAGE_IDLE;
}

/**
 * lp_trainer_get_training:
 * @self: a trainer
 *
 * Gets whether training is on, and not a validation within.
 *
 * Returns: whether it is
 */
gboolean
lp_trainer_get_training (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.active && self->run.stage == LP_STAGE_FIT && !self->run.eval.active;
}

/**
 * lp_trainer_get_validating:
 * @self: a trainer
 *
 * Gets whether a validation is on, within a fit or without.
 *
 * Returns: whether it is
 */
gboolean
lp_trainer_get_validating (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.active && self->run.eval.active && self->run.eval.kind == LP_EVAL_VALIDATION;
}

/**
 * lp_trainer_get_sanity_checking:
 * @self: a trainer
 *
 * Gets whether validation is being tried before training.
 *
 * Returns: whether it is
 */
gboolean
lp_trainer_get_sanity_checking (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->run.active && self->run.eval.active && self->run.eval.sanity;
}

/**
 * lp_trainer_get_should_stop:
 * @self: a trainer
 *
 * Gets whether something asked the fit to end.
 *
 * Returns: whether it did
 */
gboolean
lp_trainer_get_should_stop (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->should_stop;
}

/**
 * lp_trainer_get_interrupted:
 * @self: a trainer
 *
 * Gets whether the last run was ended by a signal, by cancelling or by an error.
 *
 * Returns: whether it was
 */
gboolean
lp_trainer_get_interrupted (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->interrupted;
}

/**
 * lp_trainer_get_received_signal:
 * @self: a trainer
 *
 * Gets the number of the signal that ended the last run.
 *
 * Returns: the number, such as `SIGTERM`; 0 if there was none
 */
gint
lp_trainer_get_received_signal (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->received_signal;
}

/**
 * lp_trainer_get_estimated_stepping_batches:
 * @self: a trainer, inside a fit
 *
 * Gets how many optimizer steps the fit will make: what schedules want to know.
 *
 * Returns: the number of steps; -1 if there is no end to them
 */
gint64
lp_trainer_get_estimated_stepping_batches (LpTrainer *self)
{
  LpRun *run;
  gint64 steps;

  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  run = &self->run;
  if (run->max_epochs < 0)
    return run->max_steps;

  steps = (run->n_train + run->accumulate - 1) / MAX (run->accumulate, 1) * run->max_epochs;

  return run->max_steps >= 0 ? MIN (steps, run->max_steps) : steps;
}

/**
 * lp_trainer_stop:
 * @self: a trainer
 *
 * Asks the fit to end after the optimizer step that is on. It goes on until `min-epochs` and `min-steps` are reached.
 */
void
lp_trainer_stop (LpTrainer *self)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  if (self->should_stop)
    return;

  self->should_stop = TRUE;
  g_object_notify (G_OBJECT (self), "should-stop");
}

/**
 * lp_trainer_skip_epoch:
 * @self: a trainer, in a hook of training
 *
 * Skips the rest of the epoch. Asked at the start of a batch, that batch is skipped as well.
 */
void
lp_trainer_skip_epoch (LpTrainer *self)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  self->run.skip_epoch = TRUE;
}
