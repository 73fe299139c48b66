// From a SplitConfig to a row of the kernel table.
#pragma once

#include "backend_cuda/kernels/kernels.h"
#include "backend_cuda/kernels/split_mma.cuh"

namespace wavefill::cuda {

template <class C>
KernelFunction split_mma_function(const char* name) {
  return {.name = name,
          .function = reinterpret_cast<const void*>(&split_mma_kernel<C>),
          .threads = C::kThreads,
          .smem_bytes = sizeof(SplitShared<C>)};
}

template <class C>
SplitKernel split_mma_instance(const char* name) {
  return {.kernel = split_mma_function<C>(name),
          .kv_format = C::kFormat,
          .d_qk = C::kDims,
          .heads_per_cta = C::kHeads,
          .kv_tile = C::kTile};
}

// The same with clusters, which pay where few heads leave little to exchange.
template <class C>
SplitKernel split_mma_instance_with_clusters(const char* name) {
  SplitKernel kernel = split_mma_instance<C>(name);
  kernel.of_clusters = split_mma_function<typename C::OfClusters>(name);
  return kernel;
}

}  // namespace wavefill::cuda
