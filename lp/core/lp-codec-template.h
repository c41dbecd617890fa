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
#else
#define ENCODE_VECTORS(f, beyond)
#define DECODE_VECTORS(f)
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
  static void \
  name (const guint8 *codes, gsize n, float scale, float *y) \
  { \
    const LpElementFormat f = codec_formats[FORMAT]; \
    gsize i = 0; \
    DECODE_VECTORS (f) \
    _Pragma ("omp simd") \
    for (gsize j = i; j < n; j++) \
      y[j] = decode_one (codes[j], f.exponent_bits, f.mantissa_bits, f.bias, f.max_code, f.nan_code) * scale; \
  }

#define DEFINE_BOTH(format, FORMAT) \
  DEFINE_ENCODE (encode_##format, FORMAT, FALSE) \
  DEFINE_ENCODE (encode_##format##_saturate, FORMAT, TRUE) \
  DEFINE_DECODE (decode_##format, FORMAT)

DEFINE_BOTH (e4m3, LP_ELEMENT_E4M3)
DEFINE_BOTH (e5m2, LP_ELEMENT_E5M2)
DEFINE_BOTH (e2m3, LP_ELEMENT_E2M3)
DEFINE_BOTH (e3m2, LP_ELEMENT_E3M2)
DEFINE_BOTH (e2m1, LP_ELEMENT_E2M1)

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
      gint32 lanes[8];

      for (; i + 16 <= n; i += 16)
        {
          a = _mm256_max_epi32 (a, _mm256_and_si256 (mask, _mm256_loadu_si256 ((const __m256i *) (x + i))));
          b = _mm256_max_epi32 (b, _mm256_and_si256 (mask, _mm256_loadu_si256 ((const __m256i *) (x + i + 8))));
        }
      _mm256_storeu_si256 ((__m256i *) lanes, _mm256_max_epi32 (a, b));
      for (int l = 0; l < 8; l++)
        most = lanes[l] > most ? lanes[l] : most;
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
typedef struct
{
  __m256 levels[4];
} Search;

static inline Search
search_new (const LpNibbleCode *code)
{
  Search self;

  for (int level = 0; level < 4; level++)
    self.levels[level] = _mm256_loadu_ps (code->levels[level]);
  return self;
}

static inline __attribute__ ((always_inline)) __m256i
search_count (const Search *self, int n_levels, __m256 x)
{
  __m256i count = _mm256_setzero_si256 ();

  for (int level = 0; level < n_levels; level++)
    {
      /* within a half of the vector it is cheaper, which is enough for 4 thresholds */
      const __m256 threshold = level == 0 ? self->levels[0] : level < 3 ? _mm256_permutevar_ps (self->levels[level], count)
                                                                        : _mm256_permutevar8x32_ps (self->levels[level], count);
      const __m256i above = _mm256_castps_si256 (_mm256_cmp_ps (x, threshold, _CMP_GT_OQ));

      count = _mm256_sub_epi32 (_mm256_add_epi32 (count, count), above);
    }
  return count;
}

/* 8 codes to 4 bytes, in the low byte of each quarter. */
static inline __attribute__ ((always_inline)) __m256i
encode_pairs (const LpNibbleCode *code, const Search *search, gboolean sign_magnitude, const float *x, __m256 absmax)
{
  const __m256 value = _mm256_div_ps (_mm256_loadu_ps (x), absmax);
  __m256i codes;

  if (sign_magnitude)
    {
      const __m256 magnitude = _mm256_andnot_ps (_mm256_set1_ps (-0.0f), value);
      const __m256i table = _mm256_cvtepu8_epi32 (_mm_loadl_epi64 ((const __m128i *) code->codes));
      const __m256i negative = _mm256_castps_si256 (_mm256_cmp_ps (value, _mm256_setzero_ps (), _CMP_LT_OQ));

      codes = _mm256_permutevar8x32_epi32 (table, search_count (search, 3, magnitude));
      codes = _mm256_or_si256 (codes, _mm256_and_si256 (negative, _mm256_set1_epi32 (8)));
    }
  else
    codes = search_count (search, 4, value);
  return _mm256_or_si256 (_mm256_slli_epi64 (codes, 4), _mm256_srli_epi64 (codes, 32));
}

static inline __attribute__ ((always_inline)) gsize
encode_32s (const LpNibbleCode *code, gboolean sign_magnitude, const float *x, gsize n, float absmax, guint8 *bytes)
{
  const Search search = search_new (code);
  const __m256 divisor = _mm256_set1_ps (absmax);
  const __m256i low = _mm256_set1_epi64x (0xFF);
  const __m128i transposed = _mm_setr_epi8 (0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  gsize i = 0;

  for (; i + 32 <= n; i += 32)
    {
      __m256i all = _mm256_and_si256 (encode_pairs (code, &search, sign_magnitude, x + i, divisor), low);

      for (int part = 1; part < 4; part++)
        all = _mm256_or_si256 (all, _mm256_slli_epi64 (_mm256_and_si256 (encode_pairs (code, &search, sign_magnitude, x + i + 8 * part, divisor), low),
                                                       8 * part));
      all = _mm256_permutevar8x32_epi32 (all, _mm256_setr_epi32 (0, 2, 4, 6, 0, 2, 4, 6));
      _mm_storeu_si128 ((__m128i *) (bytes + i / 2), _mm_shuffle_epi8 (_mm256_castsi256_si128 (all), transposed));
    }
  return i;
}

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
  gsize i = 0;

#ifdef __AVX2__
  i = code->sign_magnitude ? encode_32s (code, TRUE, x, n, divisor, bytes) : encode_32s (code, FALSE, x, n, divisor, bytes);
#endif
  for (; i < n; i += 2)
    {
      const guint8 second = i + 1 < n ? encode_nibble (code, x[i + 1] / divisor) : 0;

      bytes[i / 2] = (guint8) (encode_nibble (code, x[i] / divisor) << 4 | second);
    }
}

static void
encode_nibble_blocks (const LpNibbleCode *code, const float *x, gsize n_blocks, gsize block, float *absmaxes, guint8 *bytes)
{
  for (gsize b = 0; b < n_blocks; b++, x += block, bytes += block / 2)
    {
      absmaxes[b] = find_absmax (x, block);
#ifdef __AVX2__
      {
        const float divisor = absmaxes[b] > 1e-38f ? absmaxes[b] : 1e-38f;

        if (code->sign_magnitude)
          encode_32s (code, TRUE, x, block, divisor, bytes);
        else
          encode_32s (code, FALSE, x, block, divisor, bytes);
      }
#else
      encode_nibbles (code, x, block, absmaxes[b], bytes);
#endif
    }
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
  .encode_nibbles = encode_nibbles,
  .encode_nibble_blocks = encode_nibble_blocks,
  .decode_nibbles = decode_nibbles,
  .encode_int8 = encode_int8,
  .decode_int8 = decode_int8,
};
