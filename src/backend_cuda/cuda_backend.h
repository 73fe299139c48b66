// A CUDA device: the portable split kernels over a SplitPlan, and the combine. No CUDA headers needed.
#pragma once

#include <cstddef>
#include <memory>

#include "backend/backend.h"
#include "backend_cuda/split_params.h"
#include "wavefill/status.h"

namespace wavefill {

// A plan that lies ready on the device: made once a step, run for every layer. The memory given to
// prepare() must outlive it.
struct PreparedPlan {
  SplitPlan plan;
  cuda::PlanParams params;
};

// Beyond the seam, because a GPU reads a plan from its own memory. A plan that cuts every row alike
// travels in the kernels' parameters and needs no memory. Any other has an *image* of
// 4 * (5 items + workers + rows + 2) bytes; run(plan) writes it behind the partials in the workspace with
// one more kernel a call, prepare() writes it once.
//
// Nothing here allocates, and all of it may be captured into a graph: what a launch needs of the host is
// copied into its parameters.
class CudaBackend : public Backend {
 public:
  // What run(plan, ...) needs: partials as workspace_bytes(plan) counts them, and the image.
  virtual std::size_t run_workspace_bytes(const SplitPlan& plan) const = 0;

  // Bytes prepare() needs at `memory`: 0 for a plan that travels in parameters.
  virtual std::size_t plan_memory_bytes(const SplitPlan& plan) const = 0;

  // Queues the writing of the image. Precondition: as for run(plan, ...). memory: 16-byte aligned.
  // Errors: resource_exhausted (memory_size_bytes), invalid_argument (alignment), mismatch (kernel).
  virtual Result<PreparedPlan> prepare(const SplitPlan& plan, void* memory, std::size_t memory_size_bytes,
                                       void* stream) const = 0;

  using Backend::run;
  virtual Status run(const PreparedPlan& prepared, const DecodeArgs& args, void* stream) const = 0;
};

// Errors: not_found (ordinal), unavailable (no GPU, no driver or one too old), unsupported (the program has
// no machine code for this GPU).
Result<std::unique_ptr<CudaBackend>> make_cuda_backend(int ordinal);

}  // namespace wavefill
