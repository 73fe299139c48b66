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

// One thread a head: its log-sum-exp and the power of two of its O, and in shared.factor what that is to be
// multiplied by. Precondition: as for finish_split_head().
template <class C>
__device__ __forceinline__ void finish_head_in_cluster(SplitShared<C>& shared,
                                                       StagedPartial<C::kHeads, 1>& partial, int head) {
  const SplitHead end = finish_split_head<C>(shared, head);
  partial.lse[head] = end.lse_log2;
  partial.unit[0][head] = end.power.inverse();
  shared.factor[head] = end.factor;
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
      store_packed<pack_f16x2>(reinterpret_cast<std::uint16_t*>(partial.o + head * partial.kHeadBytes) + dim,
                               dims);
    }
  }
}

}  // namespace wavefill::cuda
