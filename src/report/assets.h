// The page's template, style sheets and script, compiled in from src/report/assets/.
#pragma once

#include <span>
#include <string_view>

namespace wavefill::report {

struct Asset {
  std::string_view name;  // "report.html"
  std::string_view content;
};

std::span<const Asset> assets();

// Precondition: `name` is a file of src/report/assets/. Empty otherwise.
std::string_view asset(std::string_view name);

}  // namespace wavefill::report
