// The CPU as a device: sparse-MLA decode by a plan, on SIMD units and a thread arena.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "backend/backend.h"
#include "wavefill/status.h"

namespace wavefill {

// The instruction sets that kernels were written or compiled for, best first.
struct CpuIsa {
  std::string_view name;     // "amx-bf16", "avx3-spr", "avx2", "emu128", ...
  std::string_view summary;  // one line for listings
};

// Those which this machine can run. Never empty.
std::span<const CpuIsa> available_cpu_isas();

struct CpuBackendOptions {
  std::int32_t num_threads = 0;  // 0 = all hardware threads
  std::string_view isa;          // a name of available_cpu_isas(); empty = the best
};

// Errors: invalid_argument (num_threads, or an isa this machine does not have: lists those it has),
// resource_exhausted (scratch memory).
Result<std::unique_ptr<Backend>> make_cpu_backend(const CpuBackendOptions& options);

// num_threads: 0 = all hardware threads. Errors: invalid_argument.
Result<std::unique_ptr<Backend>> make_cpu_backend(int num_threads);

}  // namespace wavefill
