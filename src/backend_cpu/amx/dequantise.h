// Cached tokens to the K tiles of layout.h.
//
// An e4m3 number of exponent field 1..15 is, moved up by four bits and with its exponent re-biased by
// 120 + log2(scale), the bf16 of the same value: one unpack, shift, mask and add for 32 numbers. What this
// does not hold for (zeros, subnormals, NaN, scales at the ends of their range or no powers of two) is
// noticed 64 numbers at a time and converted through fp32.
#pragma once

#include <immintrin.h>

#include <cstring>
#include <span>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/target.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// 64 dims of one token as bf16, in the order of layout.h.
struct Dims64 {
  __m512i low;   // units 0 2 4 6
  __m512i high;  // units 1 3 5 7
};

WAVEFILL_AMX_INLINE Dims64 permute(__m512i dims_0_31, __m512i dims_32_63) {
  return {.low = _mm512_shuffle_i64x2(dims_0_31, dims_32_63, 0x88),
          .high = _mm512_shuffle_i64x2(dims_0_31, dims_32_63, 0xDD)};
}

WAVEFILL_AMX_INLINE Dims64 load_bf16(const std::byte* data) {
  return permute(_mm512_loadu_si512(data), _mm512_loadu_si512(data + 64));
}

// The scales of one token, for the quick conversion.
struct Scales {
  alignas(32) std::uint32_t rebias[8];  // what a tile's bf16 bits are raised by, twice side by side
  bool quick = true;                    // it holds for every scale
};

// e4m3's exponents span 2^-6 .. 2^8: with these exponent bytes no product leaves bf16's normal range.
inline constexpr int kLeastExponent = 8;
inline constexpr int kLargestExponent = 246;

template <const ByteMap& kMap>
WAVEFILL_AMX_INLINE Scales load_scales(const std::byte* scales) {
  Scales result;
  __m256i exponents;
  __mmask8 power_of_two = 0xFF;
  if constexpr (kMap.scale_type == ScaleType::ue8m0) {
    exponents = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(scales)));
  } else {
    const __m256i bits = _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales)));
    exponents = _mm256_srli_epi32(bits, 23);
    power_of_two = _mm256_testn_epi32_mask(bits, _mm256_set1_epi32(static_cast<int>(0x807F'FFFFU)));
  }
  const __m256i from_least = _mm256_sub_epi32(exponents, _mm256_set1_epi32(kLeastExponent));
  const __mmask8 in_range =
      _mm256_cmple_epu32_mask(from_least, _mm256_set1_epi32(kLargestExponent - kLeastExponent));
  constexpr unsigned kAll = (1U << kMap.num_scales()) - 1U;
  result.quick = (power_of_two & in_range & kAll) == kAll;
  // e4m3's bias is 7 and the byte's 127: field + (exponent - 127) + (127 - 7), at bit 7 of each half.
  const __m256i rebias = _mm256_sub_epi32(exponents, _mm256_set1_epi32(7));
  _mm256_store_si256(reinterpret_cast<__m256i*>(result.rebias),
                     _mm256_or_si256(_mm256_slli_epi32(rebias, 7), _mm256_slli_epi32(rebias, 23)));
  return result;
}

// Lanes whose number is not normal: magnitude bits outside 0x08 .. 0x7E, which is 0x10 .. 0xFC without the
// sign.
WAVEFILL_AMX_INLINE __mmask64 not_normal(__m512i bytes) {
  const __m512i doubled = _mm512_add_epi8(bytes, bytes);
  const __m512i from_least = _mm512_sub_epi8(doubled, _mm512_set1_epi8(0x10));
  return _mm512_cmpgt_epu8_mask(from_least, _mm512_set1_epi8(static_cast<char>(0xFC - 0x10)));
}

WAVEFILL_AMX_INLINE __m512i rebiased(__m512i byte_in_high_half, __m512i rebias) {
  const __m512i moved = _mm512_srai_epi16(byte_in_high_half, 4);
  const __m512i kept = _mm512_and_si512(moved, _mm512_set1_epi16(static_cast<short>(0x87F0)));
  return _mm512_add_epi16(kept, rebias);
}

// Unpacking works in lanes of 16 bytes, and so yields units 0 2 4 6 and 1 3 5 7 by itself.
WAVEFILL_AMX_INLINE Dims64 from_normal_e4m3(__m512i bytes, std::uint32_t rebias) {
  const __m512i exponent = _mm512_set1_epi32(static_cast<int>(rebias));
  const __m512i zero = _mm512_setzero_si512();
  return {.low = rebiased(_mm512_unpacklo_epi8(zero, bytes), exponent),
          .high = rebiased(_mm512_unpackhi_epi8(zero, bytes), exponent)};
}

WAVEFILL_AMX_INLINE __m512 f32_from_e4m3(__m128i bytes) {
  const __m512i wide = _mm512_cvtepu8_epi32(bytes);
  const __m512i magnitude = _mm512_and_si512(wide, _mm512_set1_epi32(0x7F));
  const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(wide, _mm512_set1_epi32(0x80)), 24);
  const __m512i normal = _mm512_slli_epi32(_mm512_add_epi32(magnitude, _mm512_set1_epi32(120 << 3)), 20);
  const __m512 subnormal = _mm512_mul_ps(_mm512_cvtepi32_ps(magnitude), _mm512_set1_ps(0x1p-9F));
  const __mmask16 is_subnormal = _mm512_cmplt_epi32_mask(magnitude, _mm512_set1_epi32(8));
  const __mmask16 is_nan = _mm512_cmpeq_epi32_mask(magnitude, _mm512_set1_epi32(0x7F));
  __m512i bits = _mm512_mask_mov_epi32(normal, is_subnormal, _mm512_castps_si512(subnormal));
  bits = _mm512_mask_mov_epi32(bits, is_nan, _mm512_set1_epi32(0x7FC0'0000));
  return _mm512_castsi512_ps(_mm512_or_si512(bits, sign));
}

WAVEFILL_AMX_INLINE __m512i as_bf16(const __m512* values) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(values[1], values[0]));
}

