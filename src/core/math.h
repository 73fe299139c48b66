// Integer arithmetic that several folders share.
#pragma once

#include <concepts>
#include <cstdint>

namespace wavefill {

// ceil(a / b) for a >= 0, b > 0, without overflow of a + b.
template <std::integral T>
constexpr T ceil_div(T a, T b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

template <std::integral T>
constexpr T round_up(T a, T multiple) {
  return ceil_div(a, multiple) * multiple;
}

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of the result depends on every bit of x.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBU;
  return x ^ (x >> 31);
}

}  // namespace wavefill
