// Host memory for workspaces: aligned as check_run() asks, and grown when it has to be.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "core/errors.h"

namespace wavefill {

class HostWorkspace {
 public:
  // At least `bytes`; what was there is lost if there are too few. Errors: resource_exhausted.
  Status reserve(std::size_t bytes) {
    if (bytes <= size_bytes_) return {};
    memory_.reset(static_cast<std::byte*>(::operator new[](bytes, kAlignment, std::nothrow)));
    size_bytes_ = memory_ ? bytes : 0;
    if (memory_) return {};
    return make_status(StatusCode::resource_exhausted, "a workspace of {} bytes cannot be had", bytes);
  }

  std::byte* data() const { return memory_.get(); }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{256};
  struct AlignedDelete {
    void operator()(std::byte* memory) const { ::operator delete[](memory, kAlignment); }
  };

  std::unique_ptr<std::byte[], AlignedDelete> memory_;
  std::size_t size_bytes_ = 0;
};

}  // namespace wavefill