WAVEFILL_AMX_INLINE __m512 f32_of_bf16(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

struct SplitDims64 {
  Dims64 value;
  Dims64 rest;
  bool has_rest;
};

// Any e4m3 under any scale: value = bf16(x), rest = bf16(x - value).
inline SplitDims64 from_any_e4m3(const std::byte* data, float scale) {
  __m512 x[4];
  __m512 rest[4];
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + 16 * i));
    x[i] = _mm512_mul_ps(f32_from_e4m3(bytes), _mm512_set1_ps(scale));
  }
  const __m512i low = as_bf16(x);
  const __m512i high = as_bf16(x + 2);
  const __m256i rounded[4] = {_mm512_castsi512_si256(low), _mm512_extracti64x4_epi64(low, 1),
                              _mm512_castsi512_si256(high), _mm512_extracti64x4_epi64(high, 1)};
  __mmask16 inexact = 0;
  for (int i = 0; i < 4; ++i) {
    rest[i] = _mm512_sub_ps(x[i], f32_of_bf16(rounded[i]));
    inexact |= _mm512_cmp_ps_mask(rest[i], _mm512_setzero_ps(), _CMP_NEQ_OQ);
  }
  return {.value = permute(low, high),
          .rest = permute(as_bf16(rest), as_bf16(rest + 2)),
          .has_rest = inexact != 0};
}

template <const ByteMap& kMap>
inline float scale_of(const std::byte* scales, int tile) {
  std::uint32_t bits;
  if constexpr (kMap.scale_type == ScaleType::ue8m0) {
    const auto byte = static_cast<std::uint32_t>(scales[tile]);
    bits = byte == 0 ? 0x0040'0000U : byte == 0xFF ? 0x7FC0'0000U : byte << 23;
  } else {
    std::memcpy(&bits, scales + sizeof(bits) * static_cast<std::size_t>(tile), sizeof(bits));
  }
  float scale;
  std::memcpy(&scale, &bits, sizeof(scale));
  return scale;
}

// Where a pair of tokens goes: rows 2 * pair and 2 * pair + 1 of a chunk.
struct PairPlace {
  std::uint16_t* keys;   // its first row in the first step
  std::uint16_t* rests;  // likewise
  Rests* all_rests;
};

WAVEFILL_AMX_INLINE void store_dims(std::uint16_t* row, std::ptrdiff_t step_stride, int block,
                                    const Dims64& dims) {
  _mm512_store_si512(row + 2 * block * step_stride, dims.low);
  _mm512_store_si512(row + (2 * block + 1) * step_stride, dims.high);
}

WAVEFILL_AMX_INLINE void store_pair(const PairPlace& place, int block, const Dims64& even,
                                    const Dims64& odd) {
  store_dims(place.keys, kKeyStepStride, block, even);
  store_dims(place.keys + kStepDims, kKeyStepStride, block, odd);
}

// Kept out of the way of the common case. Zeroes the chunk's rests before the first of them.
template <const ByteMap& kMap>
[[gnu::noinline]] void store_any_pair(const PairPlace& place, const TokenAddress& even,
                                      const TokenAddress& odd, int block) {
  SplitDims64 split[2];
  for (int i = 0; i < 2; ++i) {
    const TokenAddress& token = i == 0 ? even : odd;
    split[i] = from_any_e4m3(token.data + kMap.fp8_offset + kBlockDims * block,
                             scale_of<kMap>(token.scales, kBlockDims * block / kMap.scale_tile_dims));
    if (!split[i].has_rest) continue;
    if (!place.all_rests->count) std::memset(place.all_rests->steps, 0, sizeof(place.all_rests->steps));
    place.all_rests->count = true;
    store_dims(place.rests + i * kStepDims, kPair * kTileBf16, block, split[i].rest);
  }
  store_pair(place, block, split[0].value, split[1].value);
}

