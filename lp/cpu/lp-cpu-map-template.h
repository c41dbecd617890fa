/* Included once per floating compute type, with T (the C type), F (name) (adds the suffix) and M (name) (the
 * elementary functions). No include guard. */

#define MAP1(name, expr) \
  static void F (name) (const void *const *in, void *out, gsize n, double param) \
  { \
    const T *x = in[0]; \
    T *y = out; \
    const T p G_GNUC_UNUSED = (T) param; \
    _Pragma ("omp simd") \
    for (gsize i = 0; i < n; i++) \
      { \
        const T a G_GNUC_UNUSED = x[i]; \
        y[i] = (T) (expr); \
      } \
  }

#define MAP2(name, expr) \
  static void F (name) (const void *const *in, void *out, gsize n, double param) \
  { \
    const T *x = in[0], *x2 = in[1]; \
    T *y = out; \
    const T p G_GNUC_UNUSED = (T) param; \
    _Pragma ("omp simd") \
    for (gsize i = 0; i < n; i++) \
      { \
        const T a G_GNUC_UNUSED = x[i], b G_GNUC_UNUSED = x2[i]; \
        y[i] = (T) (expr); \
      } \
  }

#define MAP3(name, expr) \
  static void F (name) (const void *const *in, void *out, gsize n, double param) \
  { \
    const T *x = in[0], *x2 = in[1], *x3 = in[2]; \
    T *y = out; \
    const T p G_GNUC_UNUSED = (T) param; \
    _Pragma ("omp simd") \
    for (gsize i = 0; i < n; i++) \
      { \
        const T a = x[i], b = x2[i], c = x3[i]; \
        y[i] = (T) (expr); \
      } \
  }

static inline T
F (gelu_tanh) (T x)
{
  const T u = (T) 0.79788456080286535588 * (x + (T) 0.044715 * x * x * x);

  return (T) 0.5 * x * (1 + M (lp_tanh) (u));
}

static inline T
F (gelu_tanh_slope) (T x)
{
  const T k = (T) 0.79788456080286535588;
  const T t = M (lp_tanh) (k * (x + (T) 0.044715 * x * x * x));

  return (T) 0.5 * (1 + t) + (T) 0.5 * x * (1 - t * t) * k * (1 + (T) 0.134145 * x * x);
}

static inline T
F (normal_cdf) (T x)
{
  return (T) 0.5 * (1 + M (lp_erf) (x * (T) 0.70710678118654752440));
}

static inline T
F (gelu_erf_slope) (T x)
{
  return F (normal_cdf) (x) + x * (T) 0.39894228040143267794 * M (lp_exp) ((T) -0.5 * x * x);
}

static inline T
F (silu_slope) (T x)
{
  const T s = M (lp_sigmoid) (x);

  return s * (1 + x * (1 - s));
}

static inline T
F (sign) (T x)
{
  return x > 0 ? 1 : (x < 0 ? -1 : x);
}

static inline T
F (huber) (T d, T delta)
{
  const T m = M (lp_abs) (d);

  return m <= delta ? (T) 0.5 * d * d : delta * (m - (T) 0.5 * delta);
}

static inline T
F (huber_slope) (T d, T delta)
{
  return d > delta ? delta : (d < -delta ? -delta : d);
}

/* max (x, 0) - x t + log (1 + exp (-|x|)): no overflow for any logit */
static inline T
F (bce) (T x, T t)
{
  return (x > 0 ? x : 0) - x * t + M (lp_log) (1 + M (lp_exp) (-M (lp_abs) (x)));
}

