// The CPU as a device: sparse-MLA decode by a plan, on SIMD or matrix units and a thread arena.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "wavefill/status.h"

namespace wavefill {

// kernels() has one row for every instruction set this machine can run, the fastest first
// ("cpu_mla_amx", "cpu_mla_avx3", ...): naming a kernel is how one is forced.
//
// num_threads: 0 = all hardware threads; it becomes device().num_sms. Scratch memory of the worker threads
// is allocated here, so that run() allocates nothing. Errors: invalid_argument.
Result<std::unique_ptr<Backend>> make_cpu_backend(int num_threads);

}  // namespace wavefill
