// From a WgmmaConfig to a row of the kernel table.
#pragma once

#include "backend_cuda/kernels/kernels.h"
#include "backend_cuda/kernels/split_wgmma.cuh"

namespace wavefill::cuda {

template <class C>
SplitKernel split_wgmma_instance(const char* name) {
  return {.kernel = {.name = name,
                     .function = reinterpret_cast<const void*>(&split_wgmma_kernel<C>),
                     .threads = C::kThreads,
                     .smem_bytes = sizeof(WgmmaShared<C>)},
          .kv_format = C::kFormat,
          .d_qk = C::kDims,
          .heads_per_cta = C::kHeads,
          .kv_tile = C::kTile,
          .only_capability = 90};
}

}  // namespace wavefill::cuda
