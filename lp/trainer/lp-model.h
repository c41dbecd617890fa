#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/data/lp-batch.h>
#include <lp/metrics/lp-metric.h>
#include <lp/nn/lp-module.h>
#include <lp/tensor/lp-state.h>
#include <lp/trainer/lp-optimizer-config.h>
#include <lp/trainer/lp-trainer-types.h>

G_BEGIN_DECLS

#define LP_TYPE_MODEL (lp_model_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpModel, lp_model, LP, MODEL, LpModule)

/**
 * LpModelClass:
 * @training_step: computes the loss of a batch; %NULL without an error skips the batch
 * @validation_step: judges a batch of validation; may return something for callbacks
 * @test_step: judges a batch of testing; may return something for callbacks
 * @predict_step: the predictions for a batch
 * @configure_optimizers: an [class@Optimizer] or an [class@OptimizerConfig]
 * @configure_model: builds what the constructor left out, under the precision's dtype
 * @configure_gradient_clipping: clips the gradients of an optimizer; the default asks the precision
 * @transfer_batch: brings a batch to the device
 * @on_before_batch_transfer: called before a batch is brought to the device; gives the batch to go on with
 * @on_after_batch_transfer: called when a batch was brought to the device; gives the batch to go on with
 * @configure_callbacks: callbacks that join the trainer's, in the place of those of the very same class
 * @setup: called when an entry point starts, before anything else
 * @teardown: called when an entry point ends, whatever the outcome
 * @on_fit_start: called when a fit starts
 * @on_fit_end: called when a fit has ended
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
 *
 * A module that knows how to be trained.
 */
struct _LpModelClass
{
  LpModuleClass parent_class;

