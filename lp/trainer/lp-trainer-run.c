/* The entry points. */

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>

static gboolean
finish_run (LpTrainer  *self,
            GError     *failure,
            GError    **error)
{
  if (failure == NULL && lp_check_exceptions (&failure))
    return _lp_trainer_end (self, NULL, error) && lp_check_exceptions (error);

  _lp_trainer_end (self, failure, NULL);
  g_propagate_error (error, failure);

  return FALSE;
}

static gboolean
begin (LpTrainer     *self,
       LpStage        stage,
       LpModel       *model,
       LpDataLoader  *loader,
       LpDataLoader  *val_loader,
       const char    *ckpt_path,
       GCancellable  *cancellable,
       GError       **error)
{
  gboolean was_active = self->run.active;
  GError *local = NULL;

  if (_lp_trainer_begin (self, stage, model, loader, val_loader, ckpt_path, cancellable, &local))
    return TRUE;

  if (!was_active && self->run.active)
    return finish_run (self, local, error);

  g_propagate_error (error, local);
  return FALSE;
}

/* A run or a dispatch leaves nothing on the thread, whatever its hooks did. That this was needed is no reason to lose the run. */
static void
leave_region (LpTrainer      *self,
              LpThreadRegion *region)
{
  g_autoptr (GError) error = NULL;

  if (!_lp_thread_region_leave (region, G_OBJECT_TYPE_NAME (self), "hooks", &error))
    g_warning ("%s", error->message);
}

static gboolean
run_to_end (LpTrainer     *self,
            LpStage        stage,
            LpModel       *model,
            LpDataLoader  *loader,
            LpDataLoader  *val_loader,
            const char    *ckpt_path,
            GCancellable  *cancellable,
            GError       **error)
{
  g_autoptr (LpTrainer) keep = g_object_ref (self);
  LpThreadRegion region;
  GError *local = NULL;
  gboolean guarded, ok;

  _lp_thread_region_enter (&region);
  if (!begin (self, stage, model, loader, val_loader, ckpt_path, cancellable, error))
    {
      leave_region (self, &region);
      return FALSE;
    }

  guarded = self->settings.handle_signals && _lp_signals_install ();
  while (_lp_trainer_advance (self, &local))
    ;
  if (guarded)
    _lp_signals_restore ();

  ok = finish_run (self, local, error);
  leave_region (self, &region);

  return ok;
}

static gpointer
get_result (LpTrainer *self)
{
  if (self->run.stage == LP_STAGE_PREDICT)
    return g_steal_pointer (&self->run.eval.predictions);

  return g_variant_ref_sink (_lp_log_dup_results (&self->run.log));
}

static void
free_predictions (gpointer data)
{
  g_ptr_array_unref (data);
}

static void
return_result (GTask *task)
{
  LpTrainer *self = g_task_get_source_object (task);

  if (self->run.stage == LP_STAGE_FIT)
    g_task_return_boolean (task, TRUE);
  else
    g_task_return_pointer (task, get_result (self),
                           self->run.stage == LP_STAGE_PREDICT ? free_predictions : (GDestroyNotify) g_variant_unref);
}

/* One batch per dispatch, so that the main loop's other sources get their turn. */
static gboolean
dispatch (gpointer data)
{
  GTask *task = data;
  LpTrainer *self = g_task_get_source_object (task);
  LpThreadRegion region;
  GError *failure = NULL;
  GError *local = NULL;
  gboolean more, ok;

  _lp_thread_region_enter (&region);
  more = _lp_trainer_advance (self, &failure);
  ok = more || finish_run (self, failure, &local);
  leave_region (self, &region);
  if (more)
    return G_SOURCE_CONTINUE;

  if (ok)
    return_result (task);
  else
    g_task_return_error (task, local);

  return G_SOURCE_REMOVE;
}

static void
run_async (LpTrainer           *self,
           LpStage              stage,
           LpModel             *model,
           LpDataLoader        *loader,
           LpDataLoader        *val_loader,
           const char          *ckpt_path,
           GCancellable        *cancellable,
           GAsyncReadyCallback  callback,
           gpointer             user_data,
           gpointer             tag)
{
  g_autoptr (GTask) task = g_task_new (self, cancellable, callback, user_data);
  g_autoptr (GSource) source = NULL;
  GError *local = NULL;

  g_task_set_source_tag (task, tag);
  g_task_set_check_cancellable (task, FALSE);
  if (!begin (self, stage, model, loader, val_loader, ckpt_path, cancellable, &local))
    {
      g_task_return_error (task, local);
      return;
    }

  source = g_idle_source_new ();
  g_source_set_static_name (source, "[lp] training");
  g_source_set_callback (source, dispatch, g_object_ref (task), g_object_unref);
  g_source_attach (source, g_task_get_context (task));
}

