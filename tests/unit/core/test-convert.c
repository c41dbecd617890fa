#include <math.h>
#include <string.h>

#include <lp/lp.h>
#include <lp/core/lp-dtype-private.h>

#include "lowbit-fixture.h"

/* Conversions against an independent reference: values are scaled so that the last kept bit is 1 and rounded by
 * nearbyint, which rounds ties to even. */

typedef struct
{
  int mantissa, bias, max_exponent;
} Format;

static const Format f16 = { 10, 15, 15 };
static const Format bf16 = { 7, 127, 127 };

static double
value_of (guint16 bits, const Format *format)
{
  int mantissa = bits & ((1 << format->mantissa) - 1);
  int exponent = (bits & 0x7FFF) >> format->mantissa;
  double sign = bits & 0x8000 ? -1 : 1;

  if (exponent == format->max_exponent + format->bias + 1)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp (mantissa, 1 - format->bias - format->mantissa);

  return sign * ldexp ((1 << format->mantissa) + mantissa, exponent - format->bias - format->mantissa);
}

static guint16
reference (double value, const Format *format)
{
  guint16 sign = signbit (value) ? 0x8000 : 0;
  guint16 infinity = (format->max_exponent + format->bias + 1) << format->mantissa;
  double magnitude = fabs (value), rounded;
  int exponent;

  if (isinf (value))
    return sign | infinity;
  if (magnitude == 0)
    return sign;
  exponent = MAX (ilogb (magnitude), 1 - format->bias);
  rounded = nearbyint (ldexp (magnitude, format->mantissa - exponent));
  if (rounded >= ldexp (2, format->mantissa))
    {
      rounded /= 2;
      exponent++;
    }
  if (exponent > format->max_exponent)
    return sign | infinity;
  if (rounded < (1 << format->mantissa))
    return sign | (guint16) rounded;

  return sign | (guint16) ((exponent + format->bias) << format->mantissa) | ((guint16) rounded & ((1 << format->mantissa) - 1));
}

static void
check_value (double value)
{
  g_assert_cmphex (_lp_f16_from_f64 (value), ==, reference (value, &f16));
  g_assert_cmphex (_lp_bf16_from_f64 (value), ==, reference (value, &bf16));
  g_assert_cmphex (_lp_f16_from_f32 ((float) value), ==, reference ((float) value, &f16));
  g_assert_cmphex (_lp_bf16_from_f32 ((float) value), ==, reference ((float) value, &bf16));
}

static void
test_all_patterns (void)
{
  for (guint32 bits = 0; bits < 0x10000; bits++)
    {
      double a = value_of (bits, &f16), b = value_of (bits, &bf16);

      g_assert_true (isnan (a) ? isnan (_lp_f16_to_f32 (bits)) : _lp_f16_to_f32 (bits) == a);
      g_assert_true (isnan (b) ? isnan (_lp_bf16_to_f32 (bits)) : _lp_bf16_to_f32 (bits) == b);
      if (!isnan (a))
        {
          g_assert_cmphex (_lp_f16_from_f32 ((float) a), ==, bits);
          g_assert_cmphex (_lp_f16_from_f64 (a), ==, bits);
        }
      if (!isnan (b))
        {
          g_assert_cmphex (_lp_bf16_from_f32 ((float) b), ==, bits);
          g_assert_cmphex (_lp_bf16_from_f64 (b), ==, bits);
        }
    }
}

static LpTensor *
new_bits (const guint32 *bits,
          gint64         n)
{
  g_autoptr (GBytes) bytes = g_bytes_new (bits, (gsize) n * sizeof *bits);

  return lp_tensor_new_from_bytes (bytes, &n, 1, lp_dtype_f32 (), NULL);
}

static void
assert_digest (GBytes     *golden,
               const char *name,
               const char *what,
               GBytes     *data)
{
  g_autofree char *section = g_strconcat (name, what, NULL);
  g_autoptr (GBytes) expected = golden_lookup (golden, section);
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);
  guint8 digest[32];
  gsize n = sizeof digest;

  g_checksum_update (sum, g_bytes_get_data (data, NULL), (gssize) g_bytes_get_size (data));
  g_checksum_get_digest (sum, digest, &n);
  g_assert_cmpmem (digest, n, g_bytes_get_data (expected, NULL), g_bytes_get_size (expected));
}

