// What the planner needs to know about a device and a kernel: plain numbers, no driver types.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "wavefill/export.h"
#include "wavefill/status.h"

namespace wavefill {

struct DeviceSpec {
  std::string name;                             // as the driver reports it, or the known device's slug
  std::int32_t num_sms = 0;                     // streaming multiprocessors; worker threads on a CPU
  std::int32_t compute_capability = 0;          // 90 for 9.0; 0 on a CPU
  std::int64_t smem_per_block_optin_bytes = 0;  // most shared memory one block can have
  std::int64_t smem_per_sm_bytes = 0;
  std::int32_t registers_per_sm = 0;
  std::int64_t l2_bytes = 0;           // last-level cache on a CPU
  double memory_bandwidth_gbps = 0.0;  // 1e9 bytes/s: vendor figure or measured; 0 = unknown
  std::string source;                  // where the figures come from
  std::string driver_version = {};     // of the GPU's driver, "580.95.05"; empty on a CPU and where unknown
  std::string cuda_version = {};       // that this build runs on, "13.0"; likewise

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// Devices whose figures are known without having one at hand: "rtx-pro-6000", "h200", ...
WAVEFILL_API std::span<const DeviceSpec> known_devices();

// Errors: not_found, listing the names.
WAVEFILL_API Result<DeviceSpec> find_known_device(std::string_view name);

// One row of the kernel table as the planner sees it.
struct KernelSpec {
  std::string name;
  std::int32_t heads_per_cta = 64;  // the head tile
  std::int32_t kv_tile = 64;        // tokens one loop step handles
  std::int32_t threads = 0;
  std::int64_t smem_bytes = 0;   // per CTA
  std::int32_t ctas_per_sm = 1;  // resident CTAs, from the device's occupancy

  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;
};

// Resident CTA places: one wave fills them all.
inline std::int64_t num_slots(const DeviceSpec& device, const KernelSpec& kernel) {
  return std::int64_t{device.num_sms} * kernel.ctas_per_sm;
}

// ceil(num_heads / heads_per_cta).
inline std::int32_t num_head_tiles(const KernelSpec& kernel, std::int32_t num_heads) {
  return (num_heads + kernel.heads_per_cta - 1) / kernel.heads_per_cta;
}

}  // namespace wavefill
