// Where each part of a cached token stands inside its page: constants for CPU and GPU code alike.
//
// Pages are page_stride_bytes apart; the stride is the caller's, so a page may end in padding, which is
// never read. A page of two tokens, offsets in bytes from the page's start:
//
//   fp8_tile64_rope_bf16_footer (584 B a token: 576 of data, 8 in the footer)
//     0            448          576          1024         1152       1159 1160       1167 1168
//     | e4m3 x 448 | bf16 x 64  | e4m3 x 448 | bf16 x 64  | ue8m0 x 7 |pad| ue8m0 x 7 |pad| padding
//     '------ token 0 data -----'------ token 1 data -----'--- token 0 ---'--- token 1 ---'
//                                                          footer begins at page_size * 576
//
//   fp8_tile128_rope_bf16_inline (656 B a token)
//     0            512         528         656          1168        1184        1312
//     | e4m3 x 512 | fp32 x 4  | bf16 x 64 | e4m3 x 512 | fp32 x 4  | bf16 x 64 | padding
//     '------------- token 0 --------------'------------- token 1 --------------'
//
//   bf16 (2 * d_qk B a token): d_qk values, token after token.
//
// Value i of the fp8 dims is e4m3[i] * scale[i / scale_tile_dims]; the bf16 dims follow behind them.
// The footer's pad byte is written as 0 and never read.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define WAVEFILL_HOST_DEVICE __host__ __device__
#else
#define WAVEFILL_HOST_DEVICE
#endif

namespace wavefill {

enum class ScaleType : std::uint8_t {
  none,
  ue8m0,  // one byte: 2^(byte - 127)
  fp32,   // any fp32 value; writers use powers of two, readers may not assume one
};

enum class ScalePlace : std::uint8_t {
  none,
  inline_with_data,  // scale_offset counts from the token's data
  footer,            // scale_offset counts from the token's footer entry
};

struct ByteMap {
  std::int32_t fp8_dims = 0;   // leading dims, stored as e4m3
  std::int32_t bf16_dims = 0;  // the dims behind them
  std::int32_t scale_tile_dims = 0;
  ScaleType scale_type = ScaleType::none;
  ScalePlace scale_place = ScalePlace::none;

  std::int32_t data_bytes = 0;    // from one token's data to the next
  std::int32_t footer_bytes = 0;  // from one token's footer entry to the next

  std::int32_t fp8_offset = 0;  // all from the token's data, but for scale_offset in a footer
  std::int32_t bf16_offset = 0;
  std::int32_t scale_offset = 0;

