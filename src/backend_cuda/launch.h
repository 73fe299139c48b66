// The one place that launches kernels.
#pragma once

#include <cstdint>

#include "backend_cuda/kernels/kernels.h"
#include "wavefill/status.h"

namespace wavefill::cuda {

struct LaunchContext {
  void* stream = nullptr;         // cudaStream_t
  bool dependent_launch = false;  // the device has programmatic dependent launch (compute capability 9.0)
};

// Every kernel here begins with wait_for_prior_grids() where the device has it, so each may be scheduled
// while its predecessor ends. Precondition: the device is current, num_ctas >= 1, `params` is what the
// kernel takes, and ctas_per_cluster divides num_ctas. Errors: whatever the driver says.
Status launch(const LaunchContext& context, const KernelFunction& kernel, std::int64_t num_ctas,
              const void* params, std::int32_t ctas_per_cluster = 1);

}  // namespace wavefill::cuda
