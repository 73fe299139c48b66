// What a CUDA device says about itself.
#pragma once

#include <cstdint>

#include "backend_cuda/kernels/kernels.h"
#include "wavefill/device.h"
#include "wavefill/status.h"

namespace wavefill::cuda {

// Errors: not_found (no such ordinal: says how many there are), unavailable (no driver, or one too old).
Result<DeviceSpec> query_device(int ordinal);

// CTAs of `kernel` that one SM of the current device holds; 0 if not even one fits. Raises the kernel's
// shared-memory limit on the way. Errors: unsupported (no machine code for this device).
Result<std::int32_t> query_ctas_per_sm(const KernelFunction& kernel, std::int64_t smem_per_block_bytes);

// Clusters of `size` CTAs of `kernel` that the current device holds at once; 0 if it has no such clusters.
// Precondition: query_ctas_per_sm() of it. Errors: whatever the driver says.
Result<std::int32_t> query_active_clusters(const KernelFunction& kernel, std::int32_t size);

// Makes a device current for a scope and the one before current again.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  const Status& status() const { return status_; }

 private:
  int previous_ = -1;
  Status status_;
};

}  // namespace wavefill::cuda
