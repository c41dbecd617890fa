#pragma once

#include <lp/core/lp-dtype-private.h>
#include "lp-cpu-math-private.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

/* Element conversions that vectorise. */

static inline float
lp_load_bf16 (guint16 bits)
{
  return lp_float_from_bits ((guint32) bits << 16);
}

static inline guint16
lp_round_bf16 (float value)
{
  const guint32 bits = lp_float_to_bits (value);
  const guint32 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const guint32 nan = (bits >> 16) | 0x40;

  return (guint16) ((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

static inline float
lp_load_f16 (guint16 bits)
{
#ifdef __F16C__
  return _cvtsh_ss (bits);
#else
  return _lp_f16_to_f32 (bits);
#endif
}

static inline guint16
lp_round_f16 (float value)
{
#ifdef __F16C__
  return _cvtss_sh (value, _MM_FROUND_TO_NEAREST_INT);
#else
  return _lp_f16_from_f32 (value);
#endif
}
