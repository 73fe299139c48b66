// The options that say which device, and which of its kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/backend.h"
#include "cli/option_set.h"
#include "wavefill/device.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cli {

struct DeviceOptions {
  std::string device = "auto";
  std::string threads;  // CPU only; empty = all
  std::string kernel;   // empty = the first that takes the shape
};

// --device and --threads, for commands that run something.
void add_device_options(OptionSet& set, DeviceOptions& options);

// --kernel, for those that can run another than the first.
void add_kernel_option(OptionSet& set, DeviceOptions& options,
                       std::string_view without = "the first that takes the shape");

// Errors: invalid_argument (a name that is no device), unavailable (no such device here, no driver).
Result<std::unique_ptr<Backend>> open_device(const DeviceOptions& options);

// The one named by the options, else `preferred` where it takes the shape, else the first that does.
// Errors: not_found (no kernel is called so), unsupported (none takes the shape).
Result<KernelSpec> read_kernel(const Backend& backend, const DeviceOptions& options, const DecodeShape& shape,
                               std::string_view preferred = {});

// 0 = all hardware threads. Errors: invalid_argument.
Result<std::int32_t> read_threads(const DeviceOptions& options);

// What a plan is made for: a device here, or one of known_devices(), whose kernel is then only assumed.
struct PlanTarget {
  DeviceSpec device;
  KernelSpec kernel;
};
struct PlanTargetOptions {
  DeviceOptions device;
  std::string heads_per_cta, kv_tile, ctas_per_sm;  // empty = the kernel's own
};
void add_plan_target_options(OptionSet& set, PlanTargetOptions& options);
Result<PlanTarget> read_plan_target(const PlanTargetOptions& options, const DecodeShape& shape);

}  // namespace wavefill::cli
