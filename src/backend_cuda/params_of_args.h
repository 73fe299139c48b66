// From a checked call to kernel parameters.
#pragma once

#include "backend_cuda/split_params.h"
#include "wavefill/decode_args.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill::cuda {

// Everything but the plan. Errors: invalid_argument where a pointer or stride is not a multiple of what the
// kernels' 16-byte (footer formats: 8-byte) accesses need, naming it.
Result<SplitParams> split_params(const SplitPlan& plan, const DecodeArgs& args);

}  // namespace wavefill::cuda
