/* Loops over rows: reductions, softmax, losses and normalisation; built once per instruction set. */

#include "lp-cpu-isa-private.h"
#include "lp-cpu-math-private.h"

#define T float
#define F(name) name##_f32
#define M(name) name##_f32
#include "lp-cpu-row-template.h"
#undef T
#undef F
#undef M

#define T double
#define F(name) name##_f64
#define M(name) name##_f64
#include "lp-cpu-row-template.h"
#undef T
#undef F
#undef M

#define FOLD(t) { \
    [LP_REDUCE_SUM] = fold_sum_##t, [LP_REDUCE_MEAN] = fold_sum_##t, [LP_REDUCE_MAX] = fold_max_##t, \
    [LP_REDUCE_MIN] = fold_min_##t, [LP_REDUCE_SUM_SQUARES] = fold_squares_##t }

#define ACCUMULATE(t) { \
    [LP_REDUCE_SUM] = accumulate_sum_##t, [LP_REDUCE_MEAN] = accumulate_sum_##t, [LP_REDUCE_MAX] = accumulate_max_##t, \
    [LP_REDUCE_MIN] = accumulate_min_##t, [LP_REDUCE_SUM_SQUARES] = accumulate_squares_of_##t }

const LpCpuRowLoops LP_CPU_ISA_SYMBOL (_lp_cpu_row_) = {
  .fold = { FOLD (f32), FOLD (f64) },
  .accumulate = { ACCUMULATE (f32), ACCUMULATE (f64) },
  .softmax = { row_softmax_f32, row_softmax_f64 },
  .softmax_grad = { row_softmax_grad_f32, row_softmax_grad_f64 },
  .cross_entropy = { row_cross_entropy_f32, row_cross_entropy_f64 },
  .take_max = { take_max_f32, take_max_f64 },
  .add_chosen = { add_chosen_f32, add_chosen_f64 },
  .affine = { row_affine_f32, row_affine_f64 },
  .affine2 = { row_affine2_f32, row_affine2_f64 },
  .accumulate_squares = { accumulate_squares_f32, accumulate_squares_f64 },
  .accumulate_products = { accumulate_products_f32, accumulate_products_f64 },
};
