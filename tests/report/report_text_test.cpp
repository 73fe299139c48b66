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

}  // namespace
}  // namespace wavefill::report
