// Loads from global memory with hints, prefetches, and 16-byte accesses to shared memory: one job a function.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

// kBytesAtOnce * (16 / kBytesAtOnce) bytes, or zeros if not `wanted`: nothing is read then.
template <int kBytesAtOnce>
__device__ __forceinline__ uint4 load_16(const void* from, bool wanted) {
  uint4 v;
  if constexpr (kBytesAtOnce == 16) {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;"
        "@p ld.global.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(from), "r"(wanted ? 1 : 0));
  } else {
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;"
        "@p ld.global.v2.b32 {%0, %1}, [%4]; @p ld.global.v2.b32 {%2, %3}, [%4 + 8];}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(from), "r"(wanted ? 1 : 0));
  }
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