  LpTensor *(* training_step) (LpModel *self,
                               LpBatch *batch,
                               gint64 batch_idx,
                               GError **error);
  LpTensor *(* validation_step) (LpModel *self,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
  LpTensor *(* test_step) (LpModel *self,
                           LpBatch *batch,
                           gint64 batch_idx,
                           GError **error);
  LpTensor *(* predict_step) (LpModel *self,
                              LpBatch *batch,
                              gint64 batch_idx,
                              GError **error);
  GObject *(* configure_optimizers) (LpModel *self,
                                     GError **error);
  void (* configure_model) (LpModel *self,
                            GError **error);
  void (* configure_gradient_clipping) (LpModel *self,
                                        LpOptimizer *optimizer,
                                        double value,
                                        LpClipAlgorithm algorithm,
                                        GError **error);
  LpBatch *(* transfer_batch) (LpModel *self,
                               LpBatch *batch,
                               LpDevice *device,
                               GError **error);
  LpBatch *(* on_before_batch_transfer) (LpModel *self,
                                         LpBatch *batch,
                                         GError **error);
  LpBatch *(* on_after_batch_transfer) (LpModel *self,
                                        LpBatch *batch,
                                        GError **error);
  GPtrArray *(* configure_callbacks) (LpModel *self,
                                      GError **error);

  void (* setup) (LpModel *self,
                  LpStage stage,
                  GError **error);
  void (* teardown) (LpModel *self,
                     LpStage stage,
                     GError **error);
  void (* on_fit_start) (LpModel *self,
                         GError **error);
  void (* on_fit_end) (LpModel *self,
                       GError **error);
  void (* on_train_start) (LpModel *self,
                           GError **error);
  void (* on_train_end) (LpModel *self,
                         GError **error);
  void (* on_train_epoch_start) (LpModel *self,
                                 GError **error);
  void (* on_train_epoch_end) (LpModel *self,
                               GError **error);
  void (* on_train_batch_start) (LpModel *self,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
  void (* on_train_batch_end) (LpModel *self,
                               LpTensor *outputs,
                               LpBatch *batch,
                               gint64 batch_idx,
                               GError **error);
  void (* on_validation_start) (LpModel *self,
                                GError **error);
  void (* on_validation_end) (LpModel *self,
                              GError **error);
  void (* on_validation_epoch_start) (LpModel *self,
                                      GError **error);
  void (* on_validation_epoch_end) (LpModel *self,
                                    GError **error);
  void (* on_validation_batch_start) (LpModel *self,
                                      LpBatch *batch,
                                      gint64 batch_idx,
                                      GError **error);
  void (* on_validation_batch_end) (LpModel *self,
                                    LpTensor *outputs,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
  void (* on_test_start) (LpModel *self,
                          GError **error);
  void (* on_test_end) (LpModel *self,
                        GError **error);
  void (* on_test_epoch_start) (LpModel *self,
                                GError **error);
  void (* on_test_epoch_end) (LpModel *self,
                              GError **error);
  void (* on_test_batch_start) (LpModel *self,
                                LpBatch *batch,
                                gint64 batch_idx,
                                GError **error);
  void (* on_test_batch_end) (LpModel *self,
                              LpTensor *outputs,
                              LpBatch *batch,
                              gint64 batch_idx,
                              GError **error);
  void (* on_predict_start) (LpModel *self,
                             GError **error);
  void (* on_predict_end) (LpModel *self,
                           GError **error);
  void (* on_predict_epoch_start) (LpModel *self,
                                   GError **error);
  void (* on_predict_epoch_end) (LpModel *self,
                                 GError **error);
  void (* on_predict_batch_start) (LpModel *self,
                                   LpBatch *batch,
                                   gint64 batch_idx,
                                   GError **error);
  void (* on_predict_batch_end) (LpModel *self,
                                 LpTensor *outputs,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
  void (* on_before_zero_grad) (LpModel *self,
                                LpOptimizer *optimizer,
                                GError **error);
  void (* on_before_backward) (LpModel *self,
                               LpTensor *loss,
                               GError **error);
  void (* on_after_backward) (LpModel *self,
                              GError **error);
  void (* on_before_optimizer_step) (LpModel *self,
                                     LpOptimizer *optimizer,
                                     GError **error);
  void (* on_save_checkpoint) (LpModel *self,
                               LpState *checkpoint,
                               GError **error);
  void (* on_load_checkpoint) (LpModel *self,
                               LpState *checkpoint,
                               GError **error);

  /*< private >*/
  gpointer padding[13];
};

LP_AVAILABLE_IN_ALL
LpTensor *lp_model_training_step (LpModel *self,
                                  LpBatch *batch,
                                  gint64 batch_idx,
                                  GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_model_validation_step (LpModel *self,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_model_test_step (LpModel *self,
                              LpBatch *batch,
                              gint64 batch_idx,
                              GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_model_predict_step (LpModel *self,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
LP_AVAILABLE_IN_ALL
GObject *lp_model_configure_optimizers (LpModel *self,
                                        GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_configure_model (LpModel *self,
                               GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_configure_gradient_clipping (LpModel *self,
                                           LpOptimizer *optimizer,
                                           double value,
                                           LpClipAlgorithm algorithm,
                                           GError **error);
LP_AVAILABLE_IN_ALL
LpBatch *lp_model_transfer_batch (LpModel *self,
                                  LpBatch *batch,
                                  LpDevice *device,
                                  GError **error);
LP_AVAILABLE_IN_ALL
LpBatch *lp_model_on_before_batch_transfer (LpModel *self,
                                            LpBatch *batch,
                                            GError **error);
LP_AVAILABLE_IN_ALL
LpBatch *lp_model_on_after_batch_transfer (LpModel *self,
                                           LpBatch *batch,
                                           GError **error);
LP_AVAILABLE_IN_ALL
GPtrArray *lp_model_configure_callbacks (LpModel *self,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_setup (LpModel *self,
                     LpStage stage,
                     GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_teardown (LpModel *self,
                        LpStage stage,
                        GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_fit_start (LpModel *self,
                            GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_fit_end (LpModel *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_start (LpModel *self,
                              GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_end (LpModel *self,
                            GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_epoch_start (LpModel *self,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_epoch_end (LpModel *self,
                                  GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_batch_start (LpModel *self,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_train_batch_end (LpModel *self,
                                  LpTensor *outputs,
                                  LpBatch *batch,
                                  gint64 batch_idx,
                                  GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_start (LpModel *self,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_end (LpModel *self,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_epoch_start (LpModel *self,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_epoch_end (LpModel *self,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_batch_start (LpModel *self,
                                         LpBatch *batch,
                                         gint64 batch_idx,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_validation_batch_end (LpModel *self,
                                       LpTensor *outputs,
                                       LpBatch *batch,
                                       gint64 batch_idx,
                                       GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_start (LpModel *self,
                             GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_end (LpModel *self,
                           GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_epoch_start (LpModel *self,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_epoch_end (LpModel *self,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_batch_start (LpModel *self,
                                   LpBatch *batch,
                                   gint64 batch_idx,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_test_batch_end (LpModel *self,
                                 LpTensor *outputs,
                                 LpBatch *batch,
                                 gint64 batch_idx,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_start (LpModel *self,
                                GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_end (LpModel *self,
                              GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_epoch_start (LpModel *self,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_epoch_end (LpModel *self,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_batch_start (LpModel *self,
                                      LpBatch *batch,
                                      gint64 batch_idx,
                                      GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_predict_batch_end (LpModel *self,
                                    LpTensor *outputs,
                                    LpBatch *batch,
                                    gint64 batch_idx,
                                    GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_before_zero_grad (LpModel *self,
                                   LpOptimizer *optimizer,
                                   GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_before_backward (LpModel *self,
                                  LpTensor *loss,
                                  GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_after_backward (LpModel *self,
                                 GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_before_optimizer_step (LpModel *self,
                                        LpOptimizer *optimizer,
                                        GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_save_checkpoint (LpModel *self,
                                  LpState *checkpoint,
                                  GError **error);
LP_AVAILABLE_IN_ALL
void lp_model_on_load_checkpoint (LpModel *self,
                                  LpState *checkpoint,
                                  GError **error);

/* Inside a run. */
LP_AVAILABLE_IN_ALL
LpTrainer *lp_model_get_trainer (LpModel *self);
LP_AVAILABLE_IN_ALL
gboolean lp_model_log (LpModel *self,
                       const char *name,
                       double value,
                       LpLogFlags flags,
                       GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_model_log_tensor (LpModel *self,
                              const char *name,
                              LpTensor *value,
                              LpLogFlags flags,
                              GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_model_log_metric (LpModel *self,
                              const char *name,
                              LpMetric *metric,
                              LpLogFlags flags,
                              GError **error);

/* Manual optimization. */
LP_AVAILABLE_IN_ALL
gboolean lp_model_get_automatic_optimization (LpModel *self);
LP_AVAILABLE_IN_ALL
void lp_model_set_automatic_optimization (LpModel *self,
                                          gboolean automatic_optimization);
LP_AVAILABLE_IN_ALL
guint lp_model_get_n_optimizers (LpModel *self);
LP_AVAILABLE_IN_ALL
LpOptimizer *lp_model_get_optimizer (LpModel *self,
                                     guint index);
LP_AVAILABLE_IN_ALL
gboolean lp_model_manual_backward (LpModel *self,
                                   LpTensor *loss,
                                   GError **error);
LP_AVAILABLE_IN_ALL
LpStepResult lp_model_optimizer_step (LpModel *self,
                                      LpOptimizer *optimizer,
                                      GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_model_clip_gradients (LpModel *self,
                                  LpOptimizer *optimizer,
                                  double value,
                                  LpClipAlgorithm algorithm,
                                  GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_model_step_schedulers (LpModel *self,
                                   GError **error);

LP_AVAILABLE_IN_ALL
char *lp_model_summarize (LpModel *self,
                          gint max_depth);

G_END_DECLS
