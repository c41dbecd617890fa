#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/autograd/lp-compute-scope.h>
#include <lp/precision/lp-precision-context.h>
#include <lp/precision/lp-precision-error.h>
#include <lp/precision/lp-precision-state.h>
#include <lp/precision/lp-precision-traits.h>

G_BEGIN_DECLS

#define LP_TYPE_PRECISION_PLUGIN (lp_precision_plugin_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpPrecisionPlugin, lp_precision_plugin, LP, PRECISION_PLUGIN, GObject)

/**
 * LpPrecisionPluginClass:
 * @validate: refuses what the plugin can't do with what @context knows; changes nothing
 * @validate_state: refuses reported values that the plugin doesn't implement
 * @supports: whether the precision can run on @device; the error says what would
 * @dup_traits: the dtypes that storage, computation, gradients, masters and reductions really have
 * @get_default_dtype: the dtype of tensors made without one, while a model is built and inside a step; %NULL for no change
 * @begin_init: called before a model is built
 * @end_init: called after a model was built
 * @convert_module: casts, replaces or re-encodes parameters and layers
 * @convert_optimizer: sets up the groups of an optimizer: masters, rounding
 * @convert_input: converts a floating tensor of a batch
 * @convert_output: converts a floating tensor that a step gives back
 * @get_cast_policy: which dtype each class of operations computes in, or %NULL
 * @quantize_operand: an operand of a matrix product in the plugin's format
 * @matmul: a whole matrix product
 * @scale_loss: the loss that backward starts from
 * @backward: computes the gradients
 * @unscale_gradients: gives the gradients of an optimizer their true values
 * @clip_gradients: clips the gradients of an optimizer
 * @optimizer_step: updates the parameters of an optimizer
 * @end_step: called once after all optimizers stepped
 * @save_state: what the plugin needs to go on after a restart
 * @load_state: takes it back
 * @attach: called when a run starts
 * @detach: called when it ends; leaves no trace
 * @dup_state_id: the name under which saved state is found again, whatever the class is called
 * @dup_state_aliases: former names of it
 * @get_state_version: the version of the saved state that this code writes; it reads older ones
 *
 * How numbers are stored, computed, scaled, clipped and saved. Every default does the plain 32-bit thing.
 */
struct _LpPrecisionPluginClass
{
  GObjectClass parent_class;

  gboolean (* validate) (LpPrecisionPlugin *self,
                         LpPrecisionContext *context,
                         GError **error);
  gboolean (* validate_state) (LpPrecisionPlugin *self,
                               LpPrecisionState *state,
                               GError **error);
  gboolean (* supports) (LpPrecisionPlugin *self,
                         LpDevice *device,
                         GError **error);
  LpPrecisionTraits *(* dup_traits) (LpPrecisionPlugin *self,
                                     GError **error);
  LpDType *(* get_default_dtype) (LpPrecisionPlugin *self,
                                  GError **error);
  gboolean (* begin_init) (LpPrecisionPlugin *self,
                           GError **error);
  gboolean (* end_init) (LpPrecisionPlugin *self,
                         GError **error);
  gboolean (* convert_module) (LpPrecisionPlugin *self,
                               LpModule *module,
                               GError **error);
  gboolean (* convert_optimizer) (LpPrecisionPlugin *self,
                                  LpOptimizer *optimizer,
                                  GError **error);
  LpTensor *(* convert_input) (LpPrecisionPlugin *self,
                               LpTensor *tensor,
                               GError **error);
  LpTensor *(* convert_output) (LpPrecisionPlugin *self,
                                LpTensor *tensor,
                                GError **error);
  LpCastPolicy *(* get_cast_policy) (LpPrecisionPlugin *self,
                                     GError **error);
  LpTensor *(* quantize_operand) (LpPrecisionPlugin *self,
                                  LpOperand *operand,
                                  GError **error);
  LpTensor *(* matmul) (LpPrecisionPlugin *self,
                        LpMatmul *matmul,
                        GError **error);
  LpTensor *(* scale_loss) (LpPrecisionPlugin *self,
                            LpTensor *loss,
                            GError **error);
  gboolean (* backward) (LpPrecisionPlugin *self,
                         LpTensor *loss,
                         GPtrArray *optimizers,
                         GError **error);
  gboolean (* unscale_gradients) (LpPrecisionPlugin *self,
                                  LpOptimizer *optimizer,
                                  GError **error);
  gboolean (* clip_gradients) (LpPrecisionPlugin *self,
                               LpOptimizer *optimizer,
                               double value,
                               LpClipAlgorithm algorithm,
                               GError **error);
  LpStepResult (* optimizer_step) (LpPrecisionPlugin *self,
                                   LpOptimizer *optimizer,
                                   LpStepClosure *closure,
                                   GError **error);
  gboolean (* end_step) (LpPrecisionPlugin *self,
                         GError **error);
  LpState *(* save_state) (LpPrecisionPlugin *self,
                           GError **error);
  gboolean (* load_state) (LpPrecisionPlugin *self,
                           LpState *state,
                           GError **error);
  gboolean (* attach) (LpPrecisionPlugin *self,
                       LpPrecisionContext *context,
                       GError **error);
  gboolean (* detach) (LpPrecisionPlugin *self,
                       GError **error);
  char *(* dup_state_id) (LpPrecisionPlugin *self);
  char **(* dup_state_aliases) (LpPrecisionPlugin *self);
  guint (* get_state_version) (LpPrecisionPlugin *self);

