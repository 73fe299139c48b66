// Asynchronous copies from global to shared memory: one PTX instruction a function. `src_bytes` of 0 reads
// nothing and fills the destination with zeros. They order nothing: barriers around their stage do.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

__device__ __forceinline__ void cp_async_16(uint32_t dst, const void* src, uint32_t src_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(dst), "l"(src), "r"(src_bytes));
}

__device__ __forceinline__ void cp_async_8(uint32_t dst, const void* src, uint32_t src_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(dst), "l"(src), "r"(src_bytes));
}

}  // namespace wavefill::cuda
