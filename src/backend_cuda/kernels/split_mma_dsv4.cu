// Split kernels for fp8_tile64_rope_bf16_footer, the preferred of those that suit a head count first.
#include "backend_cuda/kernels/split_mma_instance.cuh"

namespace wavefill::cuda {
namespace {

// Heads, tokens a tile, ring stages, CTAs an SM, Q in registers, warps a slice, how often addresses are
// formed again.
template <int kHeads, int kTile, int kStages, int kCtas, bool kQInRegs, int kGroups, int kRecompute>
using Dsv4 = SplitConfig<KvFormat::fp8_tile64_rope_bf16_footer, 512, kHeads, kTile, kStages, kCtas, kQInRegs,
                         kGroups, kRecompute>;

}  // namespace

std::span<const SplitKernel> split_mma_dsv4_kernels() {
  static const SplitKernel kernels[] = {
      split_mma_instance<Dsv4<32, 32, 4, 1, false, 1, 0>>("mma_dsv4_h32"),
      split_mma_instance_with_clusters<Dsv4<16, 32, 5, 1, true, 2, 0>>("mma_dsv4_h16_w16"),
      split_mma_instance_with_clusters<Dsv4<16, 32, 3, 2, true, 1, 1>>("mma_dsv4_h16"),
      split_mma_instance<Dsv4<16, 16, 3, 2, true, 1, 1>>("mma_dsv4_h16_small"),
      split_mma_instance_with_clusters<Dsv4<8, 32, 4, 2, true, 1, 1>>("mma_dsv4_h8"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