/* As ml_dtypes converts: all patterns to float32; and to 16 bits any bits, all patterns, and what lies half a step above them, one less
 * and one more. NaN is left out. */
static void
check_golden (GBytes  *golden,
              LpDType *dtype,
              guint32  half)
{
  enum { N_ANY = 1 << 18, N_PATTERNS = 1 << 16 };
  const guint32 distances[] = { 0, half - 1, half, half + 1 };
  const gint64 n = N_PATTERNS;
  const char *name = lp_dtype_get_name (dtype);
  g_autofree guint16 *patterns = g_new (guint16, N_PATTERNS);
  g_autofree guint32 *bits = g_new (guint32, N_ANY + G_N_ELEMENTS (distances) * N_PATTERNS);
  g_autoptr (GBytes) stored = NULL, values = NULL, codes = NULL;
  g_autoptr (LpTensor) small = NULL, wide = NULL, inputs = NULL, encoded = NULL;
  guint32 *decoded, state = 12345;
  gint64 at = 0;

  for (guint32 i = 0; i < N_PATTERNS; i++)
    patterns[i] = (guint16) i;
  stored = g_bytes_new (patterns, N_PATTERNS * sizeof *patterns);
  small = lp_tensor_new_from_bytes (stored, &n, 1, dtype, NULL);
  wide = lp_tensor_to_dtype (small, lp_dtype_f32 (), NULL);
  decoded = (guint32 *) (gsize) lp_tensor_get_address (wide);
  for (; at < N_ANY; at++)
    bits[at] = state = state * 1664525u + 1013904223u;
  for (gsize d = 0; d < G_N_ELEMENTS (distances); d++)
    for (guint32 i = 0; i < N_PATTERNS; i++)
      bits[at++] = decoded[i] + distances[d];
  for (gint64 i = 0; i < at; i++)
    if ((bits[i] & 0x7FFFFFFF) > 0x7F800000)
      bits[i] = 0;
  for (guint32 i = 0; i < N_PATTERNS; i++)
    if ((decoded[i] & 0x7FFFFFFF) > 0x7F800000)
      decoded[i] = 0;

  values = g_bytes_new (decoded, N_PATTERNS * sizeof *decoded);
  assert_digest (golden, name, ".values", values);
  inputs = new_bits (bits, at);
  encoded = lp_tensor_to_dtype (inputs, dtype, NULL);
  codes = lp_tensor_dup_bytes (encoded, NULL);
  assert_digest (golden, name, ".codes", codes);
}

static void
test_golden (void)
{
  g_autoptr (GBytes) golden = golden_read ("halves.golden");

  check_golden (golden, lp_dtype_f16 (), 1 << 12);
  check_golden (golden, lp_dtype_bf16 (), 1 << 15);
}

/* The middle between each pair of neighbours, and the nearest doubles and floats on both sides of it. */
static void
test_ties (void)
{
  const Format *formats[] = { &f16, &bf16 };

  for (int f = 0; f < 2; f++)
    for (guint32 bits = 0; bits < 0x7FFF; bits++)
      {
        double low = value_of (bits, formats[f]), high = value_of (bits + 1, formats[f]), middle;

        if (!isfinite (low))
          break;
        if (!isfinite (high))
          high = ldexp (2, formats[f]->max_exponent);
        middle = (low + high) / 2;
        check_value (middle);
        check_value (-middle);
        check_value (nextafter (middle, 0));
        check_value (nextafter (middle, INFINITY));
        check_value (nextafterf ((float) middle, 0));
        check_value (nextafterf ((float) middle, INFINITY));
      }
}

static void
test_random_bits (void)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (5, 0);

  for (int i = 0; i < 2000000; i++)
    {
      guint32 bits = lp_generator_next (generator);
      guint64 wide = ((guint64) lp_generator_next (generator) << 32) | bits;
      float value;
      double wide_value;

      memcpy (&value, &bits, sizeof value);
      memcpy (&wide_value, &wide, sizeof wide_value);
      if (!isnan (value))
        check_value (value);
      if (!isnan (wide_value))
        check_value (wide_value);
    }
}

