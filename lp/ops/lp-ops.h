#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

/**
 * LpReduction:
 * @LP_REDUCTION_NONE: one loss per element or row
 * @LP_REDUCTION_MEAN: their mean
 * @LP_REDUCTION_SUM: their sum
 *
 * How a loss is reduced.
 */
typedef enum { LP_REDUCTION_NONE, LP_REDUCTION_MEAN, LP_REDUCTION_SUM } LpReduction;

#define LP_TYPE_REDUCTION (lp_reduction_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_reduction_get_type (void) G_GNUC_CONST;

/* Every operation: NULL input with the error set returns NULL and leaves the error alone. Results are (transfer full). */

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_neg (LpTensor *self,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_abs (LpTensor *self,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_sign (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_round (LpTensor *self,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_floor (LpTensor *self,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_ceil (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_trunc (LpTensor *self,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_square (LpTensor *self,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_relu (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_silu (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_tanh (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_sigmoid (LpTensor *self,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_exp (LpTensor *self,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_log (LpTensor *self,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_sqrt (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_rsqrt (LpTensor *self,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_reciprocal (LpTensor *self,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_is_finite (LpTensor *self,
                               GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_contiguous (LpTensor *self,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_copy (LpTensor *self,
                          GError **error);

/* approximate: the tanh form */
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_gelu (LpTensor *self,
                          gboolean approximate,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_pow (LpTensor *self,
                         double exponent,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_scale (LpTensor *self,
                           double factor,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_offset (LpTensor *self,
                            double value,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_clamp (LpTensor *self,
                           double low,
                           double high,
                           GError **error);

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_add (LpTensor *self,
                         LpTensor *other,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_sub (LpTensor *self,
                         LpTensor *other,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_mul (LpTensor *self,
                         LpTensor *other,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_div (LpTensor *self,
                         LpTensor *other,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_maximum (LpTensor *self,
                             LpTensor *other,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_minimum (LpTensor *self,
                             LpTensor *other,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_equal (LpTensor *self,
                           LpTensor *other,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_not_equal (LpTensor *self,
                               LpTensor *other,
                               GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_less (LpTensor *self,
                          LpTensor *other,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_less_equal (LpTensor *self,
                                LpTensor *other,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_greater (LpTensor *self,
                             LpTensor *other,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_greater_equal (LpTensor *self,
                                   LpTensor *other,
                                   GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_matmul (LpTensor *self,
                            LpTensor *other,
                            GError **error);

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_where (LpTensor *condition,
                           LpTensor *a,
                           LpTensor *b,
                           GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_masked_fill (LpTensor *self,
                                 LpTensor *mask,
                                 double value,
                                 GError **error);

/* x [..., in], weight [out, in], bias [out] or NULL */
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_linear (LpTensor *self,
                            LpTensor *weight,
                            LpTensor *bias,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_conv2d (LpTensor *self,
                            LpTensor *weight,
                            LpTensor *bias,
                            int stride,
                            int padding,
                            int dilation,
                            int groups,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_max_pool2d (LpTensor *self,
                                int kernel,
                                int stride,
                                int padding,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_avg_pool2d (LpTensor *self,
                                int kernel,
                                int stride,
                                int padding,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_global_avg_pool2d (LpTensor *self,
                                       GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_batch_norm (LpTensor *self,
                                LpTensor *weight,
                                LpTensor *bias,
                                LpTensor *running_mean,
                                LpTensor *running_var,
                                gboolean training,
                                double momentum,
                                double eps,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_dropout (LpTensor *self,
                             double p,
                             gboolean training,
                             GError **error);

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_softmax (LpTensor *self,
                             int axis,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_log_softmax (LpTensor *self,
                                 int axis,
                                 GError **error);

/* logits [N, C], targets [N] integers */
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_cross_entropy (LpTensor *self,
                                   LpTensor *targets,
                                   GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_cross_entropy_full (LpTensor *self,
                                        LpTensor *targets,
                                        double label_smoothing,
                                        gint64 ignore_index,
                                        LpReduction reduction,
                                        GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_mse_loss (LpTensor *self,
                              LpTensor *target,
                              LpReduction reduction,
                              GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_l1_loss (LpTensor *self,
                             LpTensor *target,
                             LpReduction reduction,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_huber_loss (LpTensor *self,
                                LpTensor *target,
                                double delta,
                                LpReduction reduction,
                                GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_bce_with_logits (LpTensor *self,
                                     LpTensor *target,
                                     LpReduction reduction,
                                     GError **error);

/* Reductions over axes; none given: over all. */
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_sum (LpTensor *self,
                         const int *axes,
                         gsize n_axes,
                         gboolean keep_dims,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_mean (LpTensor *self,
                          const int *axes,
                          gsize n_axes,
                          gboolean keep_dims,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_max (LpTensor *self,
                         const int *axes,
                         gsize n_axes,
                         gboolean keep_dims,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_min (LpTensor *self,
                         const int *axes,
                         gsize n_axes,
                         gboolean keep_dims,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_argmax (LpTensor *self,
                            int axis,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_norm (LpTensor *self,
                          GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_cumsum (LpTensor *self,
                            int axis,
                            GError **error);

/* Views: they share memory with self. */
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_reshape (LpTensor *self,
                             const gint64 *dims,
                             gsize n_dims,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_flatten (LpTensor *self,
                             int start_axis,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_permute (LpTensor *self,
                             const int *axes,
                             gsize n_axes,
                             GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_transpose (LpTensor *self,
                               int axis_a,
                               int axis_b,
                               GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_expand (LpTensor *self,
                            const gint64 *dims,
                            gsize n_dims,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_narrow (LpTensor *self,
                            int axis,
                            gint64 start,
                            gint64 length,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_select (LpTensor *self,
                            int axis,
                            gint64 index,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_unsqueeze (LpTensor *self,
                               int axis,
                               GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_squeeze (LpTensor *self,
                             int axis,
                             GError **error);

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_cat (LpTensor **tensors,
                         gsize n_tensors,
                         int axis,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_stack (LpTensor **tensors,
                           gsize n_tensors,
                           int axis,
                           GError **error);
/* Returns: (element-type LpTensor): parts of at most size along axis */
LP_AVAILABLE_IN_ALL
GPtrArray *lp_tensor_split (LpTensor *self,
                            gint64 size,
                            int axis,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_pad (LpTensor *self,
                         int axis,
                         gint64 before,
                         gint64 after,
                         double value,
                         GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_index_select (LpTensor *self,
                                  int axis,
                                  LpTensor *index,
                                  GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_gather (LpTensor *self,
                            int axis,
                            LpTensor *index,
                            GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_scatter_add (LpTensor *self,
                                 int axis,
                                 LpTensor *index,
                                 LpTensor *source,
                                 GError **error);

LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_quantize (LpTensor  *self,
                              LpDType   *dtype,
                              double     scale,
                              GError   **error);
LP_AVAILABLE_IN_ALL
double    lp_tensor_get_factor (LpTensor *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_to_dtype (LpTensor *self,
                              LpDType *dtype,
                              GError **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_tensor_to_device (LpTensor *self,
                               LpDevice *device,
                               GError **error);

G_END_DECLS
