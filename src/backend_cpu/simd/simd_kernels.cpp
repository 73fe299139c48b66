// Attention in fp32 SIMD. One tile of tokens is dequantised once and serves all heads; per tile and head
// 2 * d_qk + 2 * 512 flops a token on 584 or 656 bytes read (docs/kernels/cpu.md has the whole budget).
#include "backend_cpu/simd/simd_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/math.h"

// Vectors shorter than AVX2's are left to the portable target, and vectors without a compile-time length,
// which cannot be array elements, likewise.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend_cpu/simd/simd_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef WAVEFILL_SIMD_KERNELS_ONCE_
#define WAVEFILL_SIMD_KERNELS_ONCE_
namespace wavefill::cpu {

inline constexpr int kMaxKeyDim = 576;
inline constexpr int kTileTokens = 64;

// What the kernel keeps for one worker; kept as rows so that any vector length reads it.
struct SimdScratch {
  alignas(kCacheLineBytes) float q[kTileHeads * kMaxKeyDim];
  alignas(kCacheLineBytes) float k[kTileTokens * kMaxKeyDim];
  alignas(kCacheLineBytes) float s[kTileHeads * kTileTokens];
  alignas(kCacheLineBytes) float o[kTileHeads * kValueDim];  // not normalised
  float earlier[kTileHeads];
  TokenAddress tokens[kTileTokens];
};

}  // namespace wavefill::cpu
#endif

#include "backend_cpu/simd/attend-inl.h"
#include "backend_cpu/simd/dequantise-inl.h"
#include "backend_cpu/simd/output-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wavefill::cpu {
namespace HWY_NAMESPACE {
namespace {

void LoadQuery(const HeadTile& tile, SimdScratch& scratch) {
  for (int h = 0; h < tile.num_heads; ++h) {
    const auto* q = reinterpret_cast<const std::uint8_t*>(tile.q + h * tile.q_stride_head);
    float* row = scratch.q + h * kMaxKeyDim;
    for (int dim = 0; dim < tile.map.d_qk(); dim += kLanes) {
      hn::Store(FromBf16(q + 2 * dim), DF32(), row + dim);
    }
  }
}

void AttendTile(const HeadTile& tile, std::span<const TokenAddress> tokens, TileState& state,
                SimdScratch& scratch) {
  const int count = static_cast<int>(tokens.size());
  for (int t = 0; t < count; ++t) {
    Dequantise(tile.map, tokens[static_cast<std::size_t>(t)], scratch.k + t * kMaxKeyDim);
  }
  const int padded = round_up(count, 4);
  std::fill(scratch.k + count * kMaxKeyDim, scratch.k + padded * kMaxKeyDim, 0.0F);
  Scores(scratch.q, scratch.k, tile.map.d_qk(), tile.num_heads, padded, scratch.s);
  for (int h = 0; h < tile.num_heads; ++h) {
    scratch.earlier[h] = Softmax(scratch.s + h * kTileTokens, count, tile.scale_log2, state.empty,
                                 state.max_log2[h], state.sum[h]);
    state.rounded_sum[h] = state.sum[h];
  }
  WeighValues(scratch.s, scratch.k, tile.num_heads, count, scratch.earlier, state.empty, scratch.o);
  state.empty = false;
}

void Attend(const HeadTile& tile, TokenWalk& walk, TileState& state, std::byte* memory) {
  SimdScratch& scratch = *reinterpret_cast<SimdScratch*>(memory);
  auto tokens = walk.next(scratch.tokens);
  if (tokens.empty()) return;
  LoadQuery(tile, scratch);
  for (; !tokens.empty(); tokens = walk.next(scratch.tokens)) AttendTile(tile, tokens, state, scratch);
}

const float* RowOf(const std::byte* scratch, int head) {
  return reinterpret_cast<const SimdScratch*>(scratch)->o + head * kValueDim;
}

void StoreBf16(const std::byte* scratch, int head, float factor, Bf16Bits* out) {
  ScaleToBf16(RowOf(scratch, head), factor, out);
}

void StoreF32(const std::byte* scratch, int head, float factor, float* out) {
  ScaleToF32(RowOf(scratch, head), factor, out);
}

CpuKernel MakeKernel(const char* name) {
  CpuKernel kernel;
  kernel.spec = {.name = name, .heads_per_cta = kTileHeads, .kv_tile = kTileTokens, .threads = 1};
  kernel.scratch_bytes = sizeof(SimdScratch);
  kernel.attend = Attend;
  kernel.store_bf16 = StoreBf16;
  kernel.store_f32 = StoreF32;
  kernel.weigh = Weigh;
  kernel.scale_to_bf16 = ScaleToBf16;
  return kernel;
}

}  // namespace

CpuKernel Kernel(const char* name) { return MakeKernel(name); }

}  // namespace HWY_NAMESPACE
}  // namespace wavefill::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wavefill::cpu {

std::vector<CpuKernel> simd_kernels() {
  [[maybe_unused]] const auto supported = hwy::SupportedTargets();
  std::vector<CpuKernel> kernels;
#if HWY_TARGETS & HWY_AVX3
  if (supported & HWY_AVX3) kernels.push_back(N_AVX3::Kernel("cpu_mla_avx512"));
#endif
#if HWY_TARGETS & HWY_AVX2
  if (supported & HWY_AVX2) kernels.push_back(N_AVX2::Kernel("cpu_mla_avx2"));
#endif
#if HWY_TARGETS & HWY_NEON
  if (supported & HWY_NEON) kernels.push_back(N_NEON::Kernel("cpu_mla_neon"));
#endif
#if HWY_TARGETS & HWY_EMU128
  kernels.push_back(N_EMU128::Kernel("cpu_mla_portable"));
#endif
#if HWY_TARGETS & HWY_SCALAR
  kernels.push_back(N_SCALAR::Kernel("cpu_mla_portable"));
#endif
  return kernels;
}

}  // namespace wavefill::cpu
#endif  // HWY_ONCE
