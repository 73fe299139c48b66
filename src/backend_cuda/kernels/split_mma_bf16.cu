// Split kernels for plain bf16, 512 and 576 wide, the preferred of those that suit a head count first.
#include "backend_cuda/kernels/split_mma_instance.cuh"

namespace wavefill::cuda {
namespace {

// Key width, heads, tokens a tile, ring stages, CTAs an SM, Q in registers, how often addresses
// are formed again.
template <int kDqk, int kHeads, int kTile, int kStages, int kCtas, bool kQInRegs, int kRecompute>
using Bf16 = SplitConfig<KvFormat::bf16, kDqk, kHeads, kTile, kStages, kCtas, kQInRegs, 1, kRecompute>;

}  // namespace

std::span<const SplitKernel> split_mma_bf16_kernels() {
  static const SplitKernel kernels[] = {
      split_mma_instance<Bf16<512, 32, 32, 3, 1, false, 1>>("mma_bf16_h32"),
      split_mma_instance<Bf16<512, 16, 16, 4, 2, true, 0>>("mma_bf16_h16"),
      split_mma_instance<Bf16<512, 8, 32, 3, 1, true, 0>>("mma_bf16_h8"),
      split_mma_instance<Bf16<576, 32, 32, 3, 1, false, 1>>("mma_bf16_576_h32"),
      split_mma_instance<Bf16<576, 16, 16, 4, 2, true, 0>>("mma_bf16_576_h16"),
      split_mma_instance<Bf16<576, 8, 32, 3, 1, true, 0>>("mma_bf16_576_h8"),
  };
  return kernels;
}

}  // namespace wavefill::cuda
