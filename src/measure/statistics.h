// Robust statistics of timing samples: medians, and how far chance can move them.
//
// Every random draw comes from a seeded generator, so the same samples give the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wavefill {

struct Interval {
  double low = 0.0;
  double high = 0.0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

// Precondition of both: values is not empty.
double median(std::span<const double> values);
double median_absolute_deviation(std::span<const double> values);  // unscaled

struct BootstrapOptions {
  double confidence = 0.95;
  std::int32_t resamples = 2000;
  std::uint64_t seed = 1;
};

// Percentile bootstrap of the median. One sample gives [x, x]: no interval, not certainty; callers ask
// for more samples before they believe it. Precondition: samples is not empty.
Interval median_interval(std::span<const double> samples, const BootstrapOptions& options = {});

// (high - low) / 2 of median_interval, over the median: what a stopping rule looks at.
double relative_half_width(std::span<const double> samples, const BootstrapOptions& options = {});

enum class Pairing : std::uint8_t {
  independent,  // the samples of both sides are resampled apart
  by_index,     // sample i of both was taken in the same round and is drawn together: slow drift cancels
};

struct RatioEstimate {
  double ratio = 1.0;  // median(numerator) / median(denominator)
  Interval interval;   // percentile bootstrap
  // Two-sided, of "the ratio is 1". From the bootstrap, and never below what the exact sign test of the
  // pairs (by_index) or the number of arrangements of the samples (independent) can support: with few
  // samples a bootstrap alone would claim too much.
  double p_value = 1.0;
};

// Preconditions: both are not empty, all values > 0; by_index: sizes are equal.
RatioEstimate ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator,
                               Pairing pairing, const BootstrapOptions& options = {});

// The least two-sided p that any test can reach: of a samples against b (independent: 1 of 2 / C(a + b, a)
// arrangements), or of a pairs of which all say the same (by_index, where b does not matter).
double least_p(Pairing pairing, std::size_t a, std::size_t b);

// Two-sided exact binomial p of "a is below b as often as above" over pairs; ties are left out.
double sign_test_p(std::span<const double> a, std::span<const double> b);

// Holm's step-down: p values adjusted so that comparing each with alpha keeps the chance of even one false
// claim in the family below alpha. Same order as given.
std::vector<double> holm_adjusted(std::span<const double> p_values);

// Spearman's rank correlation, ties sharing their mean rank; 0 when either side is constant.
// Precondition: sizes are equal.
double rank_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace wavefill
