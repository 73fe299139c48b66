// Decisions from records of a few repetitions, as a serving sweep leaves them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tune/decision.h"

namespace wavefill {
namespace {

const std::vector<std::string> kSettings = {"target-ctas=256", "target-ctas=512", "target-ctas=768",
                                            "fixed=2", "fixed=8"};
constexpr std::int32_t kBatches[] = {48, 64, 80};

// Every setting at every batch, n times each, nothing paired. `gain(setting, batch)` is the true effect.
template <typename Gain>
DecisionInput records(std::uint64_t seed, int n, double noise, Gain gain) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(1.0, noise);
  DecisionInput input;
  input.deployed = "target-ctas=512";
  for (const std::int32_t batch : kBatches) {
    for (const std::string& setting : kSettings) {
      Evidence evidence;
      evidence.setting = setting;
      evidence.batch = batch;
      // Throughput is 12 tokens/s a request, as in the story: it grows with the batch.
      const double us = 1e6 / 12.0 / (1.0 + gain(setting, batch));
      for (int i = 0; i < n; ++i) evidence.samples.push_back({-1, us / normal(generator)});
      input.evidence.push_back(std::move(evidence));
    }
  }
  return input;
}

double no_gain(const std::string&, std::int32_t) { return 0.0; }

const Rejected& rejected_of(const Decision& decision, std::string_view setting) {
  static const Rejected none;
  const auto found = std::ranges::find(decision.rejected, setting, &Rejected::setting);
  if (found != decision.rejected.end()) return *found;
  ADD_FAILURE() << setting << " was not rejected";
  return none;
}

class FewSamples : public testing::TestWithParam<int> {};

TEST_P(FewSamples, PureNoiseKeepsTheDeployedInAtLeast95Of100) {
  for (const double noise : {0.005, 0.02, 0.05}) {
    int kept = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      DecisionInput input = records(seed, GetParam(), noise, no_gain);
      input.rule.resamples = 1000;
      kept += decide(input)->keeps_deployed ? 1 : 0;
    }
    EXPECT_GE(kept, 95) << noise;
  }
}

TEST_P(FewSamples, ATrueWinOf30PercentIsTaken) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    DecisionInput input = records(seed, GetParam(), 0.02, [](const std::string& setting, std::int32_t) {
      return setting == "fixed=8" ? 0.3 : 0.0;
    });
    input.rule.resamples = 1000;
    const Decision decision = *decide(input);
    taken += decision.decision == "fixed=8" ? 1 : 0;
    EXPECT_FALSE(decision.at_face_value);
  }
  EXPECT_GE(taken, 99);
}

// A gain of 30 % at two batches does not pay for a loss of 15 % at the third, nor for one that is possible.
TEST_P(FewSamples, ALossElsewhereIsNeverServed) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    DecisionInput input = records(seed, GetParam(), 0.02, [](const std::string& setting, std::int32_t batch) {
      return setting != "fixed=8" ? 0.0 : batch == 64 ? -0.15 : 0.3;
    });
    input.measured_again = {48, 64, 80};  // so that its fall of throughput is not what refuses it
    input.rule.resamples = 1000;
    const Decision decision = *decide(input);
    ASSERT_TRUE(decision.keeps_deployed) << "seed " << seed;
    EXPECT_EQ(rejected_of(decision, "fixed=8").reason, RejectReason::slower) << "seed " << seed;
    EXPECT_EQ(rejected_of(decision, "fixed=8").batch, 64);
  }
}

INSTANTIATE_TEST_SUITE_P(N, FewSamples, testing::Values(2, 3, 4, 5, 6, 7, 8, 12));

// Two samples with 4 % of noise do not show that nothing is lost at batch 64.
TEST(FewSamplesOf, WhatMayLoseIsMeasuredFirst) {
  int undecided = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const DecisionInput input = records(seed, 2, 0.04, [](const std::string& setting, std::int32_t batch) {
      return setting != "fixed=8" ? 0.0 : batch == 64 ? 0.0 : 0.6;
    });
    DecisionInput again = input;
    again.measured_again = {48, 64, 80};
    const Decision decision = *decide(again);
    if (!decision.keeps_deployed || rejected_of(decision, "fixed=8").reason != RejectReason::undecided) {
      continue;
    }
    ++undecided;
    ASSERT_TRUE(decision.next.has_value());
    EXPECT_EQ(decision.next->setting, "fixed=8");
    EXPECT_EQ(decision.next->table.front().batch, 64);
  }
  EXPECT_GE(undecided, 24);
}

TEST(FewSamplesOf, ATrueWinOf2PercentIsTakenWith12QuietSamples) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const DecisionInput input = records(seed, 12, 0.005, [](const std::string& setting, std::int32_t) {
      return setting == "fixed=8" ? 0.02 : 0.0;
    });
    taken += decide(input)->decision == "fixed=8" ? 1 : 0;
  }
  EXPECT_GE(taken, 95);
}

// 13 settings at 5 batches are 60 comparisons: resampling ten samples could not claim anything there.
TEST(FewSamplesOf, NoiseAmongManySettingsMakesNoWinner) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal(1.0, 0.02);
    DecisionInput input;
    input.deployed = "fixed=1";
    for (const std::int32_t batch : {48, 56, 64, 72, 80}) {
      for (int splits = 1; splits <= 13; ++splits) {
        Evidence evidence;
        evidence.setting = "fixed=" + std::to_string(splits);
        evidence.batch = batch;
        for (int i = 0; i < 3; ++i) evidence.samples.push_back({-1, 80000.0 / normal(generator)});
        input.evidence.push_back(std::move(evidence));
      }
    }
    kept += decide(input)->keeps_deployed ? 1 : 0;
  }
  EXPECT_GE(kept, 95);
}

// Throughput that does not grow any more falls by chance every second time; three samples with 2 % of noise
// each are not a dip, and a true fall is one.
TEST(FewSamplesOf, APlateauIsNoDip) {
  const auto dips = [](double fall) {
    std::size_t seen = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      DecisionInput input = records(seed, 3, 0.02, no_gain);
      for (Evidence& evidence : input.evidence) {
        const double slower = evidence.batch == 80 ? 1.0 / (1.0 - fall) : 1.0;
        for (TimedSample& sample : evidence.samples) sample.us *= evidence.batch * slower;
      }
      seen += decide(input)->dips.size();
    }
    return seen;
  };
  EXPECT_LE(dips(0.0), 50U) << "of 1000 edges";
  EXPECT_GE(dips(0.15), 480U) << "of 500";
}

TEST(FewSamplesOf, SingleFiguresAreTakenAtFaceValueAndSaySo) {
  const auto gain = [](const std::string& setting, std::int32_t) {
    return setting == "fixed=8" ? 0.03 : 0.0;
  };
  const Decision decision = *decide(records(1, 1, 0.0, gain));
  EXPECT_EQ(decision.decision, "fixed=8");
  EXPECT_TRUE(decision.at_face_value);
  for (const VerdictRow& row : decision.verdicts) {
    EXPECT_EQ(row.effect.at_face_value, row.setting != "target-ctas=512") << row.setting;
  }
}

}  // namespace
}  // namespace wavefill
