#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-device.h>

G_BEGIN_DECLS

#define LP_TYPE_TENSOR (lp_tensor_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpTensor, lp_tensor, LP, TENSOR, GObject)

/* Creation: a NULL dtype is the default dtype, a NULL device the default device. */
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_empty             (const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_zeros             (const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_ones              (const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_full              (const gint64  *dims,
                                         gsize          n_dims,
                                         double         value,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_scalar            (double         value,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_arange            (double         start,
                                         double         end,
                                         double         step,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_uniform           (const gint64  *dims,
                                         gsize          n_dims,
                                         double         low,
                                         double         high,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_normal            (const gint64  *dims,
                                         gsize          n_dims,
                                         double         mean,
                                         double         std,
                                         LpDType       *dtype,
                                         LpDevice      *device,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_new_from_doubles  (const double  *values,
                                         gsize          n_values,
                                         const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_new_from_int64s   (const gint64  *values,
                                         gsize          n_values,
                                         const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_new_from_bytes    (GBytes        *bytes,
                                         const gint64  *dims,
                                         gsize          n_dims,
                                         LpDType       *dtype,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_new_from_dlpack   (gpointer       managed,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
gpointer    lp_tensor_to_dlpack         (LpTensor      *self,
                                         GError       **error);

/* What it is. */
LP_AVAILABLE_IN_ALL
LpShape    *lp_tensor_dup_shape         (LpTensor      *self);
LP_AVAILABLE_IN_ALL
guint       lp_tensor_get_n_dims        (LpTensor      *self);
LP_AVAILABLE_IN_ALL
gint64      lp_tensor_get_dim           (LpTensor      *self,
                                         gint           axis);
LP_AVAILABLE_IN_ALL
gint64      lp_tensor_get_stride        (LpTensor      *self,
                                         gint           axis);
LP_AVAILABLE_IN_ALL
gint64      lp_tensor_get_n_elements    (LpTensor      *self);
LP_AVAILABLE_IN_ALL
gint64      lp_tensor_get_n_bytes       (LpTensor      *self);
LP_AVAILABLE_IN_ALL
LpDType    *lp_tensor_get_dtype         (LpTensor      *self);
LP_AVAILABLE_IN_ALL
LpDevice   *lp_tensor_get_device        (LpTensor      *self);
LP_AVAILABLE_IN_ALL
guint64     lp_tensor_get_address       (LpTensor      *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_get_read_only     (LpTensor      *self);
LP_AVAILABLE_IN_ALL
void        lp_tensor_mark_changed      (LpTensor      *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_is_contiguous     (LpTensor      *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_is_leaf           (LpTensor      *self);
LP_AVAILABLE_IN_ALL
guint       lp_tensor_get_version       (LpTensor      *self);
LP_AVAILABLE_IN_ALL
char       *lp_tensor_to_string         (LpTensor      *self);

/* Its values, on the host. */
LP_AVAILABLE_IN_ALL
GBytes     *lp_tensor_dup_bytes         (LpTensor      *self,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
double     *lp_tensor_dup_doubles       (LpTensor      *self,
                                         gsize         *n_values,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
gint64     *lp_tensor_dup_int64s        (LpTensor      *self,
                                         gsize         *n_values,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
double      lp_tensor_get_item          (LpTensor      *self,
                                         GError       **error);

/* In place: not recorded by autograd, count as a change of the tensor. */
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_fill              (LpTensor      *self,
                                         double         value,
                                         GError       **error);
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_assign            (LpTensor      *self,
                                         LpTensor      *source,
                                         GError       **error);

/* Gradients. */
LP_AVAILABLE_IN_ALL
gboolean    lp_tensor_get_requires_grad (LpTensor      *self);
LP_AVAILABLE_IN_ALL
void        lp_tensor_set_requires_grad (LpTensor      *self,
                                         gboolean       requires_grad);
LP_AVAILABLE_IN_ALL
LpTensor   *lp_tensor_dup_grad          (LpTensor      *self);
LP_AVAILABLE_IN_ALL
void        lp_tensor_set_grad          (LpTensor      *self,
                                         LpTensor      *grad);

G_END_DECLS
