#include "cli/device_options.h"

#include <fmt/format.h>

#include "core/errors.h"
#include "core/parse.h"
#include "runtime/devices.h"
#include "runtime/kernel_choice.h"

namespace wavefill::cli {
namespace {

constexpr std::int64_t kMaxThreads = 4096;
constexpr std::int64_t kMaxKvTile = 1 << 16;
constexpr std::int64_t kMaxCtasPerSm = 32;  // of every compute capability so far
constexpr const char* kAssumedKernel = "assumed";

void add_common_options(OptionSet& set, DeviceOptions& options, const std::string& device_help) {
  set.begin_group("Device");
  set.text("--device", options.device, "NAME", device_help);
  set.text("--threads", options.threads, "N", "worker threads of the CPU (default: all)");
}

std::string known_device_names() {
  std::string names;
  for (const DeviceSpec& device : known_devices()) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

Status override_with(std::string_view option, const std::string& text, std::int64_t max,
                     std::int32_t& value) {
  if (text.empty()) return {};
  const Result<std::int64_t> given = parse_integer(option, text, 1, max);
  if (!given.ok()) return given.status();
  value = static_cast<std::int32_t>(*given);
  return {};
}

Result<PlanTarget> target_here(const DeviceOptions& options, const DecodeShape& shape) {
  const Result<std::unique_ptr<Backend>> backend = open_device(options);
  if (!backend.ok()) {
    if (backend.status().code() != StatusCode::invalid_argument) return backend.status();
    return invalid_argument("{}; or to plan for without having it: {}", backend.status().message(),
                            known_device_names());
  }
  const Result<KernelSpec> kernel = read_kernel(**backend, options, shape);
  if (!kernel.ok()) return kernel.status();
  return PlanTarget{.device = (*backend)->device(), .kernel = *kernel};
}

}  // namespace

void add_device_options(OptionSet& set, DeviceOptions& options) {
  add_common_options(set, options, "cpu, cuda:N, or auto: the GPU if there is one, else the CPU");
}

void add_kernel_option(OptionSet& set, DeviceOptions& options, std::string_view without) {
  set.text("--kernel", options.kernel, "NAME", fmt::format("kernel to use (default: {})", without));
}

void add_plan_target_options(OptionSet& set, PlanTargetOptions& options) {
  add_common_options(set, options.device, "cpu, cuda:N, auto, or a known device: " + known_device_names());
  add_kernel_option(set, options.device);
  set.text("--heads-per-cta", options.heads_per_cta, "N", "assume a head tile of this size");
  set.text("--kv-tile", options.kv_tile, "N", "assume this many tokens a kv tile");
  set.text("--ctas-per-sm", options.ctas_per_sm, "N", "assume this many resident CTAs an SM");
}

Result<std::int32_t> read_threads(const DeviceOptions& options) {
  std::int32_t threads = 0;
  WAVEFILL_RETURN_IF_ERROR(override_with("--threads", options.threads, kMaxThreads, threads));
  return threads;
}

Result<std::unique_ptr<Backend>> open_device(const DeviceOptions& options) {
  const Result<std::int32_t> threads = read_threads(options);
  if (!threads.ok()) return threads.status();
  Result<std::unique_ptr<Backend>> backend = make_backend(options.device, *threads);
  // A GPU of a number that is not here is a fact about the machine, not a wrong word.
  if (!backend.ok() && backend.status().code() == StatusCode::not_found) {
    return Status(StatusCode::unavailable, backend.status().message());
  }
  return backend;
}

Result<KernelSpec> read_kernel(const Backend& backend, const DeviceOptions& options, const DecodeShape& shape,
                               std::string_view preferred) {
  const Result<std::span<const KernelSpec>> kernels = select_kernels(backend, options.kernel);
  if (!kernels.ok()) return kernels.status();
  const Result<const KernelSpec*> kernel = choose_kernel(backend, *kernels, shape, preferred);
  if (!kernel.ok()) return kernel.status();
  return **kernel;
}

Result<PlanTarget> read_plan_target(const PlanTargetOptions& options, const DecodeShape& shape) {
  const Result<DeviceSpec> known = find_known_device(options.device.device);
  Result<PlanTarget> target = known.ok() ? Result<PlanTarget>(PlanTarget{.device = *known, .kernel = {}})
                                         : target_here(options.device, shape);
  if (!target.ok()) return target;
  KernelSpec& kernel = target->kernel;
  if (known.ok()) kernel.name = options.device.kernel.empty() ? kAssumedKernel : options.device.kernel;
  WAVEFILL_RETURN_IF_ERROR(
      override_with("--heads-per-cta", options.heads_per_cta, kMaxHeads, kernel.heads_per_cta));
  WAVEFILL_RETURN_IF_ERROR(override_with("--kv-tile", options.kv_tile, kMaxKvTile, kernel.kv_tile));
  WAVEFILL_RETURN_IF_ERROR(
      override_with("--ctas-per-sm", options.ctas_per_sm, kMaxCtasPerSm, kernel.ctas_per_sm));
  return target;
}

}  // namespace wavefill::cli
