/* Inner loops of the low-bit formats. Included once per instruction set; LP_CODEC_TABLE names the table. No include guard. */

#include <math.h>
#include <string.h>

#include <lp/core/lp-codec-private.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

static inline guint32
codec_bits (float value)
{
  guint32 bits;

  memcpy (&bits, &value, sizeof bits);
  return bits;
}

static inline float
codec_float (guint32 bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return value;
}

static const LpElementFormat codec_formats[LP_N_ELEMENTS] = { LP_ELEMENT_FORMATS };

/* Round to nearest, ties to even. Below the smallest normal value the float adder does it: the last bit of @magic is the smallest
 * subnormal one. */
static inline __attribute__ ((always_inline)) guint8
encode_one (float x, int exponent_bits, int m, int bias, guint32 max_code, guint32 beyond, guint32 nan)
{
  const guint32 bits = codec_bits (x), magnitude = bits & 0x7FFFFFFF;
  const guint32 sign = (bits >> 31) << (exponent_bits + m);
  const guint32 magic = (guint32) (127 + 24 - bias - m) << 23;
  const guint32 rounded = magnitude + ((1u << (22 - m)) - 1) + ((magnitude >> (23 - m)) & 1);
  const guint32 normal = (rounded >> (23 - m)) - ((guint32) (127 - bias) << m);
  const guint32 subnormal = codec_bits (codec_float (magnitude) + codec_float (magic)) - magic;
  guint32 code = magnitude < (guint32) (128 - bias) << 23 ? subnormal : normal;

  code = (gint32) code > (gint32) max_code ? beyond : code;
  code |= sign;
  return (guint8) (magnitude > 0x7F800000 ? nan : code);
}

static inline __attribute__ ((always_inline)) float
decode_one (guint32 code, int exponent_bits, int m, int bias, guint32 max_code, guint32 nan_code)
{
  const guint32 magnitude = code & ((1u << (exponent_bits + m)) - 1);
  const guint32 sign = (code >> (exponent_bits + m)) << 31;
  const guint32 least = (guint32) (128 - bias) << 23;
  const guint32 normal = (magnitude << (23 - m)) + ((guint32) (127 - bias) << 23);
  const guint32 subnormal = codec_bits (codec_float ((magnitude << (23 - m)) + least) - codec_float (least));
  guint32 bits = magnitude < 1u << m ? subnormal : normal;

  /* Inf where there is one, NaN above */
  if (nan_code > max_code)
    bits = magnitude > max_code ? (magnitude == max_code + 1 && magnitude != nan_code ? 0x7F800000 : 0x7FC00000) : bits;
  return codec_float (bits | sign);
}

#ifdef __AVX2__
/* encode_one for 8 values. */
static inline __attribute__ ((always_inline)) __m256i
encode_8 (__m256 x, int exponent_bits, int m, int bias, int max_code, int beyond, int nan)
{
  const __m256i bits = _mm256_castps_si256 (x), magnitude = _mm256_and_si256 (bits, _mm256_set1_epi32 (0x7FFFFFFF));
  const __m256i sign = _mm256_slli_epi32 (_mm256_srli_epi32 (bits, 31), exponent_bits + m);
  const __m256i magic = _mm256_set1_epi32 ((127 + 24 - bias - m) << 23);
  const __m256i odd = _mm256_and_si256 (_mm256_srli_epi32 (magnitude, 23 - m), _mm256_set1_epi32 (1));
  const __m256i rounded = _mm256_add_epi32 (_mm256_add_epi32 (magnitude, odd), _mm256_set1_epi32 ((1 << (22 - m)) - 1));
  const __m256i normal = _mm256_sub_epi32 (_mm256_srli_epi32 (rounded, 23 - m), _mm256_set1_epi32 ((127 - bias) << m));
  const __m256 sum = _mm256_add_ps (_mm256_castsi256_ps (magnitude), _mm256_castsi256_ps (magic));
  const __m256i subnormal = _mm256_sub_epi32 (_mm256_castps_si256 (sum), magic);
  const __m256i is_normal = _mm256_cmpgt_epi32 (magnitude, _mm256_set1_epi32 (((128 - bias) << 23) - 1));
  __m256i codes = _mm256_blendv_epi8 (subnormal, normal, is_normal);

  if (beyond == max_code)
    codes = _mm256_min_epi32 (codes, _mm256_set1_epi32 (max_code));
  else
    codes = _mm256_blendv_epi8 (codes, _mm256_set1_epi32 (beyond), _mm256_cmpgt_epi32 (codes, _mm256_set1_epi32 (max_code)));
  codes = _mm256_or_si256 (codes, sign);
  return _mm256_blendv_epi8 (codes, _mm256_set1_epi32 (nan), _mm256_cmpgt_epi32 (magnitude, _mm256_set1_epi32 (0x7F800000)));
}

