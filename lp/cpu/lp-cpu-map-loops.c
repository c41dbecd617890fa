/* Element-wise inner loops; built once per instruction set. */

#include <float.h>

#include "lp-cpu-isa-private.h"
#include "lp-cpu-math-private.h"

#define lp_abs_f32 fabsf
#define lp_abs_f64 fabs
#define lp_round_f32 rintf
#define lp_round_f64 rint
#define lp_floor_f32 floorf
#define lp_floor_f64 floor
#define lp_ceil_f32 ceilf
#define lp_ceil_f64 ceil
#define lp_trunc_f32 truncf
#define lp_trunc_f64 trunc
#define lp_sqrt_f32 sqrtf
#define lp_sqrt_f64 sqrt
#define lp_pow_f32 powf
#define lp_pow_f64 pow
#define lp_max_f32 FLT_MAX
#define lp_max_f64 DBL_MAX

#define T float
#define F(name) name##_f32
#define M(name) name##_f32
#include "lp-cpu-map-template.h"
#undef T
#undef F
#undef M

#define T double
#define F(name) name##_f64
#define M(name) name##_f64
#include "lp-cpu-map-template.h"
#undef T
#undef F
#undef M

/* Integers wrap around, as unsigned arithmetic does. */
#define WRAP(a, op, b) ((gint64) ((guint64) (a) op (guint64) (b)))

static inline gint64
divide_i64 (gint64 a, gint64 b)
{
  if (b == 0)
    return 0;
  return b == -1 ? WRAP (0, -, a) : a / b;
}

#define INT_MAP1(name, expr) \
  static void name##_i64 (const void *const *in, void *out, gsize n, double param) \
  { \
    const gint64 *x = in[0]; \
    gint64 *y = out; \
    const gint64 p G_GNUC_UNUSED = lp_truncate_i64 (param); \
    for (gsize i = 0; i < n; i++) \
      { \
        const gint64 a G_GNUC_UNUSED = x[i]; \
        y[i] = (expr); \
      } \
  }

#define INT_MAP2(name, expr) \
  static void name##_i64 (const void *const *in, void *out, gsize n, double param) \
  { \
    const gint64 *x = in[0], *x2 = in[1]; \
    gint64 *y = out; \
    for (gsize i = 0; i < n; i++) \
      { \
        const gint64 a = x[i], b = x2[i]; \
        y[i] = (expr); \
      } \
  }

INT_MAP1 (map_neg, WRAP (0, -, a))
INT_MAP1 (map_abs, a < 0 ? WRAP (0, -, a) : a)
INT_MAP1 (map_square, WRAP (a, *, a))
INT_MAP1 (map_relu, a < 0 ? 0 : a)
INT_MAP1 (map_scale, WRAP (a, *, p))
INT_MAP1 (map_offset, WRAP (a, +, p))
INT_MAP1 (map_clamp_max, MIN (a, p))
INT_MAP1 (map_clamp_min, MAX (a, p))
INT_MAP1 (map_sign, (a > 0) - (a < 0))
INT_MAP1 (map_whole, a)
INT_MAP1 (map_is_finite, 1)

INT_MAP2 (binary_add, WRAP (a, +, b))
INT_MAP2 (binary_sub, WRAP (a, -, b))
INT_MAP2 (binary_mul, WRAP (a, *, b))
INT_MAP2 (binary_div, divide_i64 (a, b))
INT_MAP2 (binary_maximum, MAX (a, b))
INT_MAP2 (binary_minimum, MIN (a, b))
INT_MAP2 (binary_equal, a == b)
INT_MAP2 (binary_not_equal, a != b)
INT_MAP2 (binary_less, a < b)
INT_MAP2 (binary_less_equal, a <= b)
INT_MAP2 (binary_greater, a > b)
INT_MAP2 (binary_greater_equal, a >= b)

static void
map_where_i64 (const void *const *in, void *out, gsize n, double param)
{
  const gint64 *condition = in[0], *a = in[1], *b = in[2];
  gint64 *y = out;

  for (gsize i = 0; i < n; i++)
    y[i] = condition[i] != 0 ? a[i] : b[i];
}

#define COPY(name, type) \
  static void name (const void *const *in, void *out, gsize n, double param) { memmove (out, in[0], n * sizeof (type)); }

COPY (copy_f32, float)
COPY (copy_f64, double)
COPY (copy_i64, gint64)

