// One call over the oracle's tensors, in whatever memory a backend reads.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "oracle/inputs.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

class OracleCall {
 public:
  virtual ~OracleCall() = default;

  // Runs `plan` once into poisoned outputs, its workspace exactly as large as the backend asks for. When it
  // returns, the results are in the inputs' own buffers. Errors: those of check_run() and the backend,
  // resource_exhausted.
  virtual Status run(const SplitPlan& plan, bool check_indices) = 0;
};

// `backend` and `inputs` must outlive the call. Errors: resource_exhausted (memory of the device),
// unavailable (a GPU in a build without CUDA).
Result<std::unique_ptr<OracleCall>> make_oracle_call(const Backend& backend, oracle::Inputs& inputs);

}  // namespace wavefill