#define ENCODE_VECTORS(f, beyond) \
    for (; i + 32 <= n; i += 32) \
      { \
        const __m256 by = _mm256_set1_ps (divisor); \
        __m256i v[4]; \
        for (int j = 0; j < 4; j++) \
          { \
            const __m256 part = _mm256_loadu_ps (x + i + 8 * j); \
            v[j] = encode_8 (divisor == 1 ? part : _mm256_div_ps (part, by), f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, \
                             (int) beyond, f.nan_code); \
          } \
        v[0] = _mm256_packus_epi16 (_mm256_packus_epi32 (v[0], v[1]), _mm256_packus_epi32 (v[2], v[3])); \
        _mm256_storeu_si256 ((__m256i *) (codes + i), \
                             _mm256_permutevar8x32_epi32 (v[0], _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7))); \
      }

/* A code of 8 bits is one of f16 in which the exponent has another bias, but for the end of the range of e4m3. */
#define DECODE_VECTORS(f) \
    if (f.exponent_bits + f.mantissa_bits == 7) \
      for (; i + 8 <= n; i += 8) \
        { \
          const __m128i c = _mm_cvtepu8_epi16 (_mm_loadl_epi64 ((const __m128i *) (codes + i))); \
          const __m128i sign = _mm_slli_epi16 (_mm_and_si128 (c, _mm_set1_epi16 (0x80)), 8); \
          const __m128i magnitude = _mm_and_si128 (c, _mm_set1_epi16 (0x7F)); \
          __m128i half = _mm_or_si128 (sign, _mm_slli_epi16 (magnitude, 10 - f.mantissa_bits)); \
          if (f.exponent_bits == 4) \
            half = _mm_or_si128 (half, _mm_and_si128 (_mm_cmpeq_epi16 (magnitude, _mm_set1_epi16 (0x7F)), _mm_set1_epi16 (0x7E00))); \
          _mm256_storeu_ps (y + i, _mm256_mul_ps (_mm256_mul_ps (_mm256_cvtph_ps (half), _mm256_set1_ps ((float) (1 << (15 - f.bias)))), \
                                                  _mm256_set1_ps (scale))); \
        }

/* The magnitudes of a format of 4 bits fit into a vector. */
#define DECODE_BY_TABLE(f) \
    if (f.exponent_bits + f.mantissa_bits == 3) \
      { \
        __m256 table; \
        for (int j = 0; j < 8; j++) \
          table[j] = decode_one ((guint32) j, f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, f.nan_code); \
        for (; i + 8 <= n; i += 8) \
          { \
            const __m256i c = _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) (codes + i))); \
            const __m256i sign = _mm256_slli_epi32 (_mm256_srli_epi32 (c, 3), 31); \
            const __m256 value = _mm256_or_ps (_mm256_permutevar8x32_ps (table, c), _mm256_castsi256_ps (sign)); \
            _mm256_storeu_ps (y + i, _mm256_mul_ps (value, _mm256_set1_ps (scale))); \
          } \
      }
