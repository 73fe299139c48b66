#include "backend_cpu/kernel_table.h"

#include "backend_cpu/amx/amx_kernel.h"
#include "backend_cpu/simd/simd_kernels.h"

namespace wavefill::cpu {

std::vector<CpuKernel> available_kernels() {
  std::vector<CpuKernel> kernels = simd_kernels();
  if (auto amx = amx_kernel(kernels.front())) kernels.insert(kernels.begin(), *std::move(amx));
  return kernels;
}

}  // namespace wavefill::cpu
