#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>

#include <lp/core/lp-shape.h>

G_BEGIN_DECLS

#define LP_TYPE_DTYPE (lp_dtype_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpDType, lp_dtype, LP, DTYPE, GObject)

/**
 * LpDTypeClass:
 * @encode: encodes a whole tensor: @values holds float32 in row-major order
 * @decode: decodes blocks @first_block to @first_block + @n_blocks of @data to float32
 * @get_encoded_size: the bytes that a tensor of @shape takes
 *
 * A block is [property@DType:block-size] consecutive elements along the encoded axis; axis -1
 * is the last one. Blocks are counted in row-major order of the blocks. The shape that decode gets may be that of the
 * encoded tensor with its leading axes joined.
 */
struct _LpDTypeClass
{
  GObjectClass parent_class;

  GBytes *(* encode)           (LpDType  *self,
                                GBytes   *values,
                                LpShape  *shape,
                                gint      axis,
                                GError  **error);
  GBytes *(* decode)           (LpDType  *self,
                                GBytes   *data,
                                LpShape  *shape,
                                gint      axis,
                                gint64    first_block,
                                gint64    n_blocks,
                                GError  **error);
  gint64  (* get_encoded_size) (LpDType  *self,
                                LpShape  *shape);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
const char *lp_dtype_get_name         (LpDType     *self);
LP_AVAILABLE_IN_ALL
guint       lp_dtype_get_bits         (LpDType     *self);
LP_AVAILABLE_IN_ALL
guint       lp_dtype_get_block_size   (LpDType     *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_dtype_get_thread_safe  (LpDType     *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_dtype_get_flat         (LpDType     *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_dtype_is_floating      (LpDType     *self);
LP_AVAILABLE_IN_ALL
gboolean    lp_dtype_is_native        (LpDType     *self);
LP_AVAILABLE_IN_ALL
GBytes     *lp_dtype_encode           (LpDType     *self,
                                       GBytes      *values,
                                       LpShape     *shape,
                                       gint         axis,
                                       GError     **error);
LP_AVAILABLE_IN_ALL
GBytes     *lp_dtype_decode           (LpDType     *self,
                                       GBytes      *data,
                                       LpShape     *shape,
                                       gint         axis,
                                       gint64       first_block,
                                       gint64       n_blocks,
                                       GError     **error);
LP_AVAILABLE_IN_ALL
gint64      lp_dtype_get_encoded_size (LpDType     *self,
                                       LpShape     *shape);

LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_f64              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_f32              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_f16              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_bf16             (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_i64              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_i32              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_i16              (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_i8               (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_u8               (void);
LP_AVAILABLE_IN_ALL
LpDType    *lp_dtype_bool             (void);

LP_AVAILABLE_IN_ALL
LpDType    *lp_default_dtype_get      (void);
LP_AVAILABLE_IN_ALL
void        lp_default_dtype_push     (LpDType     *dtype);
LP_AVAILABLE_IN_ALL
void        lp_default_dtype_pop      (void);
LP_AVAILABLE_IN_ALL
gboolean    lp_default_dtype_leave    (GError     **error);

G_END_DECLS
