#pragma once

#define LP_INSIDE

#include <lp/core/lp-blockwise-dtype.h>
#include <lp/core/lp-dtype-registry.h>
#include <lp/core/lp-dtype.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>
#include <lp/core/lp-float-dtype.h>
#include <lp/core/lp-microscaling-dtype.h>
#include <lp/core/lp-random.h>
#include <lp/core/lp-registry.h>
#include <lp/core/lp-rowwise-dtype.h>
#include <lp/core/lp-shape.h>
#include <lp/core/lp-version-macros.h>

#include <lp/tensor/lp-device.h>
#include <lp/tensor/lp-state.h>
#include <lp/tensor/lp-tensor-dict.h>
#include <lp/tensor/lp-tensor.h>

#include <lp/autograd/lp-cast-policy.h>
#include <lp/autograd/lp-compute-scope.h>
#include <lp/autograd/lp-function.h>
#include <lp/autograd/lp-grad-mode.h>
#include <lp/autograd/lp-matmul.h>
#include <lp/autograd/lp-operand.h>
#include <lp/autograd/lp-operand-quantizer.h>

#include <lp/ops/lp-ops.h>

#include <lp/parallel/lp-single-strategy.h>
#include <lp/parallel/lp-strategy-registry.h>
#include <lp/parallel/lp-strategy.h>

#include <lp/nn/lp-avg-pool2d.h>
#include <lp/nn/lp-batch-norm2d.h>
#include <lp/nn/lp-conv2d.h>
#include <lp/nn/lp-dropout.h>
#include <lp/nn/lp-flatten.h>
#include <lp/nn/lp-gelu.h>
#include <lp/nn/lp-init.h>
#include <lp/nn/lp-linear.h>
#include <lp/nn/lp-lora-linear.h>
#include <lp/nn/lp-max-pool2d.h>
#include <lp/nn/lp-module.h>
#include <lp/nn/lp-pool2d.h>
#include <lp/nn/lp-relu.h>
#include <lp/nn/lp-sequential.h>

#include <lp/optim/lp-adamw.h>
#include <lp/optim/lp-cosine-lr.h>
#include <lp/optim/lp-lr-scheduler.h>
#include <lp/optim/lp-optimizer.h>
#include <lp/optim/lp-param-group.h>
#include <lp/optim/lp-sgd.h>
#include <lp/optim/lp-step-closure.h>
#include <lp/optim/lp-step-lr.h>
#include <lp/optim/lp-warmup-lr.h>

#include <lp/data/lp-batch.h>
#include <lp/data/lp-csv.h>
#include <lp/data/lp-data-loader.h>
#include <lp/data/lp-dataset.h>
#include <lp/data/lp-idx.h>
#include <lp/data/lp-npy.h>
#include <lp/data/lp-safetensors.h>
#include <lp/data/lp-subset.h>
#include <lp/data/lp-tensor-dataset.h>

#include <lp/metrics/lp-accuracy.h>
#include <lp/metrics/lp-confusion-matrix.h>
#include <lp/metrics/lp-mean-metric.h>
#include <lp/metrics/lp-mean-squared-error.h>
#include <lp/metrics/lp-metric.h>

#include <lp/precision/lp-apex-mixed-precision-plugin.h>
#include <lp/precision/lp-bitsandbytes.h>
#include <lp/precision/lp-current-scaling.h>
#include <lp/precision/lp-delayed-scaling.h>
#include <lp/precision/lp-double-precision-plugin.h>
#include <lp/precision/lp-fallback-mixed-precision-plugin.h>
#include <lp/precision/lp-fp8-precision-plugin.h>
#include <lp/precision/lp-fp8-recipe.h>
#include <lp/precision/lp-full-precision-plugin.h>
#include <lp/precision/lp-grad-scaler.h>
#include <lp/precision/lp-half-precision-plugin.h>
#include <lp/precision/lp-mixed-precision-plugin.h>
#include <lp/precision/lp-precision-context.h>
#include <lp/precision/lp-precision-error.h>
#include <lp/precision/lp-precision-plugin.h>
#include <lp/precision/lp-precision-registry.h>
#include <lp/precision/lp-precision-state.h>
#include <lp/precision/lp-precision-traits.h>
#include <lp/precision/lp-quantized-precision-plugin.h>

#include <lp/trainer/lp-callback.h>
#include <lp/trainer/lp-csv-logger.h>
#include <lp/trainer/lp-monitor-callback.h>
#include <lp/trainer/lp-early-stopping.h>
#include <lp/trainer/lp-fabric.h>
#include <lp/trainer/lp-folder-logger.h>
#include <lp/trainer/lp-logger.h>
#include <lp/trainer/lp-model.h>
#include <lp/trainer/lp-model-checkpoint.h>
#include <lp/trainer/lp-optimizer-config.h>
#include <lp/trainer/lp-progress-bar.h>
#include <lp/trainer/lp-tensor-board-logger.h>
#include <lp/trainer/lp-trainer.h>
#include <lp/trainer/lp-trainer-types.h>

#undef LP_INSIDE
