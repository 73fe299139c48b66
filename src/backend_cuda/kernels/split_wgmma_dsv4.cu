// Hopper split kernels for fp8_tile64_rope_bf16_footer.
#include "backend_cuda/kernels/split_wgmma_instance.cuh"

namespace wavefill::cuda {

std::span<const SplitKernel> split_wgmma_dsv4_kernels() {
  static const SplitKernel kernels[] = {
      split_wgmma_instance<WgmmaConfig<KvFormat::fp8_tile64_rope_bf16_footer, 512, 2>>("wgmma_dsv4_h64"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
