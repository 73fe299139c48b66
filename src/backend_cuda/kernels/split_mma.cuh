// The portable split kernel: sparse-MLA decode over the work items of a plan, on mma.sync.
//
// Budget (registers and shared bytes as ptxas counts them are the golden of tests/backend_cuda): 8 or 16
// compute warps and 2 or 4 loaders. Per tile of T tokens and H heads, dsv4: 584 T bytes read, 2048 T H flops;
// shared memory moves 8 T H fp32 partial sums out and in again, 2 T H bytes of weights in and 8 to 16 times
// that out, and the raw tokens once in and twice out. Argument and measurements: docs/kernels/mma.md.
//
// The loaders fill the ring; `full` and `empty` barriers of each stage are all that they share with the
// compute warps. One step of those, with one barrier, overlaps two tiles:
//
//   softmax of tile i       scores[i] -> P[i]        every thread some scores, all 8 partial sums of each
//   scores of tile i + 1    ring -> scores[i + 1]    every warp its slice of its tokens
//   ---- barrier: publishes P[i] and scores[i + 1]; says whether a score exceeded its reference ----
//   values of tile i        ring, P[i] -> O          every warp its dims of all tokens
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/cluster_output.cuh"
#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/row_loader.cuh"
#include "backend_cuda/device/block/scores.cuh"
#include "backend_cuda/device/block/softmax.cuh"
#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/block/values.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"

