// Upload: writes a plan's words, given as kernel parameters, into device memory.
//
// Budget: 1024 threads of a few registers; 4 bytes read from the parameter bank and written a thread and
// step.
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/kernels/kernels.h"

namespace wavefill::cuda {
namespace {

constexpr int kUploadThreads = 1024;

__global__ void __launch_bounds__(kUploadThreads) upload_kernel(const __grid_constant__ UploadParams params) {
  allow_next_grid();
  wait_for_prior_grids();  // an earlier launch may still read what is overwritten here
  for (int i = static_cast<int>(threadIdx.x); i < params.count; i += kUploadThreads) {
    params.destination[i] = params.words[i];
  }
}

}  // namespace

KernelFunction upload_function() {
  return {.name = "upload",
          .function = reinterpret_cast<const void*>(&upload_kernel),
          .threads = kUploadThreads,
          .smem_bytes = 0};
}

}  // namespace wavefill::cuda