#define UNARY(prefix, t) { \
    [LP_UNARY_NEG] = prefix##_neg_##t, [LP_UNARY_ABS] = prefix##_abs_##t, [LP_UNARY_SQUARE] = prefix##_square_##t, \
    [LP_UNARY_RELU] = prefix##_relu_##t, [LP_UNARY_GELU_TANH] = prefix##_gelu_tanh_##t, \
    [LP_UNARY_GELU_ERF] = prefix##_gelu_erf_##t, [LP_UNARY_SILU] = prefix##_silu_##t, \
    [LP_UNARY_TANH] = prefix##_tanh_##t, [LP_UNARY_SIGMOID] = prefix##_sigmoid_##t, [LP_UNARY_EXP] = prefix##_exp_##t, \
    [LP_UNARY_LOG] = prefix##_log_##t, [LP_UNARY_SQRT] = prefix##_sqrt_##t, [LP_UNARY_RSQRT] = prefix##_rsqrt_##t, \
    [LP_UNARY_RECIPROCAL] = prefix##_reciprocal_##t, [LP_UNARY_POW] = prefix##_pow_##t, \
    [LP_UNARY_SCALE] = prefix##_scale_##t, [LP_UNARY_OFFSET] = prefix##_offset_##t, \
    [LP_UNARY_CLAMP_MAX] = prefix##_clamp_max_##t, [LP_UNARY_CLAMP_MIN] = prefix##_clamp_min_##t, \
    [LP_UNARY_SIGN] = prefix##_sign_##t, [LP_UNARY_ROUND] = prefix##_round_##t, [LP_UNARY_FLOOR] = prefix##_floor_##t, \
    [LP_UNARY_CEIL] = prefix##_ceil_##t, [LP_UNARY_TRUNC] = prefix##_trunc_##t, \
    [LP_UNARY_IS_FINITE] = prefix##_is_finite_##t }

#define UNARY_INT { \
    [LP_UNARY_NEG] = map_neg_i64, [LP_UNARY_ABS] = map_abs_i64, [LP_UNARY_SQUARE] = map_square_i64, \
    [LP_UNARY_RELU] = map_relu_i64, [LP_UNARY_SCALE] = map_scale_i64, [LP_UNARY_OFFSET] = map_offset_i64, \
    [LP_UNARY_CLAMP_MAX] = map_clamp_max_i64, [LP_UNARY_CLAMP_MIN] = map_clamp_min_i64, \
    [LP_UNARY_SIGN] = map_sign_i64, [LP_UNARY_ROUND] = map_whole_i64, [LP_UNARY_FLOOR] = map_whole_i64, \
    [LP_UNARY_CEIL] = map_whole_i64, [LP_UNARY_TRUNC] = map_whole_i64, \
    [LP_UNARY_IS_FINITE] = map_is_finite_i64 }

#define BINARY(t) { \
    [LP_BINARY_ADD] = binary_add_##t, [LP_BINARY_SUB] = binary_sub_##t, [LP_BINARY_MUL] = binary_mul_##t, \
    [LP_BINARY_DIV] = binary_div_##t, [LP_BINARY_MAXIMUM] = binary_maximum_##t, \
    [LP_BINARY_MINIMUM] = binary_minimum_##t, [LP_BINARY_EQUAL] = binary_equal_##t, \
    [LP_BINARY_NOT_EQUAL] = binary_not_equal_##t, [LP_BINARY_LESS] = binary_less_##t, \
    [LP_BINARY_LESS_EQUAL] = binary_less_equal_##t, [LP_BINARY_GREATER] = binary_greater_##t, \
    [LP_BINARY_GREATER_EQUAL] = binary_greater_equal_##t }

#define LOSS(prefix, t) { \
    [LP_LOSS_MSE] = prefix##_mse_##t, [LP_LOSS_L1] = prefix##_l1_##t, [LP_LOSS_HUBER] = prefix##_huber_##t, \
    [LP_LOSS_BCE] = prefix##_bce_##t }

const LpCpuMapLoops LP_CPU_ISA_SYMBOL (_lp_cpu_map_) = {
  .copy = { copy_f32, copy_f64, copy_i64 },
  .unary = { UNARY (map, f32), UNARY (map, f64), UNARY_INT },
  .unary_grad = { UNARY (grad, f32), UNARY (grad, f64) },
  .binary = { BINARY (f32), BINARY (f64), BINARY (i64) },
  .where = { map_where_f32, map_where_f64, map_where_i64 },
  .loss = { LOSS (loss, f32), LOSS (loss, f64) },
  .loss_grad = { LOSS (loss_grad, f32), LOSS (loss_grad, f64) },
};
