#pragma once

#include <math.h>
#include <string.h>

#include <omp.h>

#include <lp/core/lp-error.h>
#include <lp/cpu/lp-cpu-device-private.h>
#include <lp/cpu/lp-cpu-private.h>

/* Arrays over memory of their own, filled with doubles and read back as doubles through the scalar conversions. */

#define KERNELS (&_lp_cpu_kernels)

static const LpScalar float_scalars[] = { LP_SCALAR_F64, LP_SCALAR_F32, LP_SCALAR_F16, LP_SCALAR_BF16 };

static inline double
scalar_epsilon (LpScalar scalar)
{
  static const double epsilons[LP_N_SCALARS] = { [LP_SCALAR_F64] = 0x1p-52, [LP_SCALAR_F32] = 0x1p-23,
                                                 [LP_SCALAR_F16] = 0x1p-10, [LP_SCALAR_BF16] = 0x1p-7 };

  return epsilons[scalar];
}

static inline double
read_element (const LpArray *a, gint64 offset)
{
  const guint8 *at = a->data + offset * _lp_scalar_sizes[a->scalar];

  switch (a->scalar)
    {
    case LP_SCALAR_F64: return *(const double *) at;
    case LP_SCALAR_F32: return (double) *(const float *) at;
    case LP_SCALAR_F16: return (double) _lp_f16_to_f32 (*(const guint16 *) at);
    case LP_SCALAR_BF16: return (double) _lp_bf16_to_f32 (*(const guint16 *) at);
    case LP_SCALAR_I64: return (double) *(const gint64 *) at;
    case LP_SCALAR_I32: return *(const gint32 *) at;
    case LP_SCALAR_I16: return *(const gint16 *) at;
    case LP_SCALAR_I8: return *(const gint8 *) at;
    default: return *at;
    }
}

static inline void
write_element (const LpArray *a, gint64 offset, double value)
{
  guint8 *at = a->data + offset * _lp_scalar_sizes[a->scalar];

  switch (a->scalar)
    {
    case LP_SCALAR_F64: *(double *) at = value; break;
    case LP_SCALAR_F32: *(float *) at = (float) value; break;
    case LP_SCALAR_F16: *(guint16 *) at = _lp_f16_from_f64 (value); break;
    case LP_SCALAR_BF16: *(guint16 *) at = _lp_bf16_from_f64 (value); break;
    case LP_SCALAR_I64: *(gint64 *) at = (gint64) value; break;
    case LP_SCALAR_I32: *(gint32 *) at = (gint32) value; break;
    case LP_SCALAR_I16: *(gint16 *) at = (gint16) value; break;
    case LP_SCALAR_I8: *(gint8 *) at = (gint8) value; break;
    default: *at = (guint8) value;
    }
}

static inline gint64
count (const LpArray *a)
{
  gint64 n = 1;

  for (int i = 0; i < a->n_dims; i++)
    n *= a->dims[i];
  return n;
}

static inline gint64
offset_of (const LpArray *a, gint64 index)
{
  gint64 offset = 0;

  for (int i = a->n_dims - 1; i >= 0; i--)
    {
      offset += index % a->dims[i] * a->strides[i];
      index /= a->dims[i];
    }
  return offset;
}

static inline double
get (const LpArray *a, gint64 index)
{
  return read_element (a, offset_of (a, index));
}

static inline void
set (const LpArray *a, gint64 index, double value)
{
  write_element (a, offset_of (a, index), value);
}

/* @order lists the axes from the outermost in memory; NULL is row-major. @gap widens the innermost stride. */
static inline LpArray
array_new (LpScalar scalar, int n_dims, const gint64 *dims, const int *order, gint64 gap)
{
  LpArray a = { .scalar = scalar, .n_dims = n_dims };
  gint64 stride = gap;

  for (int i = n_dims - 1; i >= 0; i--)
    {
      const int axis = order != NULL ? order[i] : i;

      a.dims[axis] = dims[axis];
      a.strides[axis] = stride;
      stride *= dims[axis];
    }
  a.data = g_aligned_alloc0 ((gsize) MAX (stride, 1), _lp_scalar_sizes[scalar], 64);
  return a;
}

static inline void
array_clear (LpArray *a)
{
  g_aligned_free (a->data);
  a->data = NULL;
}

static inline void
fill_random (const LpArray *a, GRand *rand, double low, double high)
{
  for (gint64 i = 0; i < count (a); i++)
    set (a, i, g_rand_double_range (rand, low, high));
}

static inline gsize
span_bytes (const LpArray *a)
{
  gint64 last = 0;

  for (int i = 0; i < a->n_dims; i++)
    last += (a->dims[i] - 1) * a->strides[i];
  return (gsize) (last + 1) * _lp_scalar_sizes[a->scalar];
}

#define assert_close(actual, expected, tolerance, ...) \
  G_STMT_START { \
    const double _a = (actual), _e = (expected), _t = (tolerance); \
    if (!(fabs (_a - _e) <= _t) && !(isnan (_a) && isnan (_e)) && !(isinf (_e) && _a == _e)) \
      { \
        g_autofree char *_where = g_strdup_printf (__VA_ARGS__); \
        g_error ("%s: %.17g is not %.17g within %g", _where, _a, _e, _t); \
      } \
  } G_STMT_END
