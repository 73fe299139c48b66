// The scales of a tile: from cached bytes to factors for scores and for values, by the loaders.
//
// Scores take a scale on their fp32 accumulators, exactly. Values take it on P, in fp16, relative to a power
// of two per slice: P is at most 2^8 and scale / 2^exponent below 2^7, so their product stays below 65,504.
// The exponent starts 2^3 below the first tile's largest scale and follows when a later scale is more than
// 2^6 above it; O is rescaled then. Full precision for scales down to 2^-17 of the slice's largest.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"

namespace wavefill::cuda {

inline constexpr int kExponentRoom = 6;
inline constexpr int kExponentStart = 3;
inline constexpr int kExponentBias = 127;

// One token's scales as cached: 8 bytes of a footer, or four fp32.
template <class C>
struct CachedScales {
  static constexpr int kWords = C::kFooterScales ? 2 : 4;
  std::uint32_t words[kWords] = {};

  __device__ __forceinline__ void load(const std::byte* from) {
    if constexpr (C::kFooterScales) {
      const uint2 pair = __ldg(reinterpret_cast<const uint2*>(from));
      words[0] = pair.x;
      words[1] = pair.y;
    } else {
      const uint4 four = __ldg(reinterpret_cast<const uint4*>(from));
      words[0] = four.x;
      words[1] = four.y;
      words[2] = four.z;
      words[3] = four.w;
    }
  }

  __device__ __forceinline__ float of_slice(int slice) const {
    if constexpr (C::kMap.scale_type == ScaleType::fp32) {
      const int at = slice * kSliceDims / C::kMap.scale_tile_dims;
      return __uint_as_float(at < 2 ? (at == 0 ? words[0] : words[1]) : (at == 2 ? words[2] : words[3]));
    } else {
      const std::uint32_t byte = ((slice < 4 ? words[0] : words[1]) >> (8 * (slice % 4))) & 0xFFU;
      if (byte == 0) return __uint_as_float(0x0040'0000U);      // 2^-127, below the normal range
      if (byte == 0xFFU) return __uint_as_float(0x7FC0'0000U);  // NaN by the format's definition
      return __uint_as_float(byte << 23);
    }
  }
};

// What an item's values are relative to, per slice of a loader warp's; the same in all lanes.
template <class C>
struct ValueExponents {
  // Loader l has slices l, l + kLoaderWarps, ...
  static constexpr int kSlicesHere = (C::kFp8Slices + C::kLoaderWarps - 1) / C::kLoaderWarps;

  struct Slice {
    int biased = 0;
    SliceUnits units;
  };
  Slice slices[C::kHasFp8 ? kSlicesHere : 1];
};

// Follows the largest scale of a tile, biased exponent `largest`.
template <class C>
__device__ __forceinline__ void follow(typename ValueExponents<C>::Slice& slice, int largest, bool is_first) {
  slice.units.o_factor = 1.0F;
  if (!is_first && largest <= slice.biased + kExponentRoom) return;
  const int next = max(largest - kExponentStart, 0);
  if (!is_first) slice.units.o_factor = power_of_two(slice.biased - next);
  slice.biased = next;
  slice.units.unit = exp2f(static_cast<float>(next - kExponentBias));
}

// Publishes loader warp `loader`'s part of the scales of a tile. Lane i < kTile holds those of token i; zeros
// where there is none.
template <class C>
__device__ __forceinline__ void publish_scales(SplitShared<C>& shared, const CachedScales<C>& scales,
                                               ValueExponents<C>& exponents, bool is_first, int stage,
                                               int loader, int lane) {
  const bool is_token = lane < C::kTile;
#pragma unroll
  for (int i = 0; i < ValueExponents<C>::kSlicesHere; ++i) {
    const int slice = i * C::kLoaderWarps + loader;
    if (slice >= C::kFp8Slices) continue;
    const float scale = scales.of_slice(slice);
    const auto biased = static_cast<int>((__float_as_uint(scale) >> 23) & 0xFFU);
    auto& relative_to = exponents.slices[i];
    follow<C>(relative_to, __reduce_max_sync(~0U, is_token ? biased : 0), is_first);
    if (is_token) {
      shared.token_scale[stage][slice][lane] = scale / kQueryScale;
      shared.value_scale[stage][slice][token_position(lane)] =
          __float2half_rn(scale * power_of_two(kExponentBias - relative_to.biased));
    }
    if (lane == 0) shared.units[stage][slice] = relative_to.units;
  }
}

}  // namespace wavefill::cuda
