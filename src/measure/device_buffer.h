// Memory of the current CUDA device, owned.
#pragma once

#include <cstddef>
#include <utility>

#include "wavefill/status.h"

namespace wavefill {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  // At least `bytes`; what was there is lost if there are too few. Errors: resource_exhausted.
  Status reserve(std::size_t bytes);

  // reserve(), and the copy of host memory. Both wait until the device has done it.
  Status copy_from(const void* host, std::size_t bytes);
  Status copy_to(void* host, std::size_t bytes) const;

  template <typename T = void>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace wavefill
