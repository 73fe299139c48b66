// Loads from global memory with hints, prefetches, and 16-byte accesses to shared memory: one job a function.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

// kBytesAtOnce * (16 / kBytesAtOnce) bytes. Without a condition: the compiler would load to another register
// and wait there.
template <int kBytesAtOnce>
__device__ __forceinline__ uint4 load_16(const void* from) {
  uint4 v;
  if constexpr (kBytesAtOnce == 16) {
    asm volatile("ld.global.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
  } else {
    asm volatile("ld.global.v2.b32 {%0, %1}, [%4]; ld.global.v2.b32 {%2, %3}, [%4 + 8];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
  }
  return v;
}

__device__ __forceinline__ std::uint32_t load_4(const void* from) {
  std::uint32_t v;
  asm volatile("ld.global.L1::no_allocate.b32 %0, [%1];" : "=r"(v) : "l"(from));
  return v;
}

__device__ __forceinline__ void prefetch_l2(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

__device__ __forceinline__ void store_shared_16(std::uint32_t to, const uint4& v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ __forceinline__ uint4 load_shared_16(std::uint32_t from) {
  uint4 v;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(from)
               : "memory");
  return v;
}

}  // namespace wavefill::cuda
