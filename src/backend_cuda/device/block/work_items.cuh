// Which work this CTA has, and where a row's tensors begin.
#pragma once

#include <cstdint>

#include "backend_cuda/device/ptx/cluster.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

// begin, begin + step, ... below end.
struct ItemRange {
  std::int32_t begin;
  std::int32_t end;
  std::int32_t step;
};

// Of a CTA in a grid of `num_ctas`. A plan in device memory has as many workers as the grid has CTAs; of one
// that needs no memory the CTAs take items in turn.
__device__ __forceinline__ ItemRange items_of_cta(const PlanParams& plan, std::int32_t cta,
                                                  std::int32_t num_ctas) {
  if (plan.items == nullptr) return {cta, plan.num_items, num_ctas};
  return {plan.worker_begin[cta], plan.worker_begin[cta + 1], 1};
}

__device__ __forceinline__ PlanItem work_item(const PlanParams& plan, std::int32_t idx) {
  if (plan.items != nullptr) return plan.items[idx];
  const std::int32_t row_split = idx / plan.num_head_tiles;
  const std::int32_t row = row_split / plan.num_splits;
  const std::int32_t split = row_split - row * plan.num_splits;
  return {plan.first_row + row, idx - row_split * plan.num_head_tiles, plan.tile_begin[split],
          plan.tile_begin[split + 1], plan.num_splits == 1 ? -1 : row_split};
}

// The one item of a CTA whose row is a cluster.
__device__ __forceinline__ PlanItem work_item_of_cluster(const PlanParams& plan) {
  const std::int32_t unit = cluster_idx();
  const std::int32_t split = cluster_rank();
  const std::int32_t row = plan.num_head_tiles == 1 ? unit : unit / plan.num_head_tiles;
  return {plan.first_row + row, unit - row * plan.num_head_tiles, plan.tile_begin[split],
          plan.tile_begin[split + 1], 0};
}

// The items of a CTA of a kernel of configuration C, and one of them.
template <class C>
__device__ __forceinline__ ItemRange items_of_cta(const PlanParams& plan) {
  if constexpr (C::kRowIsCluster) return {0, 1, 1};
  if constexpr (C::kWorkerMerges) {  // who waits for whom: worker_merge.cuh
    const std::uint32_t worker = gridDim.x - 1 - blockIdx.x;
    return {plan.worker_begin[worker], plan.worker_begin[worker + 1], 1};
  }
  return items_of_cta(plan, static_cast<std::int32_t>(blockIdx.x), static_cast<std::int32_t>(gridDim.x));
}
template <class C>
__device__ __forceinline__ PlanItem work_item_of_cta(const PlanParams& plan, std::int32_t idx) {
  if constexpr (C::kRowIsCluster) return work_item_of_cluster(plan);
  if constexpr (C::kWorkerMerges) return plan.items[idx];
  return work_item(plan, idx);
}

// The same, without the two divisions where rows are whole: some hundred instructions that a CTA meets cold.
template <class C>
__device__ __forceinline__ PlanItem work_item_quick(const PlanParams& plan, std::int32_t idx) {
  if constexpr (!C::kRowIsCluster && !C::kWorkerMerges) {
    if (plan.items == nullptr && plan.num_splits == 1 && plan.num_head_tiles == 1) {
      return {plan.first_row + idx, 0, plan.tile_begin[0], plan.tile_begin[1], -1};
    }
  }
  return work_item_of_cta<C>(plan, idx);
}

__device__ __forceinline__ ItemRange partials_of_row(const PlanParams& plan, std::int32_t row) {
  if (plan.items != nullptr) return {plan.row_partial_begin[row], plan.row_partial_begin[row + 1], 1};
  const std::int32_t begin = plan.num_splits == 1 ? 0 : row * plan.num_splits;
  return {begin, begin + (plan.num_splits == 1 ? 0 : plan.num_splits), 1};
}

// Whether items and tiles follow from the kernel's parameters alone, which no earlier grid writes.
__device__ __forceinline__ bool is_plan_static(const SplitParams& params) {
  return params.plan.items == nullptr && params.caches[0].lengths == nullptr &&
         params.caches[1].lengths == nullptr;
}

// x / divisor and the remainder. Precondition: 0 <= x < 2^31.
struct Quotient {
  std::int32_t quotient;
  std::int32_t remainder;
};
__device__ __forceinline__ Quotient divide(std::int32_t x, const FastDivisor& by) {
  const auto wide = std::uint64_t{static_cast<std::uint32_t>(x)} * by.multiplier;
  const auto quotient = static_cast<std::int32_t>(wide >> by.shift);
  return {quotient, x - quotient * static_cast<std::int32_t>(by.divisor)};
}

// The index columns of one row of one cache.
struct IndexRow {
  const std::int32_t* indices = nullptr;  // [length] at least
  std::int32_t length = 0;
};

__device__ __forceinline__ IndexRow index_row(const CacheParams& cache, Quotient request) {
  IndexRow row;
  if (cache.topk == 0) return row;
  row.indices = cache.indices + request.quotient * cache.indices_stride_batch +
                request.remainder * cache.indices_stride_s_q;
  row.length = cache.topk;
  if (cache.lengths != nullptr) {
    const std::int32_t length = cache.lengths[request.quotient * cache.lengths_stride_batch +
                                              request.remainder * cache.lengths_stride_s_q];
    row.length = min(max(length, 0), cache.topk);
  }
  return row;
}

// Where a row's query begins: its first head.
__device__ __forceinline__ const std::uint16_t* query_row(const SplitParams& params, Quotient request) {
  return params.q + request.quotient * params.q_stride_batch + request.remainder * params.q_stride_s_q;
}

// Where a row's output begins: its first head.
__device__ __forceinline__ std::uint16_t* output_row(const OutputParams& params, Quotient request) {
  return params.out + request.quotient * params.out_stride_batch + request.remainder * params.out_stride_s_q;
}

// A row's kv tiles: those of the main cache first, none spanning both.
template <class C>
struct RowTiles {
  IndexRow main;
  IndexRow extra;
  std::int32_t main_tiles = 0;
  std::int32_t tiles = 0;
};

template <class C>
__device__ __forceinline__ RowTiles<C> tiles_of_row(const SplitParams& params, Quotient request) {
  RowTiles<C> row;
  row.main = index_row(params.caches[0], request);
  row.extra = index_row(params.caches[1], request);
  row.main_tiles = (row.main.length + C::kTile - 1) / C::kTile;
  row.tiles = row.main_tiles + (row.extra.length + C::kTile - 1) / C::kTile;
  return row;
}

}  // namespace wavefill::cuda
