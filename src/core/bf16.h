// bfloat16 as its 16 bits: the upper half of an IEEE binary32.
#pragma once

#include <bit>
#include <cstdint>

#include "wavefill/decode_args.h"

namespace wavefill {

constexpr float bf16_to_float(Bf16Bits bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// Round to nearest, ties to even; NaN stays NaN (quietened).
constexpr Bf16Bits bf16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return static_cast<Bf16Bits>((bits >> 16) | 0x0040U);
  // Adding 0x7FFF plus the lowest kept bit carries exactly when the dropped half is above one half,
  // or equal to it and the kept part is odd. The largest finite values carry into infinity, as they should.
  return static_cast<Bf16Bits>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace wavefill
