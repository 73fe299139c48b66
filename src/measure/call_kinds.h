// The two kinds of OracleCall, for make_oracle_call() to choose from.
#pragma once

#include <cstddef>
#include <memory>

#include "measure/oracle_call.h"

namespace wavefill {

std::unique_ptr<OracleCall> make_host_call(const Backend& backend, oracle::Inputs& inputs);

// In a build with CUDA alone. Precondition: the backend's memory is a GPU's.
Result<std::unique_ptr<OracleCall>> make_cuda_call(const Backend& backend, oracle::Inputs& inputs);

}  // namespace wavefill
