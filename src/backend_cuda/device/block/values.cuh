// Values O^T += V^T P^T over a warp's dims: dims on m, heads on n, tokens on k.
//
// With F = kDimFrags (4, or 2 where two warps share a slice), lane (g, t) reads dims 2 F g .. 2 F g + 2 F - 1
// of tokens t, t + 4, t + 8, t + 12 of each 16. Fragment i has dim 2 F g + 2 i as its row g and dim
// 2 F g + 2 i + 1 as its row g + 8, so in the end the lane holds 2 F consecutive dims of each of its heads.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/device/ptx/mma.cuh"

namespace wavefill::cuda {

template <class C>
using OutputAccumulators = float[C::kDimFrags][C::kHeadFrags][4];

// P of 16 tokens as B fragments.
template <class C>
__device__ __forceinline__ void load_weights(std::uint32_t (&b)[C::kHeadFrags][2], const std::uint16_t* p,
                                             int first_position, int lane) {
  const int row = first_position + lane % 16;
  if constexpr (C::kHeadFrags == 1) {
    ldmatrix_x2_trans(b[0], shared_address(p + p_offset<C>(row, 0)));
  } else {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; n += 2) {
      std::uint32_t r[4];
      ldmatrix_x4_trans(r, shared_address(p + p_offset<C>(row, n + lane / 16)));
      b[n][0] = r[0];
      b[n][1] = r[1];
      b[n + 1][0] = r[2];
      b[n + 1][1] = r[3];
    }
  }
}

// Two tokens' words of 4 e4m3 dims -> fp16 pairs (one dim of both tokens) of dims 2 `half`, 2 `half` + 1.
__device__ __forceinline__ void pair_fp8(std::uint32_t& dim0, std::uint32_t& dim1, std::uint32_t first,
                                         std::uint32_t second, int half) {
  const std::uint32_t bytes = __byte_perm(first, second, half == 0 ? 0x5140 : 0x7362);
  dim0 = e4m3x2_to_f16x2(bytes);
  dim1 = e4m3x2_to_f16x2(bytes >> 16);
}

// 4 or 8 fp8 dims of one token.
template <class C>
__device__ __forceinline__ void load_fp8_dims(std::uint32_t (&words)[C::kDimFrags / 2],
                                              const std::byte* slice, int token, int group, int g) {
  constexpr int kBytes = 2 * C::kDimFrags;
  const int at = group * C::kWarpDims + g * kBytes;
  const std::byte* from = slice + token * kSliceDims + ((at / 16) ^ swizzle_fp8(token)) * 16 + at % 16;
  if constexpr (kBytes == 8) {
    const uint2 pair = *reinterpret_cast<const uint2*>(from);
    words[0] = pair.x;
    words[1] = pair.y;
  } else {
    words[0] = *reinterpret_cast<const std::uint32_t*>(from);
  }
}

template <class C>
__device__ __forceinline__ void add_fp8_values(OutputAccumulators<C>& o, const std::byte* slice,
                                               std::uint32_t (&b)[C::kHeadFrags][2], const __half* scales,
                                               int group, int lane) {
  const int g = lane / 4;
  const int t = lane % 4;
  const auto* scale_pairs = reinterpret_cast<const std::uint32_t*>(scales);
  const std::uint32_t scale_low = scale_pairs[t];
  const std::uint32_t scale_high = scale_pairs[t + 4];
  std::uint32_t raw[4][C::kDimFrags / 2];
#pragma unroll
  for (int i = 0; i < 4; ++i) load_fp8_dims<C>(raw[i], slice, t + 4 * i, group, g);
#pragma unroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
    b[n][0] = multiply_f16x2(b[n][0], scale_low);
    b[n][1] = multiply_f16x2(b[n][1], scale_high);
  }
#pragma unroll
  for (int i = 0; i < C::kDimFrags; ++i) {
    std::uint32_t a[4];
    pair_fp8(a[0], a[1], raw[0][i / 2], raw[1][i / 2], i % 2);
    pair_fp8(a[2], a[3], raw[2][i / 2], raw[3][i / 2], i % 2);
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) mma_f16_k16(o[i][n], a, b[n][0], b[n][1]);
  }
}

