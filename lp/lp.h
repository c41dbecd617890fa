#pragma once

#define LP_INSIDE

#include <lp/core/lp-dtype-registry.h>
#include <lp/core/lp-dtype.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-random.h>
#include <lp/core/lp-registry.h>
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
#include <lp/autograd/lp-operand.h>

#include <lp/ops/lp-ops.h>

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

#undef LP_INSIDE
