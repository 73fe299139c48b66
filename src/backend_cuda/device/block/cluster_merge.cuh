// A row whose splits are the CTAs of a cluster: each leaves its partial in its own shared memory, and merges
// some of the heads from all of them. No partials in global memory, no second kernel.
//
// What it costs is the way between SMs (13 to 16 bytes a cycle, measured on an H200) and code that a CTA
// meets for the first time. So partials are exchanged in fp16, each unit of dims of a head with a power of
// two that brings it into fp16's range: 11 bits of mantissa where the output will have 8. All loads of a
// thread are under way together, before the weights are known; the number of splits is a template parameter.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/cluster.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

// What the CTAs of a cluster read of each other: of one head tile of kHeads heads. kUnits of a head's dims
// have a power of two each.
template <int kHeads, int kUnits>
struct StagedPartial {
  static constexpr int kHeadBytes = kValueDim * 2 + 16;  // neighbouring heads begin 4 banks apart

  std::byte o[kHeads * kHeadBytes];  // fp16, of heads divided by their sums, times 2^n
  float lse[kHeads];                 // base 2
  float unit[kUnits][kHeads];        // 2^-n
};

// Of the heads that a CTA merges.
template <int kHeads, int kUnits>
struct ClusterWeights {
  float weight[kUnits][kHeads][kMaxClusterSplits];  // by which a split's fp16 values are multiplied
  float factor[kHeads];
  float sink_log2[kHeads];  // of all heads of the tile
};

// What a CTA of a cluster has in the end. It lies where tiles of tokens lay, which have been read for the
// last time: a CTA of a cluster has one item.
template <int kHeads, int kUnits>
struct ClusterEnd {
  StagedPartial<kHeads, kUnits> partial;
  ClusterWeights<kHeads, kUnits> weights;
};

// kThreads merge kSplits partials, each at `end.partial` in the memory of its CTA.
template <int kSplits, int kHeads, int kUnits, int kThreads>
class ClusterMerge {
 public:
  using Staged = StagedPartial<kHeads, kUnits>;
  using Weights = ClusterWeights<kHeads, kUnits>;

  // The head tile begins at head `first_head` of the row.
  __device__ __forceinline__ ClusterMerge(const OutputParams& out, ClusterEnd<kHeads, kUnits>& end,
                                          int first_head, int thread)
      : out_(out),
        staged_(end.partial),
        weights_(end.weights),
        first_head_(first_head),
        heads_(min(kHeads, out.num_heads - first_head)),
        rank_(cluster_rank()),
        thread_(thread) {}

  // Precondition: all kThreads threads are here, and the cluster has met since its partials and sink_log2
  // were written.
  __device__ __forceinline__ void run(Quotient request) const {
    uint4 parts[kRounds][kSplits];
    load(parts);
    find_weights(request);
    named_barrier<kThreads>();
    add_up(parts, request);
  }

 private:
  static constexpr int kDims = 8;  // of a thread: 16 bytes of fp16
  static constexpr int kHeadThreads = kValueDim / kDims;
  // In each round every CTA of the cluster merges kHeadsAtOnce neighbouring heads.
  static constexpr int kHeadsAtOnce = kThreads / kHeadThreads;
  static constexpr int kRounds = (kHeads + kHeadsAtOnce * kSplits - 1) / (kHeadsAtOnce * kSplits);
  static constexpr int kLanesOfHead = kSplits <= 2 ? 2 : kSplits <= 4 ? 4 : kSplits <= 8 ? 8 : 16;
  static_assert(kThreads % kHeadThreads == 0);
  static_assert(kRounds * kHeadsAtOnce * kLanesOfHead <= kThreads, "a lane a weight");

  // Head `i` of those of this CTA in a round.
  __device__ __forceinline__ int head_at(int round, int i) const {
    return (round * kSplits + rank_) * kHeadsAtOnce + i;
  }
  __device__ __forceinline__ int head_of(int round) const { return head_at(round, thread_ / kHeadThreads); }

