#pragma once

#include <lp/core/lp-codec-private.h>
#include <lp/tensor/lp-kernels-private.h>

G_BEGIN_DECLS

/* The inner loops of the CPU kernels. They see contiguous runs in one of three compute types and are built
 * once per instruction set from the same sources; lp-cpu-isa.c picks a set when the library is loaded. */

typedef enum { LP_COMPUTE_F32, LP_COMPUTE_F64, LP_COMPUTE_I64, LP_N_COMPUTES } LpCompute;

/* Elements of one run: 4 KiB of the widest operands stay in the first-level cache. */
#define LP_CPU_CHUNK 1024

typedef void (* LpCpuMap)    (const void *const *in, void *out, gsize n, double param);
typedef void (* LpCpuLoad)   (const void *src, gint64 stride, gsize n, void *dst);
typedef void (* LpCpuStore)  (const void *src, gsize n, void *dst, gint64 stride);
typedef double (* LpCpuFold) (const void *x, gsize n);

typedef struct
{
  LpCpuLoad  load[LP_N_COMPUTES][LP_N_SCALARS];
  LpCpuStore store[LP_N_COMPUTES][LP_N_SCALARS];
} LpCpuConvertLoops;

typedef struct
{
  LpCpuMap copy[LP_N_COMPUTES];
  LpCpuMap unary[LP_N_COMPUTES][LP_N_UNARY];
  LpCpuMap unary_grad[LP_N_COMPUTES][LP_N_UNARY];
  LpCpuMap binary[LP_N_COMPUTES][LP_N_BINARY];
  LpCpuMap where[LP_N_COMPUTES];
  LpCpuMap loss[LP_N_COMPUTES][LP_N_LOSSES];
  LpCpuMap loss_grad[LP_N_COMPUTES][LP_N_LOSSES];
} LpCpuMapLoops;

#define LP_N_REDUCES (LP_REDUCE_SUM_SQUARES + 1)

/* Row loops for float32 and float64 (index LpCompute). */
typedef struct
{
  LpCpuFold fold[2][LP_N_REDUCES];                                       /* one run to one number */
  void (* accumulate[2][LP_N_REDUCES]) (const void *x, gsize n, double *acc); /* acc[j] (op)= x[j] */
  void (* softmax[2])       (const void *x, gsize n, gboolean log, void *y);
  void (* softmax_grad[2])  (const void *y, const void *dy, gsize n, gboolean log, void *dx);
  /* the loss of a row; dx may be NULL */
  double (* cross_entropy[2]) (const void *x, gsize n, gsize target, double smoothing, void *dx);
  /* of pooling: best = max (best, x), with the index of the cell it is from; and dx += dy where that index is @index */
  void (* take_max[2])      (const void *x, gsize n, gint32 index, void *best, gint32 *indices);
  void (* add_chosen[2])    (const void *dy, const gint32 *indices, gsize n, gint32 index, void *dx);
  void (* affine[2])        (const void *x, const void *scale, const void *shift, gsize n, void *y);
  void (* affine2[2])       (const void *x, const void *dy, const void *a, const void *b, const void *c, gsize n, void *dx);
  void (* accumulate_squares[2]) (const void *x, const void *mean, gsize n, double *acc); /* acc += (x - mean)^2 */
  void (* accumulate_products[2]) (const void *dy, const void *x, const void *mean, gsize n, double *sum, double *dot);
} LpCpuRowLoops;

typedef struct
{
  /* lanes of @n_blocks Philox blocks from @offset on, in element order */
  void (* philox)  (guint64 seed, guint64 stream, guint64 offset, gsize n_blocks, guint32 *out);
  void (* sgd[2])   (const LpSgdArgs *args, const double factors[2], gsize n, void *w, const void *g, void *m);
  void (* adamw[2]) (const LpAdamWArgs *args, const double factors[2], gsize n, void *w, const void *g, void *m, void *v);
  /* y = x * scale where the upper 24 of the bits are at least @limit, else 0 */
  void (* drop[2])  (const void *x, const guint32 *bits, gsize n, guint32 limit, double scale, void *y);
  /* by the 16 bits from bit @shift on */
  void (* stochastic_bf16) (const float *x, const guint32 *bits, int shift, gsize n, guint16 *y);
  /* g *= scale, stored unless it is to be kept; returns the sum of squares, which is not finite when a g * scale is not */
  double (* grad_stats[2]) (void *g, gsize n, double scale, gboolean keep);
} LpCpuOptimLoops;