/**
 * lp_trainer_fit:
 * @self: a trainer
 * @model: a model
 * @train_loader: what to train with
 * @val_loader: (nullable): what to validate with
 * @ckpt_path: (nullable): a checkpoint to go on from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run with `G_IO_ERROR_CANCELLED`
 * @error: return location for an error
 *
 * Trains a model. It returns when the training has ended; SIGINT and SIGTERM end it after the batch that is on, with a
 * checkpoint, which is no error ([property@Trainer:interrupted] tells).
 *
 * A loss that is not finite is an error once it has reached the weights. Where the precision skips such steps, it is one at the
 * end of an epoch that had no finite loss, or whose end finds weights that are not finite, and after 100 such losses in a row.
 *
 * Returns: whether it could. Errors: those of the precision, the model, the callbacks and the data; %LP_ERROR_NOT_FINITE;
 *   %LP_ERROR_NOT_FINITE if the loss is not finite; %LP_ERROR_CONFLICT for settings that exclude each other;
 *   %LP_ERROR_STATE if the trainer is running; %LP_ERROR_IO and %LP_ERROR_FORMAT for checkpoints
 */
gboolean
lp_trainer_fit (LpTrainer     *self,
                LpModel       *model,
                LpDataLoader  *train_loader,
                LpDataLoader  *val_loader,
                const char    *ckpt_path,
                GCancellable  *cancellable,
                GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), FALSE);
  g_return_val_if_fail (LP_IS_MODEL (model), FALSE);
  g_return_val_if_fail (LP_IS_DATA_LOADER (train_loader), FALSE);
  g_return_val_if_fail (val_loader == NULL || LP_IS_DATA_LOADER (val_loader), FALSE);

  return run_to_end (self, LP_STAGE_FIT, model, train_loader, val_loader, ckpt_path, cancellable, error);
}

/**
 * lp_trainer_fit_async:
 * @self: a trainer
 * @model: a model
 * @train_loader: what to train with
 * @val_loader: (nullable): what to validate with
 * @ckpt_path: (nullable): a checkpoint to go on from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run
 * @callback: (scope async): called when the run has ended
 * @user_data: user data
 *
 * Trains a model in the thread-default main context of the caller, one batch at a time between its other events.
 */
void
lp_trainer_fit_async (LpTrainer           *self,
                      LpModel             *model,
                      LpDataLoader        *train_loader,
                      LpDataLoader        *val_loader,
                      const char          *ckpt_path,
                      GCancellable        *cancellable,
                      GAsyncReadyCallback  callback,
                      gpointer             user_data)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (LP_IS_MODEL (model));
  g_return_if_fail (LP_IS_DATA_LOADER (train_loader));
  g_return_if_fail (val_loader == NULL || LP_IS_DATA_LOADER (val_loader));

  run_async (self, LP_STAGE_FIT, model, train_loader, val_loader, ckpt_path, cancellable, callback, user_data,
             lp_trainer_fit_async);
}

/**
 * lp_trainer_fit_finish:
 * @self: a trainer
 * @result: what the callback got
 * @error: return location for an error
 *
 * Gets how [method@Trainer.fit_async] ended.
 *
 * Returns: whether it could. Errors: those of [method@Trainer.fit]
 */
gboolean
lp_trainer_fit_finish (LpTrainer     *self,
                       GAsyncResult  *result,
                       GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), FALSE);
  g_return_val_if_fail (g_task_is_valid (result, self), FALSE);

  return g_task_propagate_boolean (G_TASK (result), error);
}

/**
 * lp_trainer_validate:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run with `G_IO_ERROR_CANCELLED`
 * @error: return location for an error
 *
 * Validates a model.
 *
 * Returns: (transfer full): the logged values, an `a{sd}`. Errors: as [method@Trainer.fit]
 */
GVariant *
lp_trainer_validate (LpTrainer     *self,
                     LpModel       *model,
                     LpDataLoader  *loader,
                     const char    *ckpt_path,
                     GCancellable  *cancellable,
                     GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (model == NULL || LP_IS_MODEL (model), NULL);
  g_return_val_if_fail (LP_IS_DATA_LOADER (loader), NULL);

  if (!run_to_end (self, LP_STAGE_VALIDATE, model, loader, NULL, ckpt_path, cancellable, error))
    return NULL;

  return get_result (self);
}

/**
 * lp_trainer_validate_async:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run
 * @callback: (scope async): called when the run has ended
 * @user_data: user data
 *
 * Validates a model in the thread-default main context of the caller, one batch at a time.
 */
void
lp_trainer_validate_async (LpTrainer           *self,
                           LpModel             *model,
                           LpDataLoader        *loader,
                           const char          *ckpt_path,
                           GCancellable        *cancellable,
                           GAsyncReadyCallback  callback,
                           gpointer             user_data)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (model == NULL || LP_IS_MODEL (model));
  g_return_if_fail (LP_IS_DATA_LOADER (loader));

  run_async (self, LP_STAGE_VALIDATE, model, loader, NULL, ckpt_path, cancellable, callback, user_data, lp_trainer_validate_async);
}

