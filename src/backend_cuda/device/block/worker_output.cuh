// Rows whose pieces lie with neighbouring workers (worker_merge.cuh says why nobody waits in a circle), in a
// portable kernel: a piece is left as a partial for the combine kernel would be, and whoever has the row's
// first tiles adds the others to its own, each thread the dims that it has.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/block/values.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/gpu_flag.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

__device__ __forceinline__ std::uint64_t* call_of_piece(const SplitParams& params, std::int32_t partial_idx,
                                                        std::int32_t head_tile) {
  return params.merge.calls + std::int64_t{partial_idx} * params.plan.num_head_tiles + head_tile;
}

// Says that the item, if it is a piece of a row, is there. Precondition: a barrier after its last store.
__device__ __forceinline__ void publish_piece(const SplitParams& params, const PlanItem& item) {
  if (item.partial_idx < 0 || thread_here() != 0) return;
  store_release(call_of_piece(params, item.partial_idx, item.head_tile), params.merge.call);
}

// All compute threads of a CTA together. Precondition: the item's sums are published.
template <class C>
class RowMerge {
 public:
  __device__ __forceinline__ RowMerge(const SplitParams& params, SplitShared<C>& shared, const PlanItem& item)
      : params_(params), shared_(shared), item_(item) {}

  // Whether the item is the first piece of a row that has more.
  __device__ __forceinline__ bool is_mine() const {
    return item_.partial_idx >= 0 && item_.partial_idx == params_.plan.row_partial_begin[item_.row];
  }

  // Writes the row: O in `unit`, from dim first_dim of the thread's warp on, and the other pieces.
  __device__ __forceinline__ void run(const OutputAccumulators<C>& o, Quotient request, float unit,
                                      int first_dim, int lane) const {
    const std::int32_t count = params_.plan.row_partial_begin[item_.row + 1] - item_.partial_idx - 1;
    wait_for_pieces(count);
    const int dim = first_dim + lane / 4 * kDims;
    merge_heads(count, request);
    named_barrier<C::kComputeThreads>();
    Vector next[kVectors];  // of the second piece
#pragma unroll
    for (int v = 0; v < kVectors; ++v) next[v] = load(1, v, dim, lane);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int head = head_of(v, lane);
      float dims[kDims];
      take_dims<C>(dims, o, v / 2, v % 2, shared_.factor[head] * unit);
      add_partial(dims, of_second()[head], next[v]);
#pragma unroll 1  // more pieces are rare
      for (std::int32_t i = 2; i <= count; ++i) {
        const float weight = exists(head) ? weight_of(i, head) : 0.0F;
        add_partial(dims, weight, load(i, v, dim, lane));
      }
      if (!exists(head)) continue;
      store_packed<pack_bf16x2>(
          output_row(out(), request) + (first_head() + head) * out().out_stride_head + dim, dims);
    }
    named_barrier<C::kComputeThreads>();
  }

 private:
  static constexpr int kDims = 2 * C::kDimFrags;      // of a thread and head
  static constexpr int kVectors = 2 * C::kHeadFrags;  // its heads
  using Vector = std::conditional_t<kDims == 8, uint4, uint2>;

  __device__ __forceinline__ const OutputParams& out() const { return params_.output; }
  __device__ __forceinline__ int first_head() const { return item_.head_tile * C::kHeads; }
  __device__ __forceinline__ bool exists(int head) const { return first_head() + head < out().num_heads; }
  __device__ __forceinline__ static int head_of(int v, int lane) { return v / 2 * 8 + lane % 4 * 2 + v % 2; }

  // Where weights were summed, which is done when they are written.
  __device__ __forceinline__ float* of_row() const { return shared_.sums[0]; }
  __device__ __forceinline__ float* of_second() const { return shared_.sums[1]; }

  __device__ __forceinline__ void wait_for_pieces(std::int32_t count) const {
    if (thread_here() == 0) {
      for (std::int32_t i = 1; i <= count; ++i) {
        std::uint64_t* const call = call_of_piece(params_, item_.partial_idx + i, item_.head_tile);
        while (load_acquire(call) != params_.merge.call) {
        }
        *call = 0;
      }
    }
    named_barrier<C::kComputeThreads>();
  }

  // Of the piece i after this one.
  __device__ __forceinline__ std::int64_t place_of(std::int32_t i, int head) const {
    return std::int64_t{item_.partial_idx + i} * out().num_heads + first_head() + head;
  }
  __device__ __forceinline__ Vector load(std::int32_t i, int v, int dim, int lane) const {
    const int head = head_of(v, lane);
    if (!exists(head)) return {};
    return *reinterpret_cast<const Vector*>(out().o_partial + place_of(i, head) * kValueDim + dim);
  }

  // One thread a head: the row's log-sum-exp, and what the pieces are multiplied by.
  __device__ __forceinline__ void merge_heads(std::int32_t count, Quotient request) const {
    const int head = thread_here();
    if (head >= C::kHeads || !exists(head)) return;
    const float sum = sum_of_warps<C>(shared_, 0, head);
    const float rounded = C::kP16IsBf16 ? sum_of_warps<C>(shared_, 1, head) : sum;
    const float own = sum == 0.0F ? minus_infinity() : shared_.reference[head] + log2_approx(sum);
    float largest = own;
    for (std::int32_t i = 1; i <= count; ++i) {
      largest = fmaxf(largest, out().partial_heads[place_of(i, head)].lse_log2);
    }
    float total = weight_towards(own, largest);
    for (std::int32_t i = 1; i <= count; ++i) {
      total += weight_towards(out().partial_heads[place_of(i, head)].lse_log2, largest);
    }
    const float merged = largest == minus_infinity() ? largest : largest + log2_approx(total);
    // Relative to its log-sum-exp the row's sum is 1.
    const float factor = merged == minus_infinity()
                             ? 0.0F
                             : output_factor(1.0F, merged, sink_log2_of(out(), first_head() + head));
    shared_.reference[head] = merged;
    of_row()[head] = factor;
    of_second()[head] = weight_of(1, head);
    shared_.factor[head] =
        sum == 0.0F ? 0.0F : weight_towards(own, merged) * reciprocal_approx(rounded) * factor;
    write_lse(out(), request, first_head() + head, merged);
  }

  // What the fp16 values of piece i are multiplied by. Precondition: merge_heads() of this head.
  __device__ __forceinline__ float weight_of(std::int32_t i, int head) const {
    const PartialHead its = out().partial_heads[place_of(i, head)];
    return weight_towards(its.lse_log2, shared_.reference[head]) * power_of_two(its.exponent[0]) *
           of_row()[head];
  }

  const SplitParams& params_;
  SplitShared<C>& shared_;
  const PlanItem& item_;
};

}  // namespace wavefill::cuda