template <const ByteMap& kMap>
WAVEFILL_AMX_INLINE void store_fp8_block(const PairPlace& place, const TokenAddress& even,
                                         const TokenAddress& odd, const Scales& even_scales,
                                         const Scales& odd_scales, int block) {
  const int offset = kMap.fp8_offset + kBlockDims * block;
  const __m512i even_bytes = _mm512_loadu_si512(even.data + offset);
  const __m512i odd_bytes = _mm512_loadu_si512(odd.data + offset);
  const bool normal = _kortestz_mask64_u8(not_normal(even_bytes), not_normal(odd_bytes)) != 0;
  if (!(normal && even_scales.quick && odd_scales.quick)) [[unlikely]] {
    return store_any_pair<kMap>(place, even, odd, block);
  }
  const int tile = kBlockDims * block / kMap.scale_tile_dims;
  store_pair(place, block, from_normal_e4m3(even_bytes, even_scales.rebias[tile]),
             from_normal_e4m3(odd_bytes, odd_scales.rebias[tile]));
}

template <const ByteMap& kMap>
inline void store_tokens(const PairPlace& place, const TokenAddress& even, const TokenAddress& odd) {
  constexpr int kFp8Blocks = kMap.fp8_dims / kBlockDims;
  constexpr int kBf16Blocks = kMap.bf16_dims / kBlockDims;
  if constexpr (kFp8Blocks > 0) {
    const Scales even_scales = load_scales<kMap>(even.scales);
    const Scales odd_scales = load_scales<kMap>(odd.scales);
    HWY_UNROLL(8)
    for (int block = 0; block < kFp8Blocks; ++block) {
      store_fp8_block<kMap>(place, even, odd, even_scales, odd_scales, block);
    }
  }
  HWY_UNROLL(9)
  for (int block = 0; block < kBf16Blocks; ++block) {
    const int offset = kMap.bf16_offset + 2 * kBlockDims * block;
    store_pair(place, kFp8Blocks + block, load_bf16(even.data + offset), load_bf16(odd.data + offset));
  }
}

template <const ByteMap& kMap>
inline void store_no_tokens(const PairPlace& place) {
  const Dims64 zero = {.low = _mm512_setzero_si512(), .high = _mm512_setzero_si512()};
  for (int block = 0; block < kMap.d_qk() / kBlockDims; ++block) store_pair(place, block, zero, zero);
}

// A token of zeros in every format: the partner of an odd token out.
alignas(kCacheLineBytes) inline constexpr std::byte kZeroToken[1152] = {};

template <const ByteMap& kMap>
inline void dequantise_chunk(std::span<const TokenAddress> tokens, Group* groups, Rests& rests) {
  constexpr TokenAddress kZeros = {.data = kZeroToken, .scales = kZeroToken};
  rests.count = false;
  const int count = static_cast<int>(tokens.size());
  for (int token = 0; token < round_up(count, kGroupTokens); token += 2) {
    const int group = token / kGroupTokens;
    const int tile = token / kTileRows % kPair;
    const int row = token % kTileRows * kStepDims;
    const PairPlace place = {.keys = groups[group].steps[0].tiles[tile] + row,
                             .rests = rests.steps[group][0][tile] + row,
                             .all_rests = &rests};
    const TokenAddress* pair = tokens.data() + token;
    if (token + 1 < count) {
      store_tokens<kMap>(place, pair[0], pair[1]);
    } else if (token < count) {
      store_tokens<kMap>(place, pair[0], kZeros);
    } else {
      store_no_tokens<kMap>(place);
    }
  }
}

inline constexpr ByteMap kBf16Map512 = bf16_byte_map(512);
inline constexpr ByteMap kBf16Map576 = bf16_byte_map(576);

// Writes the K tiles of a chunk. Rows behind it, up to the next multiple of 32, are zeroed: their weight is
// 0, but 0 * NaN is not.
inline void dequantise(const ByteMap& map, std::span<const TokenAddress> tokens, Group* groups,
                       Rests& rests) {
  if (map.scale_type == ScaleType::ue8m0) {
    dequantise_chunk<kFp8Tile64FooterMap>(tokens, groups, rests);
  } else if (map.scale_type == ScaleType::fp32) {
    dequantise_chunk<kFp8Tile128InlineMap>(tokens, groups, rests);
  } else if (map.d_qk() == 512) {
    dequantise_chunk<kBf16Map512>(tokens, groups, rests);
  } else {
    dequantise_chunk<kBf16Map576>(tokens, groups, rests);
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
