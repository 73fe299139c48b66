// What an instruction set supplies: attention of one head tile over a work item's tokens, and what makes
// results of it. One CpuKernel is one row of the kernel table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend_cpu/token_walk.h"
#include "kv/byte_map.h"
#include "wavefill/decode_args.h"
#include "wavefill/device.h"

namespace wavefill::cpu {

// The head tile of every CPU kernel: all heads a shape may have, so that a token is dequantised once.
inline constexpr int kTileHeads = kMaxHeads;

inline constexpr std::size_t kCacheLineBytes = 64;

// The queries of one row that a work item handles.
struct HeadTile {
  ByteMap map;                  // of the cached tokens; map.d_qk() is the key width
  int num_heads = 0;            // 1..kTileHeads
  const Bf16Bits* q = nullptr;  // [num_heads, d_qk], q_stride_head apart
  std::int64_t q_stride_head = 0;
  float scale_log2 = 0.0F;  // sm_scale * log2(e): scores are kept in base 2
};

// The softmax state of each head (core/softmax_state.h), heads side by side. The sums that belong to it are
// in the kernel's scratch. Whoever attends no token leaves it empty, and then nothing else of it may be read.
struct TileState {
  bool empty = true;
  alignas(kCacheLineBytes) float max_log2[kTileHeads];
  alignas(kCacheLineBytes) float sum[kTileHeads];
  // The sum of the weights as they were multiplied with values. Where weights are rounded for the matrix
  // unit this is not quite `sum`: dividing o by it cancels what the roundings have in common, which under a
  // dominant token is all of it (up to 2^-9, as much as the output's own rounding).
  alignas(kCacheLineBytes) float rounded_sum[kTileHeads];
};

struct CpuKernel {
  KernelSpec spec;
  std::size_t scratch_bytes = 0;  // cache-line aligned memory that the functions below work in

  // Attends all tokens of the walk.
  void (*attend)(const HeadTile& tile, TokenWalk& walk, TileState& state, std::byte* scratch) = nullptr;

  // factor * o of one head after attend(): kValueDim values.
  void (*store_bf16)(const std::byte* scratch, int head, float factor, Bf16Bits* out) = nullptr;
  void (*store_f32)(const std::byte* scratch, int head, float factor, float* out) = nullptr;

  // sum_i weights[i] * o[i * stride ..] + (first ? 0 : sum), and factor * sum as bf16: kValueDim values each.
  // sum is cache-line aligned.
  void (*weigh)(const float* o, std::int64_t stride, std::span<const float> weights, bool first,
                float* sum) = nullptr;
  void (*scale_to_bf16)(const float* sum, float factor, Bf16Bits* out) = nullptr;
};

}  // namespace wavefill::cpu
