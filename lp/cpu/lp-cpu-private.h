#pragma once

#include <signal.h>

#include <omp.h>

#include <lp/core/lp-error.h>

#include "lp-cpu-isa-private.h"

G_BEGIN_DECLS

/* Work below this many elements stays on the calling thread: waking another one costs more. */
#define LP_CPU_PARALLEL_MIN 32768

/* Several arrays walked together in one order: axes sorted by the strides of array 0, extents of 1
 * dropped and neighbours merged where every array allows. */
#define LP_CPU_LOOP_MAX 4

/* Around calls of the library on this thread. */
sigset_t _lp_cpu_hold_signals    (void);
void     _lp_cpu_release_signals (sigset_t before);

typedef struct
{
  guint8  *data;
  LpScalar scalar;
  gint64   strides[LP_MAX_DIMS];
} LpCpuStream;

typedef struct
{
  int         n_dims;
  gint64      dims[LP_MAX_DIMS];
  gint64      n_elements;
  int         n_streams;
  LpCpuStream streams[LP_CPU_LOOP_MAX];
} LpCpuLoop;

void        _lp_cpu_loop_init    (LpCpuLoop *self, const LpArray *const *arrays, int n_arrays, gboolean keep_order);
/* Elements start to start + n of stream @k in the compute type: the memory itself, or @buffer filled. */
const void *_lp_cpu_loop_load    (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute, void *buffer);
/* Memory of these elements if it can be written as it is, else NULL. */
void       *_lp_cpu_loop_direct  (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute);
void        _lp_cpu_loop_store   (const LpCpuLoop *self, int k, gint64 start, gsize n, LpCompute compute, const void *values);
/* Element offset of linear position @index in stream @k. */
gint64      _lp_cpu_loop_offset  (const LpCpuLoop *self, int k, gint64 index);

/* y = map (inputs, param), split over threads. */
gboolean    _lp_cpu_map_run      (LpCpuMap map, LpCompute compute, const LpArray *const *inputs, int n_inputs,
                                  const LpArray *y, double param);

gboolean    _lp_cpu_is_integer   (LpScalar scalar);
/* float64 if any is, else float32. */
LpCompute   _lp_cpu_float_compute (const LpArray *const *arrays, int n);
gboolean    _lp_cpu_check_native (const char *op, const LpArray *const *arrays, int n, GError **error);
int         _lp_cpu_threads      (gint64 work);

static inline gsize
_lp_cpu_compute_size (LpCompute compute)
{
  return compute == LP_COMPUTE_F32 ? 4 : 8;
}

static inline gint64
_lp_cpu_n_elements (const LpArray *array)
{
  gint64 n = 1;

  for (int i = 0; i < array->n_dims; i++)
    n *= array->dims[i];
  return n;
}

/* Scratch memory of the calling thread, 64-byte aligned; each slot is kept and grows as needed. */
typedef enum {
  LP_SCRATCH_PACK_A,
  LP_SCRATCH_PACK_B,
  LP_SCRATCH_TILE,
  LP_SCRATCH_PARTIAL,
  LP_SCRATCH_ROW,
  LP_SCRATCH_DECODED,
  LP_SCRATCH_LIBRARY,
  LP_SCRATCH_WEIGHTS,
  LP_SCRATCH_IMAGE,
  LP_SCRATCH_IMAGE_GRAD,
  LP_N_SCRATCH
} LpScratch;

gpointer    _lp_cpu_scratch      (LpScratch slot, gsize size);

/* Images @first to @first + n of one of 16- or 32-bit elements with its channels last and dense: where they are, or copied to @slot. */
gboolean      _lp_cpu_is_channels_last (const LpArray *image);
gconstpointer _lp_cpu_channels_last    (const LpArray *image, gint64 first, gint64 n, LpScratch slot);

gboolean _lp_cpu_fill            (const LpArray *y, double value, GError **error);
gboolean _lp_cpu_absmax          (const LpArray *x, double *amax, GError **error);
gboolean _lp_cpu_quantize        (const LpArray *x, double scale, const LpArray *y, double *amax, GError **error);
gboolean _lp_cpu_copy            (const LpArray *x, const LpArray *y, GError **error);
gboolean _lp_cpu_unary           (LpUnary op, double param, const LpArray *x, const LpArray *y, GError **error);
gboolean _lp_cpu_unary_grad      (LpUnary op, double param, const LpArray *x, const LpArray *dy, const LpArray *dx, GError **error);
gboolean _lp_cpu_binary          (LpBinary op, const LpArray *a, const LpArray *b, const LpArray *y, GError **error);
gboolean _lp_cpu_where           (const LpArray *condition, const LpArray *a, const LpArray *b, const LpArray *y, GError **error);
gboolean _lp_cpu_loss            (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *l, GError **error);
gboolean _lp_cpu_loss_grad       (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *dl,
                                  const LpArray *dx, GError **error);
gboolean _lp_cpu_reduce          (LpReduce op, const LpArray *x, const LpArray *y, GError **error);
gboolean _lp_cpu_argmax          (const LpArray *x, int axis, const LpArray *y, GError **error);
gboolean _lp_cpu_cumsum          (const LpArray *x, int axis, gboolean reverse, const LpArray *y, GError **error);
gboolean _lp_cpu_softmax         (const LpArray *x, int axis, gboolean log, const LpArray *y, GError **error);
gboolean _lp_cpu_softmax_grad    (const LpArray *y, const LpArray *dy, int axis, gboolean log, const LpArray *dx, GError **error);
gboolean _lp_cpu_cross_entropy   (const LpCrossEntropyArgs *args, GError **error);
gboolean _lp_cpu_dropout         (const LpArray *x, double p, LpRandomPoint random, const LpArray *y, GError **error);
gboolean _lp_cpu_uniform         (const LpArray *y, double low, double high, LpRandomPoint random, GError **error);
gboolean _lp_cpu_normal          (const LpArray *y, double mean, double std, LpRandomPoint random, GError **error);
gboolean _lp_cpu_gemm            (const LpGemmArgs *args, GError **error);
gboolean _lp_cpu_conv2d          (const LpConvArgs *args, GError **error);
gboolean _lp_cpu_pool2d          (const LpPoolArgs *args, GError **error);
gboolean _lp_cpu_pool2d_grad     (const LpPoolArgs *args, GError **error);
gboolean _lp_cpu_batch_norm      (const LpBatchNormArgs *args, GError **error);
gboolean _lp_cpu_batch_norm_grad (const LpBatchNormGradArgs *args, GError **error);
gboolean _lp_cpu_index_select    (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error);
gboolean _lp_cpu_index_add       (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error);
gboolean _lp_cpu_gather          (const LpArray *x, int axis, const LpArray *index, const LpArray *y, GError **error);
gboolean _lp_cpu_scatter_add     (const LpArray *y, int axis, const LpArray *index, const LpArray *x, GError **error);
gboolean _lp_cpu_grad_stats      (const LpGradStatsArgs *args, GError **error);
gboolean _lp_cpu_sgd             (const LpSgdArgs *args, GError **error);
gboolean _lp_cpu_adamw           (const LpAdamWArgs *args, GError **error);

extern const LpKernelTable _lp_cpu_kernels;

G_END_DECLS
