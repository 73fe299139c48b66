// From a SplitConfig to a row of the kernel table.
#pragma once

#include "backend_cuda/kernels/kernels.h"
#include "backend_cuda/kernels/split_mma.cuh"

namespace wavefill::cuda {

template <class C>
SplitKernel split_mma_instance(const char* name) {
  return {.kernel = {.name = name,
                     .function = reinterpret_cast<const void*>(&split_mma_kernel<C>),
                     .threads = C::kThreads,
                     .smem_bytes = sizeof(SplitShared<C>)},
          .kv_format = C::kFormat,
          .d_qk = C::kDims,
          .heads_per_cta = C::kHeads,
          .kv_tile = C::kTile};
}

}  // namespace wavefill::cuda