namespace wavefill::cuda {

// Hides where a value comes from: what follows from it is formed again rather than kept. Registers are
// scarce in the loop.
__device__ __forceinline__ int forget(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// What is known of an item outside the loop.
template <class C>
struct ItemPlace {
  PlanItem item;
  Quotient request;

  __device__ __forceinline__ ItemPlace(const SplitParams& params, std::int32_t item_idx)
      : item(work_item_of_cta<C>(params.plan, item_idx)), request(divide(item.row, params.output.s_q)) {}
};

// The role of a compute warp in one item.
template <class C>
class SplitItem {
 public:
  __device__ __forceinline__ SplitItem(const SplitParams& params, SplitShared<C>& shared,
                                       RingPosition<C>& ring, int warp)
      : params_(params),
        shared_(shared),
        ring_(ring),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(warp),
        slice_(warp % kSlices),
        group_(warp / kSlices) {}

  // Does the CTA's item number `done`, if there is one, and says whether there is.
  __device__ __forceinline__ bool run(std::int32_t done) {
    const ItemRange range = items();
    if (range.begin + done * range.step >= range.end) return false;
    reset();
    const std::int32_t tiles = begin(done);
    thread_ = forget(thread_);
    if (tiles > 0) score(0, ring_);
    named_barrier<C::kComputeThreads>();
    run_tiles(tiles);
    finish(done);
    return true;
  }

 private:
  __device__ __forceinline__ int lane() const { return thread_ % 32; }
  __device__ __forceinline__ ItemRange items() const {
    if constexpr (C::kRowIsCluster) return items_of_cta<C>(params_.plan);
    return items_of_cta(params_.plan, forget(static_cast<std::int32_t>(blockIdx.x)),
                        static_cast<std::int32_t>(gridDim.x));
  }
  __device__ __forceinline__ std::int32_t item_idx(std::int32_t done) const {
    const ItemRange range = items();
    return range.begin + done * range.step;
  }

  __device__ __forceinline__ bool is_partial(std::int32_t done) const {
    return ItemPlace<C>(params_, item_idx(done)).item.partial_idx >= 0;
  }

  // Loads Q and returns how many tiles the item has.
  __device__ __forceinline__ std::int32_t begin(std::int32_t done) {
    const ItemPlace<C> place(params_, item_idx(done));
    const RowTiles<C> row = tiles_of_row<C>(params_, place.request);
    const std::int32_t tiles = min(place.item.tile_end, row.tiles) - place.item.tile_begin;
    const int first_head = place.item.head_tile * C::kHeads;
    if (tiles > 0) {
      load_query<C>(query_, shared_, query_row(params_, place.request) + first_head * params_.q_stride_head,
                    params_.q_stride_head, params_.output.num_heads - first_head, slice_, warp_, lane());
    }
    return tiles;
  }

  // Shared memory is free: the item before, if any, ended with a barrier.
  __device__ __forceinline__ void reset() {
    softmax_.clear();
    if (thread_ < C::kHeads) {
      shared_.reference[thread_] = minus_infinity();
      shared_.tile_max[thread_] = ordered_bits(minus_infinity());
      for (auto& sums : shared_.sums) sums[thread_] = 0.0F;
    }
  }

  // tile_idx counts from the item's first tile.
  __device__ __forceinline__ void score(std::int32_t tile_idx, const RingPosition<C>& at) {
    mbarrier_wait(shared_address(&shared_.full[at.stage]), at.parity);
    score_tile<C>(shared_, query_, at.stage, tile_idx, slice_, group_, warp_, lane());
  }

  __device__ __forceinline__ void run_tiles(std::int32_t tiles) {
    for (std::int32_t tile_idx = 0; tile_idx < tiles; ++tile_idx) {
      const int stage = ring_.stage;
      const bool exceeded = weigh(stage, tile_idx);
      ring_.advance();
      if constexpr (C::kRecompute == 2) thread_ = forget(thread_);
      if (tile_idx + 1 < tiles) score(tile_idx + 1, ring_);
      if (named_barrier_or<C::kComputeThreads>(exceeded)) raise_references(stage, tile_idx);
      softmax_.add_tile();
      if (slice_ < C::kFp8Slices) {
        const SliceUnits units = shared_.units[stage][slice_];
        unit_ = units.unit;
        if (units.o_factor != 1.0F) multiply_output<C>(o_, units.o_factor);
      }
      add_values<C>(o_, shared_, stage, tile_idx, slice_, group_, lane());
      mbarrier_arrive(shared_address(&shared_.empty[stage]));
      if constexpr (C::kRecompute >= 1) thread_ = forget(thread_);
    }
  }

  __device__ __forceinline__ bool weigh(int stage, int tile_idx) {
    float x[SoftmaxPlace<C>::kCount];
    const SoftmaxPlace<C> place(thread_);
    read_scores<C>(x, shared_, place, stage, tile_idx, params_.scale_log2);
    return write_weights<C>(shared_, place, softmax_, x, tile_idx);
  }

  // The rare path, at least once an item: every head's reference becomes its largest score so far, and what
  // is relative to the old one is rescaled. scores[tile_idx] is still there: it is overwritten only by
  // tile_idx + 2.
  __device__ __forceinline__ void raise_references(int stage, int tile_idx) {
    float x[SoftmaxPlace<C>::kCount];
    const SoftmaxPlace<C> place(thread_);
    read_scores<C>(x, shared_, place, stage, tile_idx, params_.scale_log2);
    find_tile_max<C>(shared_, place, x);
    named_barrier<C::kComputeThreads>();
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
      const int head = n * 8 + lane() % 4 * 2;
      multiply_heads<C>(o_, n, raised_reference<C>(shared_, head).factor,
                        raised_reference<C>(shared_, head + 1).factor);
    }
#pragma unroll
    for (int h = 0; h < SoftmaxThread<C>::kHeadsHere; ++h) {
      const RaisedReference raised = raised_reference<C>(shared_, place.head + h);
      softmax_.raise(h, raised.value, raised.factor);
    }
    write_weights<C>(shared_, place, softmax_, x, tile_idx);
    named_barrier<C::kComputeThreads>();
    if (thread_ < C::kHeads) {
      shared_.reference[thread_] = raised_reference<C>(shared_, thread_).value;
      shared_.tile_max[thread_] = ordered_bits(minus_infinity());
    }
  }

  __device__ __forceinline__ void finish(std::int32_t done) {
    publish_sums<C>(shared_, SoftmaxPlace<C>(thread_), softmax_, warp_);
    if constexpr (C::kRowIsCluster) {
      finish_in_cluster();
      return;
    }
    // The item is found twice, and warp_ again, rather than held meanwhile: registers are scarce here too.
    thread_ = forget(thread_);
    if (is_partial(done)) find_largest<C>(shared_, o_, unit_, thread_ / 32, lane());
    const ItemPlace<C> place(params_, item_idx(done));
    const int first_head = place.item.head_tile * C::kHeads;
    named_barrier<C::kComputeThreads>();
    finish_heads<C>(shared_, params_.output, place.item, place.request, first_head, thread_);
    named_barrier<C::kComputeThreads>();
    store_output<C>(o_, shared_, params_.output, place.item, place.request, first_head, unit_,
                    slice_ * kSliceDims + group_ * C::kWarpDims, lane());
    named_barrier<C::kComputeThreads>();
  }

  // Precondition: publish_sums().
  __device__ __forceinline__ void finish_in_cluster() {
    const ItemPlace<C> place(params_, 0);
    const int first_head = place.item.head_tile * C::kHeads;
    const int first_dim = slice_ * kSliceDims + group_ * C::kWarpDims;
    auto& end = cluster_end(shared_);
    const bool has_head = thread_ < C::kHeads && first_head + thread_ < params_.output.num_heads;
    // Asked for before everything else, since it may come from DRAM.
    const float sink_log2 = has_head ? sink_log2_of(params_.output, first_head + thread_) : 0.0F;
    find_largest<C>(shared_, o_, unit_, warp_, lane());
    named_barrier<C::kComputeThreads>();
    if (has_head) {
      end.weights.sink_log2[thread_] = sink_log2;
      finish_head_in_cluster<C>(shared_, end.partial, thread_);
    }
    named_barrier<C::kComputeThreads>();
    stage_output<C>(end.partial, o_, shared_, unit_, first_dim, lane());
    merge_in_cluster<C::kComputeThreads, 2, kMaxClusterSplits>(params_, end, first_head, thread_,
                                                               place.request);
  }

  const SplitParams& params_;
  SplitShared<C>& shared_;
  RingPosition<C>& ring_;  // of the next tile to weigh
  int thread_;
  int warp_;
  int slice_;
  int group_;
  SoftmaxThread<C> softmax_;
  QueryFragments<C> query_;
  OutputAccumulators<C> o_ = {};
  float unit_ = 1.0F;  // what o_ is counted in
};

template <class C>
__device__ __forceinline__ void init_barriers(SplitShared<C>& shared) {
  if (threadIdx.x < C::kStages) {
    mbarrier_init(shared_address(&shared.full[threadIdx.x]), RowLoader<C>::kArrivals);
    mbarrier_init(shared_address(&shared.empty[threadIdx.x]), C::kComputeThreads);
  }
  __syncthreads();
}

// The role of a loader warp: all of the CTA's items.
template <class C>
__device__ __forceinline__ void load_items(const SplitParams& params, SplitShared<C>& shared, int loader) {
  const ItemRange items = items_of_cta<C>(params.plan);
  RowLoader<C> rows(params, shared, loader, static_cast<int>(threadIdx.x) % 32);
  for (std::int32_t i = items.begin; i < items.end; i += items.step) {
    const ItemPlace<C> place(params, i);
    const RowTiles<C> row = tiles_of_row<C>(params, place.request);
    const std::int32_t end = min(place.item.tile_end, row.tiles);
    if (end > place.item.tile_begin) rows.run(row, place.item.tile_begin, end);
  }
}

// The role of a compute warp: all of the CTA's items.
template <class C>
__device__ __forceinline__ void compute_items(const SplitParams& params, SplitShared<C>& shared, int warp) {
  RingPosition<C> ring;
  std::int32_t done = 0;
  while (SplitItem<C>(params, shared, ring, warp).run(done)) ++done;
}

template <class C>
__device__ __forceinline__ void run_split(const SplitParams& params, SplitShared<C>& shared) {
  allow_next_grid();
  init_barriers<C>(shared);
  wait_for_prior_grids();
  // The same in all lanes, so that the compiler knows branches on it to be uniform.
  const int warp = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / 32, 0);
  if (warp >= C::kComputeWarps) {
    load_items<C>(params, shared, warp - C::kComputeWarps);
  } else {
    compute_items<C>(params, shared, warp);
  }
}

template <class C>
__global__ void __launch_bounds__(C::kThreads, resident_ctas<C>())
    split_mma_kernel(const __grid_constant__ SplitParams params) {
  extern __shared__ uint4 shared_memory[];
  if constexpr (!C::kRowIsCluster || kHasClusters) {
    run_split<C>(params, *reinterpret_cast<SplitShared<C>*>(shared_memory));
  }
}

}  // namespace wavefill::cuda
