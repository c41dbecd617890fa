/* Runs of elements to and from the compute types; built once per instruction set. */

#include "lp-cpu-convert-private.h"
#include "lp-cpu-isa-private.h"

#define IDENTITY(v) (v)

#define LOAD(name, src_type, dst_type, convert) \
  static void load_##name (const void *src, gint64 stride, gsize n, void *dst) \
  { \
    const src_type *x = src; \
    dst_type *y = dst; \
    if (stride == 1) \
      { \
        _Pragma ("omp simd") \
        for (gsize i = 0; i < n; i++) \
          y[i] = (dst_type) convert (x[i]); \
      } \
    else if (stride == 0) \
      { \
        const dst_type value = (dst_type) convert (x[0]); \
        for (gsize i = 0; i < n; i++) \
          y[i] = value; \
      } \
    else \
      { \
        for (gsize i = 0; i < n; i++) \
          y[i] = (dst_type) convert (x[(gint64) i * stride]); \
      } \
  }

#define STORE(name, src_type, dst_type, convert) \
  static void store_##name (const void *src, gsize n, void *dst, gint64 stride) \
  { \
    const src_type *x = src; \
    dst_type *y = dst; \
    if (stride == 1) \
      { \
        _Pragma ("omp simd") \
        for (gsize i = 0; i < n; i++) \
          y[i] = (dst_type) convert (x[i]); \
      } \
    else \
      { \
        for (gsize i = 0; i < n; i++) \
          y[(gint64) i * stride] = (dst_type) convert (x[i]); \
      } \
  }

