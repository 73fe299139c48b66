// Devices the planner knows without having one at hand.
#include <algorithm>
#include <array>
#include <string>

#include "core/errors.h"
#include "core/parse.h"
#include "wavefill/device.h"

namespace wavefill {
namespace {

// What a compute capability fixes (CUDA C++ Programming Guide, "Compute Capabilities", table of technical
// specifications).
struct Generation {
  std::int32_t compute_capability;
  std::int64_t smem_per_block_optin_bytes;
  std::int64_t smem_per_sm_bytes;
};
constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kMib = 1024 * kKib;
constexpr std::int32_t kRegistersPerSm = 65'536;  // of every capability below
constexpr Generation kAmpere{80, 163 * kKib, 164 * kKib};
constexpr Generation kAda{89, 99 * kKib, 100 * kKib};
constexpr Generation kHopper{90, 227 * kKib, 228 * kKib};
constexpr Generation kBlackwell{100, 227 * kKib, 228 * kKib};
constexpr Generation kBlackwellRtx{120, 99 * kKib, 100 * kKib};
constexpr Generation kBlackwellSpark{121, 99 * kKib, 100 * kKib};

DeviceSpec make_device(std::string name, std::int32_t num_sms, const Generation& generation,
                       std::int64_t l2_bytes, double memory_bandwidth_gbps, std::string source) {
  return {.name = std::move(name),
          .num_sms = num_sms,
          .compute_capability = generation.compute_capability,
          .smem_per_block_optin_bytes = generation.smem_per_block_optin_bytes,
          .smem_per_sm_bytes = generation.smem_per_sm_bytes,
          .registers_per_sm = kRegistersPerSm,
          .l2_bytes = l2_bytes,
          .memory_bandwidth_gbps = memory_bandwidth_gbps,
          .source = std::move(source)};
}

}  // namespace

// SMs and bandwidth from the document named; the L2 where no document states it from what the driver
// reports (cudaDeviceProp::l2CacheSize).
std::span<const DeviceSpec> known_devices() {
  static const std::array devices = {
      make_device("rtx-pro-6000", 188, kBlackwellRtx, 128 * kMib, 1792.0,
                  "NVIDIA RTX PRO Blackwell GPU Architecture (whitepaper), RTX PRO 6000 Workstation Edition"),
      make_device("h100", 132, kHopper, 50 * kMib, 3352.0,
                  "NVIDIA H100 Tensor Core GPU Architecture (whitepaper), SXM5 80 GB"),
      make_device("h100-pcie", 114, kHopper, 50 * kMib, 2039.0,
                  "NVIDIA H100 Tensor Core GPU Architecture (whitepaper), PCIe 80 GB"),
      make_device("h200", 132, kHopper, 60 * kMib, 4800.0, "NVIDIA H200 datasheet; L2 as the driver reports"),
      make_device("h20", 78, kHopper, 60 * kMib, 4000.0, "NVIDIA H20 datasheet, 96 GB"),
      make_device("a100", 108, kAmpere, 40 * kMib, 2039.0,
                  "NVIDIA A100 Tensor Core GPU Architecture (whitepaper), A100 80 GB SXM datasheet"),
      make_device("l40s", 142, kAda, 96 * kMib, 864.0, "NVIDIA L40S datasheet; L2 as the driver reports"),
      make_device("rtx-5090", 170, kBlackwellRtx, 96 * kMib, 1792.0,
                  "NVIDIA RTX Blackwell GPU Architecture (whitepaper), GeForce RTX 5090"),
      make_device("b200", 148, kBlackwell, 253 * kMib / 2, 8000.0,
                  "NVIDIA DGX B200 datasheet; SMs and L2 as the driver reports"),
      make_device("gb10", 48, kBlackwellSpark, 24 * kMib, 273.0,
                  "NVIDIA DGX Spark datasheet; SMs and L2 as the driver reports"),
  };
  return devices;
}

Result<DeviceSpec> find_known_device(std::string_view name) {
  std::string names;
  for (const DeviceSpec& device : known_devices()) {
    if (device.name == name) return device;
    if (!names.empty()) names += ", ";
    names += device.name;
  }
  return make_status(StatusCode::not_found, "device is {}; known devices: {}", quote_text(name), names);
}

}  // namespace wavefill
