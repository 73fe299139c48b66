#include "measure/device_buffer.h"

#include <cuda_runtime_api.h>

#include "backend_cuda/cuda_status.h"

namespace wavefill {

DeviceBuffer::~DeviceBuffer() { (void)cudaFree(data_); }

Status DeviceBuffer::reserve(std::size_t bytes) {
  if (bytes <= size_bytes_) return {};
  (void)cudaFree(std::exchange(data_, nullptr));
  size_bytes_ = 0;
  const Status status = cuda::to_status(cudaMalloc(&data_, bytes), "cudaMalloc");
  if (!status.ok()) return make_status(status.code(), "{} bytes on the GPU: {}", bytes, status.message());
  size_bytes_ = bytes;
  return {};
}

Status DeviceBuffer::copy_from(const void* host, std::size_t bytes) {
  WAVEFILL_RETURN_IF_ERROR(reserve(bytes));
  if (bytes == 0) return {};
  return cuda::to_status(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

Status DeviceBuffer::copy_to(void* host, std::size_t bytes) const {
  if (bytes == 0) return {};
  return cuda::to_status(cudaMemcpy(host, data_, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

}  // namespace wavefill
