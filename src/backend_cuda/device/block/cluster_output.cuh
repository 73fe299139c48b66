// From the accumulators of a portable kernel to a partial that the CTAs of a cluster will read.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/cluster_merge.cuh"
#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/softmax.cuh"
#include "backend_cuda/device/block/split_config.cuh"

namespace wavefill::cuda {

template <class C>
__device__ __forceinline__ ClusterEnd<C::kHeads, 1>& cluster_end(SplitShared<C>& shared) {
  static_assert(sizeof(ClusterEnd<C::kHeads, 1>) <= sizeof(shared.ring));
  return *reinterpret_cast<ClusterEnd<C::kHeads, 1>*>(shared.ring);
}

// Puts the largest magnitude of each head's O into shared.tile_max, which is empty. NaN counts as nothing.
template <class C>
__device__ __forceinline__ void find_largest(SplitShared<C>& shared, const OutputAccumulators<C>& o,
                                             float unit, int lane) {
#pragma unroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float dims[2 * C::kDimFrags];
      take_dims<C>(dims, o, n, c, unit);
      float largest = 0.0F;
#pragma unroll
      for (float dim : dims) largest = fmaxf(largest, fabsf(dim));
#pragma unroll
      for (int bit = 4; bit < 32; bit *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, bit));
      if (lane < 4) atomicMax(&shared.tile_max[n * 8 + lane * 2 + c], ordered_bits(largest));
    }
  }
}

// One thread a head: its log-sum-exp and the powers of two of its O, and in shared.factor what that is to be
// multiplied by. Precondition: sums and shared.tile_max are published.
template <class C>
__device__ __forceinline__ void finish_head_in_cluster(SplitShared<C>& shared,
                                                       StagedPartial<C::kHeads, 1>& partial, int head) {
  float sum = 0.0F;
  for (int w = 0; w < C::kComputeWarps; ++w) sum += shared.sums[w][head];
  partial.lse[head] = sum == 0.0F ? minus_infinity() : shared.reference[head] + log2_approx(sum);
  const float factor = sum == 0.0F ? 0.0F : reciprocal_approx(sum);
  const UnitPower power(from_ordered_bits(shared.tile_max[head]) * factor);
  partial.unit[0][head] = power.inverse;
  shared.factor[head] = factor * power.power;
}

template <class C>
__device__ __forceinline__ void stage_output(StagedPartial<C::kHeads, 1>& partial,
                                             const OutputAccumulators<C>& o, const SplitShared<C>& shared,
                                             float unit, int first_dim, int lane) {
  const int dim = first_dim + lane / 4 * 2 * C::kDimFrags;
#pragma unroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int head = n * 8 + lane % 4 * 2 + c;
      float dims[2 * C::kDimFrags];
      take_dims<C>(dims, o, n, c, shared.factor[head] * unit);
      std::byte* to = partial.o + head * partial.kHeadBytes + dim * 2;
      const std::uint32_t first = pack_f16x2(dims[0], dims[1]);
      const std::uint32_t second = pack_f16x2(dims[2], dims[3]);
      if constexpr (C::kDimFrags == 4) {
        *reinterpret_cast<uint4*>(to) =
            make_uint4(first, second, pack_f16x2(dims[4], dims[5]), pack_f16x2(dims[6], dims[7]));
      } else {
        *reinterpret_cast<uint2*>(to) = make_uint2(first, second);
      }
    }
  }
}

}  // namespace wavefill::cuda
