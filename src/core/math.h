// Integer arithmetic the planner and the kernels share.
#pragma once

#include <concepts>

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

}  // namespace wavefill
