// e4m3 values, UE8M0 scales, and the scale a block is quantised with: exact, and constexpr.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace wavefill {

// e4m3 "fn": 1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinity. 0x7F and 0xFF are NaN, so the
// largest finite magnitude is 448 (0x7E); the smallest normal is 2^-6, the smallest subnormal 2^-9.
inline constexpr float kE4m3Max = 448.0F;
inline constexpr std::uint8_t kE4m3Nan = 0x7F;

constexpr bool is_e4m3_nan(std::uint8_t code) { return (code & 0x7FU) == kE4m3Nan; }

// Exact. The two NaN codes give a quiet NaN.
constexpr float e4m3_to_float(std::uint8_t code) {
  const std::uint32_t sign = (code & 0x80U) << 24;
  const std::uint32_t magnitude = code & 0x7FU;
  if (magnitude == kE4m3Nan) return std::bit_cast<float>(sign | 0x7FC0'0000U);
  // magnitude << 20 puts both fields in place; 120 is the difference of the biases, 127 - 7.
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude << 20) + (120U << 23)));
  const float subnormal = static_cast<float>(magnitude) * 0x1p-9F;
  return sign != 0 ? -subnormal : subnormal;
}

// Nearest, ties to even. Beyond +-448, infinities included, saturates to +-448; NaN stays NaN.
constexpr std::uint8_t e4m3_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 24) & 0x80U);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  if (magnitude > 0x7F80'0000U) return sign | kE4m3Nan;
  if (magnitude >= std::bit_cast<std::uint32_t>(kE4m3Max)) return sign | 0x7EU;
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-6F)) {
    // Adding 2^14, whose last place is worth 2^-9, rounds to the subnormal grid; 8 steps is 2^-6 itself.
    const float on_grid = std::bit_cast<float>(magnitude) + 0x1p14F;
    return sign | static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(on_grid) & 0xFU);
  }
  // As in bf16_from_float: half of the last kept place less one, plus the lowest kept bit. The carry may
  // raise the exponent; it cannot pass 0x7E, since magnitude < 448.
  const std::uint32_t rounded = magnitude + 0x7'FFFFU + ((magnitude >> 20) & 1U);
  return sign | static_cast<std::uint8_t>((rounded >> 20) - (120U << 3));
}

inline constexpr std::array<float, 256> kE4m3Values = [] {
  std::array<float, 256> values{};
  for (std::uint32_t code = 0; code < 256; ++code) {
    values[code] = e4m3_to_float(static_cast<std::uint8_t>(code));
  }
  return values;
}();

// UE8M0: 2^(byte - 127). 0x00 is 2^-127 (an fp32 subnormal), 0xFE is 2^127, 0xFF is NaN.
inline constexpr std::uint8_t kUe8m0Nan = 0xFF;

constexpr float ue8m0_to_float(std::uint8_t byte) {
  if (byte == 0) return 0x1p-127F;
  if (byte == kUe8m0Nan) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(std::uint32_t{byte} << 23);
}

// The byte of the least power of two >= scale, so nothing scaled by it overflows; a power of two in
// 2^-127 .. 2^127 is itself. Zero gives 0x00, above 2^127 saturates to 0xFE, NaN and negatives give 0xFF.
constexpr std::uint8_t ue8m0_from_float(float scale) {
  if (!(scale >= 0.0F)) return kUe8m0Nan;
  if (scale <= 0x1p-127F) return 0;
  if (scale > 0x1p127F) return 0xFE;
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  return static_cast<std::uint8_t>((bits >> 23) + ((bits & 0x7F'FFFFU) != 0 ? 1U : 0U));
}

// vLLM and SGLang hold a block's amax at 1e-4 or above, which makes 2^-22 the least scale and an all-zero
// block ordinary. FlashMLA's quantiser holds the scale itself at 1e-4 or above, so its least is 2^-13: it
// differs for blocks with amax <= 448 * 2^-14 only, and every reader decodes both.
inline constexpr float kMinBlockAmax = 1e-4F;

// 2^ceil(log2(max(amax, 1e-4) / 448)): the least power of two that brings amax to 448 or below.
// Precondition: amax is finite and >= 0.
constexpr float fp8_block_scale(float amax) {
  const auto bits = std::bit_cast<std::uint32_t>(amax < kMinBlockAmax ? kMinBlockAmax : amax);
  // amax = m * 2^e with 1 <= m < 2, and 448 = 1.75 * 2^8: the quotient's ceil(log2) is e - 8 where
  // m <= 1.75, else e - 7. Both exponents stay normal: -22 .. 120.
  const std::uint32_t exponent = (bits >> 23) - 8 + ((bits & 0x7F'FFFFU) > 0x60'0000U ? 1U : 0U);
  return std::bit_cast<float>(exponent << 23);
}

static_assert(fp8_block_scale(448.0F) == 1.0F && fp8_block_scale(449.0F) == 2.0F);
static_assert(fp8_block_scale(0.0F) == 0x1p-22F);

}  // namespace wavefill
