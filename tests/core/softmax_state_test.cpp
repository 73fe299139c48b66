// The algebra that split, merge and sink rest on.
#include "core/softmax_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace wavefill {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

// One value dimension is enough: o is a sum with the same weights in each.
struct Part {
  SoftmaxState state;
  double o = 0.0;
};

Part merge_parts(const Part& a, const Part& b) {
  const MergeWeights weights = merge(a.state, b.state);
  return {weights.merged, a.o * weights.weight_a + b.o * weights.weight_b};
}

struct Token {
  float score_log2;
  float value;
};

Part part_of(std::span<const Token> tokens) {
  Part part;
  for (const Token& token : tokens) {
    part = merge_parts(part, {{.max_log2 = token.score_log2, .sum = 1.0F}, token.value});
  }
  return part;
}

std::vector<Token> random_tokens(std::mt19937& rng, int count, float spread) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back({std::normal_distribution<float>(0.0F, spread)(rng),
                      std::uniform_real_distribution<float>(-1.0F, 1.0F)(rng)});
  }
  return tokens;
}

double reference_output(std::span<const Token> tokens, double sink_log2) {
  double peak = sink_log2;
  for (const Token& token : tokens) peak = std::max(peak, double{token.score_log2});
  double sum = std::exp2(sink_log2 - peak);
  double o = 0.0;
  for (const Token& token : tokens) {
    const double weight = std::exp2(token.score_log2 - peak);
    sum += weight;
    o += weight * token.value;
  }
  return o / sum;
}

TEST(SoftmaxState, EmptyIsTheIdentityOfMerge) {
  const SoftmaxState empty;
  EXPECT_TRUE(empty.empty());
  for (const float max_log2 : {-1e30F, -3.5F, 0.0F, 700.0F}) {
    const SoftmaxState state{.max_log2 = max_log2, .sum = 2.5F};
    for (const MergeWeights& merged : {merge(state, empty), merge(empty, state)}) {
      EXPECT_EQ(merged.merged.max_log2, state.max_log2);
      EXPECT_EQ(merged.merged.sum, state.sum);
    }
    EXPECT_EQ(merge(state, empty).weight_a, 1.0F);
    EXPECT_EQ(merge(state, empty).weight_b, 0.0F);
  }
}

// (-inf) - (-inf) is NaN: the class "an empty split poisons the merge".
TEST(SoftmaxState, EmptyStatesNeverMakeNan) {
  const SoftmaxState empty;
  const MergeWeights merged = merge(empty, empty);
  EXPECT_TRUE(merged.merged.empty());
  EXPECT_EQ(merged.merged.max_log2, -kInf);
  EXPECT_EQ(merged.weight_a, 0.0F);
  EXPECT_EQ(merged.weight_b, 0.0F);
  EXPECT_EQ(lse_log2(empty), -kInf);
  for (const float sink : {-kInf, -30.0F, 0.0F, 30.0F, kInf}) EXPECT_EQ(output_scale(empty, sink), 0.0F);
  // 16 leading empty tiles, then one token: the prefix leaves no trace.
  Part part;
  for (int i = 0; i < 16; ++i) part = merge_parts(part, Part{});
  part = merge_parts(part, {{.max_log2 = -5.0F, .sum = 1.0F}, 3.0});
  EXPECT_EQ(part.state.max_log2, -5.0F);
  EXPECT_EQ(part.o * output_scale(part.state, -kInf), 3.0);
}

TEST(SoftmaxState, MergeCommutesToTheBit) {
  std::mt19937 rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const SoftmaxState a{.max_log2 = std::normal_distribution<float>(0, 50)(rng),
                         .sum = 1.0F + 0.1F * static_cast<float>(i % 7)};
    const SoftmaxState b{.max_log2 = std::normal_distribution<float>(0, 50)(rng),
                         .sum = 1.0F + 0.3F * static_cast<float>(i % 5)};
    const MergeWeights ab = merge(a, b);
    const MergeWeights ba = merge(b, a);
    ASSERT_EQ(ab.merged.max_log2, ba.merged.max_log2);
    ASSERT_EQ(ab.merged.sum, ba.merged.sum);
    ASSERT_EQ(ab.weight_a, ba.weight_b);
    ASSERT_EQ(ab.weight_b, ba.weight_a);
  }
}

