/* Products of 8-bit integers, summed in 32 bits; built once per instruction set. Packed operands are panels of rows as 16-bit integers,
 * two neighbours in k together, which is what the instructions multiply and add. */

#include <string.h>

#include "lp-cpu-isa-private.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#if defined (__AVX512BW__)
#define MR 12
typedef __m512i Sums;
#define MULTIPLY_ADD(sums, a, b) _mm512_add_epi32 (sums, _mm512_madd_epi16 (a, b))
#define SPREAD(pair) _mm512_set1_epi32 (pair)
#elif defined (__AVX2__)
#define MR 6
typedef __m256i Sums;
#define MULTIPLY_ADD(sums, a, b) _mm256_add_epi32 (sums, _mm256_madd_epi16 (a, b))
#define SPREAD(pair) _mm256_set1_epi32 (pair)
#elif defined (__SSE2__)
#define MR 6
typedef __m128i Sums;
#define MULTIPLY_ADD(sums, a, b) _mm_add_epi32 (sums, _mm_madd_epi16 (a, b))
#define SPREAD(pair) _mm_set1_epi32 (pair)
#else
#define MR 6
typedef gint32 Sums __attribute__ ((vector_size (16)));
#define MULTIPLY_ADD(sums, a, b) ((sums) + ((a) << 16 >> 16) * ((b) << 16 >> 16) + ((a) >> 16) * ((b) >> 16))
#define SPREAD(pair) ((Sums) { pair, pair, pair, pair })
#endif

#define VL ((int) (sizeof (Sums) / sizeof (gint32)))
#define NR (2 * VL)

typedef gint32 Pair __attribute__ ((may_alias));
typedef Sums Loose __attribute__ ((aligned (4), may_alias));

/* c[MR][NR] = sums over the pairs */
static inline __attribute__ ((always_inline)) void
product (int n_pairs, const gint16 *restrict a, const gint16 *restrict b, Sums c[MR][2])
{
  Sums acc[MR][2] = { 0 };

  for (int p = 0; p < n_pairs; p++)
    {
      const Sums b0 = *(const Loose *) b, b1 = *(const Loose *) (b + 2 * VL);

#pragma GCC unroll 16
      for (int i = 0; i < MR; i++)
        {
          const Sums spread = SPREAD (((const Pair *) a)[i]);

          acc[i][0] = MULTIPLY_ADD (acc[i][0], spread, b0);
          acc[i][1] = MULTIPLY_ADD (acc[i][1], spread, b1);
        }
      a += 2 * MR;
      b += 2 * NR;
    }
  memcpy (c, acc, sizeof acc);
}

static __attribute__ ((noinline)) void
micro (int n_pairs, const gint16 *a, const gint16 *b, gboolean add, gint32 *d, gint64 ldd, int m, int n)
{
  Sums c[MR][2];

  product (n_pairs, a, b, c);
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      d[i * ldd + j] = ((const Pair *) c[i])[j] + (add ? d[i * ldd + j] : 0);
}

/* d (+)= a b for panels of @m and @n rows. */
static void
block (const gint16 *a, const gint16 *b, int m, int n, int n_pairs, gboolean add, gint32 *d, gint64 ldd)
{
  for (int j = 0; j < n; j += NR)
    for (int i = 0; i < m; i += MR)
      micro (n_pairs, a + (gsize) i * 2 * (gsize) n_pairs, b + (gsize) j * 2 * (gsize) n_pairs, add, d + i * ldd + j, ldd,
             MIN (MR, m - i), MIN (NR, n - j));
}

static inline Pair
make_pair (gint8 first, gint8 second)
{
  return (Pair) ((guint32) (guint16) first | (guint32) second << 16);
}

/* What is missing in a panel is 0. */
static void
pack (const gint8 *q, gint64 stride, int n_rows, int n_k, int width, gint16 *dst)
{
  const int n_pairs = (n_k + 1) / 2;

  for (int first = 0; first < n_rows; first += width, dst += 2 * width * n_pairs)
    {
      const int n = MIN (width, n_rows - first);

      if (n < width)
        memset (dst, 0, (gsize) (width * n_pairs) * sizeof (Pair));
      for (int i = 0; i < n; i++)
        {
          const gint8 *x = q + (first + i) * stride;
          Pair *pairs = (Pair *) dst + i;

          for (int p = 0; p < n_k / 2; p++)
            pairs[p * width] = make_pair (x[2 * p], x[2 * p + 1]);
          if (n_k % 2 != 0)
            pairs[n_k / 2 * width] = make_pair (x[n_k - 1], 0);
        }
    }
}

/* Rounded once, to float32, but for the last bits of doubles. y may be where the sums are. */
static void
scale (const gint32 *sums, gsize n, double factor, const float *factors, float *y)
{
#pragma omp simd
  for (gsize j = 0; j < n; j++)
    y[j] = (float) ((double) sums[j] * (factor * (double) factors[j]) / (127 * 127));
}

const LpCpuInt8Loops LP_CPU_ISA_SYMBOL (_lp_cpu_int8_) = { .mr = MR, .nr = NR, .pack = pack, .block = block, .scale = scale };
