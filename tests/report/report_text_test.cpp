#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/golden.h"
#include "report/report.h"
#include "report/sample_report.h"
#include "report/text_table.h"

namespace wavefill::report {
namespace {

TEST(ReportText, TinyReportReadsAsReviewed) {
  EXPECT_TRUE(test::matches_golden(to_text(tiny_report(), {}),
                                   std::string(WAVEFILL_TEST_DIR) + "/golden/report.txt"));
}

TEST(ReportText, AKeptSettingClaimsNoGain) {
  Report report = tiny_report();
  report.keeps_deployed = true;
  report.decision = report.deployed;
  for (Batch& batch : report.batches) batch.chosen_idx = 0;
  const std::string text = to_text(report, {});
  EXPECT_EQ(text.find("FASTER"), std::string::npos);
  EXPECT_NE(text.find("Decision: keep fixed=1"), std::string::npos);
}

// A deployed setting that stays for want of time alone must not read like one that has won.
TEST(ReportText, ABudgetThatWasTooSmallIsSaidToHaveBeen) {
  Report report = tiny_report();
  EXPECT_EQ(to_text(report, {}).find("was too small: "), std::string::npos);
  EXPECT_EQ(to_html(report).find("was too small: "), std::string::npos);
  report.budget_s = 90.0;
  report.without_verdict = {1, 2};
  report.enough_s = 171.0;
  const std::string sentence = fmt::format(
      "The budget of 90 s was too small: 2 of {} batches have no verdict (1,2), and keep the deployed "
      "setting. "
      "About 180 s should be enough.",
      report.batches.size());
  EXPECT_NE(to_text(report, {}).find(sentence), std::string::npos) << to_text(report, {});
  EXPECT_NE(to_html(report).find(sentence), std::string::npos);
}

// The terminal is where a run is watched: it must not keep quiet about what the page says.
TEST(ReportText, WhatWasTurnedDownAndWhereThroughputFallsIsSaid) {
  Report report = tiny_report();
  report.decision = "measured";
  report.deployed = "fixed=1";
  report.rejected = {
      {.setting = "fixed=8", .reason = "not_measured", .batch = 2, .effect = 0.0, .detail = "why"},
      {.setting = "fixed=8", .reason = "not_measured", .batch = 1, .effect = 0.0, .detail = "no"},
      {.setting = "fixed=2", .reason = "no_gain", .batch = 0, .effect = 0.0, .detail = "none"}};
  report.dips = {{.setting = "measured",
                  .batch_before = 1,
                  .batch = 2,
                  .effect = -0.061,
                  .introduced = true,
                  .measured_again = true,
                  .out_of_time = false,
                  .cause = "wave edge: 1 -> 2 waves"},
                 {.setting = "fixed=2",
                  .batch_before = 1,
                  .batch = 2,
                  .effect = -0.05,
                  .introduced = false,
                  .measured_again = false,
                  .out_of_time = false,
                  .cause = "unknown"}};
  const std::string expected =
      "not chosen  reason        batch  why\n"
      "----------  ------------  -----  ------------------------\n"
      "fixed=8     not_measured    1,2  why (and 1 more of this)\n"
      "fixed=2     no_gain           -  none\n"
      "\n"
      "throughput falls  from  to    by  likely cause             deployed too  measured again\n"
      "----------------  ----  --  ----  -----------------------  ------------  --------------\n"
      "per-batch table      1   2  6.1%  wave edge: 1 -> 2 waves  no            yes\n"
      "\n"
      "1 fall of throughput with settings that were not chosen: see --report or --json\n";
  EXPECT_NE(to_text(report, {}).find(expected), std::string::npos) << to_text(report, {});
  EXPECT_NE(to_html(report).find("yes, still there"), std::string::npos);
  EXPECT_NE(
      to_json(report).find(
          R"("dips":[{"setting":"measured","batch_before":1,"batch":2,"effect":-0.061,"introduced":true,)"
          R"("measured_again":true,"out_of_time":false,"cause":"wave edge: 1 -> 2 waves"})"),
      std::string::npos);
}

TEST(ReportText, TheKernelsComparedAreATableWithTheReason) {
  Report report = tiny_report();
  EXPECT_EQ(kernels_text(report, {}), "");
  EXPECT_EQ(to_html(report).find("Kernels compared"), std::string::npos);
  report.kernels = {{.kernel = "mma",
                     .figures = {{1, "fixed=4", 12.0}, {8, "", 0.0}},
                     .throughput = 0.5,
                     .is_chosen = false,
                     .reason = "50.0 % less throughput"},
                    {.kernel = "wgmma",
                     .figures = {{1, "fixed=2", 6.0}, {8, "fixed=1", 7.25}},
                     .throughput = 1.0,
                     .is_chosen = true,
                     .reason = "the fastest"}};
  const std::string expected =
      "kernel  us at 1  us at 8  throughput  choice\n"
      "------  -------  -------  ----------  ----------------------\n"
      "mma        12.0        -       50.0%  50.0 % less throughput\n"
      "wgmma       6.0      7.2      100.0%  tuned: the fastest\n";
  EXPECT_EQ(kernels_text(report, {}), expected);
  EXPECT_NE(to_text(report, {}).find(expected), std::string::npos);
  EXPECT_NE(to_html(report).find("Kernels compared"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"reason\":\"the fastest\""), std::string::npos);
}

}  // namespace
}  // namespace wavefill::report
