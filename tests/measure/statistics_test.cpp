#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wavefill {
namespace {

std::vector<double> normal_samples(std::mt19937_64& generator, int count, double mean, double deviation) {
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(normal(generator));
  return samples;
}

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0}), 5.0);
  EXPECT_EQ(median(std::vector{9.0, 1.0, 5.0, 4.0}), 4.5);
  EXPECT_EQ(median(std::vector{2.0, 2.0, 2.0, 100.0}), 2.0);
}

TEST(Statistics, MedianAbsoluteDeviationIgnoresOneOutlier) {
  EXPECT_EQ(median_absolute_deviation(std::vector{1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0}), 1.0);
  EXPECT_EQ(median_absolute_deviation(std::vector{3.0, 3.0, 3.0, 3.0, 1e9}), 0.0);
}

TEST(Statistics, IntervalOfEqualSamplesHasNoWidth) {
  const Interval interval = median_interval(std::vector<double>(20, 3.5));
  EXPECT_EQ(interval, (Interval{3.5, 3.5}));
  EXPECT_EQ(relative_half_width(std::vector<double>(20, 3.5)), 0.0);
}

// Of two samples the resampled medians are a, (a + b) / 2 and b with chances 1/4, 1/2, 1/4.
TEST(Statistics, IntervalOfTwoSamplesIsBoth) {
  EXPECT_EQ(median_interval(std::vector{1.0, 3.0}), (Interval{1.0, 3.0}));
}

// The distribution of a resampled median is known for odd n: P(median is among the k lowest) =
// P(Binomial(n, k/n) > n/2). For n = 5 the lowest value alone: P(Bin(5, 0.2) >= 3) = 0.05792.
TEST(Statistics, ResampledMediansFollowTheBinomial) {
  const std::vector<double> samples = {1.0, 2.0, 3.0, 4.0, 5.0};
  // A central interval of confidence 1 - 2 * 0.05792 just excludes the lowest value, or just includes it.
  const BootstrapOptions narrower{.confidence = 1.0 - 2 * 0.067, .resamples = 20000, .seed = 3};
  const BootstrapOptions wider{.confidence = 1.0 - 2 * 0.049, .resamples = 20000, .seed = 3};
  EXPECT_EQ(median_interval(samples, narrower), (Interval{2.0, 4.0}));
  EXPECT_EQ(median_interval(samples, wider), (Interval{1.0, 5.0}));
}

TEST(Statistics, IntervalCoversTheTrueMedianAsOftenAsItSays) {
  constexpr int kTrials = 400;
  std::mt19937_64 generator(11);
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto samples = normal_samples(generator, 25, 10.0, 1.0);
    const Interval interval =
        median_interval(samples, {.confidence = 0.95, .resamples = 500, .seed = std::uint64_t(trial)});
    covered += interval.low <= 10.0 && 10.0 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, kTrials * 91 / 100);
  EXPECT_LE(covered, kTrials * 99 / 100);
}

TEST(Statistics, SameSeedSameInterval) {
  std::mt19937_64 generator(12);
  const auto samples = normal_samples(generator, 30, 5.0, 0.5);
  EXPECT_EQ(median_interval(samples), median_interval(samples));
  // Few resamples, so that another seed shows.
  const auto with_seed = [&](std::uint64_t seed) {
    return median_interval(samples, {.confidence = 0.95, .resamples = 20, .seed = seed});
  };
  EXPECT_FALSE(with_seed(1) == with_seed(2) && with_seed(2) == with_seed(3));
}

TEST(Statistics, PairsCancelDriftThatHidesAnEffectFromIndependentSamples) {
  std::vector<double> slow;
  std::vector<double> fast;
  for (int round = 0; round < 30; ++round) {
    const double drift = 100.0 * (1.0 + 0.02 * round);  // 60 % over the run
    slow.push_back(drift * 1.02);
    fast.push_back(drift);
  }
  const RatioEstimate paired = ratio_of_medians(slow, fast, Pairing::by_index);
  EXPECT_NEAR(paired.ratio, 1.02, 1e-12);
  EXPECT_NEAR(paired.interval.low, 1.02, 1e-12);
  EXPECT_NEAR(paired.interval.high, 1.02, 1e-12);
  EXPECT_LT(paired.p_value, 1e-6);
  const RatioEstimate independent = ratio_of_medians(slow, fast, Pairing::independent);
  EXPECT_LT(independent.interval.low, 1.0);
  EXPECT_GT(independent.p_value, 0.3);
}

