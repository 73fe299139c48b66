// Scores S^T = K Q^T over a warp's slice: tokens on m, heads on n, dims on k.
//
// The order of k is free as long as both operands share it: lane t of a row owns dims 16 t .. 16 t + 15 of
// the slice, and k step j takes 16 t + 4 j + {0, 1} as its low half and 16 t + 4 j + {2, 3} as its high one.
// So a lane's part of a token is 16 consecutive bytes (fp8) or 32 (bf16), and its part of a head's query 32.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/mma.cuh"

namespace wavefill::cuda {

// A warp's slice of Q as B fragments: in registers, or parked in shared memory where only the lane that
// wrote a fragment reads it back.
template <class C>
struct QueryFragments {
  static constexpr int kInRegs = C::kQInRegs ? C::kHeadFrags : 1;
  uint2 regs[C::kKSteps][kInRegs];
  std::uint32_t tail[C::kHasTail ? C::kHeadFrags : 1];
};

__device__ __forceinline__ std::uint32_t query_word_to_f16(std::uint32_t word) {
  const float2 pair = unpack_bf16x2(word);
  return pack_f16x2(pair.x * kQueryScale, pair.y * kQueryScale);
}

// This lane's part of one head: 16 dims of the slice, as k steps take them. Zero if the head does not exist.
template <class C>
__device__ __forceinline__ void load_query_head(uint2 (&fragments)[C::kKSteps], const std::uint16_t* dims,
                                                bool exists, int slice, int lane) {
  uint4 words[2] = {};
  if (exists) {
    const auto* src = reinterpret_cast<const uint4*>(dims + slice * kSliceDims + lane % 4 * 16);
    words[0] = src[0];
    words[1] = src[1];
  }
  fragments[0] = make_uint2(words[0].x, words[0].y);
  fragments[1] = make_uint2(words[0].z, words[0].w);
  fragments[2] = make_uint2(words[1].x, words[1].y);
  fragments[3] = make_uint2(words[1].z, words[1].w);
  if (slice >= C::kFp8Slices) return;
#pragma unroll
  for (int j = 0; j < C::kKSteps; ++j) {
    fragments[j] = make_uint2(query_word_to_f16(fragments[j].x), query_word_to_f16(fragments[j].y));
  }
}

// `heads`: q of the head tile's first head; heads at or beyond `num_heads` are zero.
template <class C>
__device__ __forceinline__ void load_query(QueryFragments<C>& query, SplitShared<C>& shared,
                                           const std::uint16_t* heads, std::int64_t stride_head,
                                           int num_heads, int slice, int warp, int lane) {
  // Without registers to fill there is no need to unroll, which would hold all heads at once.
  constexpr int kUnroll = C::kQInRegs ? C::kHeadFrags : 1;
#pragma unroll kUnroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
    const int head = n * 8 + lane / 4;
    uint2 fragments[C::kKSteps];
    load_query_head<C>(fragments, heads + head * stride_head, head < num_heads, slice, lane);
#pragma unroll
    for (int j = 0; j < C::kKSteps; ++j) {
      if constexpr (C::kQInRegs) {
        query.regs[j][n] = fragments[j];
      } else {
        auto* parked = reinterpret_cast<uint2*>(
            shared.query + ((warp * C::kKSteps + j) * (C::kHeadFrags / 2) + n / 2) * 32 + lane);
        parked[n % 2] = fragments[j];
      }
    }
  }
  if constexpr (C::kHasTail) {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
      const int head = n * 8 + lane / 4;
      const std::uint16_t* dims = heads + head * stride_head + kValueDim + slice * 8 + lane % 4 * 2;
      query.tail[n] = head < num_heads ? *reinterpret_cast<const std::uint32_t*>(dims) : 0U;
    }
  }
}

template <class C>
__device__ __forceinline__ void query_step(uint2 (&b)[C::kHeadFrags], const QueryFragments<C>& query,
                                           const SplitShared<C>& shared, int j, int warp, int lane) {
  if constexpr (C::kQInRegs) {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) b[n] = query.regs[j][n];
  } else {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; n += 2) {
      const uint4 pair = shared.query[((warp * C::kKSteps + j) * (C::kHeadFrags / 2) + n / 2) * 32 + lane];
      b[n] = make_uint2(pair.x, pair.y);
      b[n + 1] = make_uint2(pair.z, pair.w);
    }
  }
}

template <class C>
using ScoreAccumulators = float[C::kTokenFrags][C::kHeadFrags][4];

__device__ __forceinline__ std::uint32_t word_of(const uint4& chunk, int i) {
  return i == 0 ? chunk.x : i == 1 ? chunk.y : i == 2 ? chunk.z : chunk.w;
}

