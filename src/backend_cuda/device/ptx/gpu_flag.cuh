// A word in global memory by which CTAs hand each other what they wrote: one PTX instruction a function.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

// What this thread wrote before, and what it knows others wrote, is visible to whoever reads the value.
__device__ __forceinline__ void store_release(std::uint64_t* flag, std::uint64_t value) {
  asm volatile("st.release.gpu.global.b64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

__device__ __forceinline__ std::uint64_t load_acquire(const std::uint64_t* flag) {
  std::uint64_t value;
  asm volatile("ld.acquire.gpu.global.b64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

}  // namespace wavefill::cuda
