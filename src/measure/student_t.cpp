#include "measure/student_t.h"

#include <cassert>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace wavefill {
namespace {

// The continued fraction of I_x(a, b) by Lentz's method. It converges in O(sqrt(max(a, b))) steps where
// x < (a + 1) / (a + b + 2), so the bound holds for parameters up to some millions.
double beta_fraction(double a, double b, double x) {
  constexpr int kMostSteps = 10'000;
  constexpr double kPrecision = 1e-15;
  const auto away_from_zero = [](double value) { return std::abs(value) < 1e-300 ? 1e-300 : value; };
  double numerator = 1.0;
  double denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = denominator;
  for (int step = 1; step <= kMostSteps; ++step) {
    const auto m = static_cast<double>(step);
    const double even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
    double factor = 1.0;
    for (const double term : {even, odd}) {
      denominator = 1.0 / away_from_zero(1.0 + term * denominator);
      numerator = away_from_zero(1.0 + term / numerator);
      factor = numerator * denominator;
      fraction *= factor;
    }
    if (std::abs(factor - 1.0) < kPrecision) break;
  }
  return fraction;
}

}  // namespace

double regularised_incomplete_beta(double a, double b, double x) {
  assert(a > 0.0 && b > 0.0 && x >= 0.0 && x <= 1.0);
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  if (x > (a + 1.0) / (a + b + 2.0)) return 1.0 - regularised_incomplete_beta(b, a, 1.0 - x);
  const double log_front =
      std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  return std::exp(log_front) / a * beta_fraction(a, b, x);
}

double student_t_p(double t, double degrees) {
  assert(degrees > 0.0);
  const double square = t * t;
  if (std::isinf(square)) return 0.0;
  return regularised_incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + square));
}

double student_t_quantile(double p, double degrees) {
  assert(p > 0.0 && p < 1.0);
  double low = 0.0;
  double high = 1.0;
  while (student_t_p(high, degrees) > p && high < std::numeric_limits<double>::max() / 4.0) {
    low = high;
    high *= 2.0;
  }
  // Each step halves what is left, so these leave the last bit; p falls as t grows.
  for (int step = 0; step < 64; ++step) {
    const double middle = low + (high - low) / 2.0;
    (student_t_p(middle, degrees) > p ? low : high) = middle;
  }
  return low + (high - low) / 2.0;
}

}  // namespace wavefill
