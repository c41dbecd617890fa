/* Optimizer steps and random bits; built once per instruction set. */

#include "lp-cpu-isa-private.h"
#include "lp-cpu-math-private.h"

#define lp_sqrt_f32 sqrtf
#define lp_sqrt_f64 sqrt

#define T float
#define F(name) name##_f32
#define M(name) name##_f32
#include "lp-cpu-optim-template.h"
#undef T
#undef F
#undef M

#define T double
#define F(name) name##_f64
#define M(name) name##_f64
#include "lp-cpu-optim-template.h"
#undef T
#undef F
#undef M

/* One Philox block per lane; the generator itself is _lp_philox. */
#ifdef __AVX2__
#include <immintrin.h>

#define LANES 8

/* The halves of the 64-bit products of 8 lanes. */
static inline __attribute__ ((always_inline)) __m256i
multiply (__m256i x, __m256i factor, __m256i *high)
{
  const __m256i even = _mm256_mul_epu32 (x, factor), odd = _mm256_mul_epu32 (_mm256_srli_epi64 (x, 32), factor);

  *high = _mm256_blend_epi32 (_mm256_srli_epi64 (even, 32), odd, 0xaa);
  return _mm256_blend_epi32 (even, _mm256_slli_epi64 (odd, 32), 0xaa);
}

static void
philox_lanes (guint64 seed, guint64 stream, guint64 offset, guint32 *out)
{
  const __m256i m0 = _mm256_set1_epi32 ((int) 0xD2511F53u), m1 = _mm256_set1_epi32 ((int) 0xCD9E8D57u);
  guint32 low[LANES], top[LANES], k0 = (guint32) seed, k1 = (guint32) (seed >> 32);
  __m256i c0, c1, c2 = _mm256_set1_epi32 ((int) (guint32) stream), c3 = _mm256_set1_epi32 ((int) (guint32) (stream >> 32));
  __m256i a, b, c, d;

  for (int i = 0; i < LANES; i++)
    {
      low[i] = (guint32) (offset + (guint64) i);
      top[i] = (guint32) ((offset + (guint64) i) >> 32);
    }
  c0 = _mm256_loadu_si256 ((const __m256i *) low);
  c1 = _mm256_loadu_si256 ((const __m256i *) top);
  for (int round = 0; round < 10; round++)
    {
      __m256i high0, high1;
      const __m256i low0 = multiply (c0, m0, &high0), low1 = multiply (c2, m1, &high1);

      c0 = _mm256_xor_si256 (_mm256_xor_si256 (high1, c1), _mm256_set1_epi32 ((int) k0));
      c2 = _mm256_xor_si256 (_mm256_xor_si256 (high0, c3), _mm256_set1_epi32 ((int) k1));
      c1 = low1;
      c3 = low0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  /* four words of eight lanes to eight blocks of four words */
  a = _mm256_unpacklo_epi32 (c0, c1);
  b = _mm256_unpackhi_epi32 (c0, c1);
  c = _mm256_unpacklo_epi32 (c2, c3);
  d = _mm256_unpackhi_epi32 (c2, c3);
  c0 = _mm256_unpacklo_epi64 (a, c);
  c1 = _mm256_unpackhi_epi64 (a, c);
  c2 = _mm256_unpacklo_epi64 (b, d);
  c3 = _mm256_unpackhi_epi64 (b, d);
  _mm256_storeu_si256 ((__m256i *) out, _mm256_permute2x128_si256 (c0, c1, 0x20));
  _mm256_storeu_si256 ((__m256i *) (out + 8), _mm256_permute2x128_si256 (c2, c3, 0x20));
  _mm256_storeu_si256 ((__m256i *) (out + 16), _mm256_permute2x128_si256 (c0, c1, 0x31));
  _mm256_storeu_si256 ((__m256i *) (out + 24), _mm256_permute2x128_si256 (c2, c3, 0x31));
}
#else
#define LANES 32

static void
philox_lanes (guint64 seed, guint64 stream, guint64 offset, guint32 *out)
{
  guint32 c0[LANES], c1[LANES], c2[LANES], c3[LANES];
  guint32 k0 = (guint32) seed, k1 = (guint32) (seed >> 32);

  for (int i = 0; i < LANES; i++)
    {
      c0[i] = (guint32) (offset + (guint64) i);
      c1[i] = (guint32) ((offset + (guint64) i) >> 32);
      c2[i] = (guint32) stream;
      c3[i] = (guint32) (stream >> 32);
    }
  for (int round = 0; round < 10; round++)
    {
#pragma omp simd
      for (int i = 0; i < LANES; i++)
        {
          const guint64 p0 = (guint64) 0xD2511F53u * c0[i];
          const guint64 p1 = (guint64) 0xCD9E8D57u * c2[i];

          c0[i] = (guint32) (p1 >> 32) ^ c1[i] ^ k0;
          c2[i] = (guint32) (p0 >> 32) ^ c3[i] ^ k1;
          c1[i] = (guint32) p1;
          c3[i] = (guint32) p0;
        }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  for (int i = 0; i < LANES; i++)
    {
      out[4 * i] = c0[i];
      out[4 * i + 1] = c1[i];
      out[4 * i + 2] = c2[i];
      out[4 * i + 3] = c3[i];
    }
}
#endif

static void
run_philox (guint64 seed, guint64 stream, guint64 offset, gsize n_blocks, guint32 *out)
{
  gsize i = 0;

  for (; i + LANES <= n_blocks; i += LANES)
    philox_lanes (seed, stream, offset + i, out + 4 * i);
  for (; i < n_blocks; i++)
    _lp_philox (seed, stream, offset + i, out + 4 * i);
}

/* Adds 16 random bits below the kept ones and truncates; Inf and NaN stay. */
static void
run_stochastic_bf16 (const float *x, const guint32 *random, int shift, gsize n, guint16 *y)
{
#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const guint32 bits = lp_float_to_bits (x[i]);
      const guint32 magnitude = bits & 0x7fffffff;
      const guint32 moved = bits + (magnitude >= 0x7f800000 ? 0 : random[i] >> shift & 0xffff);
      const guint32 quiet = magnitude > 0x7f800000 ? 0x40 : 0;

      y[i] = (guint16) ((moved >> 16) | quiet);
    }
}

const LpCpuOptimLoops LP_CPU_ISA_SYMBOL (_lp_cpu_optim_) = {
  .philox = run_philox,
  .sgd = { run_sgd_f32, run_sgd_f64 },
  .adamw = { run_adamw_f32, run_adamw_f64 },
  .drop = { run_drop_f32, run_drop_f64 },
  .stochastic_bf16 = run_stochastic_bf16,
  .grad_stats = { run_grad_stats_f32, run_grad_stats_f64 },
};
