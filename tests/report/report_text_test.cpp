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

}  // namespace
}  // namespace wavefill::report