  WAVEFILL_HOST_DEVICE constexpr std::int32_t d_qk() const { return fp8_dims + bf16_dims; }
  WAVEFILL_HOST_DEVICE constexpr std::int32_t token_bytes() const { return data_bytes + footer_bytes; }
  WAVEFILL_HOST_DEVICE constexpr std::int32_t num_scales() const {
    return scale_tile_dims == 0 ? 0 : fp8_dims / scale_tile_dims;
  }
  WAVEFILL_HOST_DEVICE constexpr std::int32_t scale_bytes() const {
    return scale_type == ScaleType::fp32 ? 4 : scale_type == ScaleType::ue8m0 ? 1 : 0;
  }
};

inline constexpr ByteMap kFp8Tile64FooterMap = {.fp8_dims = 448,
                                                .bf16_dims = 64,
                                                .scale_tile_dims = 64,
                                                .scale_type = ScaleType::ue8m0,
                                                .scale_place = ScalePlace::footer,
                                                .data_bytes = 576,
                                                .footer_bytes = 8,
                                                .fp8_offset = 0,
                                                .bf16_offset = 448,
                                                .scale_offset = 0};

inline constexpr ByteMap kFp8Tile128InlineMap = {.fp8_dims = 512,
                                                 .bf16_dims = 64,
                                                 .scale_tile_dims = 128,
                                                 .scale_type = ScaleType::fp32,
                                                 .scale_place = ScalePlace::inline_with_data,
                                                 .data_bytes = 656,
                                                 .footer_bytes = 0,
                                                 .fp8_offset = 0,
                                                 .bf16_offset = 528,
                                                 .scale_offset = 512};

WAVEFILL_HOST_DEVICE constexpr ByteMap bf16_byte_map(std::int32_t d_qk) {
  ByteMap map;
  map.bf16_dims = d_qk;
  map.data_bytes = 2 * d_qk;
  return map;
}

// Where a token's two parts begin, in bytes from the start of the cache.
struct TokenOffsets {
  std::int64_t data = 0;
  std::int64_t scales = 0;  // the first scale; equals `data` where the format has none
};

// All products are 64-bit: a 656-byte token passes 2^31 bytes at index 3,273,604, a 584-byte one at
// 3,677,199, far inside the range of an int32 index. Precondition: token_idx >= 0, page_size >= 1.
WAVEFILL_HOST_DEVICE constexpr TokenOffsets token_offsets(const ByteMap& map, std::int64_t token_idx,
                                                          std::int32_t page_size,
                                                          std::int64_t page_stride_bytes) {
  const std::int64_t page = token_idx / page_size;
  const std::int64_t slot = token_idx % page_size;
  const std::int64_t page_begin = page * page_stride_bytes;
  TokenOffsets offsets;
  offsets.data = page_begin + slot * map.data_bytes;
  offsets.scales = map.scale_place == ScalePlace::footer
                       ? page_begin + std::int64_t{page_size} * map.data_bytes + slot * map.footer_bytes
                       : offsets.data;
  offsets.scales += map.scale_offset;
  return offsets;
}

namespace byte_map_detail {

// The parts of a token follow each other without overlap and fill it, the footer's pad byte aside.
constexpr bool is_packed(const ByteMap& map) {
  const std::int32_t scales_bytes = map.num_scales() * map.scale_bytes();
  const bool in_footer = map.scale_place == ScalePlace::footer;
  const std::int32_t data_end = map.bf16_offset + 2 * map.bf16_dims;
  const std::int32_t behind_fp8 = map.fp8_offset + map.fp8_dims;
  return data_end == map.data_bytes &&
         (in_footer ? scales_bytes + 1 == map.footer_bytes && map.bf16_offset == behind_fp8
                    : map.footer_bytes == 0 && map.bf16_offset == behind_fp8 + scales_bytes) &&
         (map.scale_tile_dims == 0 || map.fp8_dims % map.scale_tile_dims == 0);
}

// Kernels load 16 bytes at a time: every part begins at a multiple of 16 in a page that does.
constexpr bool loads_16_bytes(const ByteMap& map) {
  return map.data_bytes % 16 == 0 && map.fp8_offset % 16 == 0 && map.bf16_offset % 16 == 0;
}

}  // namespace byte_map_detail

static_assert(kFp8Tile64FooterMap.d_qk() == 512 && kFp8Tile64FooterMap.num_scales() == 7);
static_assert(kFp8Tile64FooterMap.data_bytes == 576 && kFp8Tile64FooterMap.token_bytes() == 584);
static_assert(kFp8Tile128InlineMap.d_qk() == 576 && kFp8Tile128InlineMap.num_scales() == 4);
static_assert(kFp8Tile128InlineMap.token_bytes() == 656 && kFp8Tile128InlineMap.scale_offset % 16 == 0);
static_assert(bf16_byte_map(512).token_bytes() == 1024 && bf16_byte_map(576).token_bytes() == 1152);
static_assert(byte_map_detail::is_packed(kFp8Tile64FooterMap) &&
              byte_map_detail::is_packed(kFp8Tile128InlineMap) &&
              byte_map_detail::is_packed(bf16_byte_map(512)) &&
              byte_map_detail::is_packed(bf16_byte_map(576)));
static_assert(byte_map_detail::loads_16_bytes(kFp8Tile64FooterMap) &&
              byte_map_detail::loads_16_bytes(kFp8Tile128InlineMap) &&
              byte_map_detail::loads_16_bytes(bf16_byte_map(512)));

}  // namespace wavefill
