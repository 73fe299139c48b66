// Split kernels for fp8_tile128_rope_bf16_inline, the preferred of those that suit a head count first.
#include "backend_cuda/kernels/split_mma_instance.cuh"

namespace wavefill::cuda {
namespace {

// Heads, tokens a tile, ring stages, CTAs an SM, Q in registers, how often addresses are formed again.
template <int kHeads, int kTile, int kStages, int kCtas, bool kQInRegs, int kRecompute>
using Dsv32 = SplitConfig<KvFormat::fp8_tile128_rope_bf16_inline, 576, kHeads, kTile, kStages, kCtas,
                          kQInRegs, 1, kRecompute>;

}  // namespace

std::span<const SplitKernel> split_mma_dsv32_kernels() {
  static const SplitKernel kernels[] = {
      split_mma_instance<Dsv32<32, 32, 4, 1, false, 0>>("mma_dsv32_h32"),
      split_mma_instance_with_clusters<Dsv32<16, 32, 3, 2, true, 1>>("mma_dsv32_h16"),
      split_mma_instance<Dsv32<16, 16, 3, 2, true, 1>>("mma_dsv32_h16_small"),
      split_mma_instance_with_clusters<Dsv32<8, 32, 3, 2, true, 0>>("mma_dsv32_h8"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