static void
test_not_a_number (void)
{
  g_assert_true (isnan (_lp_f16_to_f32 (_lp_f16_from_f32 (NAN))));
  g_assert_true (isnan (_lp_bf16_to_f32 (_lp_bf16_from_f32 (NAN))));
  g_assert_true (isnan (_lp_f16_to_f32 (_lp_f16_from_f64 (NAN))));
  g_assert_true (isnan (_lp_bf16_to_f32 (_lp_bf16_from_f64 (NAN))));
}

/* The tensors' conversions are other code than the scalar ones: every pattern through both. */
static void
test_tensors (void)
{
  const gint64 n = 0x10000;
  g_autoptr (GError) error = NULL;
  g_autofree guint16 *patterns = g_new (guint16, n);
  g_autoptr (GBytes) bytes = NULL;
  LpDType *dtypes[] = { lp_dtype_f16 (), lp_dtype_bf16 () };

  for (gint64 i = 0; i < n; i++)
    patterns[i] = i;
  bytes = g_bytes_new (patterns, 2 * n);

  for (int d = 0; d < 2; d++)
    {
      g_autoptr (LpTensor) low = lp_tensor_new_from_bytes (bytes, &n, 1, dtypes[d], &error);
      LpDType *wide[] = { lp_dtype_f32 (), lp_dtype_f64 () };

      g_assert_no_error (error);
      for (int w = 0; w < 2; w++)
        {
          g_autoptr (LpTensor) up = lp_tensor_to_dtype (low, wide[w], &error);
          g_autoptr (LpTensor) back = lp_tensor_to_dtype (up, dtypes[d], &error);
          const guint16 *result = (const guint16 *) (gsize) lp_tensor_get_address (back);
          g_autofree double *values = lp_tensor_dup_doubles (up, &(gsize) { 0 }, &error);

          g_assert_no_error (error);
          for (gint64 i = 0; i < n; i++)
            {
              double expected = value_of (i, d == 0 ? &f16 : &bf16);

              g_assert_true (isnan (expected) ? isnan (values[i]) : values[i] == expected);
              if (!isnan (expected))
                g_assert_cmphex (result[i], ==, patterns[i]);
            }
        }
    }
}

static void
test_tensor_rounding (void)
{
  const gint64 n = 100000;
  g_autoptr (GError) error = NULL;
  g_autoptr (LpGenerator) generator = lp_generator_new (6, 0);
  g_autofree double *values = g_new (double, n);
  g_autoptr (LpTensor) wide = NULL;
  g_autoptr (LpTensor) single = NULL;

  for (gint64 i = 0; i < n; i++)
    values[i] = ldexp (lp_generator_next_double (generator) - 0.5, (int) (lp_generator_next (generator) % 300) - 150);
  wide = lp_tensor_new_from_doubles (values, n, &n, 1, lp_dtype_f64 (), &error);
  single = lp_tensor_to_dtype (wide, lp_dtype_f32 (), &error);
  g_assert_no_error (error);

  for (int d = 0; d < 4; d++)
    {
      const Format *format = d % 2 == 0 ? &f16 : &bf16;
      g_autoptr (LpTensor) low = lp_tensor_to_dtype (d < 2 ? wide : single, d % 2 == 0 ? lp_dtype_f16 () : lp_dtype_bf16 (), &error);
      const guint16 *result = (const guint16 *) (gsize) lp_tensor_get_address (low);

      g_assert_no_error (error);
      for (gint64 i = 0; i < n; i++)
        g_assert_cmphex (result[i], ==, reference (d < 2 ? values[i] : (float) values[i], format));
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/convert/all-patterns", test_all_patterns);
  g_test_add_func ("/convert/golden", test_golden);
  g_test_add_func ("/convert/ties", test_ties);
  g_test_add_func ("/convert/random-bits", test_random_bits);
  g_test_add_func ("/convert/not-a-number", test_not_a_number);
  g_test_add_func ("/convert/tensors", test_tensors);
  g_test_add_func ("/convert/tensor-rounding", test_tensor_rounding);

  return g_test_run ();
}
