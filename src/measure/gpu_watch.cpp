#include "measure/gpu_watch.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>

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
  const std::int32_t processes = std::max(begin.processes, end.processes);
  if (processes > 1) {
    return {true, fmt::format("{} processes are on the GPU; allowed: ours alone", processes)};
  }
  const std::uint64_t reasons = begin.clock_reasons | end.clock_reasons;
  if ((reasons & kThermalSlowdown) != 0) return {true, "the GPU is slowed down by its temperature"};
  if ((reasons & kPowerBrake) != 0) return {true, "the GPU is slowed down by the power brake"};
  if ((reasons & kHardwareSlowdown) != 0) return {true, "the GPU is slowed down by its hardware"};
  return {};
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

  bool open(const std::string& pci_bus_id) {
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const bool found = find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
                       find(handle_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2") &&
                       find(clock, "nvmlDeviceGetClockInfo") &&
                       find(max_clock, "nvmlDeviceGetMaxClockInfo") &&
                       find(clock_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons") &&
                       find(processes, "nvmlDeviceGetComputeRunningProcesses_v3") &&
                       find(power_limit_mw, "nvmlDeviceGetPowerManagementLimit") &&
                       find(driver_version, "nvmlSystemGetDriverVersion");
    if (!found || init() != kSuccess) return false;
    if (handle_by_bus_id(pci_bus_id.c_str(), &device) == kSuccess) return true;
    device = nullptr;
    shutdown();
    return false;
  }

  void set_mhz(Environment& environment, const char* name, int (*get)(Handle, unsigned, unsigned*),
               unsigned which) const {
    unsigned mhz = 0;
    if (get(device, which, &mhz) == kSuccess) environment.set(name, std::to_string(mhz));
  }
};

GpuWatch::GpuWatch(const std::string& pci_bus_id) : library_(std::make_unique<Library>()) {
  if (!library_->open(pci_bus_id)) library_.reset();
}

GpuWatch::~GpuWatch() = default;

GpuReadings GpuWatch::read() const {
  GpuReadings readings;
  if (!library_) return readings;
  unsigned long long reasons = 0;
  if (library_->clock_reasons(library_->device, &reasons) == kSuccess) readings.clock_reasons = reasons;
  // Some containers show other process ids than getpid(), so processes are counted, not looked up.
  std::array<ProcessInfo, 8> infos{};
  unsigned count = infos.size();
  const int code = library_->processes(library_->device, &count, infos.data());
  if (code == kSuccess || code == kInsufficientSize) readings.processes = static_cast<std::int32_t>(count);
  return readings;
}

void GpuWatch::describe(Environment& environment) const {
  if (!library_) return;
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
