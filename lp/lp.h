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

#undef LP_INSIDE
