// A case's tensors on the GPU: the oracle's host buffers, copied, and the same call over the copies.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

#include "oracle/inputs.h"
#include "wavefill/decode_args.h"

namespace wavefill::test {

// For tests and benchmarks alone: the library returns a Status.
inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes > 0) check_cuda(cudaMalloc(&data_, bytes));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() { (void)cudaFree(data_); }

  template <typename T>
  static DeviceBuffer copy_of(std::span<T> host) {
    DeviceBuffer buffer(host.size_bytes());
    if (!host.empty()) {
      check_cuda(cudaMemcpy(buffer.data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice));
    }
    return buffer;
  }
  template <typename T>
  void copy_to(std::span<T> host) const {
    if (!host.empty()) check_cuda(cudaMemcpy(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost));
  }

  template <typename T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class DeviceInputs {
 public:
  // `host` must outlive this.
  explicit DeviceInputs(oracle::Inputs& host);

  // The call over device memory, without a workspace.
  const DecodeArgs& args() const { return args_; }

  void poison_outputs();

  // The host call, its outputs filled with those of the device.
  DecodeArgs fetch_outputs();

 private:
  oracle::Inputs& host_;
  DecodeArgs args_;
  DeviceBuffer q_, kv_, extra_kv_, indices_, extra_indices_, lengths_, extra_lengths_, sink_, out_, lse_;
};

}  // namespace wavefill::test