// However a row is cut, the output and lse are those of the whole, with the sink once.
TEST(SoftmaxState, AnyCutGivesTheWholeRowWithTheSinkOnce) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    const std::vector<Token> tokens = random_tokens(rng, 60, seed % 2 == 0 ? 2.0F : 40.0F);
    const float sink = std::normal_distribution<float>(0.0F, 5.0F)(rng);
    Part merged;
    for (std::size_t begin = 0; begin < tokens.size();) {
      const auto size = std::min<std::size_t>(tokens.size() - begin,
                                              std::uniform_int_distribution<std::size_t>(0, 20)(rng));
      merged = merge_parts(merged, part_of(std::span(tokens).subspan(begin, size)));
      begin += size;
    }
    const double expected = reference_output(tokens, sink);
    ASSERT_NEAR(merged.o * output_scale(merged.state, sink), expected, 1e-5) << "seed " << seed;
    double sum = 0.0;
    for (const Token& token : tokens) sum += std::exp2(double{token.score_log2});
    ASSERT_NEAR(lse_log2(merged.state), std::log2(sum), 1e-4) << "seed " << seed;
  }
}

TEST(SoftmaxState, MergeOrderChangesOnlyRounding) {
  std::mt19937 rng(7);
  for (int i = 0; i < 200; ++i) {
    std::vector<Token> tokens = random_tokens(rng, 30, 5.0F);
    const Part forward = part_of(tokens);
    std::ranges::reverse(tokens);
    const Part backward = part_of(tokens);
    ASSERT_EQ(forward.state.max_log2, backward.state.max_log2);
    ASSERT_NEAR(forward.state.sum, backward.state.sum, 1e-5F * forward.state.sum);
    ASSERT_NEAR(forward.o, backward.o, 1e-5);
  }
}

// Two splits, the first fully masked, a finite sink: the class "sink counted twice or not at all".
TEST(SoftmaxState, SinkEntersOnceWhateverTheMaskedSplits) {
  const Part masked;
  const Part full = part_of(std::vector<Token>{{1.0F, 2.0F}, {0.0F, -1.0F}});
  const Part merged = merge_parts(masked, full);
  // (2 * 2 + 1 * -1) / (2 + 1 + 2^sink)
  EXPECT_NEAR(merged.o * output_scale(merged.state, -kInf), 3.0 / 3.0, 1e-6);
  EXPECT_NEAR(merged.o * output_scale(merged.state, 0.0F), 3.0 / 4.0, 1e-6);
  EXPECT_NEAR(merged.o * output_scale(merged.state, 30.0F), 3.0 / (3.0 + std::exp2(30.0)), 1e-12);
  EXPECT_EQ(output_scale(merged.state, kInf), 0.0F);
  EXPECT_EQ(output_scale(merged.state, 1e30F), 0.0F);
}

// Scores far apart: the small side vanishes, nothing overflows.
TEST(SoftmaxState, FarApartScoresStayFinite) {
  const SoftmaxState low{.max_log2 = -1e30F, .sum = 3.0F};
  const SoftmaxState high{.max_log2 = 1e30F, .sum = 1.0F};
  const MergeWeights merged = merge(low, high);
  EXPECT_EQ(merged.weight_a, 0.0F);
  EXPECT_EQ(merged.weight_b, 1.0F);
  EXPECT_EQ(merged.merged.sum, 1.0F);
}

// Two shards with sums 2 and 8 make lse ln 10: the class "lse base mixed up".
TEST(SoftmaxState, LseOfTwoShardsIsTheLogOfTheirSum) {
  const MergeWeights merged = merge({.max_log2 = 0.0F, .sum = 2.0F}, {.max_log2 = 0.0F, .sum = 8.0F});
  EXPECT_NEAR(lse_log2(merged.merged) * kLn2, std::log(10.0), 1e-6);
}

}  // namespace
}  // namespace wavefill
