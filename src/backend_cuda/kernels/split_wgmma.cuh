// The Hopper split kernel: sparse-MLA decode over the work items of a plan, on wgmma (compute
// capability 9.0a).
//
// Budget: 512 threads, one CTA an SM; consumers 192 registers, producers 64 (the golden of
// tests/backend_cuda holds that none spill). Per tile of 64 tokens and 64 heads, dsv4: 37,376 bytes read; 8.4
// Mflop, 2048 cycles of the tensor cores; shared memory moves the tile in once and out twice, Q in once, P in
// once and out once, some 2,200 cycles of 128 bytes. Argument and measurements: docs/kernels/sm90a.md.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/cluster_merge.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/tile_consumer.cuh"
#include "backend_cuda/device/block/tile_producer.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/wgmma_output.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"
#include "backend_cuda/device/ptx/setmaxnreg.cuh"

namespace wavefill::cuda {

template <class C>
__device__ __forceinline__ void init_barriers(WgmmaShared<C>& shared) {
  constexpr int kArrivals = C::kGroupThreads / 32 * kArrivalsOfWarp;  // of a group
  if (threadIdx.x == 0) {
    for (int buffer = 0; buffer < C::kBuffers; ++buffer) {
      for (int part = 0; part < C::kParts; ++part) {
        mbarrier_init(shared_address(&shared.full[buffer][part]), C::kProducers * kArrivals);
      }
      mbarrier_init(shared_address(&shared.empty[buffer]), C::kConsumers * kArrivals);
      mbarrier_init(shared_address(&shared.scored_once[buffer]), kArrivals);
      mbarrier_init(shared_address(&shared.came_twice[buffer]), C::kProducers * kArrivals);
    }
    for (int group = 0; group < C::kConsumers; ++group) {
      mbarrier_init(shared_address(&shared.ready[group]), kArrivals);
      mbarrier_init(shared_address(&shared.scored[group]), kArrivals);
    }
  }
  __syncthreads();
}

// The end of a CTA whose row is a cluster. Of two or three splits a CTA merges more than 20 heads: the
// producers, who have nothing left to do, take half of them, because a thread meets this code once, cold. Of
// more splits there are too few heads for that to pay.
template <class C>
__device__ __forceinline__ void merge_row(const SplitParams& params, WgmmaShared<C>& shared, int group) {
  constexpr int kLastOfAll = 3;
  const bool is_of_all = params.plan.num_splits <= kLastOfAll;
  if (group >= C::kConsumers) {
    if (!is_of_all) return;
    take_registers<C::kLaunchRegisters>();
  } else {
    give_registers<C::kLaunchRegisters>();
  }
  const PlanItem item = work_item_of_cluster(params.plan);
  const Quotient request = divide(item.row, params.output.s_q);
  const int first_head = item.head_tile * C::kHeads;
  const int thread = thread_here();
  auto& end = cluster_end(shared);
  if (is_of_all) {
    merge_in_cluster<C::kThreads, 2, kLastOfAll>(params, end, first_head, thread, request);
  } else {
    merge_in_cluster<C::kConsumers * C::kGroupThreads, kLastOfAll + 1, kMaxClusterSplits>(
        params, end, first_head, thread, request);
  }
}

template <class C>
__global__ void __launch_bounds__(C::kThreads, 1)
    split_wgmma_kernel(const __grid_constant__ SplitParams params) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) std::byte hopper_memory[];
  auto& shared = *reinterpret_cast<WgmmaShared<C>*>(hopper_memory);
  allow_next_grid();
  init_barriers<C>(shared);
  // The same in all lanes, so that the compiler knows branches on it to be uniform.
  const int group = __shfl_sync(~0U, static_cast<int>(threadIdx.x) / C::kGroupThreads, 0);
  if (group >= C::kConsumers) {
    give_registers<C::kProducerRegisters>();
    if (!is_plan_static(params)) wait_for_prior_grids();
    TileProducer<C> producer(params, shared,
                             static_cast<int>(threadIdx.x) - C::kConsumers * C::kGroupThreads);
    wait_for_prior_grids();
    producer.run();
  } else {
    take_registers<C::kConsumerRegisters>();
    if (!is_plan_static(params)) wait_for_prior_grids();
    TileConsumer<C>(params, shared, group).run();
  }
  if constexpr (C::kRowIsCluster) merge_row<C>(params, shared, group);
#endif
}

}  // namespace wavefill::cuda
