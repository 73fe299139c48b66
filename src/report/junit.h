// Results as a JUnit XML file, which continuous integration systems show test by test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace wavefill::report {

enum class CaseOutcome : std::uint8_t { passed, failed, skipped };

struct JunitCase {
  std::string group;  // "classname": what belongs together
  std::string name;
  CaseOutcome outcome = CaseOutcome::passed;
  std::string message;  // why not passed; one line
  double seconds = 0.0;
};

// One suite. Names of any origin are made valid XML.
std::string to_junit(std::string_view suite, const std::vector<JunitCase>& cases);

// A case for each batch: failed where what the decision serves is SLOWER than the deployed setting or where
// an output was wrong, skipped where the samples do not say.
std::string to_junit(const Report& report);

}  // namespace wavefill::report
