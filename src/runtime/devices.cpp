#include "runtime/devices.h"

#include <fmt/ranges.h>

#include <utility>

#include "backend_cpu/cpu_backend.h"
#include "core/errors.h"
#include "core/parse.h"
#if WAVEFILL_HAS_CUDA
#include "backend_cuda/cuda_backend.h"
#endif

namespace wavefill {
namespace {

constexpr std::string_view kCpu = "cpu";
constexpr std::string_view kCudaPrefix = "cuda:";
constexpr std::int32_t kMaxGpus = 64;  // in one host; there are none with more

#if WAVEFILL_HAS_CUDA
constexpr bool kHasCuda = true;

Result<std::unique_ptr<Backend>> make_gpu_backend(std::int32_t ordinal) {
  auto backend = make_cuda_backend(ordinal);
  if (backend.ok()) return backend;
  return make_status(backend.status().code(), "device is '{}{}': {}", kCudaPrefix, ordinal,
                     backend.status().message());
}
#else
constexpr bool kHasCuda = false;

Result<std::unique_ptr<Backend>> make_gpu_backend(std::int32_t ordinal) {
  return make_status(StatusCode::unavailable,
                     "device is '{}{}'; allowed: cpu (this build of wavefill has no CUDA)", kCudaPrefix,
                     ordinal);
}
#endif

// Makes the GPUs one after the other, for as long as `visit` returns true. One may be busy or too old while
// the next is not, so only the end of the list ends it.
template <typename Visit>
void for_each_gpu(Visit visit) {
  for (std::int32_t ordinal = 0; kHasCuda && ordinal < kMaxGpus; ++ordinal) {
    Result<std::unique_ptr<Backend>> backend = make_gpu_backend(ordinal);
    if (backend.status().code() == StatusCode::not_found) return;
    if (backend.ok() && !visit(ordinal, *std::move(backend))) return;
  }
}

Result<std::unique_ptr<Backend>> make_first_backend(std::int32_t num_threads) {
  std::unique_ptr<Backend> first;
  for_each_gpu([&first](std::int32_t, std::unique_ptr<Backend> backend) {
    first = std::move(backend);
    return false;
  });
  if (first != nullptr) return first;
  return make_cpu_backend(num_threads);
}

}  // namespace

std::vector<std::string> usable_devices() {
  std::vector<std::string> names;
  for_each_gpu([&names](std::int32_t ordinal, const std::unique_ptr<Backend>&) {
    names.push_back(fmt::format("{}{}", kCudaPrefix, ordinal));
    return true;
  });
  names.emplace_back(kCpu);
  return names;
}

Result<std::unique_ptr<Backend>> make_backend(std::string_view device, std::int32_t num_threads) {
  if (device == "auto") return make_first_backend(num_threads);
  if (device == kCpu) return make_cpu_backend(num_threads);
  if (device.starts_with(kCudaPrefix)) {
    const auto ordinal = parse_integer("device", device.substr(kCudaPrefix.size()), 0, kMaxGpus - 1);
    if (ordinal.ok()) return make_gpu_backend(static_cast<std::int32_t>(*ordinal));
  }
  return invalid_argument("device is {}; allowed: auto, {}", quote_text(device),
                          fmt::join(usable_devices(), ", "));
}

}  // namespace wavefill