  /*< private >*/
  gpointer padding[16];
};

LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_validate (LpPrecisionPlugin *self,
                                       LpPrecisionContext *context,
                                       GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_validate_state (LpPrecisionPlugin *self,
                                             LpPrecisionState *state,
                                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_supports (LpPrecisionPlugin *self,
                                       LpDevice *device,
                                       GError **error);
LP_AVAILABLE_IN_ALL
LpPrecisionTraits *lp_precision_plugin_dup_traits (LpPrecisionPlugin *self,
                                                   GError **error);
LP_AVAILABLE_IN_ALL
LpDType *lp_precision_plugin_get_default_dtype (LpPrecisionPlugin *self,
                                                GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_begin_init (LpPrecisionPlugin *self,
                                         GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_end_init (LpPrecisionPlugin *self,
                                       GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_convert_module (LpPrecisionPlugin *self,
                                             LpModule *module,
                                             GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_convert_optimizer (LpPrecisionPlugin *self,
                                                LpOptimizer *optimizer,
                                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_precision_plugin_convert_input (LpPrecisionPlugin *self,
                                             LpTensor *tensor,
                                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_precision_plugin_convert_output (LpPrecisionPlugin *self,
                                              LpTensor *tensor,
                                              GError **error);
LP_AVAILABLE_IN_ALL
LpCastPolicy *lp_precision_plugin_get_cast_policy (LpPrecisionPlugin *self,
                                                   GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_precision_plugin_quantize_operand (LpPrecisionPlugin *self,
                                                LpOperand *operand,
                                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_precision_plugin_matmul (LpPrecisionPlugin *self,
                                      LpMatmul *matmul,
                                      GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_precision_plugin_scale_loss (LpPrecisionPlugin *self,
                                          LpTensor *loss,
                                          GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_backward (LpPrecisionPlugin *self,
                                       LpTensor *loss,
                                       GPtrArray *optimizers,
                                       GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_unscale_gradients (LpPrecisionPlugin *self,
                                                LpOptimizer *optimizer,
                                                GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_clip_gradients (LpPrecisionPlugin *self,
                                             LpOptimizer *optimizer,
                                             double value,
                                             LpClipAlgorithm algorithm,
                                             GError **error);
LP_AVAILABLE_IN_ALL
LpStepResult lp_precision_plugin_optimizer_step (LpPrecisionPlugin *self,
                                                 LpOptimizer *optimizer,
                                                 LpStepClosure *closure,
                                                 GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_end_step (LpPrecisionPlugin *self,
                                       GError **error);
LP_AVAILABLE_IN_ALL
LpState *lp_precision_plugin_save_state (LpPrecisionPlugin *self,
                                         GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_load_state (LpPrecisionPlugin *self,
                                         LpState *state,
                                         GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_attach (LpPrecisionPlugin *self,
                                     LpPrecisionContext *context,
                                     GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_detach (LpPrecisionPlugin *self,
                                     GError **error);
LP_AVAILABLE_IN_ALL
char *lp_precision_plugin_dup_state_id (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
char **lp_precision_plugin_dup_state_aliases (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
guint lp_precision_plugin_get_state_version (LpPrecisionPlugin *self);

/* What it reports. */
LP_AVAILABLE_IN_ALL
char *lp_precision_plugin_dup_precision (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
char *lp_precision_plugin_dup_amp_backend (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
char *lp_precision_plugin_dup_amp_level (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
LpPrecisionState *lp_precision_plugin_dup_state (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_update_state (LpPrecisionPlugin *self,
                                           const char *precision,
                                           const char *amp_backend,
                                           const char *amp_level,
                                           GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_is_attached (LpPrecisionPlugin *self);

/* Around a step: the compute scope and the default dtype of the plugin, on this thread. */
LP_AVAILABLE_IN_ALL
LpComputeScope *lp_precision_plugin_dup_scope (LpPrecisionPlugin *self,
                                               GError **error);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_push_scope (LpPrecisionPlugin *self,
                                         GError **error);
LP_AVAILABLE_IN_ALL
void lp_precision_plugin_pop_scope (LpPrecisionPlugin *self);
LP_AVAILABLE_IN_ALL
gboolean lp_precision_plugin_leave_scope (LpPrecisionPlugin  *self,
                                          GError            **error);

G_END_DECLS
