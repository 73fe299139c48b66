// One token in and out of a cache page, in any format: the reference that kernels are held to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kv/byte_map.h"
#include "wavefill/decode_args.h"
#include "wavefill/kv_format.h"
#include "wavefill/status.h"

namespace wavefill {

// Precondition: is_valid_d_qk(format, d_qk).
constexpr ByteMap byte_map_of(KvFormat format, std::int32_t d_qk) {
  switch (format) {
    case KvFormat::fp8_tile64_rope_bf16_footer: return kFp8Tile64FooterMap;
    case KvFormat::fp8_tile128_rope_bf16_inline: return kFp8Tile128InlineMap;
    case KvFormat::bf16: break;
  }
  return bf16_byte_map(d_qk);
}

// Errors: invalid_argument, with the widths that `format` has.
Status check_d_qk(KvFormat format, std::int32_t d_qk);

// A KvCacheView that may be written through.
struct MutableKvCacheView {
  std::byte* data = nullptr;
  std::int64_t num_pages = 0;
  std::int32_t page_size = 0;
  std::int64_t page_stride_bytes = 0;

  KvCacheView as_const() const {
    return {
        .data = data, .num_pages = num_pages, .page_size = page_size, .page_stride_bytes = page_stride_bytes};
  }
};

// Writes k into token `token_idx` of `cache`, and no other byte.
//
// Each tile of the fp8 dims is divided by fp8_block_scale() of its largest finite magnitude and rounded to
// e4m3; its error is at most 2^-4 of the value or 2^-10 of the scale, whichever is more. NaN and
// infinities become the NaN code: they stay visible, and do not disturb the rest of their tile. An all-zero
// tile is zeros under the least scale, 2^-22. The bf16 dims are rounded to nearest even.
//
// Errors: invalid_argument (format width, size of k, page geometry, token_idx), writing nothing.
Status quantise_token(KvFormat format, std::int32_t d_qk, std::span<const float> k,
                      const MutableKvCacheView& cache, std::int64_t token_idx);

// Reads token `token_idx` of `cache` into k: the product of value and scale rounded once to fp32, which is
// exact for scales of up to 20 significant bits within fp32's range. A UE8M0 scale of 0xFF and e4m3 NaN
// codes give NaN; a scale above 2^119 can overflow to infinity.
//
// Errors: invalid_argument (format width, size of k, page geometry, token_idx), writing nothing.
Status dequantise_token(const KvCacheView& cache, KvFormat format, std::int32_t d_qk, std::int64_t token_idx,
                        std::span<float> k);

}  // namespace wavefill