/* An operand of the packed gemm: pack writes dst[p * width + i] = operand (row0 + i, k0 + p), rows past
 * @n_rows as zeros, in the compute type. */
typedef struct _LpCpuOperand LpCpuOperand;
struct _LpCpuOperand
{
  void (* pack) (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst);
  /* Of operands that are encoded: a block of at most LP_GEMM_DECODED rows as an operand that is not. Else NULL. */
  LpCpuOperand (* decode) (const LpCpuOperand *self, gint64 row0, int n_rows, gint64 k0, int n_k);
  const guint8 *data;
  LpScalar      scalar;
  gint64        row_stride, k_stride;
  gint64        origin, channel;      /* of convolutions: first position and first channel */
  gconstpointer extra;
};

typedef struct
{
  gint64 m0, m, n0, n, k0, k;
  double alpha, beta;
  void  *d;            /* the element (m0, n0); unit stride along n */
  gint64 ldd;
} LpCpuTile;

typedef struct
{
  int   mr[2], nr[2];
  void (* tile[2]) (const LpCpuOperand *a, const LpCpuOperand *b, const LpCpuTile *tile, void *pack_a, void *pack_b);
  void (* pack_strided) (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst);
  double (* dot[2])  (const void *x, const void *y, gsize n);
  void (* axpy4[2]) (const double a[4], const void *const x[4], gsize n, void *y);
} LpCpuGemmLoops;

/* Blocks of the gemm: K of one pass, rows of A held in the second-level cache, columns of B. */
#define LP_GEMM_KC 256
#define LP_GEMM_MC 144
#define LP_GEMM_NC 768
/* Rows of an encoded operand that are decoded at a time: a multiple of all widths of panels and of the usual blocks. */
#define LP_GEMM_DECODED 192

/* Products of 8-bit integers: see lp-cpu-int8-loops.c. */
typedef struct
{
  int mr, nr;
  void (* pack)  (const gint8 *q, gint64 stride, int n_rows, int n_k, int width, gint16 *dst);
  void (* block) (const gint16 *a, const gint16 *b, int m, int n, int n_pairs, gboolean add, gint32 *d, gint64 ldd);
  /* y = sums * factor * factors / 127^2 */
  void (* scale) (const gint32 *sums, gsize n, double factor, const float *factors, float *y);
} LpCpuInt8Loops;

typedef struct
{
  const char              *name;
  const LpCpuConvertLoops *convert;
  const LpCpuMapLoops     *map;
  const LpCpuRowLoops     *row;
  const LpCpuOptimLoops   *optim;
  const LpCpuGemmLoops    *gemm;
  const LpCodecLoops      *codec;
  const LpCpuInt8Loops    *int8;
} LpCpuIsa;

extern const LpCpuIsa *_lp_cpu_isa;

#define LP_CPU_DECLARE_ISA(isa) \
  extern const LpCpuConvertLoops _lp_cpu_convert_##isa; \
  extern const LpCpuMapLoops     _lp_cpu_map_##isa; \
  extern const LpCpuRowLoops     _lp_cpu_row_##isa; \
  extern const LpCpuOptimLoops   _lp_cpu_optim_##isa; \
  extern const LpCpuGemmLoops    _lp_cpu_gemm_##isa; \
  extern const LpCodecLoops      _lp_cpu_codec_##isa; \
  extern const LpCpuInt8Loops    _lp_cpu_int8_##isa;

LP_CPU_DECLARE_ISA (base)
#ifdef __x86_64__
LP_CPU_DECLARE_ISA (avx2)
LP_CPU_DECLARE_ISA (avx512)
#endif

#define LP_CPU_PASTE_(a, b) a##b
#define LP_CPU_PASTE(a, b) LP_CPU_PASTE_ (a, b)
#define LP_CPU_ISA_SYMBOL(name) LP_CPU_PASTE (name, LP_CPU_ISA)

G_END_DECLS
