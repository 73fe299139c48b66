// The compile-time shape of a portable split kernel, and its shared memory.
//
// The 512 dims of a value are 8 *slices* of 64. Slice s of every token's scores and values is the work of
// warp s, or of kGroups warps that share it: for scores each takes a part of the tile's tokens, for values a
// part of the slice's dims. A slice never crosses a scale's group, so one scale a token serves a warp; its
// part of Q can stay in registers, and its part of O is done when the item is. What crosses warps are the 8
// partial sums of each score and the weights P that come of them. More warps look tokens up and copy them.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "kv/byte_map.h"
#include "wavefill/kv_format.h"

namespace wavefill::cuda {

inline constexpr int kSlices = 8;
inline constexpr int kSliceDims = kValueDim / kSlices;
// Q is multiplied by 2^-4 on its way to fp16 and scores by 2^4: exact for 2^-13 <= |q| < 2^20.
inline constexpr float kQueryScale = 0.0625F;

template <KvFormat kKvFormat, int kDqk, int kHeadTile, int kKvTile, int kRingStages, int kCtasPerSm,
          bool kQueryInRegisters, int kWarpsOfSlice, int kRecomputeAddresses, bool kCluster = false>
struct SplitConfig {
  // A CTA has one split of its row, and the splits of a row, a cluster, merge among themselves.
  static constexpr bool kRowIsCluster = kCluster;
  static constexpr bool kWorkerMerges = false;
  using OfClusters = SplitConfig<kKvFormat, kDqk, kHeadTile, kKvTile, kRingStages, kCtasPerSm,
                                 kQueryInRegisters, kWarpsOfSlice, kRecomputeAddresses, true>;

  static constexpr KvFormat kFormat = kKvFormat;
  static constexpr int kDims = kDqk;
  static constexpr int kHeads = kHeadTile;     // heads a CTA handles
  static constexpr int kTile = kKvTile;        // tokens a step handles
  static constexpr int kStages = kRingStages;  // tiles on their way or in use
  static constexpr int kMinCtas = kCtasPerSm;
  static constexpr bool kQInRegs = kQueryInRegisters;

  static constexpr int kGroups = kWarpsOfSlice;
  static constexpr int kComputeWarps = kSlices * kGroups;
  static constexpr int kComputeThreads = 32 * kComputeWarps;
  // Registers are given to warps by fours, so loader warps up to the next multiple of four an SM are free.
  static constexpr int kLoaderWarps = kMinCtas == 1 ? 4 : 2;
  static constexpr int kThreads = kComputeThreads + 32 * kLoaderWarps;

  // How often in a tile addresses that follow from the lane are formed again (0, 1, 2). Each time costs some
  // 5 % of the tile; it is for instances that would spill otherwise.
  static constexpr int kRecompute = kRecomputeAddresses;

  static constexpr int kHeadFrags = kHeads / 8;             // 8 heads: an n of both products
  static constexpr int kTileFrags = kTile / 16;             // 16 tokens: a k of values
  static constexpr int kTokenFrags = kTileFrags / kGroups;  // of them, each an m of scores, a warp's
  static constexpr int kKSteps = kSliceDims / 16;           // k of scores
  static constexpr int kWarpDims = kSliceDims / kGroups;    // of values, a warp's
  static constexpr int kDimFrags = kWarpDims / 16;          // m of values

  static constexpr ByteMap kMap = kFormat == KvFormat::fp8_tile64_rope_bf16_footer    ? kFp8Tile64FooterMap
                                  : kFormat == KvFormat::fp8_tile128_rope_bf16_inline ? kFp8Tile128InlineMap
                                                                                      : bf16_byte_map(kDims);
  static constexpr int kFp8Slices = kMap.fp8_dims / kSliceDims;  // the others own bf16 dims
  static constexpr bool kHasFp8 = kFp8Slices > 0;
  // Key dims beyond the value's 512: 64, of which each slice's warps score 8.
  static constexpr bool kHasTail = kDims > kValueDim;
  static constexpr int kTailBytes = kHasTail ? 16 : 0;
  static constexpr bool kFooterScales = kMap.scale_place == ScalePlace::footer;
  // P is fp16 where values are e4m3 (exact in fp16), else bf16, which rounds so much that O is divided by the
  // sum of the rounded weights. The log-sum-exp comes of the exact ones.
  static constexpr bool kP16IsBf16 = !kHasFp8;

  static constexpr int kStageBytes =
      (kFp8Slices * kSliceDims + (kSlices - kFp8Slices) * kSliceDims * 2 + kSlices * kTailBytes) * kTile;

  static_assert(kDims == kValueDim || kDims == kValueDim + 64);
  static_assert(kFp8Slices * kSliceDims == kMap.fp8_dims && kFp8Slices <= kSlices);
  static_assert(!kHasFp8 || kMap.scale_tile_dims % kSliceDims == 0, "a slice has one scale");
  static_assert(kStages >= 3, "one tile is used for values while the next is scored and another is copied");
  static_assert(kQInRegs || kHeadFrags % 2 == 0, "parked fragments lie in pairs");
  static_assert(kTile == 16 || kTile == 32, "one lane a token");
  static_assert(kTileFrags % kGroups == 0, "a warp scores whole fragments");
  static_assert(kHeads % 8 == 0 && kHeads <= 64 && kTile * kHeads >= kComputeThreads);

