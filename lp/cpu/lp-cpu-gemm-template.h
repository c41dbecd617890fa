/* The blocked and packed gemm, after K. Goto and R. van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34 (2008). Included once per floating compute type, with T, F (name), VEC (a vector
 * of VL elements), MR rows and NR = 2 * VL columns. No include guard. */

#define NR (2 * VL)

/* C[MR][NR] = sum over p of a[p * MR + i] * b[p * NR + j] */
static inline __attribute__ ((always_inline)) void
F (product) (int k, const T *restrict a, const T *restrict b, VEC c[MR][2])
{
  VEC acc[MR][2];

  for (int i = 0; i < MR; i++)
    acc[i][0] = acc[i][1] = (VEC) { 0 };
  for (int p = 0; p < k; p++)
    {
      const VEC b0 = *(const VEC *) b, b1 = *(const VEC *) (b + VL);

#pragma GCC unroll 16
      for (int i = 0; i < MR; i++)
        {
          acc[i][0] += a[i] * b0;
          acc[i][1] += a[i] * b1;
        }
      a += MR;
      b += NR;
    }
  for (int i = 0; i < MR; i++)
    {
      c[i][0] = acc[i][0];
      c[i][1] = acc[i][1];
    }
}

typedef T F (Loose) __attribute__ ((vector_size (VL * sizeof (T)), aligned (sizeof (T)), may_alias));

/* d = alpha * acc + beta * d for the m x n elements of the micro-tile that exist */
static __attribute__ ((noinline)) void
F (micro) (int k, const T *a, const T *b, T alpha, T beta, T *d, gint64 ldd, int m, int n)
{
  VEC c[MR][2];

  for (int i = 0; i < m; i++)
    __builtin_prefetch (d + i * ldd, 1);
  F (product) (k, a, b, c);
  if (m == MR && n == NR)
    {
      for (int i = 0; i < MR; i++)
        {
          F (Loose) *row = (F (Loose) *) (d + i * ldd);

          if (beta == 0)
            {
              row[0] = alpha * c[i][0];
              row[1] = alpha * c[i][1];
            }
          else
            {
              row[0] = alpha * c[i][0] + beta * row[0];
              row[1] = alpha * c[i][1] + beta * row[1];
            }
        }
      return;
    }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      {
        const T value = alpha * ((const T *) c[i])[j];

        d[i * ldd + j] = beta == 0 ? value : value + beta * d[i * ldd + j];
      }
}

/* Panels of @width rows, one behind the other. */
static void
F (pack_panels) (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k, int width, T *dst)
{
  for (int first = 0; first < n_rows; first += LP_GEMM_DECODED)
    {
      const int last = MIN (first + LP_GEMM_DECODED, n_rows);
      LpCpuOperand plain = *self;
      gint64 start = row0, k_start = k0;

      if (self->decode != NULL)
        {
          plain = self->decode (self, row0 + first, last - first, k0, n_k);
          start = -first;
          k_start = 0;
        }
      for (int i = first; i < last; i += width)
        plain.pack (&plain, COMPUTE, start + i, MIN (width, last - i), k_start, n_k, width, dst + (gsize) i * (gsize) n_k);
    }
}

static void
F (block) (const LpCpuOperand *a, const LpCpuTile *t, gint64 m0, int mc, gint64 n0, int nc, gint64 k0, int kc, T beta, T *pack_a,
           const T *pack_b)
{
  F (pack_panels) (a, m0, mc, k0, kc, MR, pack_a);
  for (int j = 0; j < nc; j += NR)
    for (int i = 0; i < mc; i += MR)
      F (micro) (kc, pack_a + (gsize) i * (gsize) kc, pack_b + (gsize) j * (gsize) kc, (T) t->alpha, beta,
                 (T *) t->d + (m0 - t->m0 + i) * t->ldd + (n0 - t->n0 + j), t->ldd, MIN (MR, mc - i), MIN (NR, nc - j));
}