/**
 * lp_trainer_validate_finish:
 * @self: a trainer
 * @result: what the callback got
 * @error: return location for an error
 *
 * Gets how [method@Trainer.validate_async] ended.
 *
 * Returns: (transfer full): the logged values, an `a{sd}`. Errors: as [method@Trainer.fit]
 */
GVariant *
lp_trainer_validate_finish (LpTrainer     *self,
                            GAsyncResult  *result,
                            GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * lp_trainer_test:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run with `G_IO_ERROR_CANCELLED`
 * @error: return location for an error
 *
 * Tests a model.
 *
 * Returns: (transfer full): the logged values, an `a{sd}`. Errors: as [method@Trainer.fit]
 */
GVariant *
lp_trainer_test (LpTrainer     *self,
                 LpModel       *model,
                 LpDataLoader  *loader,
                 const char    *ckpt_path,
                 GCancellable  *cancellable,
                 GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (model == NULL || LP_IS_MODEL (model), NULL);
  g_return_val_if_fail (LP_IS_DATA_LOADER (loader), NULL);

  if (!run_to_end (self, LP_STAGE_TEST, model, loader, NULL, ckpt_path, cancellable, error))
    return NULL;

  return get_result (self);
}

/**
 * lp_trainer_test_async:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run
 * @callback: (scope async): called when the run has ended
 * @user_data: user data
 *
 * Tests a model in the thread-default main context of the caller, one batch at a time.
 */
void
lp_trainer_test_async (LpTrainer           *self,
                       LpModel             *model,
                       LpDataLoader        *loader,
                       const char          *ckpt_path,
                       GCancellable        *cancellable,
                       GAsyncReadyCallback  callback,
                       gpointer             user_data)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (model == NULL || LP_IS_MODEL (model));
  g_return_if_fail (LP_IS_DATA_LOADER (loader));

  run_async (self, LP_STAGE_TEST, model, loader, NULL, ckpt_path, cancellable, callback, user_data, lp_trainer_test_async);
}

/**
 * lp_trainer_test_finish:
 * @self: a trainer
 * @result: what the callback got
 * @error: return location for an error
 *
 * Gets how [method@Trainer.test_async] ended.
 *
 * Returns: (transfer full): the logged values, an `a{sd}`. Errors: as [method@Trainer.fit]
 */
GVariant *
lp_trainer_test_finish (LpTrainer     *self,
                        GAsyncResult  *result,
                        GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}

/**
 * lp_trainer_predict:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run with `G_IO_ERROR_CANCELLED`
 * @error: return location for an error
 *
 * Computes predictions.
 *
 * Returns: (transfer container) (element-type LpTensor): the predictions, one tensor per batch. Errors: as [method@Trainer.fit]
 */
GPtrArray *
lp_trainer_predict (LpTrainer     *self,
                    LpModel       *model,
                    LpDataLoader  *loader,
                    const char    *ckpt_path,
                    GCancellable  *cancellable,
                    GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (model == NULL || LP_IS_MODEL (model), NULL);
  g_return_val_if_fail (LP_IS_DATA_LOADER (loader), NULL);

  if (!run_to_end (self, LP_STAGE_PREDICT, model, loader, NULL, ckpt_path, cancellable, error))
    return NULL;

  return get_result (self);
}

/**
 * lp_trainer_predict_async:
 * @self: a trainer
 * @model: (nullable): a model, or %NULL for that of the last run
 * @loader: the data
 * @ckpt_path: (nullable): a checkpoint to take the weights from: a path, `last`, or `best`
 * @cancellable: (nullable): ends the run
 * @callback: (scope async): called when the run has ended
 * @user_data: user data
 *
 * Computes predictions in the thread-default main context of the caller, one batch at a time.
 */
void
lp_trainer_predict_async (LpTrainer           *self,
                          LpModel             *model,
                          LpDataLoader        *loader,
                          const char          *ckpt_path,
                          GCancellable        *cancellable,
                          GAsyncReadyCallback  callback,
                          gpointer             user_data)
{
  g_return_if_fail (LP_IS_TRAINER (self));
  g_return_if_fail (model == NULL || LP_IS_MODEL (model));
  g_return_if_fail (LP_IS_DATA_LOADER (loader));

  run_async (self, LP_STAGE_PREDICT, model, loader, NULL, ckpt_path, cancellable, callback, user_data, lp_trainer_predict_async);
}

/**
 * lp_trainer_predict_finish:
 * @self: a trainer
 * @result: what the callback got
 * @error: return location for an error
 *
 * Gets how [method@Trainer.predict_async] ended.
 *
 * Returns: (transfer container) (element-type LpTensor): the predictions, one tensor per batch. Errors: as [method@Trainer.fit]
 */
GPtrArray *
lp_trainer_predict_finish (LpTrainer     *self,
                           GAsyncResult  *result,
                           GError       **error)
{
  g_return_val_if_fail (LP_IS_TRAINER (self), NULL);
  g_return_val_if_fail (g_task_is_valid (result, self), NULL);

  return g_task_propagate_pointer (G_TASK (result), error);
}
