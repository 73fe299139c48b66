#include "oracle/token_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/bf16.h"

namespace wavefill::oracle {
namespace {

constexpr float kE4m3Max = 448.0F;
constexpr int kRopeDims = 64;
// Scales below this are not written for real blocks: FlashMLA's quantiser clamps at 1e-4 likewise.
constexpr int kMinScaleExponent = -13;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto at = bytes.size();
  bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

void append_bf16(std::vector<std::byte>& bytes, const float* begin, const float* end) {
  for (const float* value = begin; value != end; ++value) append(bytes, bf16_from_float(*value));
}

float largest_magnitude(const float* begin, const float* end) {
  float largest = 0.0F;
  for (const float* value = begin; value != end; ++value) largest = std::max(largest, std::abs(*value));
  return largest;
}

// The least power of two that brings the block within e4m3's range.
int scale_exponent(const float* begin, const float* end) {
  const float ratio = largest_magnitude(begin, end) / kE4m3Max;
  return ratio == 0.0F ? kMinScaleExponent
                       : std::max(kMinScaleExponent, static_cast<int>(std::ceil(std::log2(ratio))));
}

void append_e4m3(std::vector<std::byte>& bytes, const float* begin, const float* end, float scale) {
  for (const float* value = begin; value != end; ++value) append(bytes, e4m3_from_float(*value / scale));
}

std::vector<float> random_latent(int width, std::mt19937_64& rng) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> octave(-1.0F, 1.0F);
  std::vector<float> latent(static_cast<std::size_t>(width));
  float block_scale = 1.0F;
  for (std::size_t dim = 0; dim < latent.size(); ++dim) {
    if (dim % 64 == 0) block_scale = std::exp2(octave(rng));
    latent[dim] = block_scale * normal(rng);
  }
  return latent;
}

TokenBytes dsv4_token(const float* latent, bool odd_scales, std::mt19937_64& rng) {
  constexpr int kBlock = 64;
  constexpr int kBlocks = 7;
  const std::uint64_t least_block = odd_scales ? rng() % kBlocks : kBlocks;
  TokenBytes token;
  for (int block = 0; block < kBlocks; ++block) {
    const float* begin = latent + block * kBlock;
    const int exponent = scale_exponent(begin, begin + kBlock);
    append_e4m3(token.data, begin, begin + kBlock, std::exp2(static_cast<float>(exponent)));
    append(token.scales,
           static_cast<std::uint8_t>(static_cast<std::uint64_t>(block) == least_block ? 0 : exponent + 127));
  }
  append(token.scales, std::uint8_t{0xFF});  // the pad byte, which nobody may read
  append_bf16(token.data, latent + kBlock * kBlocks, latent + kBlock * kBlocks + kRopeDims);
  return token;
}

TokenBytes dsv32_token(const float* latent, bool odd_scales, std::mt19937_64& rng) {
  constexpr int kBlock = 128;
  constexpr int kBlocks = 4;
  std::uniform_real_distribution<float> within_octave(1.0F, 2.0F);
  TokenBytes token;
  float scales[kBlocks];
  for (int block = 0; block < kBlocks; ++block) {
    const float* begin = latent + block * kBlock;
    const int exponent = scale_exponent(begin, begin + kBlock);
    scales[block] = std::exp2(static_cast<float>(exponent)) * (odd_scales ? within_octave(rng) : 1.0F);
    append_e4m3(token.data, begin, begin + kBlock, scales[block]);
  }
  for (const float scale : scales) append(token.data, scale);
  append_bf16(token.data, latent + kBlock * kBlocks, latent + kBlock * kBlocks + kRopeDims);
  return token;
}

}  // namespace

std::uint8_t e4m3_from_float(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80 : 0);
  const float magnitude = std::min(std::abs(value), kE4m3Max);
  if (magnitude == 0.0F) return sign;
  // Below 2^-6 the spacing stays 2^-9. A mantissa that rounds up to 16 carries into the next exponent by
  // plain addition, because the exponent field stands directly above the mantissa.
  const int exponent = std::max(std::ilogb(magnitude), -6);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
  return static_cast<std::uint8_t>(sign | (((exponent + 6) << 3) + units));
}

TokenBytes random_token(const DecodeShape& shape, bool odd_scales, std::mt19937_64& rng) {
  const std::vector<float> latent = random_latent(shape.d_qk, rng);
  switch (shape.kv_format) {
    case KvFormat::fp8_tile64_rope_bf16_footer: return dsv4_token(latent.data(), odd_scales, rng);
    case KvFormat::fp8_tile128_rope_bf16_inline: return dsv32_token(latent.data(), odd_scales, rng);
    case KvFormat::bf16: break;
  }
  TokenBytes token;
  append_bf16(token.data, latent.data(), latent.data() + latent.size());
  return token;
}

void write_token(const DecodeShape& shape, const KvCacheView& view, std::byte* pool, std::int64_t token,
                 const TokenBytes& bytes) {
  std::byte* page = pool + token / view.page_size * view.page_stride_bytes;
  const std::int64_t slot = token % view.page_size;
  std::memcpy(page + slot * static_cast<std::int64_t>(bytes.data.size()), bytes.data.data(),
              bytes.data.size());
  if (shape.kv_format != KvFormat::fp8_tile64_rope_bf16_footer) return;
  std::byte* footer = page + view.page_size * static_cast<std::int64_t>(bytes.data.size());
  std::memcpy(footer + slot * static_cast<std::int64_t>(bytes.scales.size()), bytes.scales.data(),
              bytes.scales.size());
}

}  // namespace wavefill::oracle
