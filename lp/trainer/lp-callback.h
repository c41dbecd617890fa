#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-model.h>

G_BEGIN_DECLS

#define LP_TYPE_CALLBACK (lp_callback_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpCallback, lp_callback, LP, CALLBACK, GObject)

/**
 * LpCallbackClass:
 * @setup: called when an entry point starts, before anything else
 * @teardown: called when an entry point ends, whatever the outcome
 * @on_fit_start: called when a fit starts
 * @on_fit_end: called when a fit has ended
 * @on_sanity_check_start: called when the check of validation before training starts
 * @on_sanity_check_end: called when the check of validation before training has ended
 * @on_train_start: called when training starts
 * @on_train_end: called when training has ended
 * @on_train_epoch_start: called when an epoch of training starts
 * @on_train_epoch_end: called when an epoch of training has ended
 * @on_train_batch_start: called before a batch of train
 * @on_train_batch_end: called after a batch of train
 * @on_validation_start: called when validation starts
 * @on_validation_end: called when validation has ended
 * @on_validation_epoch_start: called when the pass of validation over the data starts
 * @on_validation_epoch_end: called when the pass of validation over the data has ended
 * @on_validation_batch_start: called before a batch of validation
 * @on_validation_batch_end: called after a batch of validation
 * @on_test_start: called when testing starts
 * @on_test_end: called when testing has ended
 * @on_test_epoch_start: called when the pass of testing over the data starts
 * @on_test_epoch_end: called when the pass of testing over the data has ended
 * @on_test_batch_start: called before a batch of test
 * @on_test_batch_end: called after a batch of test
 * @on_predict_start: called when prediction starts
 * @on_predict_end: called when prediction has ended
 * @on_predict_epoch_start: called when the pass of prediction over the data starts
 * @on_predict_epoch_end: called when the pass of prediction over the data has ended
 * @on_predict_batch_start: called before a batch of predict
 * @on_predict_batch_end: called after a batch of predict
 * @on_before_zero_grad: called before gradients are cleared
 * @on_before_backward: called with the loss that backward starts from, scaled if the precision scales
 * @on_after_backward: called after backward; gradients are still scaled
 * @on_before_optimizer_step: called before clipping and the step; gradients have true values
 * @on_save_checkpoint: called with the state of a checkpoint about to be written: add to it
 * @on_load_checkpoint: called with the state of a checkpoint being restored
 * @on_exception: called when a run fails or is cancelled
 * @dup_state_key: the name under which state is saved; the default is the type's name
 * @save_state: what the callback needs to go on after a restart, or %NULL
 * @load_state: takes it back
 * @is_checkpoint: whether it writes checkpoints: those run after all others
 *
 * Code that a trainer calls at the events of a run.
 */
struct _LpCallbackClass
{
  GObjectClass parent_class;