// fp8 slice: 16 raw bytes a token and lane, converted to fp16 in registers; the token's scale goes onto the
// accumulators, which are zero before.
template <class C>
__device__ __forceinline__ void score_fp8_slice(ScoreAccumulators<C>& acc, const SplitShared<C>& shared,
                                                const QueryFragments<C>& query, const std::byte* slice,
                                                const float* scales, int warp, int lane) {
  const int g = lane / 4;
  const int chunk = (lane % 4) ^ swizzle_fp8(g);
  uint4 raw[C::kTokenFrags][2];
#pragma unroll
  for (int m = 0; m < C::kTokenFrags; ++m) {
    raw[m][0] = *reinterpret_cast<const uint4*>(slice + (m * 16 + g) * kSliceDims + chunk * 16);
    raw[m][1] = *reinterpret_cast<const uint4*>(slice + (m * 16 + g + 8) * kSliceDims + chunk * 16);
  }
#pragma unroll
  for (int j = 0; j < C::kKSteps; ++j) {
    uint2 b[C::kHeadFrags];
    query_step<C>(b, query, shared, j, warp, lane);
#pragma unroll
    for (int m = 0; m < C::kTokenFrags; ++m) {
      const std::uint32_t low = word_of(raw[m][0], j);
      const std::uint32_t high = word_of(raw[m][1], j);
      const std::uint32_t a[4] = {e4m3x2_to_f16x2(low), e4m3x2_to_f16x2(high), e4m3x2_to_f16x2(low >> 16),
                                  e4m3x2_to_f16x2(high >> 16)};
#pragma unroll
      for (int n = 0; n < C::kHeadFrags; ++n) mma_f16_k16(acc[m][n], a, b[n].x, b[n].y);
    }
  }
#pragma unroll
  for (int m = 0; m < C::kTokenFrags; ++m) {
    const float scale_low = scales[m * 16 + g];
    const float scale_high = scales[m * 16 + g + 8];
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
      acc[m][n][0] *= scale_low;
      acc[m][n][1] *= scale_low;
      acc[m][n][2] *= scale_high;
      acc[m][n][3] *= scale_high;
    }
  }
}

// bf16 slice: 32 bytes a token and lane, used as they are.
template <class C>
__device__ __forceinline__ void score_bf16_slice(ScoreAccumulators<C>& acc, const SplitShared<C>& shared,
                                                 const QueryFragments<C>& query, const std::byte* slice,
                                                 int warp, int lane) {
  const int g = lane / 4;
  const int t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int chunk = (2 * t + half) ^ swizzle_bf16(g);
#pragma unroll
    for (int m = 0; m < C::kTokenFrags; ++m) {
      const uint4 low = *reinterpret_cast<const uint4*>(slice + ((m * 16 + g) * 8 + chunk) * 16);
      const uint4 high = *reinterpret_cast<const uint4*>(slice + ((m * 16 + g + 8) * 8 + chunk) * 16);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint2 b[C::kHeadFrags];
        query_step<C>(b, query, shared, 2 * half + i, warp, lane);
        const std::uint32_t a[4] = {word_of(low, 2 * i), word_of(high, 2 * i), word_of(low, 2 * i + 1),
                                    word_of(high, 2 * i + 1)};
#pragma unroll
        for (int n = 0; n < C::kHeadFrags; ++n) mma_bf16_k16(acc[m][n], a, b[n].x, b[n].y);
      }
    }
  }
}

// This warp's 8 of the key's last 64 dims.
template <class C>
__device__ __forceinline__ void score_tail(ScoreAccumulators<C>& acc, const QueryFragments<C>& query,
                                           const std::byte* tail, int lane) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(tail) + lane;  // [token][4]: lane = 4 g + t
#pragma unroll
  for (int m = 0; m < C::kTokenFrags; ++m) {
    const std::uint32_t low = words[m * 64];
    const std::uint32_t high = words[m * 64 + 32];
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) mma_bf16_k8(acc[m][n], low, high, query.tail[n]);
  }
}

// Scores this warp's tokens of tile `tile_idx` of the item, which lies in `stage`, and publishes the partial
// sums. `group`: which part of the tile's tokens they are.
template <class C>
__device__ __forceinline__ void score_tile(SplitShared<C>& shared, const QueryFragments<C>& query, int stage,
                                           int tile_idx, int slice, int group, int warp, int lane) {
  ScoreAccumulators<C> acc = {};
  const int first_token = group * C::kTokenFrags * 16;
  const std::byte* tokens = shared.ring[stage] + C::stage_offset(slice);
  if (slice < C::kFp8Slices) {
    const float* scales = shared.token_scale[stage][slice] + (C::kHasFp8 ? first_token : 0);
    score_fp8_slice<C>(acc, shared, query, tokens + first_token * kSliceDims, scales, warp, lane);
  } else {
    score_bf16_slice<C>(acc, shared, query, tokens + first_token * kSliceDims * 2, warp, lane);
  }
  if constexpr (C::kHasTail) {
    score_tail<C>(acc, query, shared.ring[stage] + C::tail_stage_offset(slice) + first_token * C::kTailBytes,
                  lane);
  }
  auto* out = reinterpret_cast<float4*>(shared.scores[tile_idx & 1][slice]) +
              group * C::kTokenFrags * C::kHeadFrags * 32 + lane;
#pragma unroll
  for (int m = 0; m < C::kTokenFrags; ++m) {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
      out[(m * C::kHeadFrags + n) * 32] = make_float4(acc[m][n][0], acc[m][n][1], acc[m][n][2], acc[m][n][3]);
    }
  }
}

}  // namespace wavefill::cuda
