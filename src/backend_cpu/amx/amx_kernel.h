// The kernel on Intel's matrix unit (AMX, bf16).
#pragma once

#include <optional>

#include "backend_cpu/kernel.h"

namespace wavefill::cpu {

// Nothing where the CPU, the operating system or the compiler's target has no AMX. `base` supplies the
// conversions around it.
std::optional<CpuKernel> amx_kernel(const CpuKernel& base);

}  // namespace wavefill::cpu
