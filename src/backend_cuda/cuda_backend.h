// A CUDA device: split kernels over a SplitPlan, and the combine. No CUDA headers needed.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "wavefill/status.h"

namespace wavefill {

// A plan that cuts every row alike travels in the kernels' parameters and needs no memory. Any other has an
// *image* of 4 * (5 items + workers + rows + 2) bytes; run() writes it behind the partials in the workspace
// with one more kernel a call, prepare() writes it once.
//
// Nothing here allocates, and all of it may be captured into a graph: what a launch needs of the host is
// copied into its parameters.
//
// Errors: not_found (ordinal), unavailable (no GPU, no driver or one too old), unsupported (the program has
// no machine code for this GPU).
Result<std::unique_ptr<Backend>> make_cuda_backend(int ordinal);

}  // namespace wavefill
