/* The packed gemm; built once per instruction set. */

#include <string.h>

#include "lp-cpu-isa-private.h"

#if defined (__AVX512F__)
#define VECTOR_BYTES 64
#define MR 12
#elif defined (__AVX2__)
#define VECTOR_BYTES 32
#define MR 6
#else
#define VECTOR_BYTES 16
#define MR 6
#endif

/* Rows that packing reads ahead. */
#define PREFETCH_ROWS 16

#define VL_F32 (VECTOR_BYTES / 4)
#define VL_F64 (VECTOR_BYTES / 8)

typedef float vec_f32 __attribute__ ((vector_size (VECTOR_BYTES), may_alias));
typedef double vec_f64 __attribute__ ((vector_size (VECTOR_BYTES), may_alias));

#define T float
#define F(name) name##_f32
#define VEC vec_f32
#define VL VL_F32
#define COMPUTE LP_COMPUTE_F32
#define SCALAR LP_SCALAR_F32
#include "lp-cpu-gemm-template.h"
#undef T
#undef F
#undef VEC
#undef VL
#undef COMPUTE
#undef SCALAR

#define T double
#define F(name) name##_f64
#define VEC vec_f64
#define VL VL_F64
#define COMPUTE LP_COMPUTE_F64
#define SCALAR LP_SCALAR_F64
#include "lp-cpu-gemm-template.h"
#undef T
#undef F
#undef VEC
#undef VL
#undef COMPUTE
#undef SCALAR

static void
pack_strided (const LpCpuOperand *self, LpCompute compute, gint64 row0, int n_rows, gint64 k0, int n_k, int width, void *dst)
{
  if (compute == LP_COMPUTE_F64)
    pack_strided_f64 (self, row0, n_rows, k0, n_k, width, dst);
  else
    pack_strided_f32 (self, row0, n_rows, k0, n_k, width, dst);
}

const LpCpuGemmLoops LP_CPU_ISA_SYMBOL (_lp_cpu_gemm_) = {
  .mr = { MR, MR },
  .nr = { 2 * VL_F32, 2 * VL_F64 },
  .tile = { tile_f32, tile_f64 },
  .pack_strided = pack_strided,
  .dot = { run_dot_f32, run_dot_f64 },
  .axpy4 = { run_axpy4_f32, run_axpy4_f64 },
};
