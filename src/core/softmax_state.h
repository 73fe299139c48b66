// The state of a softmax-weighted sum over part of a row's tokens, and how two parts become one.
//
// With scores in base 2 (x_j = s_j * log2 e), a part holds
//   max_log2 = max_j x_j,   sum = sum_j 2^(x_j - max_log2),   o = sum_j 2^(x_j - max_log2) v_j.
// The empty part is (max_log2 = -inf, sum = 0, o = 0): the identity of merge. Every weight below is
// formed so that an empty part yields the weight 0 and never the NaN of (-inf) - (-inf).
//
// This is the one truth of split, combine and sink (docs/math.md); kernels vectorise it, tests hold
// them to it.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace wavefill {

inline constexpr float kLog2E = std::numbers::log2e_v<float>;
inline constexpr float kLn2 = std::numbers::ln2_v<float>;

struct SoftmaxState {
  float max_log2 = -std::numeric_limits<float>::infinity();
  float sum = 0.0F;

  bool empty() const { return sum == 0.0F; }
};

// What each of two parts is multiplied by when they are merged.
struct MergeWeights {
  SoftmaxState merged;
  float weight_a = 0.0F;
  float weight_b = 0.0F;
};

// 2^(part - reference), and 0 for an empty part whatever the reference.
inline float weight_towards(float part_log2, float reference_log2) {
  return part_log2 == -std::numeric_limits<float>::infinity() ? 0.0F : std::exp2(part_log2 - reference_log2);
}

inline MergeWeights merge(SoftmaxState a, SoftmaxState b) {
  MergeWeights result;
  result.merged.max_log2 = std::fmax(a.max_log2, b.max_log2);
  result.weight_a = weight_towards(a.max_log2, result.merged.max_log2);
  result.weight_b = weight_towards(b.max_log2, result.merged.max_log2);
  result.merged.sum = a.sum * result.weight_a + b.sum * result.weight_b;
  return result;
}

// log2 of the sum of 2^x_j: -inf for the empty state.
inline float lse_log2(SoftmaxState state) {
  return state.empty() ? -std::numeric_limits<float>::infinity() : state.max_log2 + std::log2(state.sum);
}

// What o is multiplied by to become the output: 1 / (sum + 2^(sink - max)), the sink entering once.
// sink_log2 = -inf is no sink. Empty state: 0. A sink so large that the power overflows gives 0.
inline float output_scale(SoftmaxState state, float sink_log2) {
  if (state.empty()) return 0.0F;
  return 1.0F / (state.sum + weight_towards(sink_log2, state.max_log2));
}

}  // namespace wavefill