  // Where slice `w` lies in a token's data, and in a stage of the ring.
  __device__ static constexpr int slice_offset(int w) {
    return w < kFp8Slices ? kMap.fp8_offset + w * kSliceDims
                          : kMap.bf16_offset + (w - kFp8Slices) * kSliceDims * 2;
  }
  __device__ static constexpr int stage_offset(int w) {
    return (w < kFp8Slices ? w : kFp8Slices + 2 * (w - kFp8Slices)) * kSliceDims * kTile;
  }
  __device__ static constexpr int tail_offset(int w) {
    return kMap.bf16_offset + (kHasFp8 ? 0 : kValueDim * 2) + w * kTailBytes;
  }
  __device__ static constexpr int tail_stage_offset(int w) {
    return kStageBytes - (kSlices - w) * kTailBytes * kTile;
  }
};

// What the loader says of one slice of a tile.
struct SliceUnits {
  float o_factor;  // what O is multiplied by before the tile's values are added
  float unit;      // of O from then on: 2^exponent
};

template <class C>
struct alignas(128) SplitShared {
  static constexpr int kScaleTokens = C::kHasFp8 ? C::kTile : 1;
  static constexpr int kQueryWords =
      C::kQInRegs ? 1 : C::kComputeWarps * C::kKSteps * (C::kHeadFrags / 2) * 32;

  std::byte ring[C::kStages][C::kStageBytes];
  float scores[2][kSlices][C::kTile * C::kHeads];  // partial sums as accumulators lie: [fragment][lane][4]
  uint4 query[kQueryWords];                        // B fragments as lanes hold them, two head fragments each
  std::uint16_t p[2][C::kTile * C::kHeads];        // [token position][head], see p_offset()
  float token_scale[C::kStages][kSlices][kScaleTokens];  // 2^4 times the scale, for scores
  __half value_scale[C::kStages][kSlices]
                    [kScaleTokens];  // the scale over 2^exponent, for values, by position
  SliceUnits units[C::kStages][C::kHasFp8 ? kSlices : 1];
  std::uint64_t full[C::kStages];            // mbarriers: a tile has landed,
  std::uint64_t empty[C::kStages];           // and: all warps have done with it
  std::uint8_t valid[C::kStages][C::kTile];  // whether there is a token
  float reference[C::kHeads];                // what P is relative to (base 2)
  std::int32_t tile_max[C::kHeads];          // as ordered_bits(); empty outside raise_references()
  // Each warp's sums of its weights, and (kP16IsBf16) behind them those of the weights as P has them.
  float sums[(C::kP16IsBf16 ? 2 : 1) * C::kComputeWarps][C::kHeads];
  float factor[C::kHeads];  // what O is multiplied by in the end
};

// Shared memory of one SM of the architecture that is compiled for.
#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
inline constexpr std::size_t kSharedBytesPerSm = 228 * 1024;
#elif __CUDA_ARCH__ >= 890
inline constexpr std::size_t kSharedBytesPerSm = 100 * 1024;
#else
inline constexpr std::size_t kSharedBytesPerSm = 164 * 1024;
#endif

// How many CTAs registers should be shared out for: no more than shared memory lets in.
template <class C>
constexpr int resident_ctas() {
  return C::kMinCtas * sizeof(SplitShared<C>) <= kSharedBytesPerSm ? C::kMinCtas : 1;
}

// A place in the ring, and the parity of the use of its stage.
template <class C>
struct RingPosition {
  int stage = 0;
  std::uint32_t parity = 0;

  __device__ __forceinline__ void advance() {
    ++stage;
    if (stage == C::kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
};

// A token's place in a k of 16: lane t of a row holds the k positions 2t, 2t + 1, 2t + 8, 2t + 9, which are
// tokens t, t + 4, t + 8, t + 12. With tokens side by side in the lanes of one load, the 8-byte reads of
// values are free of bank conflicts (see swizzle_fp8).
__device__ __forceinline__ constexpr int token_position(int token) {
  return (token & ~7) | ((token & 3) << 1) | ((token >> 2) & 1);
}

// Raw tokens of a slice lie 64 bytes (fp8) or 128 bytes (bf16) apart, and which of its 16-byte chunks lies
// where depends on the token:
//   fp8, 2 tokens in 32 banks:       bf16, 1 token in 32 banks:
//     token 0, 1   chunks 0123         token 0   chunks 01234567
//     token 2, 3   chunks 2301         token 1          32107654
//     token 4, 5   chunks 0123         token 2          45670123
//                                      token 3          76543210   and so on from token 4
// Scores: 8 lanes read 16 bytes of tokens i and i + 1 (i even); values: 8 lanes of fp8 read 8 bytes, and 8
// lanes of bf16 read 16 bytes, of tokens t = 0..3 and two neighbouring chunks. Both touch each bank once.
__device__ __forceinline__ constexpr int swizzle_fp8(int token) { return token & 2; }
__device__ __forceinline__ constexpr int swizzle_bf16(int token) {
  return ((token & 1) * 3) ^ ((token & 2) << 1);
}

// Element offset of heads 8 * head_frag .. + 7 of a token position in P. 128 bytes hold 8 / C::kHeadFrags
// rows, and the 8 rows of an 8 x 8 matrix are spread over all banks.
template <class C>
__device__ __forceinline__ constexpr int p_offset(int position, int head_frag) {
  constexpr int kRowsPerLine = 8 / C::kHeadFrags;
  const int chunk = head_frag ^ ((position / kRowsPerLine) % C::kHeadFrags);
  return (position * C::kHeadFrags + chunk) * 8;
}

}  // namespace wavefill::cuda