#else
#define ENCODE_VECTORS(f, beyond)
#define DECODE_VECTORS(f)
#define DECODE_BY_TABLE(f)
#endif

#define DEFINE_ENCODE(name, FORMAT, saturate) \
  static void \
  name (const float *x, gsize n, float divisor, guint8 *codes) \
  { \
    const LpElementFormat f = codec_formats[FORMAT]; \
    const guint32 beyond = saturate ? f.max_code : f.overflow_code; \
    gsize i = 0; \
    ENCODE_VECTORS (f, beyond) \
    for (; i < n; i++) \
      codes[i] = encode_one (divisor == 1 ? x[i] : x[i] / divisor, f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, beyond, f.nan_code); \
  }

#define DEFINE_DECODE(name, FORMAT) \
  static inline __attribute__ ((always_inline)) void \
  name##_run (const guint8 *codes, gsize n, float scale, float *y) \
  { \
    const LpElementFormat f = codec_formats[FORMAT]; \
    gsize i = 0; \
    DECODE_VECTORS (f) \
    DECODE_BY_TABLE (f) \
    _Pragma ("omp simd") \
    for (gsize j = i; j < n; j++) \
      y[j] = decode_one (codes[j], f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, f.nan_code) * scale; \
  } \
  \
  static void \
  name (const guint8 *codes, gsize n, float scale, float *y) \
  { \
    name##_run (codes, n, scale, y); \
  }

/* The cache lines of a block that is read soon: while a block is encoded, nothing else would ask the memory for more. */
static inline __attribute__ ((always_inline)) void
prefetch_block (const float *x, gsize block)
{
  for (gsize i = 0; i < block; i += 16)
    __builtin_prefetch (x + i, 0, 2);
}

#ifdef __AVX2__
/* A power of two whose reciprocal is one, too: multiplying by that rounds as dividing does, and takes less. */
static inline gboolean
has_exact_inverse (float value)
{
  const guint32 bits = codec_bits (value);

  return (bits & 0x7FFFFF) == 0 && bits >= 0x00800000 && bits <= 0x7E800000;
}

#define ENCODE_16S(f, multiplies) \
    { \
      const __m256 by = _mm256_set1_ps (multiplies ? 1 / divisor : divisor); \
      for (; i + 16 <= n; i += 16) \
        { \
          __m256i v[2], pairs; \
          for (int j = 0; j < 2; j++) \
            { \
              const __m256 part = _mm256_loadu_ps (x + i + 8 * j); \
              v[j] = encode_8 (multiplies ? _mm256_mul_ps (part, by) : _mm256_div_ps (part, by), f.exponent_bits, f.mantissa_bits, f.bias, \
                               f.max_code, f.max_code, f.nan_code); \
            } \
          pairs = _mm256_permute4x64_epi64 (_mm256_packus_epi32 (v[0], v[1]), 0xD8); \
          _mm_storeu_si128 ((__m128i *) (codes + i), \
                            _mm_packus_epi16 (_mm256_castsi256_si128 (pairs), _mm256_extracti128_si256 (pairs, 1))); \
        } \
    }
#else
#define has_exact_inverse(value) FALSE
#define ENCODE_16S(f, multiplies)
#endif

