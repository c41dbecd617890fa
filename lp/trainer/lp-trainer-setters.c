/* Changing the settings of LpTrainer. */

#include <lp/trainer/lp-trainer.h>

/**
 * lp_trainer_set_max_epochs:
 * @self: a trainer
 * @max_epochs: the value
 *
 * Sets how many epochs to train; -1 is no limit if `max-steps` or `max-time` is given, else 1000. It counts from the next run on.
 */
void
lp_trainer_set_max_epochs (LpTrainer *self,
                           gint       max_epochs)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_epochs >= -1);

  g_object_set (self, "max-epochs", max_epochs, NULL);
}

/**
 * lp_trainer_set_min_epochs:
 * @self: a trainer
 * @min_epochs: the value
 *
 * Sets how many epochs to train before a request to stop counts. It counts from the next run on.
 */
void
lp_trainer_set_min_epochs (LpTrainer *self,
                           gint       min_epochs)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (min_epochs >= 0);

  g_object_set (self, "min-epochs", min_epochs, NULL);
}

/**
 * lp_trainer_set_max_steps:
 * @self: a trainer
 * @max_steps: the value
 *
 * Sets how many optimizer steps to make; -1 is no limit. It counts from the next run on.
 */
void
lp_trainer_set_max_steps (LpTrainer *self,
                          gint64     max_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_steps >= -1);

  g_object_set (self, "max-steps", max_steps, NULL);
}

/**
 * lp_trainer_set_min_steps:
 * @self: a trainer
 * @min_steps: the value
 *
 * Sets how many optimizer steps to make before a request to stop counts. It counts from the next run on.
 */
void
lp_trainer_set_min_steps (LpTrainer *self,
                          gint64     min_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (min_steps >= 0);

  g_object_set (self, "min-steps", min_steps, NULL);
}

/**
 * lp_trainer_set_max_time:
 * @self: a trainer
 * @max_time: the value
 *
 * Sets how many seconds to train; 0 is no limit. It counts from the next run on.
 */
void
lp_trainer_set_max_time (LpTrainer *self,
                         double     max_time)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (max_time >= 0);

  g_object_set (self, "max-time", max_time, NULL);
}

/**
 * lp_trainer_set_limit_train_batches:
 * @self: a trainer
 * @limit_train_batches: the value
 *
 * Sets how much of the training data an epoch uses: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_train_batches (LpTrainer *self,
                                    double     limit_train_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_train_batches >= 0);

  g_object_set (self, "limit-train-batches", limit_train_batches, NULL);
}

/**
 * lp_trainer_set_limit_val_batches:
 * @self: a trainer
 * @limit_val_batches: the value
 *
 * Sets how much of the validation data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_val_batches (LpTrainer *self,
                                  double     limit_val_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_val_batches >= 0);

  g_object_set (self, "limit-val-batches", limit_val_batches, NULL);
}

/**
 * lp_trainer_set_limit_test_batches:
 * @self: a trainer
 * @limit_test_batches: the value
 *
 * Sets how much of the test data is used: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_test_batches (LpTrainer *self,
                                   double     limit_test_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_test_batches >= 0);

  g_object_set (self, "limit-test-batches", limit_test_batches, NULL);
}

/**
 * lp_trainer_set_limit_predict_batches:
 * @self: a trainer
 * @limit_predict_batches: the value
 *
 * Sets how much of the data is predicted: a share up to 1, a number of batches above 1, rounded down (so 1.5 is one batch); 0 skips it. It counts from the next run on.
 */
void
lp_trainer_set_limit_predict_batches (LpTrainer *self,
                                      double     limit_predict_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (limit_predict_batches >= 0);

  g_object_set (self, "limit-predict-batches", limit_predict_batches, NULL);
}

/**
 * lp_trainer_set_val_check_interval:
 * @self: a trainer
 * @val_check_interval: the value
 *
 * Sets how often to validate: a share of an epoch up to 1, a number of batches above 1, rounded down. It counts from the next run on.
 */
void
lp_trainer_set_val_check_interval (LpTrainer *self,
                                   double     val_check_interval)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (val_check_interval >= 0);

  g_object_set (self, "val-check-interval", val_check_interval, NULL);
}

/**
 * lp_trainer_set_check_val_every_n_epoch:
 * @self: a trainer
 * @check_val_every_n_epoch: the value
 *
 * Sets how many epochs to train between validations; 0 lets `val-check-interval` count across epochs. It counts from the next run on.
 */
void
lp_trainer_set_check_val_every_n_epoch (LpTrainer *self,
                                        gint       check_val_every_n_epoch)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (check_val_every_n_epoch >= 0);

  g_object_set (self, "check-val-every-n-epoch", check_val_every_n_epoch, NULL);
}

/**
 * lp_trainer_set_accumulate_grad_batches:
 * @self: a trainer
 * @accumulate_grad_batches: the value
 *
 * Sets how many batches make one optimizer step. It counts from the next run on.
 */
