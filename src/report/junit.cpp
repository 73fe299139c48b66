#include "report/junit.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_parts.h"
#include "report/shown.h"

namespace wavefill::report {
namespace {

std::string case_xml(const JunitCase& test) {
  const std::string head = fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                                       html_escaped(test.group), html_escaped(test.name), test.seconds);
  if (test.outcome == CaseOutcome::passed) return head + "/>\n";
  const std::string_view tag = test.outcome == CaseOutcome::failed ? "failure" : "skipped";
  return fmt::format("{}>\n    <{} message=\"{}\"/>\n  </testcase>\n", head, tag, html_escaped(test.message));
}

double seconds_of(const Batch& batch) {
  double us = 0.0;
  for (const Arm& arm : batch.arms) {
    for (const double sample_us : arm.samples_us) us += sample_us * batch.calls_per_sample;
  }
  return us * 1e-6;
}

JunitCase case_of(const Report& report, const Batch& batch) {
  JunitCase test{.group = report.title,
                 .name = fmt::format("batch {}", batch.batch),
                 .outcome = CaseOutcome::passed,
                 .message = {},
                 .seconds = seconds_of(batch)};
  const auto wrong = std::ranges::find_if(batch.arms, [](const Arm& arm) { return !arm.verified; });
  const std::string verdict = verdict_of(batch);
  const bool is_deployed = &batch.chosen() == &batch.deployed();
  if (wrong != batch.arms.end()) {
    test.outcome = CaseOutcome::failed;
    test.message = fmt::format("wrong output of {}: {}", wrong->setting, wrong->failure);
  } else if (!is_deployed && verdict == "SLOWER") {
    test.outcome = CaseOutcome::failed;
    test.message = fmt::format("{} is {} against {}", batch.chosen().setting,
                               percent_text(chosen_gain(batch).value.value), report.deployed);
  } else if (!batch.chosen().is_measured()) {
    test.outcome = CaseOutcome::skipped;
    test.message = "no clean sample";
  } else if (!is_deployed && verdict == "UNDECIDED") {
    test.outcome = CaseOutcome::skipped;
    test.message = fmt::format("undecided: {} within a noise of {}",
                               percent_text(chosen_gain(batch).value.value), percent_text(batch.noise));
  }
  return test;
}

}  // namespace

std::string to_junit(std::string_view suite, const std::vector<JunitCase>& cases) {
  const auto count = [&](CaseOutcome outcome) {
    return std::ranges::count(cases, outcome, &JunitCase::outcome);
  };
  double seconds = 0.0;
  std::string body;
  for (const JunitCase& test : cases) {
    seconds += test.seconds;
    body += case_xml(test);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "errors=\"0\" skipped=\"{}\" time=\"{:.3f}\">\n{}</testsuite>\n",
      html_escaped(suite), cases.size(), count(CaseOutcome::failed), count(CaseOutcome::skipped), seconds,
      body);
}

std::string to_junit(const Report& report) {
  std::vector<JunitCase> cases;
  for (const Batch& batch : report.batches) cases.push_back(case_of(report, batch));
  return to_junit("wavefill tune", cases);
}

}  // namespace wavefill::report