#define DEFINE_BLOCKS(format, FORMAT) \
  static inline __attribute__ ((always_inline)) void \
  encode_##format##_block (const float *x, gsize n, float divisor, gboolean multiplies, guint8 *codes) \
  { \
    const LpElementFormat f = codec_formats[FORMAT]; \
    gsize i = 0; \
    ENCODE_16S (f, multiplies) \
    for (; i < n; i++) \
      codes[i] = encode_one (x[i] / divisor, f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, f.max_code, f.nan_code); \
  } \
  \
  static inline __attribute__ ((always_inline)) void \
  encode_##format##_same (const float *x, gsize n_blocks, gsize block, const float *divisors, guint8 *codes) \
  { \
    for (gsize b = 0; b < n_blocks; b++, x += block, codes += block) \
      { \
        prefetch_block (x + n_blocks * block, block); \
        if (!(divisors[b] > 0 && divisors[b] <= G_MAXFLOAT)) \
          memset (codes, 0, block); \
        else if (has_exact_inverse (divisors[b])) \
          encode_##format##_block (x, block, divisors[b], TRUE, codes); \
        else \
          encode_##format##_block (x, block, divisors[b], FALSE, codes); \
      } \
  } \
  \
  static void \
  encode_##format##_blocks (const float *x, gsize n_blocks, gsize block, const float *divisors, guint8 *codes) \
  { \
    if (block == 32) \
      encode_##format##_same (x, n_blocks, 32, divisors, codes); \
    else if (block == 16) \
      encode_##format##_same (x, n_blocks, 16, divisors, codes); \
    else \
      encode_##format##_same (x, n_blocks, block, divisors, codes); \
  } \
  \
  static void \
  decode_##format##_blocks (const guint8 *codes, gsize n_blocks, gsize block, const float *scales, float *y) \
  { \
    for (gsize b = 0; b < n_blocks; b++, codes += block, y += block) \
      if (block == 32) \
        decode_##format##_run (codes, 32, scales[b], y); \
      else if (block == 16) \
        decode_##format##_run (codes, 16, scales[b], y); \
      else \
        decode_##format##_run (codes, block, scales[b], y); \
  }

