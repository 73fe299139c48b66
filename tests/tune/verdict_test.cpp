#include "tune/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <random>

#include "tune/comparison.h"

namespace wavefill {
namespace {

std::vector<TimedSample> samples_of(std::mt19937_64& generator, int count, double us, double noise,
                                    int first_round = 0) {
  std::normal_distribution<double> normal(1.0, noise);
  std::vector<TimedSample> samples;
  for (int i = 0; i < count; ++i) samples.push_back({first_round + i, us * normal(generator)});
  return samples;
}

Verdict verdict_of(const Effect& effect, double noise, const VerdictRule& rule) {
  return judge(std::vector{effect}, std::vector{noise}, rule).front();
}

TEST(Verdict, ATwoPercentWinIsFoundAndHasTheRightSign) {
  constexpr int kTrials = 100;
  std::mt19937_64 generator(41);
  int faster = 0;
  int slower = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto baseline = samples_of(generator, 30, 100.0, 0.01);
    const auto better = samples_of(generator, 30, 100.0 / 1.02, 0.01);
    faster += verdict_of(compare(baseline, better, {}), 0.0, {}) == Verdict::faster ? 1 : 0;
    slower += verdict_of(compare(better, baseline, {}), 0.0, {}) == Verdict::slower ? 1 : 0;
  }
  EXPECT_GE(faster, 95);
  EXPECT_GE(slower, 95);
}

TEST(Verdict, AnEffectBelowTheNoiseFloorIsNoWin) {
  std::mt19937_64 generator(42);
  const auto baseline = samples_of(generator, 50, 100.0, 0.001);
  const auto better = samples_of(generator, 50, 99.0, 0.001);  // 1 %, certain
  const Effect effect = compare(baseline, better, {});
  EXPECT_EQ(verdict_of(effect, 0.0, {}), Verdict::faster);
  EXPECT_EQ(verdict_of(effect, 0.015, {}), Verdict::same);
}

TEST(Verdict, EqualSettingsAreTheSameNotUndecided) {
  std::mt19937_64 generator(43);
  const auto a = samples_of(generator, 60, 100.0, 0.005);
  const auto b = samples_of(generator, 60, 100.0, 0.005);
  EXPECT_EQ(verdict_of(compare(a, b, {}), 0.0, {}), Verdict::same);
}

TEST(Verdict, NoisySamplesAreUndecidedNotTheSame) {
  std::mt19937_64 generator(44);
  const auto a = samples_of(generator, 8, 100.0, 0.08);
  const auto b = samples_of(generator, 8, 101.0, 0.08);
  EXPECT_EQ(verdict_of(compare(a, b, {}), 0.0, {}), Verdict::undecided);
}

TEST(Verdict, SharedRoundsArePairedAndSlowDriftCancels) {
  std::vector<TimedSample> baseline;
  std::vector<TimedSample> candidate;
  for (int round = 0; round < 20; ++round) {
    const double drift = 1.0 + 0.1 * round;
    baseline.push_back({round, 100.0 * drift});
    candidate.push_back({round, 97.0 * drift});
  }
  const Effect effect = compare(baseline, candidate, {});
  EXPECT_NEAR(effect.effect, 100.0 / 97.0 - 1.0, 1e-9);
  EXPECT_EQ(verdict_of(effect, 0.0, {}), Verdict::faster);
  for (TimedSample& sample : candidate) sample.round = -1;  // taken apart: the drift hides it
  EXPECT_NE(verdict_of(compare(baseline, candidate, {}), 0.0, {}), Verdict::faster);
}

// An arm that stopped early is compared on the rounds it took part in, not with rounds after it.
TEST(Verdict, OnlySharedRoundsCount) {
  std::vector<TimedSample> baseline;
  std::vector<TimedSample> candidate;
  for (int round = 0; round < 40; ++round) baseline.push_back({round, round < 10 ? 100.0 : 200.0});
  for (int round = 0; round < 10; ++round) candidate.push_back({round, 100.0});
  EXPECT_EQ(compare(baseline, candidate, {}).effect, 0.0);
}

TEST(Verdict, ManyComparisonsOfNoiseMakeNoWinner) {
  constexpr int kTrials = 100;
  constexpr int kCandidates = 28;
  std::mt19937_64 generator(45);
  int with_a_claim = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto baseline = samples_of(generator, 20, 100.0, 0.02);
    std::vector<Effect> family;
    for (int candidate = 0; candidate < kCandidates; ++candidate) {
      VerdictRule rule;
      rule.resamples = 500;
      family.push_back(compare(baseline, samples_of(generator, 20, 100.0, 0.02), rule));
    }
    const auto verdicts = judge(family, std::vector<double>(kCandidates, 0.0), {});
    with_a_claim += std::ranges::any_of(verdicts, [](Verdict v) { return v == Verdict::faster; }) ? 1 : 0;
  }
  EXPECT_LE(with_a_claim, 5);
}

TEST(Verdict, SingleFiguresMeanSomethingOnlyBeyondTheAssumedNoise) {
  const std::vector<TimedSample> baseline = {{-1, 100.0}};
  const VerdictRule rule;
  EXPECT_EQ(verdict_of(compare(baseline, std::vector<TimedSample>{{-1, 95.0}}, rule), 0.0, rule),
            Verdict::faster);
  EXPECT_EQ(verdict_of(compare(baseline, std::vector<TimedSample>{{-1, 106.0}}, rule), 0.0, rule),
            Verdict::slower);
  EXPECT_EQ(verdict_of(compare(baseline, std::vector<TimedSample>{{-1, 99.0}}, rule), 0.0, rule),
            Verdict::undecided);
}

TEST(Verdict, NoiseFloorIsTheFarEndOfTheAAInterval) {
  Effect a_a;
  EXPECT_EQ(noise_floor(a_a), 0.0);
  a_a.has_interval = true;
  a_a.interval = {-0.012, 0.004};
  EXPECT_EQ(noise_floor(a_a), 0.012);
}

}  // namespace
}  // namespace wavefill