void
lp_trainer_set_accumulate_grad_batches (LpTrainer *self,
                                        gint       accumulate_grad_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (accumulate_grad_batches >= 1);

  g_object_set (self, "accumulate-grad-batches", accumulate_grad_batches, NULL);
}

/**
 * lp_trainer_set_gradient_clip_val:
 * @self: a trainer
 * @gradient_clip_val: the value
 *
 * Sets what gradients are clipped at; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_gradient_clip_val (LpTrainer *self,
                                  double     gradient_clip_val)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (gradient_clip_val >= 0);

  g_object_set (self, "gradient-clip-val", gradient_clip_val, NULL);
}

/**
 * lp_trainer_set_gradient_clip_algorithm:
 * @self: a trainer
 * @gradient_clip_algorithm: the value
 *
 * Sets how gradients are clipped. It counts from the next run on.
 */
void
lp_trainer_set_gradient_clip_algorithm (LpTrainer       *self,
                                        LpClipAlgorithm  gradient_clip_algorithm)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "gradient-clip-algorithm", gradient_clip_algorithm, NULL);
}

/**
 * lp_trainer_set_fast_dev_run:
 * @self: a trainer
 * @fast_dev_run: the value
 *
 * Sets a trial with this number of batches of each kind, one epoch, and without loggers, checkpoints and early stopping; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_fast_dev_run (LpTrainer *self,
                             gint       fast_dev_run)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (fast_dev_run >= 0);

  g_object_set (self, "fast-dev-run", fast_dev_run, NULL);
}

/**
 * lp_trainer_set_num_sanity_val_steps:
 * @self: a trainer
 * @num_sanity_val_steps: the value
 *
 * Sets how many batches to validate before training, to see that it works; -1 is all, 0 none. It counts from the next run on.
 */
void
lp_trainer_set_num_sanity_val_steps (LpTrainer *self,
                                     gint       num_sanity_val_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (num_sanity_val_steps >= -1);

  g_object_set (self, "num-sanity-val-steps", num_sanity_val_steps, NULL);
}

/**
 * lp_trainer_set_overfit_batches:
 * @self: a trainer
 * @overfit_batches: the value
 *
 * Sets train and validate on the same few batches, in the same order: a share up to 1 or a number above 1; 0 is off. It counts from the next run on.
 */
void
lp_trainer_set_overfit_batches (LpTrainer *self,
                                double     overfit_batches)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (overfit_batches >= 0);

  g_object_set (self, "overfit-batches", overfit_batches, NULL);
}

/**
 * lp_trainer_set_log_every_n_steps:
 * @self: a trainer
 * @log_every_n_steps: the value
 *
 * Sets how many optimizer steps lie between two entries in the loggers; 0 is never. It counts from the next run on.
 */
void
lp_trainer_set_log_every_n_steps (LpTrainer *self,
                                  gint       log_every_n_steps)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (log_every_n_steps >= 0);

  g_object_set (self, "log-every-n-steps", log_every_n_steps, NULL);
}

/**
 * lp_trainer_set_enable_progress_bar:
 * @self: a trainer
 * @enable_progress_bar: the value
 *
 * Sets whether to show progress. It counts from the next run on.
 */
void
lp_trainer_set_enable_progress_bar (LpTrainer *self,
                                    gboolean   enable_progress_bar)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "enable-progress-bar", enable_progress_bar, NULL);
}

/**
 * lp_trainer_set_enable_checkpointing:
 * @self: a trainer
 * @enable_checkpointing: the value
 *
 * Sets whether to write checkpoints even if no callback for it was added. It counts from the next run on.
 */
void
lp_trainer_set_enable_checkpointing (LpTrainer *self,
                                     gboolean   enable_checkpointing)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "enable-checkpointing", enable_checkpointing, NULL);
}

/**
 * lp_trainer_set_enable_model_summary:
 * @self: a trainer
 * @enable_model_summary: the value
 *
 * Sets whether to print what the model is made of before training. It counts from the next run on.
 */
void
lp_trainer_set_enable_model_summary (LpTrainer *self,
                                     gboolean   enable_model_summary)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "enable-model-summary", enable_model_summary, NULL);
}

/**
 * lp_trainer_set_handle_signals:
 * @self: a trainer
 * @handle_signals: the value
 *
 * Sets whether SIGINT and SIGTERM end a synchronous run on the main thread cleanly, with a checkpoint. It counts from the next run on.
 */
void
lp_trainer_set_handle_signals (LpTrainer *self,
                               gboolean   handle_signals)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "handle-signals", handle_signals, NULL);
}

/**
 * lp_trainer_set_default_root_dir:
 * @self: a trainer
 * @default_root_dir: (nullable): the value
 *
 * Sets where checkpoints go if nothing else is said; %NULL is the current folder. It counts from the next run on.
 */
void
lp_trainer_set_default_root_dir (LpTrainer  *self,
                                 const char *default_root_dir)
{
  g_return_if_fail (LP_IS_TRAINER (self));

  g_object_set (self, "default-root-dir", default_root_dir, NULL);
}