#define DEFINE_BOTH(format, FORMAT) \
  DEFINE_ENCODE (encode_##format, FORMAT, FALSE) \
  DEFINE_ENCODE (encode_##format##_saturate, FORMAT, TRUE) \
  DEFINE_DECODE (decode_##format, FORMAT) \
  DEFINE_BLOCKS (format, FORMAT)

DEFINE_BOTH (e4m3, LP_ELEMENT_E4M3)
DEFINE_BOTH (e5m2, LP_ELEMENT_E5M2)
DEFINE_BOTH (e2m3, LP_ELEMENT_E2M3)
DEFINE_BOTH (e3m2, LP_ELEMENT_E3M2)
DEFINE_BOTH (e2m1, LP_ELEMENT_E2M1)

#ifdef __AVX2__
static inline gint32
find_max_8 (__m256i x)
{
  __m128i most = _mm_max_epi32 (_mm256_castsi256_si128 (x), _mm256_extracti128_si256 (x, 1));

  most = _mm_max_epi32 (most, _mm_shuffle_epi32 (most, 0x4E));
  return _mm_cvtsi128_si32 (_mm_max_epi32 (most, _mm_shuffle_epi32 (most, 0xB1)));
}
#endif

static inline __attribute__ ((always_inline)) float
find_absmax (const float *x, gsize n)
{
  gint32 most = 0;
  gsize i = 0;

#ifdef __AVX2__
  if (n >= 16)
    {
      const __m256i mask = _mm256_set1_epi32 (0x7FFFFFFF);
      __m256i a = _mm256_setzero_si256 (), b = a;

      for (; i + 16 <= n; i += 16)
        {
          a = _mm256_max_epi32 (a, _mm256_and_si256 (mask, _mm256_loadu_si256 ((const __m256i *) (x + i))));
          b = _mm256_max_epi32 (b, _mm256_and_si256 (mask, _mm256_loadu_si256 ((const __m256i *) (x + i + 8))));
        }
      most = find_max_8 (_mm256_max_epi32 (a, b));
    }
#endif
#pragma omp simd reduction(max : most)
  for (gsize j = i; j < n; j++)
    {
      const gint32 magnitude = (gint32) (codec_bits (x[j]) & 0x7FFFFFFF);

      most = magnitude > most ? magnitude : most;
    }
  return codec_float ((guint32) most);
}

static float
absmax (const float *x, gsize n)
{
  return find_absmax (x, n);
}

static inline __attribute__ ((always_inline)) void
find_block_absmax (const float *x, gsize n_blocks, gsize block, float *absmaxes)
{
  for (gsize b = 0; b < n_blocks; b++)
    absmaxes[b] = find_absmax (x + b * block, block);
}

/* The usual blocks are constants to the compiler. */
static void
block_absmax (const float *x, gsize n_blocks, gsize block, float *absmaxes)
{
  if (block == 16)
    find_block_absmax (x, n_blocks, 16, absmaxes);
  else if (block == 32)
    find_block_absmax (x, n_blocks, 32, absmaxes);
  else if (block == 64)
    find_block_absmax (x, n_blocks, 64, absmaxes);
  else
    find_block_absmax (x, n_blocks, block, absmaxes);
}

/* Any number of codes of any number of bits. */
static void
pack_rest (const guint8 *codes, gsize n, int bits, guint8 *bytes)
{
  guint32 held = 0;
  int n_held = 0;

  for (gsize i = 0; i < n; i++)
    {
      held |= (guint32) codes[i] << n_held;
      n_held += bits;
      for (; n_held >= 8; n_held -= 8, held >>= 8)
        *bytes++ = (guint8) held;
    }
  if (n_held > 0)
    *bytes = (guint8) held;
}

static void
unpack_rest (const guint8 *bytes, gsize n, int bits, guint8 *codes)
{
  guint32 held = 0;
  int n_held = 0;

  for (gsize i = 0; i < n; i++)
    {
      for (; n_held < bits; n_held += 8)
        held |= (guint32) *bytes++ << n_held;
      codes[i] = (guint8) (held & ((1u << bits) - 1));
      held >>= bits;
      n_held -= bits;
    }
}

static void
pack (const guint8 *codes, gsize n, int bits, guint8 *bytes)
{
  gsize done = 0;

  if (bits == 8)
    done = n;
  memcpy (bytes, codes, done);
  if (bits == 4)
    {
      done = n / 2 * 2;
#pragma omp simd
      for (gsize i = 0; i < n / 2; i++)
        bytes[i] = (guint8) (codes[2 * i] | codes[2 * i + 1] << 4);
    }
  if (bits == 6)
    {
      done = n / 4 * 4;
      for (gsize i = 0; i < n / 4; i++)
        {
          guint32 four;

          memcpy (&four, codes + 4 * i, sizeof four);
          four = GUINT32_FROM_LE (four);
          four = (four & 0x3F) | (four >> 2 & 0xFC0) | (four >> 4 & 0x3F000) | (four >> 6 & 0xFC0000);
          bytes[3 * i] = (guint8) four;
          bytes[3 * i + 1] = (guint8) (four >> 8);
          bytes[3 * i + 2] = (guint8) (four >> 16);
        }
    }
  pack_rest (codes + done, n - done, bits, bytes + done * (gsize) bits / 8);
}

static void
unpack (const guint8 *bytes, gsize n, int bits, guint8 *codes)
{
  gsize done = 0;

  if (bits == 8)
    done = n;
  memcpy (codes, bytes, done);
  if (bits == 4)
    {
      done = n / 2 * 2;
#pragma omp simd
      for (gsize i = 0; i < n / 2; i++)
        {
          codes[2 * i] = bytes[i] & 15;
          codes[2 * i + 1] = bytes[i] >> 4;
        }
    }
  if (bits == 6)
    {
      done = n / 4 * 4;
      for (gsize i = 0; i < n / 4; i++)
        {
          guint32 four = bytes[3 * i] | (guint32) bytes[3 * i + 1] << 8 | (guint32) bytes[3 * i + 2] << 16;

          four = (four & 0x3F) | (four << 2 & 0x3F00) | (four << 4 & 0x3F0000) | (four << 6 & 0x3F000000);
          four = GUINT32_TO_LE (four);
          memcpy (codes + 4 * i, &four, sizeof four);
        }
    }
  unpack_rest (bytes + done * (gsize) bits / 8, n - done, bits, codes + done);
}

static inline guint8
encode_nibble (const LpNibbleCode *code, float value)
{
  const float x = code->sign_magnitude ? fabsf (value) : value;
  const int n = code->sign_magnitude ? 7 : 15;
  int count = 0;

  for (int i = 0; i < n; i++)
    count += x > code->thresholds[i];
  if (!code->sign_magnitude)
    return (guint8) count;
  return (guint8) (code->codes[count] | (value < 0 ? 8 : 0));
}

#ifdef __AVX2__
static inline __m256
lookup_16 (__m256 low, __m256 high, __m256i index)
{
  return _mm256_blendv_ps (_mm256_permutevar8x32_ps (low, index), _mm256_permutevar8x32_ps (high, index),
                           _mm256_castsi256_ps (_mm256_slli_epi32 (index, 28)));
}

static gsize
decode_16s (const LpNibbleCode *code, const guint8 *bytes, gsize n, float absmax, float *y)
{
  const __m256 scale = _mm256_set1_ps (absmax);
  const __m256 low = _mm256_loadu_ps (code->values), high = _mm256_loadu_ps (code->values + 8);
  gsize i = 0;

  for (; i + 16 <= n; i += 16)
    {
      const __m256i pairs = _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) (bytes + i / 2)));
      const __m256 even = _mm256_mul_ps (lookup_16 (low, high, _mm256_srli_epi32 (pairs, 4)), scale);
      const __m256 odd = _mm256_mul_ps (lookup_16 (low, high, pairs), scale);
      const __m256 first = _mm256_unpacklo_ps (even, odd), second = _mm256_unpackhi_ps (even, odd);

      _mm256_storeu_ps (y + i, _mm256_permute2f128_ps (first, second, 0x20));
      _mm256_storeu_ps (y + i + 8, _mm256_permute2f128_ps (first, second, 0x31));
    }
  return i;
}
#endif