__device__ __forceinline__ std::uint32_t f16x2_to_bf16x2(std::uint32_t pair) {
  const float2 values = unpack_f16x2(pair);
  return pack_bf16x2(values.x, values.y);
}

// 4 or 8 bf16 dims of one token.
template <class C>
__device__ __forceinline__ void load_bf16_dims(std::uint32_t (&words)[C::kDimFrags], const std::byte* slice,
                                               int token, int group, int g) {
  constexpr int kBytes = 4 * C::kDimFrags;
  const int at = group * C::kWarpDims * 2 + g * kBytes;
  const std::byte* from = slice + (token * 8 + ((at / 16) ^ swizzle_bf16(token))) * 16 + at % 16;
  if constexpr (kBytes == 16) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x;
    words[1] = four.y;
    words[2] = four.z;
    words[3] = four.w;
  } else {
    const uint2 pair = *reinterpret_cast<const uint2*>(from);
    words[0] = pair.x;
    words[1] = pair.y;
  }
}

template <class C>
__device__ __forceinline__ void add_bf16_values(OutputAccumulators<C>& o, const std::byte* slice,
                                                std::uint32_t (&b)[C::kHeadFrags][2], int group, int lane) {
  const int g = lane / 4;
  const int t = lane % 4;
  if constexpr (!C::kP16IsBf16) {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
      b[n][0] = f16x2_to_bf16x2(b[n][0]);
      b[n][1] = f16x2_to_bf16x2(b[n][1]);
    }
  }
  std::uint32_t raw[4][C::kDimFrags];
#pragma unroll
  for (int i = 0; i < 4; ++i) load_bf16_dims<C>(raw[i], slice, t + 4 * i, group, g);
#pragma unroll
  for (int i = 0; i < C::kDimFrags; ++i) {
    const std::uint32_t a[4] = {
        __byte_perm(raw[0][i], raw[1][i], 0x5410), __byte_perm(raw[0][i], raw[1][i], 0x7632),
        __byte_perm(raw[2][i], raw[3][i], 0x5410), __byte_perm(raw[2][i], raw[3][i], 0x7632)};
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) mma_bf16_k16(o[i][n], a, b[n][0], b[n][1]);
  }
}

// Adds tile `tile_idx`, which lies in `stage` and whose weights are published. `group`: which part of the
// slice's dims are this warp's.
template <class C>
__device__ __forceinline__ void add_values(OutputAccumulators<C>& o, const SplitShared<C>& shared, int stage,
                                           int tile_idx, int slice, int group, int lane) {
  const std::byte* tokens = shared.ring[stage] + C::stage_offset(slice);
  const std::uint16_t* p = shared.p[tile_idx & 1];
#pragma unroll
  for (int k = 0; k < C::kTileFrags; ++k) {
    std::uint32_t b[C::kHeadFrags][2];
    load_weights<C>(b, p, k * 16, lane);
    if (slice < C::kFp8Slices) {
      add_fp8_values<C>(o, tokens + k * 16 * kSliceDims, b,
                        shared.value_scale[stage][slice] + (C::kHasFp8 ? k * 16 : 0), group, lane);
    } else {
      add_bf16_values<C>(o, tokens + k * 16 * kSliceDims * 2, b, group, lane);
    }
  }
}

template <class C>
__device__ __forceinline__ void multiply_output(OutputAccumulators<C>& o, float factor) {
#pragma unroll
  for (int i = 0; i < C::kDimFrags; ++i) {
#pragma unroll
    for (int n = 0; n < C::kHeadFrags; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) o[i][n][c] *= factor;
    }
  }
}

// Multiplies head by head; even and odd: factors of heads 2 t and 2 t + 1 of fragment n.
template <class C>
__device__ __forceinline__ void multiply_heads(OutputAccumulators<C>& o, int n, float even, float odd) {
#pragma unroll
  for (int i = 0; i < C::kDimFrags; ++i) {
    o[i][n][0] *= even;
    o[i][n][1] *= odd;
    o[i][n][2] *= even;
    o[i][n][3] *= odd;
  }
}

}  // namespace wavefill::cuda
