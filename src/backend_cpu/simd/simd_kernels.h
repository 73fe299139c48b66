// The kernels written once in Highway and compiled for several instruction sets.
#pragma once

#include <vector>

#include "backend_cpu/kernel.h"

namespace wavefill::cpu {

// Those this machine can run, widest vectors first; the last one runs anywhere.
std::vector<CpuKernel> simd_kernels();

}  // namespace wavefill::cpu