static void
encode_nibbles (const LpNibbleCode *code, const float *x, gsize n, float absmax, guint8 *bytes)
{
  const float divisor = absmax > 1e-38f ? absmax : 1e-38f;

  for (gsize i = 0; i < n; i += 2)
    {
      const guint8 second = i + 1 < n ? encode_nibble (code, x[i + 1] / divisor) : 0;

      bytes[i / 2] = (guint8) (encode_nibble (code, x[i] / divisor) << 4 | second);
    }
}

#ifdef __AVX2__
static inline __attribute__ ((always_inline)) __m256i
load_table (const void *table)
{
  return _mm256_broadcastsi128_si256 (_mm_loadu_si128 (table));
}

static inline __attribute__ ((always_inline)) __m256i
scale_16 (const float *x, __m256 factor)
{
  return _mm256_packs_epi32 (_mm256_cvtps_epi32 (_mm256_mul_ps (_mm256_loadu_ps (x), factor)),
                             _mm256_cvtps_epi32 (_mm256_mul_ps (_mm256_loadu_ps (x + 8), factor)));
}

static inline __attribute__ ((always_inline)) __m256i
find_less_16 (const float *x, __m256 bound)
{
  return _mm256_packs_epi32 (_mm256_castps_si256 (_mm256_cmp_ps (_mm256_loadu_ps (x), bound, _CMP_LT_OQ)),
                             _mm256_castps_si256 (_mm256_cmp_ps (_mm256_loadu_ps (x + 8), bound, _CMP_LT_OQ)));
}

/* Counts thresholds below 32 values that are scaled to 16 bits, as LpNibbleCode says. FALSE if one is so close to a threshold that only
 * the division can tell. Values below @bound are negative after a division, too. */
