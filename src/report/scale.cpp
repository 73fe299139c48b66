#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace wavefill::report {
namespace {

double nice_step(double span, int count) {
  const double raw = span / count;
  const double magnitude = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * magnitude) return factor * magnitude;
  }
  return 10.0 * magnitude;
}

}  // namespace

Scale::Scale(double min, double max, double from, double to, Kind kind)
    : kind_(kind), low_(0.0), high_(0.0), from_(from), to_(to) {
  low_ = forward(min);
  high_ = forward(max);
}

double Scale::forward(double value) const { return kind_ == Kind::logarithmic ? std::log2(value) : value; }

double Scale::operator()(double value) const {
  if (high_ == low_) return (from_ + to_) / 2;
  return from_ + (forward(value) - low_) / (high_ - low_) * (to_ - from_);
}

std::vector<double> nice_ticks(double min, double max, int count) {
  if (!(max > min)) return {min};
  const double step = nice_step(max - min, count);
  std::vector<double> ticks;
  // Counting in steps, not adding them up, keeps 0.3 from becoming 0.30000000000000004.
  for (double k = std::ceil(min / step - 1e-9); k * step <= max + step * 1e-9; ++k)
    ticks.push_back(k * step + 0.0);
  return ticks;
}

Range nice_range(double min, double max) {
  constexpr double kNearZero = 0.4;  // min below this share of max: starting at 0 costs little height
  if (!(max > min)) return min > 0.0 ? Range{.min = 0.0, .max = 2 * min} : Range{.min = min, .max = min + 1};
  if (min >= 0.0 && min < kNearZero * max) min = 0.0;
  const double step = nice_step(max - min, 5);
  // + 0.0 turns -0.0 into 0.0, which reads better.
  return {.min = std::floor(min / step + 1e-9) * step + 0.0, .max = std::ceil(max / step - 1e-9) * step};
}

std::string compact(double value) {
  constexpr std::array<const char*, 4> kSuffixes = {"", "k", "M", "G"};
  std::size_t suffix = 0;
  while (std::abs(value) >= 999.5 && suffix + 1 < kSuffixes.size()) {
    value /= 1000.0;
    ++suffix;
  }
  const double magnitude = std::abs(value);
  const int decimals = magnitude >= 99.95 || value == 0.0 ? 0 : magnitude >= 9.995 ? 1 : 2;
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text + kSuffixes[suffix];
}

}  // namespace wavefill::report
