// From a WgmmaConfig to a row of the kernel table.
#pragma once

#include "backend_cuda/kernels/kernels.h"
#include "backend_cuda/kernels/split_wgmma.cuh"

namespace wavefill::cuda {

template <class C>
KernelFunction split_wgmma_function(const char* name) {
  return {.name = name,
          .function = reinterpret_cast<const void*>(&split_wgmma_kernel<C>),
          .threads = C::kThreads,
          .smem_bytes = sizeof(WgmmaShared<C>)};
}

template <class C>
SplitKernel split_wgmma_instance(const char* name) {
  return {.kernel = split_wgmma_function<C>(name),
          .kv_format = C::kFormat,
          .d_qk = C::kDims,
          .heads_per_cta = C::kHeads,
          .kv_tile = C::kTile,
          .only_capability = 90,
          .of_clusters = split_wgmma_function<typename C::template WithMerge<Merge::cluster>>(name),
          .of_neighbours = split_wgmma_function<typename C::template WithMerge<Merge::worker>>(name)};
}

}  // namespace wavefill::cuda