static inline __attribute__ ((always_inline)) gboolean
encode_32 (const LpNibbleCode *code, gboolean sign_magnitude, const float *x, __m256 factor, __m256 bound, guint8 *bytes)
{
  const __m256i order = _mm256_setr_epi32 (0, 4, 1, 5, 2, 6, 3, 7);
  __m256i a = scale_16 (x, factor), b = scale_16 (x + 16, factor);
  __m256i bucket, count, low, high, edge_a, edge_b, unsure, pairs;

  if (sign_magnitude)
    {
      a = _mm256_abs_epi16 (a);
      b = _mm256_abs_epi16 (b);
    }
  /* a table gives 0 for an index with the highest bit */
  bucket = _mm256_packs_epi16 (_mm256_srai_epi16 (a, 11), _mm256_srai_epi16 (b, 11));
  count = _mm256_shuffle_epi8 (load_table (code->counts[0]), bucket);
  if (!sign_magnitude)
    count = _mm256_or_si256 (count, _mm256_shuffle_epi8 (load_table (code->counts[1]), _mm256_xor_si256 (bucket, _mm256_set1_epi8 ((char) 0x90))));

  low = _mm256_shuffle_epi8 (load_table (code->edges[0]), count);
  high = _mm256_shuffle_epi8 (load_table (code->edges[1]), count);
  edge_a = _mm256_unpacklo_epi8 (low, high);
  edge_b = _mm256_unpackhi_epi8 (low, high);
  unsure = _mm256_or_si256 (_mm256_cmpeq_epi16 (a, edge_a), _mm256_cmpeq_epi16 (b, edge_b));
  count = _mm256_sub_epi8 (count, _mm256_packs_epi16 (_mm256_cmpgt_epi16 (a, edge_a), _mm256_cmpgt_epi16 (b, edge_b)));
  if (sign_magnitude)
    {
      const __m256i negative = _mm256_packs_epi16 (find_less_16 (x, bound), find_less_16 (x + 16, bound));

      count = _mm256_or_si256 (_mm256_shuffle_epi8 (load_table (code->codes), count), _mm256_and_si256 (negative, _mm256_set1_epi8 (8)));
    }

  /* 16 times the first of each two, and the second */
  pairs = _mm256_maddubs_epi16 (_mm256_permutevar8x32_epi32 (count, order), _mm256_set1_epi16 (0x0110));
  _mm_storeu_si128 ((__m128i *) bytes, _mm_packus_epi16 (_mm256_castsi256_si128 (pairs), _mm256_extracti128_si256 (pairs, 1)));
  return _mm256_testz_si256 (unsure, unsure);
}

/* The least value that is not below 0 after a division by @absmax: half of the smallest subnormal number is rounded to 0. */
static inline float
find_negative_bound (float absmax)
{
  const double bound = (double) absmax * 0x1p-150;
  const float nearest = (float) bound;

  return -(nearest > bound ? codec_float (codec_bits (nearest) - 1) : nearest);
}

/* Whole blocks of a multiple of 32. */
static inline __attribute__ ((always_inline)) void
encode_32s (const LpNibbleCode *code, gboolean sign_magnitude, const float *x, gsize n, float absmax, guint8 *bytes)
{
  const __m256 factor = _mm256_set1_ps (code->factor / absmax);
  const __m256 bound = _mm256_set1_ps (sign_magnitude ? find_negative_bound (absmax) : 0);
  const gboolean scales = absmax >= 1e-30f && absmax <= G_MAXFLOAT;

  for (gsize i = 0; i < n; i += 32)
    if (!scales || !encode_32 (code, sign_magnitude, x + i, factor, bound, bytes + i / 2))
      encode_nibbles (code, x + i, 32, absmax, bytes + i / 2);
}
#endif

static inline __attribute__ ((always_inline)) void
search_blocks (const LpNibbleCode *code, gboolean sign_magnitude, const float *x, gsize n_blocks, gsize block, const float *absmaxes,
               guint8 *bytes)
{
  for (gsize b = 0; b < n_blocks; b++, x += block, bytes += block / 2)
    {
      prefetch_block (x + n_blocks * block, block);
#ifdef __AVX2__
      if (block % 32 == 0)
        {
          encode_32s (code, sign_magnitude, x, block, absmaxes[b], bytes);
          continue;
        }
#endif
      encode_nibbles (code, x, block, absmaxes[b], bytes);
    }
}

