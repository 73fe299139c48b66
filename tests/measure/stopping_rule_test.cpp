#include "measure/stopping_rule.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "measure/timers.h"

namespace wavefill {
namespace {

constexpr StoppingRule kRule{.relative_half_width = 0.01, .min_samples = 12, .max_samples = 50, .seed = 1};

TEST(StoppingRule, PreciseSamplesStopAtTheLeastCountAndNotBefore) {
  EXPECT_EQ(should_stop(kRule, std::vector<double>(11, 5.0), 0, 1e6), StopReason::none);
  EXPECT_EQ(should_stop(kRule, std::vector<double>(12, 5.0), 0, 1e6), StopReason::precision);
}

TEST(StoppingRule, NoisySamplesGoOnToTheMost) {
  std::mt19937_64 generator(31);
  std::uniform_real_distribution<double> uniform(1.0, 9.0);
  std::vector<double> samples;
  for (int i = 0; i < 49; ++i) samples.push_back(uniform(generator));
  EXPECT_EQ(should_stop(kRule, samples, 0, 1e6), StopReason::none);
  samples.push_back(5.0);
  EXPECT_EQ(should_stop(kRule, samples, 0, 1e6), StopReason::max_samples);
}

TEST(StoppingRule, TimeOutIsSaidAndIsNotMistakenForPrecision) {
  EXPECT_EQ(should_stop(kRule, std::vector<double>(4, 5.0), 100, 100), StopReason::time_budget);
  EXPECT_EQ(should_stop(kRule, std::vector<double>(12, 5.0), 100, 100), StopReason::precision);
  EXPECT_EQ(should_stop(kRule, {}, 0, -1), StopReason::time_budget);
}

TEST(Timers, ABurstIsLongEnoughAndBounded) {
  EXPECT_EQ(calls_for_burst(100.0, 2000.0, 1000), 20);
  EXPECT_EQ(calls_for_burst(150.0, 2000.0, 1000), 14);
  EXPECT_EQ(calls_for_burst(5000.0, 2000.0, 1000), 1);
  EXPECT_EQ(calls_for_burst(0.001, 2000.0, 1000), 1000);
  EXPECT_EQ(calls_for_burst(0.0, 2000.0, 1000), 1000);
}

TEST(Timers, TimeDoesNotRunBackwards) {
  double previous = monotonic_us();
  for (int i = 0; i < 1000; ++i) {
    const double now = monotonic_us();
    ASSERT_GE(now, previous);
    previous = now;
  }
}

}  // namespace
}  // namespace wavefill
