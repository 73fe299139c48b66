#include "report/regret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/sample_report.h"

namespace wavefill::report {
namespace {

const PolicyRegret* find(const std::vector<PolicyRegret>& regrets, std::string_view setting) {
  for (const PolicyRegret& regret : regrets) {
    if (regret.setting == setting) return &regret;
  }
  return nullptr;
}

TEST(Regret, IsAgainstTheBestOfEachBatch) {
  const auto regrets = regrets_of(tiny_report().batches);  // 100 us and 80 us, at both batches
  ASSERT_NE(find(regrets, "fixed=1"), nullptr);
  EXPECT_NEAR(find(regrets, "fixed=1")->geometric_mean, 0.25, 1e-12);
  EXPECT_NEAR(find(regrets, "fixed=1")->worst, 0.25, 1e-12);
  EXPECT_EQ(find(regrets, "fixed=2")->geometric_mean, 0.0);
  EXPECT_EQ(regrets.front().setting, "chosen");
}

TEST(Regret, MeanIsGeometricAndTheWorstBatchIsNamed) {
  Report report = tiny_report();
  report.batches[1].arms[0] = sample_arm(2, "fixed=1", 1, 160.0, 160.0);  // ratios 1.25 and 2
  const auto regrets = regrets_of(report.batches);
  const PolicyRegret& regret = *find(regrets, "fixed=1");
  EXPECT_NEAR(regret.geometric_mean, std::sqrt(1.25 * 2.0) - 1.0, 1e-12);
  EXPECT_NEAR(regret.worst, 1.0, 1e-12);
  EXPECT_EQ(regret.worst_batch, 2);
}

TEST(Regret, ASettingMissingAtOneBatchIsNotListed) {
  Report report = tiny_report();
  report.batches[1].arms.resize(1);
  report.batches[1].chosen_idx = 0;
  EXPECT_EQ(find(regrets_of(report.batches), "fixed=2"), nullptr);
}

TEST(Regret, AWrongOutputIsNeverTheBest) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) batch.arms[1].verified = false;
  EXPECT_EQ(best_arm(report.batches[0])->setting, "fixed=1");
}

TEST(Regret, AliasesFollowTheirArm) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) batch.arms[1].aliases = {"balanced"};
  EXPECT_EQ(find(regrets_of(report.batches), "balanced")->geometric_mean, 0.0);
}

TEST(Regret, WhatTheModelWouldHaveShippedIsPricedBatchByBatch) {
  Report report = tiny_report();  // 100 us and 80 us, at both batches
  report.batches[0].arms[0].fitted_us = 1.0;
  report.batches[1].arms[0].fitted_us = 1.0;
  report.batches[1].arms[0].samples_us.clear();  // liked, and never timed
  const auto picks = model_picks(report.batches);
  ASSERT_EQ(picks.size(), 2U);
  EXPECT_EQ(picks[0].setting, "fixed=1");
  EXPECT_EQ(picks[0].best_setting, "fixed=2");
  EXPECT_NEAR(picks[0].cost, 0.25, 1e-12);
  EXPECT_EQ(picks[1].us, 0.0) << "no price without a measurement";
}

TEST(Regret, TheModelAlonePaysForItsMistakes) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) batch.arms[0].fitted_us = 1.0;  // it would have shipped fixed=1
  EXPECT_NEAR(find(regrets_of(report.batches), kModelAlone)->geometric_mean, 0.25, 1e-12);
}

}  // namespace
}  // namespace wavefill::report
