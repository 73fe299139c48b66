// The kernel table of this machine.
#pragma once

#include <vector>

#include "backend_cpu/kernel.h"

namespace wavefill::cpu {

// Kernels whose instructions this machine has, the fastest first. Never empty.
std::vector<CpuKernel> available_kernels();

}  // namespace wavefill::cpu
