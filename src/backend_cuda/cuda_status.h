// CUDA's errors as Status.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "core/errors.h"

namespace wavefill::cuda {

inline StatusCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return StatusCode::resource_exhausted;
    case cudaErrorInvalidDevice: return StatusCode::not_found;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorDevicesUnavailable:
    case cudaErrorInitializationError: return StatusCode::unavailable;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: return StatusCode::unsupported;
    default: return StatusCode::internal;
  }
}

// ok, or what `call` said. Clears the error, so that the next call of the process does not see it again;
// errors that ruin the context cannot be cleared and come back by themselves.
inline Status to_status(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();
  return make_status(code_of(error), "{} failed: {} ({})", call, cudaGetErrorString(error),
                     cudaGetErrorName(error));
}

}  // namespace wavefill::cuda

#define WAVEFILL_CUDA_RETURN_IF_ERROR(call) \
  WAVEFILL_RETURN_IF_ERROR(::wavefill::cuda::to_status((call), #call))
