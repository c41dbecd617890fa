/* Reading the settings of LpTrainer. */

#include <lp/trainer/lp-trainer-private.h>

/**
 * lp_trainer_get_max_epochs:
 * @self: a trainer
 *
 * Gets how many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000.
 *
 * Returns: the value
 */
gint
lp_trainer_get_max_epochs (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), -1);

  return self->settings.max_epochs;
}

/**
 * lp_trainer_get_min_epochs:
 * @self: a trainer
 *
 * Gets how many epochs to train before a request to stop counts.
 *
 * Returns: the value
 */
gint
lp_trainer_get_min_epochs (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.min_epochs;
}

/**
 * lp_trainer_get_max_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps to make; -1 is no limit.
 *
 * Returns: the value
 */
gint64
lp_trainer_get_max_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), -1);

  return self->settings.max_steps;
}

/**
 * lp_trainer_get_min_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps to make before a request to stop counts.
 *
 * Returns: the value
 */
gint64
lp_trainer_get_min_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.min_steps;
}

/**
 * lp_trainer_get_max_time:
 * @self: a trainer
 *
 * Gets how many seconds to train; 0 is no limit.
 *
 * Returns: the value
 */
double
lp_trainer_get_max_time (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.max_time;
}

/**
 * lp_trainer_get_limit_train_batches:
 * @self: a trainer
 *
 * Gets how much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_train_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_train_batches;
}

/**
 * lp_trainer_get_limit_val_batches:
 * @self: a trainer
 *
 * Gets how much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_val_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_val_batches;
}

/**
 * lp_trainer_get_limit_test_batches:
 * @self: a trainer
 *
 * Gets how much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_test_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_test_batches;
}

/**
 * lp_trainer_get_limit_predict_batches:
 * @self: a trainer
 *
 * Gets how much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it.
 *
 * Returns: the value
 */
double
lp_trainer_get_limit_predict_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.limit_predict_batches;
}

/**
 * lp_trainer_get_val_check_interval:
 * @self: a trainer
 *
 * Gets how often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down.
 *
 * Returns: the value
 */
double
lp_trainer_get_val_check_interval (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.val_check_interval;
}

/**
 * lp_trainer_get_check_val_every_n_epoch:
 * @self: a trainer
 *
 * Gets how many epochs to train between validations; 0 lets `val-check-interval` count across epochs.
 *
 * Returns: the value
 */
gint
lp_trainer_get_check_val_every_n_epoch (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.check_val_every_n_epoch;
}

/**
 * lp_trainer_get_accumulate_grad_batches:
 * @self: a trainer
 *
 * Gets how many batches make one optimizer step.
 *
 * Returns: the value
 */
gint
lp_trainer_get_accumulate_grad_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 1);

  return self->settings.accumulate_grad_batches;
}

/**
 * lp_trainer_get_gradient_clip_val:
 * @self: a trainer
 *
 * Gets what gradients are clipped at; 0 is off.
 *
 * Returns: the value
 */
double
lp_trainer_get_gradient_clip_val (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.gradient_clip_val;
}

/**
 * lp_trainer_get_gradient_clip_algorithm:
 * @self: a trainer
 *
 * Gets how gradients are clipped.
 *
 * Returns: the value
 */
LpClipAlgorithm
lp_trainer_get_gradient_clip_algorithm (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), LP_CLIP_NORM);

  return self->settings.gradient_clip_algorithm;
}

/**
 * lp_trainer_get_fast_dev_run:
 * @self: a trainer
 *
 * Gets a trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off.
 *
 * Returns: the value
 */
gint
lp_trainer_get_fast_dev_run (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.fast_dev_run;
}

/**
 * lp_trainer_get_num_sanity_val_steps:
 * @self: a trainer
 *
 * Gets how many batches to validate before training, to see that it works; -1 is all, 0 none.
 *
 * Returns: the value
 */
gint
lp_trainer_get_num_sanity_val_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 2);

  return self->settings.num_sanity_val_steps;
}

/**
 * lp_trainer_get_overfit_batches:
 * @self: a trainer
 *
 * Gets train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off.
 *
 * Returns: the value
 */
double
lp_trainer_get_overfit_batches (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 0);

  return self->settings.overfit_batches;
}

/**
 * lp_trainer_get_log_every_n_steps:
 * @self: a trainer
 *
 * Gets how many optimizer steps lie between two entries in the loggers; 0 is never.
 *
 * Returns: the value
 */
gint
lp_trainer_get_log_every_n_steps (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), 50);

  return self->settings.log_every_n_steps;
}

/**
 * lp_trainer_get_enable_progress_bar:
 * @self: a trainer
 *
 * Gets whether to show progress.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_progress_bar (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_progress_bar;
}

/**
 * lp_trainer_get_enable_checkpointing:
 * @self: a trainer
 *
 * Gets whether to write checkpoints even if no callback for it was added.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_checkpointing (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_checkpointing;
}

/**
 * lp_trainer_get_enable_model_summary:
 * @self: a trainer
 *
 * Gets whether to print what the model is made of before training.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_enable_model_summary (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.enable_model_summary;
}

/**
 * lp_trainer_get_handle_signals:
 * @self: a trainer
 *
 * Gets whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint.
 *
 * Returns: the value
 */
gboolean
lp_trainer_get_handle_signals (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), TRUE);

  return self->settings.handle_signals;
}

/**
 * lp_trainer_dup_default_root_dir:
 * @self: a trainer
 *
 * Gets where checkpoints go if nothing else is said; %NULL is the current folder.
 *
 * Returns: (transfer full) (nullable): the value
 */
char *
lp_trainer_dup_default_root_dir (LpTrainer *self)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);

  return g_strdup (self->settings.default_root_dir);
}
