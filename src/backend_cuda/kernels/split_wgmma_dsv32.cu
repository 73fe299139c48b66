// Hopper split kernels for fp8_tile128_rope_bf16_inline.
#include "backend_cuda/kernels/split_wgmma_instance.cuh"

namespace wavefill::cuda {

std::span<const SplitKernel> split_wgmma_dsv32_kernels() {
  static const SplitKernel kernels[] = {
      split_wgmma_instance<WgmmaConfig<KvFormat::fp8_tile128_rope_bf16_inline, 576, 2>>("wgmma_dsv32_h64"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