  // Without a condition: the compiler would load to other registers and wait there. Where there is no head,
  // from this CTA's own memory: nobody waits for that load, and another CTA may have ended when it arrives.
  __device__ __forceinline__ void load(uint4 (&parts)[kRounds][kSplits]) const {
    const std::uint32_t own = shared_address(staged_.o) + thread_ % kHeadThreads * 16;
    std::uint32_t at[kSplits];
#pragma unroll
    for (int split = 0; split < kSplits; ++split) at[split] = address_in_cluster(own, split);
    const std::uint32_t at_own = address_in_cluster(own, rank_);
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      const int head = head_of(i);
      const bool exists = head < heads_;
      const int offset = exists ? head * Staged::kHeadBytes : 0;
#pragma unroll
      for (int split = 0; split < kSplits; ++split) {
        parts[i][split] = load_cluster_16((exists ? at[split] : at_own) + offset);
      }
    }
  }

  __device__ __forceinline__ void find_weights(Quotient request) const {
    const int place = thread_ / kLanesOfHead;
    const int split = thread_ % kLanesOfHead;
    const int head = head_at(place / kHeadsAtOnce, place % kHeadsAtOnce);
    const bool exists = place < kRounds * kHeadsAtOnce && head < heads_;
    // Every lane of a warp takes part, those without a head with another's.
    const int head_read = exists ? head : heads_ - 1;
    const int split_read = min(split, kSplits - 1);
    const float of_split =
        load_cluster(address_in_cluster(shared_address(&staged_.lse[head_read]), split_read));
    const float lse = split < kSplits ? of_split : minus_infinity();
    const float largest = max_of_lanes<kLanesOfHead>(lse);
    const float sum = sum_of_lanes<kLanesOfHead>(weight_towards(lse, largest));
    const float merged = largest == minus_infinity() ? largest : largest + log2_approx(sum);
    if (!exists) return;
    if (split < kSplits) {
      const float weight = weight_towards(lse, merged);
#pragma unroll
      for (int unit = 0; unit < kUnits; ++unit) {
        const std::uint32_t at = shared_address(&staged_.unit[unit][head]);
        weights_.weight[unit][place][split] = weight * load_cluster(address_in_cluster(at, split));
      }
    }
    if (split != 0) return;
    weights_.factor[place] =
        merged == minus_infinity() ? 0.0F : output_factor(1.0F, merged, weights_.sink_log2[head]);
    write_lse(out_, request, first_head_ + head, merged);
  }

  __device__ __forceinline__ void add_up(const uint4 (&parts)[kRounds][kSplits], Quotient request) const {
    const int unit = thread_ % kHeadThreads / (kHeadThreads / kUnits);
    std::uint16_t* const row = output_row(out_, request) + thread_ % kHeadThreads * kDims;
#pragma unroll
    for (int i = 0; i < kRounds; ++i) {
      const int head = head_of(i);
      if (head >= heads_) return;
      const int place = i * kHeadsAtOnce + thread_ / kHeadThreads;
      float o[kDims] = {};
#pragma unroll
      for (int split = 0; split < kSplits; ++split) {
        add_partial(o, weights_.weight[unit][place][split], parts[i][split]);
      }
      const float factor = weights_.factor[place];
#pragma unroll
      for (float& value : o) value *= factor;
      store_packed<pack_bf16x2>(row + (first_head_ + head) * out_.out_stride_head, o);
    }
  }

  const OutputParams& out_;
  const Staged& staged_;
  Weights& weights_;
  int first_head_;
  int heads_;
  int rank_;
  int thread_;
};

template <int kSplits, int kLast, int kThreads, int kHeads, int kUnits>
__device__ __forceinline__ void merge_splits(int num_splits, const OutputParams& out,
                                             ClusterEnd<kHeads, kUnits>& end, int first_head, int thread,
                                             Quotient request) {
  if constexpr (kSplits <= kLast) {
    if (num_splits == kSplits) {
      ClusterMerge<kSplits, kHeads, kUnits, kThreads>(out, end, first_head, thread).run(request);
    } else {
      merge_splits<kSplits + 1, kLast, kThreads>(num_splits, out, end, first_head, thread, request);
    }
  }
}

// The merge of a row in as many CTAs as it has splits, kFirst .. kLast, by kThreads threads of each.
// Precondition: they, and no others that have not ended, come here once partials and sink_log2 are written.
template <int kThreads, int kFirst, int kLast, int kHeads, int kUnits>
__device__ __forceinline__ void merge_in_cluster(const SplitParams& params, ClusterEnd<kHeads, kUnits>& end,
                                                 int first_head, int thread, Quotient request) {
  cluster_arrive();
  cluster_wait();
  merge_splits<kFirst, kLast, kThreads>(params.plan.num_splits, params.output, end, first_head, thread,
                                        request);
  cluster_arrive_relaxed();
  cluster_wait();  // until nobody reads this CTA's memory any more
}

}  // namespace wavefill::cuda