  void (* setup) (LpCallback *self,
                  LpTrainer *trainer,
                  LpModel *model,
                  LpStage stage,
                  GError **error);
  void (* teardown) (LpCallback *self,
                     LpTrainer *trainer,
                     LpModel *model,
                     LpStage stage,
                     GError **error);
  void (* on_fit_start) (LpCallback *self,
                         LpTrainer *trainer,
                         LpModel *model,
                         GError **error);
  void (* on_fit_end) (LpCallback *self,
                       LpTrainer *trainer,
                       LpModel *model,
                       GError **error);
  void (* on_sanity_check_start) (LpCallback *self,
                                  LpTrainer *trainer,
                                  LpModel *model,
                                  GError **error);
  void (* on_sanity_check_end) (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                GError **error);
  void (* on_train_start) (LpCallback *self,
                           LpTrainer *trainer,
                           LpModel *model,
                           GError **error);
  void (* on_train_end) (LpCallback *self,
                         LpTrainer *trainer,
                         LpModel *model,
                         GError **error);
  void (* on_train_epoch_start) (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 GError **error);
  void (* on_train_epoch_end) (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               GError **error);
  void (* on_train_batch_start) (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
  void (* on_train_batch_end) (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               LpTensor *outputs,
                               LpBatch *batch,
                               gint64 batch_idx,
                               GError **error);
  void (* on_validation_start) (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                GError **error);
  void (* on_validation_end) (LpCallback *self,
                              LpTrainer *trainer,
                              LpModel *model,
                              GError **error);
  void (* on_validation_epoch_start) (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      GError **error);
  void (* on_validation_epoch_end) (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    GError **error);
  void (* on_validation_batch_start) (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      LpBatch *batch,
                                      gint64 batch_idx,
                                      GError **error);
  void (* on_validation_batch_end) (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    LpTensor *outputs,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
  void (* on_test_start) (LpCallback *self,
                          LpTrainer *trainer,
                          LpModel *model,
                          GError **error);
  void (* on_test_end) (LpCallback *self,
                        LpTrainer *trainer,
                        LpModel *model,
                        GError **error);
  void (* on_test_epoch_start) (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                GError **error);
  void (* on_test_epoch_end) (LpCallback *self,
                              LpTrainer *trainer,
                              LpModel *model,
                              GError **error);
  void (* on_test_batch_start) (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                LpBatch *batch,
                                gint64 batch_idx,
                                GError **error);
  void (* on_test_batch_end) (LpCallback *self,
                              LpTrainer *trainer,
                              LpModel *model,
                              LpTensor *outputs,
                              LpBatch *batch,
                              gint64 batch_idx,
                              GError **error);
  void (* on_predict_start) (LpCallback *self,
                             LpTrainer *trainer,
                             LpModel *model,
                             GError **error);
  void (* on_predict_end) (LpCallback *self,
                           LpTrainer *trainer,
                           LpModel *model,
                           GError **error);
  void (* on_predict_epoch_start) (LpCallback *self,
                                   LpTrainer *trainer,
                                   LpModel *model,
                                   GError **error);
  void (* on_predict_epoch_end) (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 GError **error);
  void (* on_predict_batch_start) (LpCallback *self,
                                   LpTrainer *trainer,
                                   LpModel *model,
                                   LpBatch *batch,
                                   gint64 batch_idx,
                                   GError **error);
  void (* on_predict_batch_end) (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 LpTensor *outputs,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
  void (* on_before_zero_grad) (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                LpOptimizer *optimizer,
                                GError **error);
  void (* on_before_backward) (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               LpTensor *loss,
                               GError **error);
  void (* on_after_backward) (LpCallback *self,
                              LpTrainer *trainer,
                              LpModel *model,
                              GError **error);
  void (* on_before_optimizer_step) (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     LpOptimizer *optimizer,
                                     GError **error);
  void (* on_save_checkpoint) (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               LpState *checkpoint,
                               GError **error);
  void (* on_load_checkpoint) (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               LpState *checkpoint,
                               GError **error);
  void (* on_exception) (LpCallback *self,
                         LpTrainer *trainer,
                         LpModel *model,
                         const char *message,
                         GError **error);
  char *(* dup_state_key) (LpCallback *self);
  LpState *(* save_state) (LpCallback *self,
                           GError **error);
  void (* load_state) (LpCallback *self,
                       LpState *state,
                       GError **error);
  gboolean (* is_checkpoint) (LpCallback *self);

  /*< private >*/
  gpointer padding[16];
};

LP_AVAILABLE_IN_ALL
void lp_callback_setup (LpCallback *self,
                        LpTrainer *trainer,
                        LpModel *model,
                        LpStage stage,
                        GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_teardown (LpCallback *self,
                           LpTrainer *trainer,
                           LpModel *model,
                           LpStage stage,
                           GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_fit_start (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_fit_end (LpCallback *self,
                             LpTrainer *trainer,
                             LpModel *model,
                             GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_sanity_check_start (LpCallback *self,
                                        LpTrainer *trainer,
                                        LpModel *model,
                                        GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_sanity_check_end (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_start (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_end (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_epoch_start (LpCallback *self,
                                       LpTrainer *trainer,
                                       LpModel *model,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_epoch_end (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_batch_start (LpCallback *self,
                                       LpTrainer *trainer,
                                       LpModel *model,
                                       LpBatch *batch,
                                       gint64 batch_idx,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_train_batch_end (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     LpTensor *outputs,
                                     LpBatch *batch,
                                     gint64 batch_idx,
                                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_start (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_end (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_epoch_start (LpCallback *self,
                                            LpTrainer *trainer,
                                            LpModel *model,
                                            GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_epoch_end (LpCallback *self,
                                          LpTrainer *trainer,
                                          LpModel *model,
                                          GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_batch_start (LpCallback *self,
                                            LpTrainer *trainer,
                                            LpModel *model,
                                            LpBatch *batch,
                                            gint64 batch_idx,
                                            GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_validation_batch_end (LpCallback *self,
                                          LpTrainer *trainer,
                                          LpModel *model,
                                          LpTensor *outputs,
                                          LpBatch *batch,
                                          gint64 batch_idx,
                                          GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_start (LpCallback *self,
                                LpTrainer *trainer,
                                LpModel *model,
                                GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_end (LpCallback *self,
                              LpTrainer *trainer,
                              LpModel *model,
                              GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_epoch_start (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_epoch_end (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_batch_start (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      LpBatch *batch,
                                      gint64 batch_idx,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_test_batch_end (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    LpTensor *outputs,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_start (LpCallback *self,
                                   LpTrainer *trainer,
                                   LpModel *model,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_end (LpCallback *self,
                                 LpTrainer *trainer,
                                 LpModel *model,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_epoch_start (LpCallback *self,
                                         LpTrainer *trainer,
                                         LpModel *model,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_epoch_end (LpCallback *self,
                                       LpTrainer *trainer,
                                       LpModel *model,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_batch_start (LpCallback *self,
                                         LpTrainer *trainer,
                                         LpModel *model,
                                         LpBatch *batch,
                                         gint64 batch_idx,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_predict_batch_end (LpCallback *self,
                                       LpTrainer *trainer,
                                       LpModel *model,
                                       LpTensor *outputs,
                                       LpBatch *batch,
                                       gint64 batch_idx,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_before_zero_grad (LpCallback *self,
                                      LpTrainer *trainer,
                                      LpModel *model,
                                      LpOptimizer *optimizer,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_before_backward (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     LpTensor *loss,
                                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_after_backward (LpCallback *self,
                                    LpTrainer *trainer,
                                    LpModel *model,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_before_optimizer_step (LpCallback *self,
                                           LpTrainer *trainer,
                                           LpModel *model,
                                           LpOptimizer *optimizer,
                                           GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_save_checkpoint (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     LpState *checkpoint,
                                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_load_checkpoint (LpCallback *self,
                                     LpTrainer *trainer,
                                     LpModel *model,
                                     LpState *checkpoint,
                                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_on_exception (LpCallback *self,
                               LpTrainer *trainer,
                               LpModel *model,
                               const char *message,
                               GError **error);
LP_AVAILABLE_IN_ALL
char *lp_callback_dup_state_key (LpCallback *self);
LP_AVAILABLE_IN_ALL
LpState *lp_callback_save_state (LpCallback *self,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_callback_load_state (LpCallback *self,
                             LpState *state,
                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_callback_is_checkpoint (LpCallback *self);

G_END_DECLS
