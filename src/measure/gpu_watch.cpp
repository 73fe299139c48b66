#include "measure/gpu_watch.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wavefill {
namespace {

using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;

// nvmlProcessInfo_t.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory_bytes;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};

}  // namespace

WatchReport judge(const GpuReadings& begin, const GpuReadings& end) {
  const double clock_mhz = std::min(begin.sm_clock_mhz, end.sm_clock_mhz);
  const auto contaminated = [&](std::string reason) {
    return WatchReport{true, std::move(reason), clock_mhz};
  };
  const std::int32_t processes = std::max(begin.processes, end.processes);
  if (processes > 1) {
    return contaminated(fmt::format("{} processes are on the GPU; allowed: ours alone", processes));
  }
  const std::uint64_t reasons = begin.clock_reasons | end.clock_reasons;
  if ((reasons & kThermalSlowdown) != 0) return contaminated("the GPU is slowed down by its temperature");
  if ((reasons & kPowerBrake) != 0) return contaminated("the GPU is slowed down by the power brake");
  if ((reasons & kHardwareSlowdown) != 0) return contaminated("the GPU is slowed down by its hardware");
  return {false, {}, clock_mhz};
}

// The functions that are used, found by name: the library belongs to the driver, and a program that is linked
// to it would not start without one.
struct GpuWatch::Library {
  void* library = nullptr;
  Handle device = nullptr;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle_by_bus_id)(const char*, Handle*) = nullptr;
  int (*clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*max_clock)(Handle, unsigned, unsigned*) = nullptr;
  int (*clock_reasons)(Handle, unsigned long long*) = nullptr;
  int (*processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
  int (*power_limit_mw)(Handle, unsigned*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;

  ~Library() {
    if (device != nullptr) shutdown();
    if (library != nullptr) dlclose(library);
  }

  template <typename Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  // Empty: opened. Else why not.
  std::string open(const std::string& pci_bus_id) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return "libnvidia-ml.so.1 cannot be opened";
    const bool found = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                       find(handle_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
                       find(clock, "nvmlDeviceGetClockInfo") &&
                       find(max_clock, "nvmlDeviceGetMaxClockInfo") &&
                       find(clock_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
                       find(processes, "nvmlDeviceGetComputeRunningProcesses_v3") &&
                       find(power_limit_mw, "nvmlDeviceGetPowerManagementLimit") &&
                       find(driver_version, "nvmlSystemGetDriverVersion");
    if (!found) return "libnvidia-ml.so.1 lacks a function that is needed";
    if (init() != kSuccess) return "libnvidia-ml.so.1 cannot reach the driver";
    if (handle_by_bus_id(pci_bus_id.c_str(), &device) == kSuccess) return {};
    device = nullptr;
    shutdown();
    return fmt::format("libnvidia-ml.so.1 knows no GPU at {}", pci_bus_id);
  }

  void set_mhz(Environment& environment, const char* name, int (*get)(Handle, unsigned, unsigned*),
               unsigned which) const {
    unsigned mhz = 0;
    if (get(device, which, &mhz) == kSuccess) environment.set(name, std::to_string(mhz));
  }
};

GpuWatch::GpuWatch(const std::string& pci_bus_id) : library_(std::make_unique<Library>()) {
  unavailable_ = library_->open(pci_bus_id);
  if (!unavailable_.empty()) library_.reset();
}

GpuWatch::~GpuWatch() = default;

GpuReadings GpuWatch::read() const {
  GpuReadings readings;
  if (!library_) return readings;
  unsigned long long reasons = 0;
  if (library_->clock_reasons(library_->device, &reasons) == kSuccess) readings.clock_reasons = reasons;
  unsigned mhz = 0;
  if (library_->clock(library_->device, kSmClock, &mhz) == kSuccess) readings.sm_clock_mhz = mhz;
  // Some containers show other process ids than getpid(), so processes are counted, not looked up.
  std::array<ProcessInfo, 8> infos{};
  unsigned count = infos.size();
  const int code = library_->processes(library_->device, &count, infos.data());
  if (code == kSuccess || code == kInsufficientSize) readings.processes = static_cast<std::int32_t>(count);
  return readings;
}

void GpuWatch::describe(Environment& environment) const {
  if (!library_) {
    environment.set("gpu_watch", fmt::format("not available: {}", unavailable_));
    return;
  }
  std::array<char, 96> version{};
  if (library_->driver_version(version.data(), version.size()) == kSuccess) {
    environment.set("gpu_driver", version.data());
  }
  library_->set_mhz(environment, "sm_clock_mhz", library_->clock, kSmClock);
  library_->set_mhz(environment, "max_sm_clock_mhz", library_->max_clock, kSmClock);
  library_->set_mhz(environment, "memory_clock_mhz", library_->clock, kMemoryClock);
  unsigned limit_mw = 0;
  if (library_->power_limit_mw(library_->device, &limit_mw) == kSuccess) {
    environment.set("power_limit_w", fmt::format("{:.0f}", static_cast<double>(limit_mw) / 1e3));
  }
  const GpuReadings readings = read();
  if (readings.processes >= 0) environment.set("gpu_processes", std::to_string(readings.processes));
  environment.set("clock_reasons", fmt::format("{:#x}", readings.clock_reasons));
}

}  // namespace wavefill
