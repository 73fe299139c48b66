#include "cli/verdict_text.h"

#include <fmt/format.h>

namespace wavefill::cli {

std::string percent_text(double effect) { return fmt::format("{:+.1f}%", effect * 100.0); }

std::string range_text(const Interval& interval) {
  return fmt::format("{} .. {}", percent_text(interval.low), percent_text(interval.high));
}

report::Tone tone_of(Verdict verdict) {
  if (verdict == Verdict::faster) return report::Tone::good;
  if (verdict == Verdict::slower) return report::Tone::bad;
  return report::Tone::dim;
}

}  // namespace wavefill::cli