MAP1 (map_neg, -a)
MAP1 (map_abs, M (lp_abs) (a))
MAP1 (map_square, a * a)
MAP1 (map_relu, a < 0 ? 0 : a)
MAP1 (map_gelu_tanh, F (gelu_tanh) (a))
MAP1 (map_gelu_erf, a * F (normal_cdf) (a))
MAP1 (map_silu, a * M (lp_sigmoid) (a))
MAP1 (map_tanh, M (lp_tanh) (a))
MAP1 (map_sigmoid, M (lp_sigmoid) (a))
MAP1 (map_exp, M (lp_exp) (a))
MAP1 (map_log, M (lp_log) (a))
MAP1 (map_sqrt, M (lp_sqrt) (a))
MAP1 (map_rsqrt, 1 / M (lp_sqrt) (a))
MAP1 (map_reciprocal, 1 / a)
MAP1 (map_pow, M (lp_pow) (a, p))
MAP1 (map_scale, a * p)
MAP1 (map_offset, a + p)
MAP1 (map_clamp_max, a > p ? p : a)
MAP1 (map_clamp_min, a < p ? p : a)
MAP1 (map_sign, F (sign) (a))
MAP1 (map_round, M (lp_round) (a))
MAP1 (map_floor, M (lp_floor) (a))
MAP1 (map_ceil, M (lp_ceil) (a))
MAP1 (map_trunc, M (lp_trunc) (a))
MAP1 (map_is_finite, M (lp_abs) (a) <= M (lp_max) ? 1 : 0)

/* a is x or the output, b is dy */
MAP2 (grad_neg, -b)
MAP2 (grad_abs, b * F (sign) (a))
MAP2 (grad_square, 2 * a * b)
MAP2 (grad_relu, a > 0 ? b : (a != a ? a : 0))
MAP2 (grad_gelu_tanh, b * F (gelu_tanh_slope) (a))
MAP2 (grad_gelu_erf, b * F (gelu_erf_slope) (a))
MAP2 (grad_silu, b * F (silu_slope) (a))
MAP2 (grad_tanh, b * (1 - a * a))
MAP2 (grad_sigmoid, b * a * (1 - a))
MAP2 (grad_exp, b * a)
MAP2 (grad_log, b / a)
MAP2 (grad_sqrt, b * (T) 0.5 / a)
MAP2 (grad_rsqrt, b * (T) -0.5 * a * a * a)
MAP2 (grad_reciprocal, -b * a * a)
MAP2 (grad_pow, p == 0 ? 0 : b * p * M (lp_pow) (a, p - 1))
MAP2 (grad_scale, b * p)
MAP2 (grad_offset, b)
MAP2 (grad_clamp_max, a <= p ? b : 0)
MAP2 (grad_clamp_min, a >= p ? b : 0)
MAP2 (grad_sign, 0)
MAP2 (grad_round, 0)
MAP2 (grad_floor, 0)
MAP2 (grad_ceil, 0)
MAP2 (grad_trunc, 0)
MAP2 (grad_is_finite, 0)

MAP2 (binary_add, a + b)
MAP2 (binary_sub, a - b)
MAP2 (binary_mul, a * b)
MAP2 (binary_div, a / b)
MAP2 (binary_maximum, (a > b || a != a) ? a : b)
MAP2 (binary_minimum, (a < b || a != a) ? a : b)
MAP2 (binary_equal, a == b ? 1 : 0)
MAP2 (binary_not_equal, a != b ? 1 : 0)
MAP2 (binary_less, a < b ? 1 : 0)
MAP2 (binary_less_equal, a <= b ? 1 : 0)
MAP2 (binary_greater, a > b ? 1 : 0)
MAP2 (binary_greater_equal, a >= b ? 1 : 0)

MAP3 (map_where, a != 0 ? b : c)

MAP2 (loss_mse, (a - b) * (a - b))
MAP2 (loss_l1, M (lp_abs) (a - b))
MAP2 (loss_huber, F (huber) (a - b, p))
MAP2 (loss_bce, F (bce) (a, b))

/* c is dl */
MAP3 (loss_grad_mse, 2 * (a - b) * c)
MAP3 (loss_grad_l1, F (sign) (a - b) * c)
MAP3 (loss_grad_huber, F (huber_slope) (a - b, p) * c)
MAP3 (loss_grad_bce, (M (lp_sigmoid) (a) - b) * c)

#undef MAP1
#undef MAP2
#undef MAP3
