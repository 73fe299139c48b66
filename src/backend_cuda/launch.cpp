#include "backend_cuda/launch.h"

#include <cuda_runtime_api.h>

#include <array>

#include "backend_cuda/cuda_status.h"

namespace wavefill::cuda {

Status launch(const LaunchContext& context, const KernelFunction& kernel, std::int64_t num_ctas,
              const void* params, std::int32_t ctas_per_cluster) {
  if (num_ctas > INT32_MAX) {
    return make_status(StatusCode::unsupported, "kernel {} would have {} CTAs; allowed: <= {}", kernel.name,
                       num_ctas, INT32_MAX);
  }
  std::array<cudaLaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (context.dependent_launch) {
    cudaLaunchAttribute& dependent = attributes[num_attributes++];
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
  }
  if (ctas_per_cluster > 1) {
    cudaLaunchAttribute& cluster = attributes[num_attributes++];
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(ctas_per_cluster), 1, 1};
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(num_ctas));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(kernel.smem_bytes);
  config.stream = static_cast<cudaStream_t>(context.stream);
  config.attrs = attributes.data();
  config.numAttrs = num_attributes;
  void* arguments[] = {const_cast<void*>(params)};
  return to_status(cudaLaunchKernelExC(&config, kernel.function, arguments), kernel.name);
}

}  // namespace wavefill::cuda
