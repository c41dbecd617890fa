#pragma once

#include <lp/core/lp-dtype.h>

G_BEGIN_DECLS

/* The storage formats that kernels read directly. Everything else is LP_SCALAR_ENCODED and is
 * decoded to float32 through its class. */
typedef enum {
  LP_SCALAR_ENCODED,
  LP_SCALAR_F64,
  LP_SCALAR_F32,
  LP_SCALAR_F16,
  LP_SCALAR_BF16,
  LP_SCALAR_I64,
  LP_SCALAR_I32,
  LP_SCALAR_I16,
  LP_SCALAR_I8,
  LP_SCALAR_U8,
  LP_SCALAR_BOOL,
  LP_N_SCALARS
} LpScalar;

extern const guint8 _lp_scalar_sizes[LP_N_SCALARS];

LpScalar _lp_dtype_get_scalar  (LpDType  *self);
LpDType *_lp_dtype_from_scalar (LpScalar  scalar);

/* For the constructors of built-in dtypes; @name is for those that were given none. They are thread-safe. */
void     _lp_dtype_set_layout  (LpDType    *self,
                                const char *name,
                                guint       bits,
                                guint       block_size,
                                gboolean    flat);

/* The dtype in which a gradient of a tensor of this dtype is kept: itself for f64, f32, f16 and
 * bf16, float32 for encoded ones. */
LpDType *_lp_dtype_get_gradient_dtype (LpDType *self);
/* The dtype in which optimizers keep the moments of what they update in this one: itself for f64 and bf16, bf16 for f16, which
 * has not the range for squares of gradients, float32 for the rest. */
LpDType *_lp_dtype_get_moment_dtype (LpDType *self);

/* Scalar conversions, round to nearest even; f64 to 16 bits rounds once. */
guint16 _lp_f16_from_f32  (float   value);
float   _lp_f16_to_f32    (guint16 bits);
guint16 _lp_f16_from_f64  (double  value);
guint16 _lp_bf16_from_f32 (float   value);
float   _lp_bf16_to_f32   (guint16 bits);
guint16 _lp_bf16_from_f64 (double  value);
/* Keeps in the last bit whether anything was lost, so that a second rounding to fewer bits is right. */
float   _lp_round_to_odd  (double  value);

G_END_DECLS