static void
F (tile) (const LpCpuOperand *a, const LpCpuOperand *b, const LpCpuTile *t, void *pack_a, void *pack_b)
{
  for (gint64 n = 0; n < t->n; n += LP_GEMM_NC)
    {
      const int nc = (int) MIN (LP_GEMM_NC, t->n - n);

      for (gint64 k = 0; k == 0 || k < t->k; k += LP_GEMM_KC)
        {
          const int kc = (int) MIN (LP_GEMM_KC, t->k - k);
          const T beta = k == 0 ? (T) t->beta : 1;

          F (pack_panels) (b, t->n0 + n, nc, t->k0 + k, kc, NR, pack_b);
          for (gint64 m = 0; m < t->m; m += LP_GEMM_MC)
            F (block) (a, t, t->m0 + m, (int) MIN (LP_GEMM_MC, t->m - m), t->n0 + n, nc, t->k0 + k, kc, beta, pack_a, pack_b);
        }
    }
}

/* Rows are contiguous along k: each is read as a run and spread over the panel. */
static void
F (pack_k_runs) (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k, int width, T *dst)
{
  const LpCpuLoad load = LP_CPU_ISA_SYMBOL (_lp_cpu_convert_).load[COMPUTE][self->scalar];
  const gsize size = _lp_scalar_sizes[self->scalar];
  T run[LP_GEMM_KC];

  for (int i = 0; i < n_rows; i++)
    {
      const guint8 *src = self->data + ((row0 + i) * self->row_stride + k0) * (gint64) size;
      const T *x = (const T *) src;

      if (self->scalar != SCALAR)
        {
          load (src, 1, (gsize) n_k, run);
          x = run;
        }
      for (int p = 0; p < n_k; p++)
        dst[p * width + i] = x[p];
    }
}

/* Everything else: a run across the rows for each k. */
static void
F (pack_rows) (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k, int width, T *dst)
{
  const LpCpuLoad load = LP_CPU_ISA_SYMBOL (_lp_cpu_convert_).load[COMPUTE][self->scalar];
  const gint64 size = _lp_scalar_sizes[self->scalar];
  const guint8 *src = self->data + (row0 * self->row_stride + k0 * self->k_stride) * size;

  if (self->scalar == SCALAR && self->row_stride == 1 && n_rows == NR && width == NR)
    {
      for (int p = 0; p < n_k; p++, src += self->k_stride * size, dst += NR)
        {
          const F (Loose) *row = (const F (Loose) *) src;

          /* one line of each row is read, which no hardware foresees */
          __builtin_prefetch (src + PREFETCH_ROWS * self->k_stride * size);
          ((VEC *) dst)[0] = row[0];
          ((VEC *) dst)[1] = row[1];
        }
      return;
    }
  if (self->scalar == SCALAR && self->row_stride == 1 && n_rows == MR && width == MR)
    {
      for (int p = 0; p < n_k; p++, src += self->k_stride * size, dst += MR)
        {
          __builtin_prefetch (src + PREFETCH_ROWS * self->k_stride * size);
          memcpy (dst, src, MR * sizeof (T));
        }
      return;
    }
  for (int p = 0; p < n_k; p++)
    load (src + p * self->k_stride * size, self->row_stride, (gsize) n_rows, dst + p * width);
}

static void
F (pack_strided) (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k, int width, T *dst)
{
  if (n_rows < width)
    memset (dst, 0, sizeof (T) * (gsize) width * (gsize) n_k);
  if (self->k_stride == 1 && self->row_stride != 1)
    F (pack_k_runs) (self, row0, n_rows, k0, n_k, width, dst);
  else
    F (pack_rows) (self, row0, n_rows, k0, n_k, width, dst);
}

static double
F (run_dot) (const void *left, const void *right, gsize n)
{
  const T *x = left, *y = right;
  T sum = 0;

#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}

static void
F (run_axpy4) (const double factors[4], const void *const rows[4], gsize n, void *out)
{
  const T a0 = (T) factors[0], a1 = (T) factors[1], a2 = (T) factors[2], a3 = (T) factors[3];
  const T *x0 = rows[0], *x1 = rows[1], *x2 = rows[2], *x3 = rows[3];
  T *y = out;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    y[i] += a0 * x0[i] + a1 * x1[i] + a2 * x2[i] + a3 * x3[i];
}

#undef NR