#define BOTH(name, type, compute, c_type, load, store) \
  LOAD (name##_##compute, type, c_type, load) \
  STORE (name##_##compute, c_type, type, store)

#define TO_I64(v) lp_truncate_i64 (v)
#define TO_I32(v) lp_truncate_to (v, -2147483648.0, 2147483647.0)
#define TO_I16(v) lp_truncate_to (v, -32768.0, 32767.0)
#define TO_I8(v) lp_truncate_to (v, -128.0, 127.0)
#define TO_U8(v) lp_truncate_to (v, 0.0, 255.0)
#define TO_BOOL(v) ((v) != 0)
#define F16_TO_I64(v) TO_I64 (lp_load_f16 (v))
#define BF16_TO_I64(v) TO_I64 (lp_load_bf16 (v))
#define F16_FROM_I64(v) _lp_f16_from_f64 ((double) (v))
#define BF16_FROM_I64(v) _lp_bf16_from_f64 ((double) (v))

#define FLOAT_COMPUTE(compute, c_type) \
  BOTH (f64, double, compute, c_type, IDENTITY, IDENTITY) \
  BOTH (f32, float, compute, c_type, IDENTITY, IDENTITY) \
  BOTH (i64, gint64, compute, c_type, IDENTITY, TO_I64) \
  BOTH (i32, gint32, compute, c_type, IDENTITY, TO_I32) \
  BOTH (i16, gint16, compute, c_type, IDENTITY, TO_I16) \
  BOTH (i8, gint8, compute, c_type, IDENTITY, TO_I8) \
  BOTH (u8, guint8, compute, c_type, IDENTITY, TO_U8) \
  BOTH (bool, guint8, compute, c_type, TO_BOOL, TO_BOOL)

FLOAT_COMPUTE (f32_c, float)
FLOAT_COMPUTE (f64_c, double)

LOAD (bf16_f32_c, guint16, float, lp_load_bf16)
STORE (bf16_scalar, float, guint16, lp_round_bf16)

#ifdef __AVX2__
/* lp_round_bf16 for 8 values, in the lower halves. */
static inline __m256i
round_8_bf16 (const float *x)
{
  const __m256i bits = _mm256_loadu_si256 ((const __m256i *) x), high = _mm256_srli_epi32 (bits, 16);
  const __m256i odd = _mm256_and_si256 (high, _mm256_set1_epi32 (1));
  const __m256i rounded = _mm256_srli_epi32 (_mm256_add_epi32 (_mm256_add_epi32 (bits, _mm256_set1_epi32 (0x7FFF)), odd), 16);
  const __m256 value = _mm256_castsi256_ps (bits), is_nan = _mm256_cmp_ps (value, value, _CMP_UNORD_Q);

  return _mm256_blendv_epi8 (rounded, _mm256_or_si256 (high, _mm256_set1_epi32 (0x40)), _mm256_castps_si256 (is_nan));
}

static void
store_bf16_f32_c (const void *src, gsize n, void *dst, gint64 stride)
{
  const float *x = src;
  guint16 *y = dst;
  gsize i = 0;

  if (stride == 1)
    for (; i + 16 <= n; i += 16)
      _mm256_storeu_si256 ((__m256i *) (y + i),
                           _mm256_permute4x64_epi64 (_mm256_packus_epi32 (round_8_bf16 (x + i), round_8_bf16 (x + i + 8)), 0xD8));
  store_bf16_scalar (x + i, n - i, y + (gint64) i * stride, stride);
}
#else
#define store_bf16_f32_c store_bf16_scalar
#endif

BOTH (f16, guint16, f64_c, double, lp_load_f16, _lp_f16_from_f64)
BOTH (bf16, guint16, f64_c, double, lp_load_bf16, _lp_bf16_from_f64)

BOTH (f64, double, i64_c, gint64, TO_I64, IDENTITY)
BOTH (f32, float, i64_c, gint64, TO_I64, IDENTITY)
BOTH (f16, guint16, i64_c, gint64, F16_TO_I64, F16_FROM_I64)
BOTH (bf16, guint16, i64_c, gint64, BF16_TO_I64, BF16_FROM_I64)
BOTH (i64, gint64, i64_c, gint64, IDENTITY, IDENTITY)
BOTH (i32, gint32, i64_c, gint64, IDENTITY, IDENTITY)
BOTH (i16, gint16, i64_c, gint64, IDENTITY, IDENTITY)
BOTH (i8, gint8, i64_c, gint64, IDENTITY, IDENTITY)
BOTH (u8, guint8, i64_c, gint64, IDENTITY, IDENTITY)
BOTH (bool, guint8, i64_c, gint64, TO_BOOL, TO_BOOL)

LOAD (f16_scalar, guint16, float, lp_load_f16)
STORE (f16_scalar, float, guint16, lp_round_f16)

#ifdef __F16C__
/* gcc 12 leaves conversions of halves scalar. */
static void
load_f16_f32_c (const void *src, gint64 stride, gsize n, void *dst)
{
  const guint16 *x = src;
  float *y = dst;
  gsize i = 0;

  if (stride == 1)
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps (y + i, _mm256_cvtph_ps (_mm_loadu_si128 ((const __m128i *) (x + i))));
  load_f16_scalar (x + (gint64) i * stride, stride, n - i, y + i);
}

static void
store_f16_f32_c (const void *src, gsize n, void *dst, gint64 stride)
{
  const float *x = src;
  guint16 *y = dst;
  gsize i = 0;

  if (stride == 1)
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128 ((__m128i *) (y + i), _mm256_cvtps_ph (_mm256_loadu_ps (x + i), _MM_FROUND_TO_NEAREST_INT));
  store_f16_scalar (x + i, n - i, y + (gint64) i * stride, stride);
}
#else
#define load_f16_f32_c load_f16_scalar
#define store_f16_f32_c store_f16_scalar
#endif

#define TABLE(kind, c) { \
    [LP_SCALAR_F64] = kind##_f64_##c, [LP_SCALAR_F32] = kind##_f32_##c, [LP_SCALAR_F16] = kind##_f16_##c, \
    [LP_SCALAR_BF16] = kind##_bf16_##c, [LP_SCALAR_I64] = kind##_i64_##c, [LP_SCALAR_I32] = kind##_i32_##c, \
    [LP_SCALAR_I16] = kind##_i16_##c, [LP_SCALAR_I8] = kind##_i8_##c, [LP_SCALAR_U8] = kind##_u8_##c, \
    [LP_SCALAR_BOOL] = kind##_bool_##c }

const LpCpuConvertLoops LP_CPU_ISA_SYMBOL (_lp_cpu_convert_) = {
  .load = { TABLE (load, f32_c), TABLE (load, f64_c), TABLE (load, i64_c) },
  .store = { TABLE (store, f32_c), TABLE (store, f64_c), TABLE (store, i64_c) },
};
