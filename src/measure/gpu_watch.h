// Watching a GPU while a round is timed, through its management library (NVML).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "measure/environment.h"
#include "measure/machine_watch.h"

namespace wavefill {

// What slows a GPU beside its work; the management library's own bits.
inline constexpr std::uint64_t kHardwareSlowdown = 0x08;
inline constexpr std::uint64_t kThermalSlowdown = 0x20 | 0x40;  // by the driver, by the hardware
inline constexpr std::uint64_t kPowerBrake = 0x80;

struct GpuReadings {
  std::int32_t processes = -1;  // with a context on the GPU, ours included; -1 = not said
  std::uint64_t clock_reasons = 0;
  double sm_clock_mhz = 0.0;  // 0 = not said
};

// Pure. A second process with a context may run at any time, so it contaminates whatever it does. A power
// cap does not: it is the card as it is.
WatchReport judge(const GpuReadings& begin, const GpuReadings& end);

class GpuWatch {
 public:
  // Of the GPU at "0000:06:00.0". Without the library, readings say nothing, and describe() says so.
  explicit GpuWatch(const std::string& pci_bus_id);
  ~GpuWatch();

  GpuReadings read() const;

  // Clocks, power limit, processes, driver.
  void describe(Environment& environment) const;

 private:
  struct Library;
  std::unique_ptr<Library> library_;  // nullptr: not available
  std::string unavailable_;           // why
};

}  // namespace wavefill
