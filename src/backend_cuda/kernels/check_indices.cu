// Checked mode: is any index that a row counts at or beyond its pool?
//
// Budget: 256 threads of a few registers a row; 4 bytes read an index.
#include <cuda_runtime_api.h>

#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/kernels/kernels.h"

namespace wavefill::cuda {
namespace {

constexpr int kCheckThreads = 256;

__device__ std::int32_t bad_index_seen;

__global__ void __launch_bounds__(kCheckThreads)
    check_indices_kernel(const __grid_constant__ CheckIndicesParams params) {
  const Quotient request = divide(static_cast<std::int32_t>(blockIdx.x), params.s_q);
  for (const CacheParams& cache : params.caches) {
    const IndexRow row = index_row(cache, request);
    for (int column = static_cast<int>(threadIdx.x); column < row.length; column += kCheckThreads) {
      if (row.indices[column] >= cache.num_tokens) *params.found = 1;
    }
  }
}

}  // namespace

KernelFunction check_indices_function() {
  return {.name = "check_indices",
          .function = reinterpret_cast<const void*>(&check_indices_kernel),
          .threads = kCheckThreads,
          .smem_bytes = 0};
}

std::int32_t* bad_index_flag() {
  void* address = nullptr;
  return cudaGetSymbolAddress(&address, bad_index_seen) == cudaSuccess ? static_cast<std::int32_t*>(address)
                                                                       : nullptr;
}

}  // namespace wavefill::cuda