/* All absmaxes first: they are long in coming. */
static void
encode_nibble_blocks (const LpNibbleCode *code, const float *x, gsize n_blocks, gsize block, float *absmaxes, guint8 *bytes)
{
  block_absmax (x, n_blocks, block, absmaxes);
  if (block == 64 && code->sign_magnitude)
    search_blocks (code, TRUE, x, n_blocks, 64, absmaxes, bytes);
  else if (block == 64)
    search_blocks (code, FALSE, x, n_blocks, 64, absmaxes, bytes);
  else
    search_blocks (code, code->sign_magnitude, x, n_blocks, block, absmaxes, bytes);
}

static void
decode_nibbles (const LpNibbleCode *code, const guint8 *bytes, gsize n, float absmax, float *y)
{
  gsize i = 0;

#ifdef __AVX2__
  i = decode_16s (code, bytes, n, absmax, y);
#endif
  for (; i < n; i++)
    y[i] = code->values[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15] * absmax;
}

static void
encode_int8 (const float *x, gsize n, float absmax, gint8 *q)
{
  /* adding and taking away 1.5 * 2^23 rounds to an integer; 127 x of a huge x would overflow */
  const float magic = 0x1.8p23f, shrink = absmax > 0x1p120f ? 0x1p-8f : 1;
  const float factor = 127 * shrink, divisor = absmax > 0 ? absmax * shrink : 1;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const float scaled = factor * x[i] / divisor;

      q[i] = (gint8) (gint32) ((scaled + magic) - magic);
    }
}

static void
decode_int8 (const gint8 *q, gsize n, float absmax, float *y)
{
  const float scale = absmax / 127;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    y[i] = (float) q[i] * scale;
}

#define ENCODERS(format) { encode_##format, encode_##format##_saturate }

const LpCodecLoops LP_CODEC_TABLE = {
  .encode = { [LP_ELEMENT_E4M3] = ENCODERS (e4m3), [LP_ELEMENT_E5M2] = ENCODERS (e5m2), [LP_ELEMENT_E2M3] = ENCODERS (e2m3),
              [LP_ELEMENT_E3M2] = ENCODERS (e3m2), [LP_ELEMENT_E2M1] = ENCODERS (e2m1) },
  .decode = { [LP_ELEMENT_E4M3] = decode_e4m3, [LP_ELEMENT_E5M2] = decode_e5m2, [LP_ELEMENT_E2M3] = decode_e2m3,
              [LP_ELEMENT_E3M2] = decode_e3m2, [LP_ELEMENT_E2M1] = decode_e2m1 },
  .absmax = absmax,
  .block_absmax = block_absmax,
  .encode_blocks = { [LP_ELEMENT_E4M3] = encode_e4m3_blocks, [LP_ELEMENT_E5M2] = encode_e5m2_blocks, [LP_ELEMENT_E2M3] = encode_e2m3_blocks,
                     [LP_ELEMENT_E3M2] = encode_e3m2_blocks, [LP_ELEMENT_E2M1] = encode_e2m1_blocks },
  .decode_blocks = { [LP_ELEMENT_E4M3] = decode_e4m3_blocks, [LP_ELEMENT_E5M2] = decode_e5m2_blocks, [LP_ELEMENT_E2M3] = decode_e2m3_blocks,
                     [LP_ELEMENT_E3M2] = decode_e3m2_blocks, [LP_ELEMENT_E2M1] = decode_e2m1_blocks },
  .pack = pack,
  .unpack = unpack,
  .encode_nibbles = encode_nibbles,
  .encode_nibble_blocks = encode_nibble_blocks,
  .decode_nibbles = decode_nibbles,
  .encode_int8 = encode_int8,
  .decode_int8 = decode_int8,
};
