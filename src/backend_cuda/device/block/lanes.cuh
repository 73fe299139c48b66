// What groups of neighbouring lanes have together, in all of them (the order of additions is fixed), and
// values that a lane forms where it needs them.
#pragma once

namespace wavefill::cuda {

template <int kLanes>
__device__ __forceinline__ float max_of_lanes(float x) {
#pragma unroll
  for (int bit = kLanes / 2; bit > 0; bit /= 2) x = fmaxf(x, __shfl_xor_sync(~0U, x, bit));
  return x;
}

template <int kLanes>
__device__ __forceinline__ float sum_of_lanes(float x) {
#pragma unroll
  for (int bit = kLanes / 2; bit > 0; bit /= 2) x += __shfl_xor_sync(~0U, x, bit);
  return x;
}

// The same value, but what follows from it is not formed earlier: addresses would be held in registers
// through the loop.
__device__ __forceinline__ int formed_here(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// threadIdx.x, read here rather than held in a register.
__device__ __forceinline__ int thread_here() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

}  // namespace wavefill::cuda
