#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <gio/gio.h>
#include <lp/data/lp-data-loader.h>
#include <lp/parallel/lp-strategy.h>
#include <lp/precision/lp-precision-plugin.h>
#include <lp/trainer/lp-callback.h>
#include <lp/trainer/lp-logger.h>

G_BEGIN_DECLS

#define LP_TYPE_TRAINER (lp_trainer_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpTrainer, lp_trainer, LP, TRAINER, GObject)

LP_AVAILABLE_IN_ALL
LpTrainer *lp_trainer_new (const char *precision_request,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTrainer *lp_trainer_new_with_plugin (LpPrecisionPlugin *precision_plugin,
                                       GError **error);

/* Runs. */
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_fit (LpTrainer *self,
                         LpModel *model,
                         LpDataLoader *train_loader,
                         LpDataLoader *val_loader,
                         const char *ckpt_path,
                         GCancellable *cancellable,
                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_trainer_fit_async (LpTrainer *self,
                           LpModel *model,
                           LpDataLoader *train_loader,
                           LpDataLoader *val_loader,
                           const char *ckpt_path,
                           GCancellable *cancellable,
                           GAsyncReadyCallback callback,
                           gpointer user_data);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_fit_finish (LpTrainer *self,
                                GAsyncResult *result,
                                GError **error);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_validate (LpTrainer *self,
                               LpModel *model,
                               LpDataLoader *loader,
                               const char *ckpt_path,
                               GCancellable *cancellable,
                               GError **error);
LP_AVAILABLE_IN_ALL
void lp_trainer_validate_async (LpTrainer *self,
                                LpModel *model,
                                LpDataLoader *loader,
                                const char *ckpt_path,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_validate_finish (LpTrainer *self,
                                      GAsyncResult *result,
                                      GError **error);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_test (LpTrainer *self,
                           LpModel *model,
                           LpDataLoader *loader,
                           const char *ckpt_path,
                           GCancellable *cancellable,
                           GError **error);
LP_AVAILABLE_IN_ALL
void lp_trainer_test_async (LpTrainer *self,
                            LpModel *model,
                            LpDataLoader *loader,
                            const char *ckpt_path,
                            GCancellable *cancellable,
                            GAsyncReadyCallback callback,
                            gpointer user_data);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_test_finish (LpTrainer *self,
                                  GAsyncResult *result,
                                  GError **error);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_trainer_predict (LpTrainer *self,
                               LpModel *model,
                               LpDataLoader *loader,
                               const char *ckpt_path,
                               GCancellable *cancellable,
                               GError **error);
LP_AVAILABLE_IN_ALL
void lp_trainer_predict_async (LpTrainer *self,
                               LpModel *model,
                               LpDataLoader *loader,
                               const char *ckpt_path,
                               GCancellable *cancellable,
                               GAsyncReadyCallback callback,
                               gpointer user_data);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_trainer_predict_finish (LpTrainer *self,
                                      GAsyncResult *result,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_trainer_stop (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_skip_epoch (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_save_checkpoint (LpTrainer *self,
                                     const char *path,
                                     gboolean weights_only,
                                     GError **error);

/* Precision: the plugin's, never a copy. */
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_precision (LpTrainer *self);
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_amp_backend (LpTrainer *self);
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_amp_level (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpPrecisionState *lp_trainer_dup_precision_state (LpTrainer *self);
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_precision_request (LpTrainer *self);
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_precision_reason (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpPrecisionPlugin *lp_trainer_dup_precision_plugin (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_set_precision_plugin (LpTrainer *self,
                                          LpPrecisionPlugin *precision_plugin,
                                          GError **error);

/* What takes part. */
LP_AVAILABLE_IN_ALL
void lp_trainer_add_callback (LpTrainer *self,
                              LpCallback *callback);
LP_AVAILABLE_IN_ALL
void lp_trainer_remove_callback (LpTrainer *self,
                                 LpCallback *callback);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_trainer_dup_callbacks (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_add_logger (LpTrainer *self,
                            LpLogger *logger);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_trainer_dup_loggers (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpModel *lp_trainer_get_model (LpTrainer *self);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_trainer_dup_optimizers (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpStrategy *lp_trainer_get_strategy (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpDevice *lp_trainer_get_device (LpTrainer *self);

/* Logged values, as `a{sd}`. */
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_dup_callback_metrics (LpTrainer *self);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_dup_logged_metrics (LpTrainer *self);
LP_AVAILABLE_IN_ALL
GVariant *lp_trainer_dup_progress_bar_metrics (LpTrainer *self);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_metric (LpTrainer *self,
                              const char *name);

/* How the run stands. */
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_current_epoch (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_global_step (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_batch_idx (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_is_last_batch (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_num_training_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_num_val_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_estimated_stepping_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_n_skipped_steps (LpTrainer *self);
LP_AVAILABLE_IN_ALL
LpStage lp_trainer_get_stage (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_training (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_validating (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_sanity_checking (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_should_stop (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_interrupted (LpTrainer *self);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_received_signal (LpTrainer *self);

/* Settings, read when a run starts. */
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_max_epochs (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_max_epochs (LpTrainer *self,
                                gint max_epochs);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_min_epochs (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_min_epochs (LpTrainer *self,
                                gint min_epochs);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_max_steps (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_max_steps (LpTrainer *self,
                               gint64 max_steps);
LP_AVAILABLE_IN_ALL
gint64 lp_trainer_get_min_steps (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_min_steps (LpTrainer *self,
                               gint64 min_steps);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_max_time (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_max_time (LpTrainer *self,
                              double max_time);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_limit_train_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_limit_train_batches (LpTrainer *self,
                                         double limit_train_batches);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_limit_val_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_limit_val_batches (LpTrainer *self,
                                       double limit_val_batches);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_limit_test_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_limit_test_batches (LpTrainer *self,
                                        double limit_test_batches);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_limit_predict_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_limit_predict_batches (LpTrainer *self,
                                           double limit_predict_batches);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_val_check_interval (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_val_check_interval (LpTrainer *self,
                                        double val_check_interval);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_check_val_every_n_epoch (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_check_val_every_n_epoch (LpTrainer *self,
                                             gint check_val_every_n_epoch);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_accumulate_grad_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_accumulate_grad_batches (LpTrainer *self,
                                             gint accumulate_grad_batches);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_gradient_clip_val (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_gradient_clip_val (LpTrainer *self,
                                       double gradient_clip_val);
LP_AVAILABLE_IN_ALL
LpClipAlgorithm lp_trainer_get_gradient_clip_algorithm (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_gradient_clip_algorithm (LpTrainer *self,
                                             LpClipAlgorithm gradient_clip_algorithm);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_fast_dev_run (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_fast_dev_run (LpTrainer *self,
                                  gint fast_dev_run);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_num_sanity_val_steps (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_num_sanity_val_steps (LpTrainer *self,
                                          gint num_sanity_val_steps);
LP_AVAILABLE_IN_ALL
double lp_trainer_get_overfit_batches (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_overfit_batches (LpTrainer *self,
                                     double overfit_batches);
LP_AVAILABLE_IN_ALL
gint lp_trainer_get_log_every_n_steps (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_log_every_n_steps (LpTrainer *self,
                                       gint log_every_n_steps);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_enable_progress_bar (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_enable_progress_bar (LpTrainer *self,
                                         gboolean enable_progress_bar);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_enable_checkpointing (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_enable_checkpointing (LpTrainer *self,
                                          gboolean enable_checkpointing);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_enable_model_summary (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_enable_model_summary (LpTrainer *self,
                                          gboolean enable_model_summary);
LP_AVAILABLE_IN_ALL
gboolean lp_trainer_get_handle_signals (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_handle_signals (LpTrainer *self,
                                    gboolean handle_signals);
LP_AVAILABLE_IN_ALL
char *lp_trainer_dup_default_root_dir (LpTrainer *self);
LP_AVAILABLE_IN_ALL
void lp_trainer_set_default_root_dir (LpTrainer *self,
                                      const char *default_root_dir);

G_END_DECLS
