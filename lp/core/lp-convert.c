#include <math.h>
#include <string.h>

#include <lp/core/lp-dtype-private.h>

static inline guint32
bits_of (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static inline float
float_of (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

/* Rounding to odd keeps a sticky bit, so that a second rounding to 16 bits sees what the first one lost.
 * S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE TC 57 (2008). */
float
_lp_round_to_odd (double value)
{
  float nearest = (float) value;
  guint32 bits;

  if (isnan (value) || (double) nearest == value)
    return nearest;

  bits = bits_of (nearest);
  if (isinf (nearest))
    return float_of (bits - 1);

  /* towards zero first, then set the last bit */
  if (fabs ((double) nearest) > fabs (value))
    bits -= 1;

  return float_of (bits | 1);
}

guint16
_lp_bf16_from_f32 (float value)
{
  guint32 bits = bits_of (value);

  if (isnan (value))
    return (guint16) ((bits >> 16) | 0x40);

  return (guint16) ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float
_lp_bf16_to_f32 (guint16 bits)
{
  return float_of ((guint32) bits << 16);
}

guint16
_lp_bf16_from_f64 (double value)
{
  return _lp_bf16_from_f32 (_lp_round_to_odd (value));
}

guint16
_lp_f16_from_f32 (float value)
{
  guint32 bits = bits_of (value);
  guint16 sign = (bits >> 16) & 0x8000;
  guint32 magnitude = bits & 0x7FFFFFFF;

  if (magnitude > 0x7F800000)
    return sign | 0x7E00 | (guint16) ((magnitude >> 13) & 0x1FF);
  if (magnitude >= 0x477FF000)  /* 65520 and above */
    return sign | 0x7C00;
  if (magnitude < 0x38800000)   /* below 2^-14: the float adder rounds at 2^-24 for us */
    return sign | (guint16) (bits_of (float_of (magnitude) + 0.5f) - 0x3F000000);

  magnitude += 0xFFF + ((magnitude >> 13) & 1);
  return sign | (guint16) ((magnitude - 0x38000000) >> 13);
}

float
_lp_f16_to_f32 (guint16 bits)
{
  guint32 sign = (guint32) (bits & 0x8000) << 16;
  guint32 exponent = (bits >> 10) & 0x1F;
  guint32 mantissa = bits & 0x3FF;

  if (exponent == 0x1F)
    return float_of (sign | 0x7F800000 | (mantissa << 13) | (mantissa ? 0x400000 : 0));
  if (exponent == 0)
    return float_of (sign | bits_of ((float) mantissa * 0x1p-24f));

  return float_of (sign | ((exponent + 112) << 23) | (mantissa << 13));
}

guint16
_lp_f16_from_f64 (double value)
{
  return _lp_f16_from_f32 (_lp_round_to_odd (value));
}
