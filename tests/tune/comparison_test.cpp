// Comparisons of few samples: what the noise of all of them together can and cannot say.
#include "tune/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "measure/student_t.h"

namespace wavefill {
namespace {

std::vector<TimedSample> apart(std::vector<double> us) {
  std::vector<TimedSample> samples;
  for (const double value : us) samples.push_back({-1, value});
  return samples;
}

std::vector<TimedSample> in_rounds(const std::vector<double>& us) {
  std::vector<TimedSample> samples;
  for (const double value : us) samples.push_back({static_cast<std::int32_t>(samples.size()), value});
  return samples;
}

Scatter scatter_of(const std::vector<std::vector<TimedSample>>& cells) {
  Scatter scatter;
  for (const std::vector<TimedSample>& cell : cells) scatter.add(cell);
  return scatter;
}

TEST(Comparison, ScatterPoolsCellsAboutTheirOwnMeans) {
  const double step = 0.01;
  const auto cell = [&](double us) { return apart({us * std::exp(-step), us * std::exp(step)}); };
  const Scatter scatter = scatter_of({cell(100.0), cell(500.0), apart({7.0})});
  EXPECT_DOUBLE_EQ(scatter.degrees(), 2.0);
  EXPECT_NEAR(scatter.variance(), 2.0 * step * step, 1e-12) << "cells of other times add no variance";
}

TEST(Comparison, EqualFiguresSayNothingOfNoise) {
  EXPECT_FALSE(scatter_of({apart({0.1, 0.1, 0.1}), apart({0.7, 0.7})}).is_known());
  EXPECT_FALSE(scatter_of({apart({3.0})}).is_known());
  // Repeated to the letter they are single figures: no interval of no width.
  const Effect effect = compare(apart({100.0, 100.0}), apart({99.0, 99.0}), {});
  EXPECT_TRUE(effect.at_face_value);
  EXPECT_FALSE(effect.has_interval);
}

TEST(Comparison, FewSamplesAreJudgedByStudentsT) {
  const auto baseline = apart({100.0, 102.0});
  const auto candidate = apart({80.0, 81.0});
  const Effect effect = compare(baseline, candidate, {});
  const Scatter scatter = scatter_of({baseline, candidate});
  const double error = std::sqrt(scatter.variance() * (0.5 + 0.5));
  const double log_effect = std::log(101.0 / 80.5);
  ASSERT_TRUE(effect.has_interval);
  EXPECT_FALSE(effect.at_face_value);
  EXPECT_NEAR(effect.effect, 101.0 / 80.5 - 1.0, 1e-12);
  EXPECT_NEAR(effect.p_value, student_t_p(log_effect / error, 2.0), 1e-12);
  EXPECT_NEAR(effect.interval.low, std::exp(log_effect - 4.30265 * error) - 1.0, 1e-5);
  EXPECT_NEAR(effect.interval.high, std::exp(log_effect + 4.30265 * error) - 1.0, 1e-5);
}

TEST(Comparison, AMedianOfThreeIsLessPreciseThanAMean) {
  const auto three = apart({99.0, 100.0, 101.0});
  const Scatter scatter = scatter_of({three, three});
  const double error = std::sqrt(scatter.variance() * std::numbers::pi / 3.0);
  const double reach = student_t_quantile(0.05, 4.0) * error;
  EXPECT_NEAR(compare(three, three, {}).interval.high, std::exp(reach) - 1.0, 1e-12);
}

// Six against six give 2 / 924 at best, which 24 comparisons make 0.052: no p from resampling could ever
// claim anything there.
TEST(Comparison, ResamplingIsUsedWhereItsLeastPCanStillClaim) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(1.0, 0.02);
  const auto six = [&](double us) {
    std::vector<double> cell;
    for (int i = 0; i < 6; ++i) cell.push_back(us * normal(generator));
    return apart(cell);
  };
  for (const std::size_t size : {23U, 24U}) {
    std::vector<std::vector<TimedSample>> cells = {six(130.0)};
    for (std::size_t i = 0; i < size; ++i) cells.push_back(six(100.0));
    std::vector<SamplePair> family;
    for (std::size_t i = 0; i < size; ++i) {
      family.push_back({.baseline = cells.front(), .candidate = cells[i + 1]});
    }
    const std::vector<Effect> effects = compare_family(family, scatter_of(cells), {});
    const double least = least_p(Pairing::independent, 6, 6);
    EXPECT_EQ(effects.front().p_value >= least, size == 23U) << size;
    const auto verdicts = judge(effects, std::vector<double>(size, 0.0), {});
    EXPECT_EQ(verdicts.front(), Verdict::faster) << size;
  }
}

// A cell of one sample has no scatter; that of the others says how much one is worth.
TEST(Comparison, ASingleFigureAmongRepeatedOnesHasTheirNoise) {
  const std::vector<std::vector<TimedSample>> cells = {apart({100.0, 104.0, 96.0}), apart({98.0, 102.0}),
                                                       apart({97.0})};
  const std::vector<SamplePair> family = {{.baseline = cells[0], .candidate = cells[2]}};
  const Effect effect = compare_family(family, scatter_of(cells), {}).front();
  ASSERT_TRUE(effect.has_interval);
  EXPECT_LT(effect.interval.low, -0.05);
  EXPECT_GT(effect.interval.high, 0.10);
}

TEST(Comparison, AQuietFamilyDoesNotVouchForANoisyPair) {
  std::vector<std::vector<TimedSample>> cells;
  for (int i = 0; i < 20; ++i) cells.push_back(apart({100.0, 100.1, 99.9}));
  cells.push_back(apart({100.0, 70.0, 95.0}));
  const Scatter scatter = scatter_of(cells);
  const std::vector<SamplePair> family = {{.baseline = cells[0], .candidate = cells[1]},
                                          {.baseline = cells[0], .candidate = cells.back()}};
  const std::vector<Effect> effects = compare_family(family, scatter, {});
  const auto width = [](const Effect& effect) { return effect.interval.high - effect.interval.low; };
  EXPECT_GT(width(effects[1]), 2.0 * width(effects[0]));
}

// Slow drift that all share cancels in rounds, also where there are few.
TEST(Comparison, FewSharedRoundsArePairs) {
  const auto baseline = in_rounds({100.0, 151.0, 200.0});
  const auto candidate = in_rounds({90.0, 135.0, 181.0});
  EXPECT_EQ(judge(std::vector{compare(baseline, candidate, {})}, std::vector{0.0}, {}).front(),
            Verdict::faster);
  const auto taken_apart = apart({90.0, 135.0, 181.0});
  EXPECT_EQ(judge(std::vector{compare(baseline, taken_apart, {})}, std::vector{0.0}, {}).front(),
            Verdict::undecided);
}

// Thirty arms of one batch have one deployed setting between them: its luck is not thirty times seen.
TEST(Comparison, NoiseInFewRoundsMakesNoWinner) {
  constexpr int kTrials = 200;
  std::mt19937_64 generator(46);
  std::normal_distribution<double> normal(1.0, 0.02);
  for (const int rounds : {2, 3, 5}) {
    int with_a_claim = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<std::vector<TimedSample>> arms;
      for (int arm = 0; arm < 31; ++arm) {
        std::vector<double> us;
        for (int round = 0; round < rounds; ++round) us.push_back(100.0 * normal(generator));
        arms.push_back(in_rounds(us));
      }
      std::vector<SamplePair> family;
      for (std::size_t i = 1; i < arms.size(); ++i) {
        family.push_back({.baseline = arms.front(), .candidate = arms[i]});
      }
      const auto verdicts =
          judge(compare_family(family, {}, {}), std::vector<double>(family.size(), 0.0), {});
      with_a_claim += std::ranges::any_of(
          verdicts, [](Verdict v) { return v == Verdict::faster || v == Verdict::slower; });
    }
    EXPECT_LE(with_a_claim, kTrials * 6 / 100) << rounds << " rounds";
  }
}

}  // namespace
}  // namespace wavefill
