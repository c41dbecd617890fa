/* Converts float32 values to each of the formats of 16, 8, 6 and 4 bits and back, and compares with an independent reference: the value
 * is scaled so that its last kept bit is 1, and rounded by nearbyint. With the CUDA toolkit's headers, compiled for the host, they are a
 * second reference. bench-conversions [VALUES]; one JSON object per format. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lp/lp.h>

#include "cuda-reference.h"

#define CHUNK (1 << 18)

typedef struct
{
  const char *name, *format;
  gboolean    saturate;
  int         mantissa, least_exponent;
  double      max, beyond, nan;
} Format;

static const Format formats[] = {
  { "f16", "f16", FALSE, 10, -14, 65504, INFINITY, NAN },
  { "bf16", "bf16", FALSE, 7, -126, 0x1.FEp127, INFINITY, NAN },
  { "f8e4m3", "e4m3", TRUE, 3, -6, 448, 448, NAN },
  { "f8e4m3 not saturating", "e4m3", FALSE, 3, -6, 448, NAN, NAN },
  { "f8e5m2", "e5m2", TRUE, 2, -14, 57344, 57344, NAN },
  { "f8e5m2 not saturating", "e5m2", FALSE, 2, -14, 57344, INFINITY, NAN },
  { "f6e2m3", "e2m3", TRUE, 3, 0, 7.5, 7.5, 7.5 },
  { "f6e3m2", "e3m2", TRUE, 2, -2, 28, 28, 28 },
  { "e2m1", "e2m1", TRUE, 1, 0, 6, 6, 6 },
};

static double
reference (const Format *f,
           float         value)
{
  const double magnitude = fabs ((double) value);
  double rounded;
  int exponent;

  if (isnan (value))
    return f->nan;
  if (magnitude == 0)
    return (double) value;
  frexp (magnitude, &exponent);
  exponent = MAX (exponent - 1, f->least_exponent);
  rounded = isinf (value) ? INFINITY : ldexp (nearbyint (ldexp (magnitude, f->mantissa - exponent)), exponent - f->mantissa);
  if (rounded > f->max)
    rounded = f->beyond;

  return copysign (rounded, (double) value);
}

static LpDType *
dtype_of (const Format *f)
{
  if (g_str_equal (f->name, f->format))
    return lp_dtype_lookup (f->name, NULL);

  return lp_float_dtype_new (f->format, f->saturate);
}

static float
float_of (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);

  return value;
}

/* A quarter each: any bits, values in the range of the format, ties, and neighbours of ties. */
static float
make_value (const Format *f,
            guint64       random,
            gint64        index)
{
  const guint32 low = (guint32) random, high = (guint32) (random >> 32);
  const int greatest = ilogb (f->max);
  const int exponent = f->least_exponent - f->mantissa - 1 + (int) (high % (guint) (greatest - f->least_exponent + f->mantissa + 3));
  const float within = ldexpf (1 + (float) (low & 0x7FFFFF) / 0x1p23f, exponent);
  const float tie = ldexpf ((float) (2 * (low & ((2u << f->mantissa) - 1)) + 1), MAX (exponent, f->least_exponent) - f->mantissa - 1);
  const float sign = high >> 31 ? -1 : 1;
  guint32 bits;

  switch (index % 4)
    {
    case 0:
      return float_of (low);
    case 1:
      return sign * within;
    case 2:
      return sign * tie;
    default:
      memcpy (&bits, &tie, sizeof bits);
      return sign * float_of (bits + (high >> 30 & 1 ? 1 : -1));
    }
}

static guint64
scramble (guint64 x)
{
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;

  return x ^ (x >> 31);
}

/* Whether @got is @expected, zeros and their signs included; NaN has many forms. */
static gboolean
is_same (float  got,
         double expected)
{
  return isnan (expected) ? isnan (got) : (double) got == expected && !signbit (got) == !signbit (expected);
}

static gint64
run_chunk (const Format *f,
           LpDType      *dtype,
           gint64        first,
           gint64        n)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) values = lp_tensor_empty (&n, 1, lp_dtype_f32 (), NULL, &error);
  float *x = (float *) (gsize) lp_tensor_get_address (values);
  g_autoptr (LpTensor) encoded = NULL;
  g_autoptr (LpTensor) decoded = NULL;
  const float *y;
  gint64 n_wrong = 0;

  for (gint64 i = 0; i < n; i++)
    x[i] = make_value (f, scramble ((guint64) (first + i)), first + i);
  encoded = lp_tensor_to_dtype (values, dtype, &error);
  decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), &error);
  if (decoded == NULL)
    g_error ("%s", error->message);
  y = (const float *) (gsize) lp_tensor_get_address (decoded);
  for (gint64 i = 0; i < n; i++)
    {
      gboolean right = is_same (y[i], reference (f, x[i]));
      float cuda;

      if (cuda_reference (f->format, f->saturate, x[i], &cuda))
        right &= is_same (y[i], (double) cuda);
      if (right)
        continue;
      if (n_wrong++ == 0)
        fprintf (stderr, "%s of %a gives %a, not %a\n", f->name, (double) x[i], (double) y[i], reference (f, x[i]));
    }

  return n_wrong;
}

int
main (int   argc,
      char *argv[])
{
  const gint64 n = argc > 1 ? strtoll (argv[1], NULL, 10) : 1000000;
  gint64 all_wrong = 0;
  float unused;

  for (gsize i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      g_autoptr (LpDType) dtype = dtype_of (&formats[i]);
      const gboolean cuda = cuda_reference (formats[i].format, formats[i].saturate, 1, &unused);
      gint64 n_wrong = 0;

      for (gint64 first = 0; first < n; first += CHUNK)
        n_wrong += run_chunk (&formats[i], dtype, first, MIN (CHUNK, n - first));
      printf ("{\"name\": \"f32 to %s and back\", \"value\": %" G_GINT64_FORMAT ", \"unit\": \"wrong\", \"values\": %" G_GINT64_FORMAT
              ", \"cuda\": %s}\n", formats[i].name, n_wrong, n, cuda ? "true" : "false");
      fflush (stdout);
      all_wrong += n_wrong;
    }

  return all_wrong > 0;
}
