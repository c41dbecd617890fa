#pragma once

#include <glib.h>
#include <math.h>
#include <string.h>

/* Elementary functions for float32 as short polynomials that vectorise; coefficients after Cephes, and for erf
 * the rational minimax form used by Eigen. All are within a few ulp and keep NaN. */

static inline float
lp_float_from_bits (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static inline guint32
lp_float_to_bits (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

/* Floating values outside an integer's range take its nearest end, NaN gives 0. */
static inline gint64
lp_truncate_to (double value, double low, double high)
{
  if (!(value > low))
    return value == value ? (gint64) low : 0;
  return value < high ? (gint64) value : (high >= 9.2e18 ? G_MAXINT64 : (gint64) high);
}

static inline gint64
lp_truncate_i64 (double value)
{
  return lp_truncate_to (value, -9223372036854775808.0, 9223372036854775807.0);
}

/* 1.5 * 2^23: adding it leaves the nearest integer, in the last bits. */
#define LP_ROUND_MAGIC 12582912.0f

static inline float
lp_exp_f32 (float x)
{
  float shifted, n, r, p;
  gint32 e, half;

  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  shifted = x * 1.44269504088896341f + LP_ROUND_MAGIC;
  n = shifted - LP_ROUND_MAGIC;
  r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  /* from the bits rather than by a cast, which NaN doesn't have; in two steps, so that the ends of the range are reached */
  e = (gint32) (lp_float_to_bits (shifted) - lp_float_to_bits (LP_ROUND_MAGIC));
  half = e >> 1;
  return p * lp_float_from_bits ((guint32) (half + 127) << 23) * lp_float_from_bits ((guint32) (e - half + 127) << 23);
}

static inline float
lp_log_f32 (float x)
{
  const gboolean tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const guint32 bits = lp_float_to_bits (scaled);
  const gint32 k = (gint32) (bits - 0x3f3504f3u) >> 23; /* mantissa in [sqrt (1/2), sqrt (2)) */
  const float m = lp_float_from_bits (bits - ((guint32) k << 23));
  const float e = (float) k - (tiny ? 23.0f : 0.0f);
  const float f = m - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  float y;

  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  y = p * f * z + e * -2.12194440e-4f - 0.5f * z;
  y = f + y + e * 0.693359375f;
  y = x > 3.40282347e38f ? x : y;
  y = x == 0.0f ? -HUGE_VALF : y;
  return x >= 0.0f ? y : NAN;
}

static inline float
lp_sigmoid_f32 (float x)
{
  return 1.0f / (1.0f + lp_exp_f32 (-x));
}

static inline float
lp_tanh_f32 (float x)
{
  const float a = fabsf (x);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  float big;

  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  big = 1.0f - 2.0f / (lp_exp_f32 (2.0f * a) + 1.0f);
  big = copysignf (big, x);
  return a >= 0.625f ? big : p * z * x + x;
}

static inline float
lp_erf_f32 (float v)
{
  float x = v > 4.0f ? 4.0f : v;
  float z, p, q;

  x = x < -4.0f ? -4.0f : x;
  z = x * x;
  p = -2.72614225801306e-10f;
  p = p * z + 2.77068142495902e-08f;
  p = p * z - 2.10102402082508e-06f;
  p = p * z - 5.69250639462346e-05f;
  p = p * z - 7.34990630326855e-04f;
  p = p * z - 2.95459980854025e-03f;
  p = p * z - 1.60960333262415e-02f;
  q = -1.45660718464996e-05f;
  q = q * z - 2.13374055278905e-04f;
  q = q * z - 1.68282697438203e-03f;
  q = q * z - 7.37332916720468e-03f;
  q = q * z - 1.42647390514189e-02f;
  return x * p / q;
}

static inline double
lp_sigmoid_f64 (double x)
{
  return 1.0 / (1.0 + exp (-x));
}

#define lp_exp_f64 exp
#define lp_log_f64 log
#define lp_tanh_f64 tanh
#define lp_erf_f64 erf
