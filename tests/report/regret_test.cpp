#include "report/regret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/sample_report.h"
#include "report/text_table.h"

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

TEST(Regret, ASplitCountMissingAtOneBatchIsNotListed) {
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
  const auto picks = model_picks(report.batches, Scoring::in_sample);
  ASSERT_EQ(picks.size(), 2U);
  EXPECT_EQ(picks[0].setting, "fixed=1");
  EXPECT_EQ(picks[0].best_setting, "fixed=2");
  EXPECT_NEAR(picks[0].cost, 0.25, 1e-12);
  EXPECT_EQ(picks[1].us, 0.0) << "no price without a measurement";
}

TEST(Regret, TheModelAlonePaysForItsMistakes) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) batch.arms[0].fitted_us = 1.0;  // it would have shipped fixed=1
  EXPECT_NEAR(find(regrets_of(report.batches), kModelInSample)->geometric_mean, 0.25, 1e-12);
}

// In sample the model has seen the times that it picks by; the price of that must not stand for the other.
TEST(Regret, OutOfSampleTheModelPaysForItsOwnPicks) {
  Report report = tiny_report();  // fixed=2 is the best
  for (Batch& batch : report.batches) {
    batch.arms[0].fitted_us = 9.0;
    batch.arms[1].fitted_us = 8.0;
    batch.arms[0].out_of_sample_us = 8.0;
    batch.arms[1].out_of_sample_us = 9.0;
  }
  for (Arm& arm : report.batches[1].arms) arm.out_of_sample_us = 0.0;  // no fit without this batch
  const auto regrets = regrets_of(report.batches);
  EXPECT_EQ(find(regrets, kModelInSample)->geometric_mean, 0.0);
  const PolicyRegret* out_of_sample = find(regrets, kModelOutOfSample);
  ASSERT_NE(out_of_sample, nullptr);
  EXPECT_NEAR(out_of_sample->geometric_mean, 0.25, 1e-12);
  EXPECT_EQ(out_of_sample->num_batches, 1);
  EXPECT_EQ(out_of_sample->num_compared, 2);
  const auto picks = model_picks(report.batches, Scoring::out_of_sample);
  EXPECT_EQ(picks[0].setting, "fixed=1");
  EXPECT_EQ(picks[0].predicted_us, 8.0);
  EXPECT_FALSE(picks[1].is_known());
  EXPECT_EQ(find(regrets, kModelUnfitted), nullptr);
}

TEST(Regret, WithoutAFitTheModelIsNotSaidToHaveOne) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) {
    for (Arm& arm : batch.arms) arm.fitted_us = arm.out_of_sample_us = 0.0;
  }
  const auto regrets = regrets_of(report.batches);
  EXPECT_NE(find(regrets, kModelUnfitted), nullptr);
  EXPECT_EQ(find(regrets, kModelInSample), nullptr);
  EXPECT_EQ(find(regrets, kModelOutOfSample), nullptr);
}

// Two batches, of which the budget had room for the first; at the second the deployed setting alone was
// timed.
Report half_searched() {
  Report report = tiny_report();
  report.batches[0].arms[1].aliases = {"balanced"};
  Batch& second = report.batches[1];
  second.is_searched = false;
  second.arms.resize(1);
  second.arms[0].aliases = {"efficiency"};
  second.chosen_idx = 0;
  report.regrets = regrets_of(report.batches);
  report.fit.is_fitted = true;
  report.fit.in_sample.picks = model_picks(report.batches, Scoring::in_sample);
  return report;
}

TEST(Regret, ABatchThatWasNotSearchedCountsNowhere) {
  const Report report = half_searched();
  for (const PolicyRegret& regret : report.regrets) {
    EXPECT_EQ(regret.num_compared, 1) << regret.setting;
    EXPECT_EQ(regret.num_batches, 1) << regret.setting;
  }
  EXPECT_NEAR(find(report.regrets, "fixed=1")->geometric_mean, 0.25, 1e-12) << "not halved by a zero";
  EXPECT_NE(find(report.regrets, "balanced"), nullptr) << "it was measured wherever anything was compared";
  EXPECT_EQ(find(report.regrets, "efficiency"), nullptr) << "it has no price at any batch";
}

TEST(Regret, WhatTheModelWouldHaveShippedIsUnknownWhereNothingWasSearched) {
  const Report report = half_searched();
  ASSERT_EQ(report.fit.in_sample.picks.size(), 2U);
  EXPECT_TRUE(report.fit.in_sample.picks[0].is_known());
  EXPECT_FALSE(report.fit.in_sample.picks[1].is_known());
  EXPECT_FALSE(report.fit.in_sample.picks[1].is_priced());
  const std::string html = to_html(report);
  EXPECT_NE(html.find("unknown: not searched"), std::string::npos);
  EXPECT_NE(to_text(report, {}).find("of 1 batches, what it would have cost is unknown"), std::string::npos);
  EXPECT_NE(to_json(report).find(R"({"batch":2,"setting":null,"predicted_us":null,"us":null)"),
            std::string::npos);
}

TEST(Regret, APolicyMeasuredAtSomeBatchesIsListedLastWithTheirNumber) {
  Report report = tiny_report();
  report.batches[0].arms[1].aliases = {"balanced"};  // the best, but known at one batch
  report.regrets = regrets_of(report.batches);
  ASSERT_NE(find(report.regrets, "balanced"), nullptr);
  EXPECT_EQ(report.regrets.back().setting, "balanced");
  EXPECT_EQ(report.regrets.back().num_batches, 1);
  EXPECT_EQ(report.regrets.back().num_compared, 2);
  EXPECT_NE(to_text(report, {}).find("1 of 2"), std::string::npos);
  EXPECT_NE(to_html(report).find("<td class=\"\">1 of 2</td>"), std::string::npos);
  EXPECT_NE(to_json(report).find(R"("num_batches":1,"num_compared":2)"), std::string::npos);
}

TEST(Regret, WithoutASearchNothingIsPriced) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) batch.is_searched = false;
  report.regrets = regrets_of(report.batches);
  EXPECT_TRUE(report.regrets.empty());
  EXPECT_NE(to_text(report, {}).find("cost is unknown"), std::string::npos);
  EXPECT_NE(to_html(report).find("Unknown: the budget had room"), std::string::npos);
}

}  // namespace
}  // namespace wavefill::report
