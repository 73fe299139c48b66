#include "report/junit.h"

#include <gtest/gtest.h>

#include "report/sample_report.h"

namespace wavefill::report {
namespace {

TEST(Junit, CountsAndEscapes) {
  const std::string xml = to_junit(
      "a \"suite\"",
      {{.group = "g", .name = "fine", .outcome = CaseOutcome::passed, .message = {}, .seconds = 1.5},
       {.group = "<g>",
        .name = "bad\x01",
        .outcome = CaseOutcome::failed,
        .message = "1 < 2 & \"x\"",
        .seconds = 0.0},
       {.group = "g", .name = "?", .outcome = CaseOutcome::skipped, .message = "who knows", .seconds = 0.0}});
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"1.500\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<failure message=\"1 &lt; 2 &amp; &quot;x&quot;\"/>"), std::string::npos) << xml;
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  EXPECT_EQ(xml.find("<g>"), std::string::npos);
}

TEST(Junit, ABatchThatGotSlowerOrWrongFails) {
  Report report = tiny_report();
  const std::string clean = to_junit(report);
  EXPECT_NE(clean.find("failures=\"0\""), std::string::npos) << clean;
  EXPECT_NE(clean.find("name=\"batch 2\""), std::string::npos);
  report.batches[0].arms[0].verified = false;
  report.batches[0].arms[0].failure = "row 3, head 1";
  const std::size_t other = 1 - report.batches[1].chosen_idx;
  report.batches[1].is_confirmed = false;
  report.batches[1].chosen_idx = other == 0 ? 1 : other;
  report.batches[1].arms[report.batches[1].chosen_idx].verdict = "SLOWER";
  const std::string xml = to_junit(report);
  EXPECT_NE(xml.find("failures=\"2\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("row 3, head 1"), std::string::npos) << xml;
}

}  // namespace
}  // namespace wavefill::report
