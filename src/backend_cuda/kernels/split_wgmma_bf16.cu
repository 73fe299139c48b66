// Hopper split kernels for bf16.
#include "backend_cuda/kernels/split_wgmma_instance.cuh"

namespace wavefill::cuda {

std::span<const SplitKernel> split_wgmma_bf16_kernels() {
  static const SplitKernel kernels[] = {
      split_wgmma_instance<WgmmaConfig<KvFormat::bf16, 512, 2>>("wgmma_bf16_h64"),
      split_wgmma_instance<WgmmaConfig<KvFormat::bf16, 576, 2>>("wgmma_bf16_576_h64"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
