// Mapping values to picture coordinates, and choosing round tick values.
#pragma once

#include <string>
#include <vector>

namespace wavefill::report {

// Maps [min, max] to [from, to], linearly in the value or in its logarithm (min > 0).
class Scale {
 public:
  enum class Kind { linear, logarithmic };

  // An empty range (min == max) maps to the middle.
  Scale(double min, double max, double from, double to, Kind kind = Kind::linear);

  double operator()(double value) const;

 private:
  double forward(double value) const;

  Kind kind_;
  double low_;
  double high_;
  double from_;
  double to_;
};

// Round values (1, 2 or 5 times a power of ten apart) within [min, max], about `count` of them.
std::vector<double> nice_ticks(double min, double max, int count);

// The smallest range of round values around [min, max], with some air; from 0 where min is not far
// above it, so that heights may be compared.
struct Range {
  double min = 0.0;
  double max = 1.0;
};
Range nice_range(double min, double max);

// "842", "12.3k", "4.56M": three significant digits.
std::string compact(double value);

}  // namespace wavefill::report
