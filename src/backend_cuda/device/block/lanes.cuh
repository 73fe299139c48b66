// What groups of neighbouring lanes have together, in all of them; the order of additions is fixed.
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

}  // namespace wavefill::cuda