TEST(Statistics, NoiseIsRarelyCalledADifference) {
  constexpr int kTrials = 400;
  std::mt19937_64 generator(13);
  for (const Pairing pairing : {Pairing::independent, Pairing::by_index}) {
    int claims = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto a = normal_samples(generator, 20, 10.0, 0.3);
      const auto b = normal_samples(generator, 20, 10.0, 0.3);
      const BootstrapOptions options{.confidence = 0.95, .resamples = 600, .seed = std::uint64_t(trial)};
      claims += ratio_of_medians(a, b, pairing, options).p_value < 0.05 ? 1 : 0;
    }
    EXPECT_LE(claims, kTrials * 7 / 100) << "pairing " << static_cast<int>(pairing);
  }
}

TEST(Statistics, FewSamplesCannotClaimMuch) {
  const std::vector<double> low = {1.0, 1.1, 0.9};
  const std::vector<double> high = {2.0, 2.1, 1.9};
  // 3 of 3 pairs: 2 / 2^3. 3 against 3: 2 / C(6, 3).
  EXPECT_NEAR(ratio_of_medians(low, high, Pairing::by_index).p_value, 0.25, 1e-9);
  EXPECT_NEAR(ratio_of_medians(low, high, Pairing::independent).p_value, 0.1, 1e-9);
}

TEST(Statistics, SignTestMatchesTheBinomial) {
  const std::vector<double> zero(10, 0.0);
  const std::vector<double> ten_above(10, 1.0);
  EXPECT_NEAR(sign_test_p(zero, ten_above), 2.0 / 1024, 1e-12);
  std::vector<double> eight_above(10, 1.0);
  eight_above[0] = eight_above[1] = -1.0;
  EXPECT_NEAR(sign_test_p(zero, eight_above), 2.0 * (1 + 10 + 45) / 1024, 1e-12);
  std::vector<double> ties = eight_above;
  ties[0] = ties[1] = 0.0;  // 8 of 8
  EXPECT_NEAR(sign_test_p(zero, ties), 2.0 / 256, 1e-12);
  EXPECT_EQ(sign_test_p(zero, zero), 1.0);
}

TEST(Statistics, HolmStepsDownAndNeverReordersClaims) {
  const std::vector<double> adjusted = holm_adjusted(std::vector{0.01, 0.04, 0.03, 0.005});
  ASSERT_EQ(adjusted.size(), 4U);
  EXPECT_NEAR(adjusted[3], 0.02, 1e-12);  // 4 * 0.005
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);  // 3 * 0.01
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);  // 2 * 0.03
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);  // not below its predecessor
  EXPECT_TRUE(holm_adjusted({}).empty());
}

// The textbook table of IQ against weekly hours of television: rho = -29/165.
TEST(Statistics, RankCorrelationOfAKnownTable) {
  const std::vector<double> iq = {106, 100, 86, 101, 99, 103, 97, 113, 112, 110};
  const std::vector<double> hours = {7, 27, 2, 50, 28, 29, 20, 12, 6, 17};
  EXPECT_NEAR(rank_correlation(iq, hours), -29.0 / 165, 1e-12);
  EXPECT_NEAR(rank_correlation(iq, iq), 1.0, 1e-12);
  EXPECT_EQ(rank_correlation(iq, std::vector<double>(10, 1.0)), 0.0);
}

// Ties share the mean of their ranks: x ranks 0, 1.5, 1.5, 3; y ranks 0, 1, 2, 3.
TEST(Statistics, RankCorrelationSharesRanksOnTies) {
  const double rho = rank_correlation(std::vector{1.0, 2.0, 2.0, 3.0}, std::vector{1.0, 2.0, 3.0, 4.0});
  EXPECT_NEAR(rho, 4.5 / std::sqrt(4.5 * 5.0), 1e-12);
}

}  // namespace
}  // namespace wavefill
