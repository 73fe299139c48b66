#include "backend_cuda/device_query.h"

#include <cuda_runtime_api.h>

#include <fstream>
#include <string>

#include "backend_cuda/cuda_status.h"

namespace wavefill::cuda {
namespace {

Result<std::int64_t> attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaDeviceGetAttribute(&value, which, ordinal));
  return std::int64_t{value};
}

// Bytes/s of a double-data-rate bus: two transfers a clock. 0 where the driver no longer gives the clock.
double bus_bandwidth_gbps(int ordinal) {
  const Result<std::int64_t> clock_khz = attribute(cudaDevAttrMemoryClockRate, ordinal);
  const Result<std::int64_t> width_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal);
  if (!clock_khz.ok() || !width_bits.ok()) return 0.0;
  return 2.0 * static_cast<double>(*clock_khz) * 1e3 * static_cast<double>(*width_bits) / 8.0 / 1e9;
}

// 13000 -> "13.0"; empty where the library does not say.
std::string cuda_version_text() {
  int version = 0;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess) return {};
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ..." -> "580.95.05". The runtime itself
// tells only which CUDA the driver knows; that stands in where the file cannot be read.
std::string driver_version_text() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool is_version = !word.empty() && word.find_first_not_of("0123456789.") == std::string::npos &&
                            word.find('.') != std::string::npos;
    if (is_version) return word;
  }
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) return {};
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

Result<DeviceSpec> query_device(int ordinal) {
  int count = 0;
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaGetDeviceCount(&count));
  if (ordinal < 0 || ordinal >= count) {
    return make_status(StatusCode::not_found, "CUDA device is {}; allowed: 0..{}", ordinal, count - 1);
  }
  cudaDeviceProp properties{};
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  DeviceSpec spec;
  spec.name = properties.name;
  spec.num_sms = properties.multiProcessorCount;
  spec.compute_capability = properties.major * 10 + properties.minor;
  spec.smem_per_block_optin_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlockOptin);
  spec.smem_per_sm_bytes = static_cast<std::int64_t>(properties.sharedMemPerMultiprocessor);
  spec.registers_per_sm = properties.regsPerMultiprocessor;
  spec.l2_bytes = properties.l2CacheSize;
  spec.memory_bandwidth_gbps = bus_bandwidth_gbps(ordinal);
  spec.source = "CUDA device " + std::to_string(ordinal);
  spec.driver_version = driver_version_text();
  spec.cuda_version = cuda_version_text();
  return spec;
}

Result<std::int32_t> query_ctas_per_sm(const KernelFunction& kernel, std::int64_t smem_per_block_bytes) {
  cudaFuncAttributes attributes{};
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaFuncGetAttributes(&attributes, kernel.function));
  if (kernel.smem_bytes + static_cast<std::int64_t>(attributes.sharedSizeBytes) > smem_per_block_bytes) {
    return std::int32_t{0};
  }
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaFuncSetAttribute(
      kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kernel.smem_bytes)));
  int ctas = 0;
  WAVEFILL_CUDA_RETURN_IF_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &ctas, kernel.function, kernel.threads, static_cast<std::size_t>(kernel.smem_bytes)));
  return std::int32_t{ctas};
}

Result<std::int32_t> query_active_clusters(const KernelFunction& kernel, std::int32_t size) {
  WAVEFILL_CUDA_RETURN_IF_ERROR(
      cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(size));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(kernel.smem_bytes);
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(&clusters, kernel.function, &config);
  if (error == cudaErrorInvalidClusterSize) {
    (void)cudaGetLastError();  // it is no sticky error, and not the caller's
    return std::int32_t{0};
  }
  WAVEFILL_CUDA_RETURN_IF_ERROR(error);
  return std::int32_t{clusters};
}

DeviceScope::DeviceScope(int ordinal) {
  status_ = to_status(cudaGetDevice(&previous_), "cudaGetDevice");
  if (status_.ok() && previous_ != ordinal) status_ = to_status(cudaSetDevice(ordinal), "cudaSetDevice");
}

DeviceScope::~DeviceScope() {
  if (previous_ >= 0) (void)cudaSetDevice(previous_);
}

}  // namespace wavefill::cuda
