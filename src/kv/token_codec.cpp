#include "kv/token_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/bf16.h"
#include "core/errors.h"
#include "kv/fp8.h"

namespace wavefill {
namespace {

Status check_token(KvFormat format, std::int32_t d_qk, std::size_t k_size, const KvCacheView& cache,
                   std::int64_t token_idx) {
  WAVEFILL_RETURN_IF_ERROR(check_d_qk(format, d_qk));
  if (k_size != static_cast<std::size_t>(d_qk)) {
    return invalid_argument("k has {} values; allowed: d_qk = {}", k_size, d_qk);
  }
  if (cache.data == nullptr) return invalid_argument("cache.data is null; allowed: a valid pointer");
  if (cache.page_size < 1) return invalid_argument("cache.page_size is {}; allowed: >= 1", cache.page_size);
  const std::int64_t least_stride = min_page_stride_bytes(format, d_qk, cache.page_size);
  if (cache.page_stride_bytes < least_stride) {
    return invalid_argument("cache.page_stride_bytes is {}; allowed: >= {} for {} tokens of {}",
                            cache.page_stride_bytes, least_stride, cache.page_size, short_name(format));
  }
  if (token_idx < 0 || token_idx >= cache.num_tokens()) {
    return invalid_argument("token_idx is {}; allowed: 0..{} ({} pages of {} tokens)", token_idx,
                            cache.num_tokens() - 1, cache.num_pages, cache.page_size);
  }
  return {};
}

float max_finite_magnitude(std::span<const float> values) {
  float amax = 0.0F;
  for (const float value : values) {
    if (std::isfinite(value)) amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

void store_scale(ScaleType type, float scale, std::byte* destination) {
  if (type == ScaleType::ue8m0) {
    *destination = std::byte{ue8m0_from_float(scale)};
  } else {
    std::memcpy(destination, &scale, sizeof scale);
  }
}

float load_scale(ScaleType type, const std::byte* source) {
  if (type == ScaleType::ue8m0) return ue8m0_to_float(std::to_integer<std::uint8_t>(*source));
  float scale;
  std::memcpy(&scale, source, sizeof scale);
  return scale;
}

// fp8_block_scale() lies in 2^-22 .. 2^120, so its reciprocal is a normal power of two and the product is
// exact, unless it falls below 2^-126, which rounds to 0 in e4m3 anyway.
void store_e4m3(std::span<const float> values, float scale, std::byte* destination) {
  const float inverse = 1.0F / scale;
  for (std::size_t i = 0; i < values.size(); ++i) {
    destination[i] =
        std::isfinite(values[i]) ? std::byte{e4m3_from_float(values[i] * inverse)} : std::byte{kE4m3Nan};
  }
}

void load_e4m3(const std::byte* source, float scale, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = kE4m3Values[std::to_integer<std::uint8_t>(source[i])] * scale;
  }
}

// Page strides may be odd, so 16-bit and 32-bit parts need not be aligned: memcpy.
void store_bf16(std::span<const float> values, std::byte* destination) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Bf16Bits bits = bf16_from_float(values[i]);
    std::memcpy(destination + i * sizeof bits, &bits, sizeof bits);
  }
}

void load_bf16(const std::byte* source, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    Bf16Bits bits;
    std::memcpy(&bits, source + i * sizeof bits, sizeof bits);
    values[i] = bf16_to_float(bits);
  }
}

}  // namespace

Status check_d_qk(KvFormat format, std::int32_t d_qk) {
  if (is_valid_d_qk(format, d_qk)) return {};
  return invalid_argument("d_qk is {}; allowed for {}: {}", d_qk, to_string(format),
                          format == KvFormat::bf16 ? "512, 576" : fmt::to_string(default_d_qk(format)));
}

Status quantise_token(KvFormat format, std::int32_t d_qk, std::span<const float> k,
                      const MutableKvCacheView& cache, std::int64_t token_idx) {
  WAVEFILL_RETURN_IF_ERROR(check_token(format, d_qk, k.size(), cache.as_const(), token_idx));
  const ByteMap map = byte_map_of(format, d_qk);
  const TokenOffsets offsets = token_offsets(map, token_idx, cache.page_size, cache.page_stride_bytes);
  std::byte* const data = cache.data + offsets.data;
  std::byte* const scales = cache.data + offsets.scales;

  for (std::int64_t tile = 0; tile < map.num_scales(); ++tile) {
    const std::int64_t begin = tile * map.scale_tile_dims;
    const auto values = k.subspan(begin, map.scale_tile_dims);
    const float scale = fp8_block_scale(max_finite_magnitude(values));
    store_scale(map.scale_type, scale, scales + tile * map.scale_bytes());
    store_e4m3(values, scale, data + map.fp8_offset + begin);
  }
  if (map.scale_place == ScalePlace::footer) {
    std::fill(scales + std::int64_t{map.num_scales()} * map.scale_bytes(), scales + map.footer_bytes,
              std::byte{0});
  }
  store_bf16(k.subspan(map.fp8_dims), data + map.bf16_offset);
  return {};
}

Status dequantise_token(const KvCacheView& cache, KvFormat format, std::int32_t d_qk, std::int64_t token_idx,
                        std::span<float> k) {
  WAVEFILL_RETURN_IF_ERROR(check_token(format, d_qk, k.size(), cache, token_idx));
  const ByteMap map = byte_map_of(format, d_qk);
  const TokenOffsets offsets = token_offsets(map, token_idx, cache.page_size, cache.page_stride_bytes);
  const std::byte* const data = cache.data + offsets.data;
  const std::byte* const scales = cache.data + offsets.scales;

  for (std::int64_t tile = 0; tile < map.num_scales(); ++tile) {
    const std::int64_t begin = tile * map.scale_tile_dims;
    load_e4m3(data + map.fp8_offset + begin, load_scale(map.scale_type, scales + tile * map.scale_bytes()),
              k.subspan(begin, map.scale_tile_dims));
  }
  load_bf16(data + map.bf16_offset, k.subspan(map.fp8_dims));
  return {};
}

}  // namespace wavefill
