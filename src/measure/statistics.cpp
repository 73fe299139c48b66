#include "measure/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

namespace wavefill {
namespace {

// Uniform draws below a bound. The standard distributions differ between libraries; this gives the same
// draws everywhere. Its bias is below 2^-32 * bound.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}

  // Precondition: bound < 2^32.
  std::size_t below(std::size_t bound) {
    if (half_used_)
      bits_ >>= 32;
    else
      bits_ = generator_();
    half_used_ = !half_used_;
    return static_cast<std::size_t>(((bits_ & 0xFFFF'FFFFU) * bound) >> 32);
  }

 private:
  std::mt19937_64 generator_;
  std::uint64_t bits_ = 0;
  bool half_used_ = false;
};

// Medians of resamples in O(n) each: with the samples sorted once, a resample is a count for every rank,
// and its median is where the running sum of counts passes the middle.
class Resampler {
 public:
  explicit Resampler(std::span<const double> samples)
      : sorted_(samples.begin(), samples.end()), rank_(samples.size()), count_(samples.size()) {
    std::vector<std::size_t> order(samples.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return samples[i]; });
    for (std::size_t rank = 0; rank < order.size(); ++rank) rank_[order[rank]] = rank;
    std::ranges::sort(sorted_);
  }

  void clear() { std::ranges::fill(count_, 0U); }
  void draw(std::size_t sample_idx) { ++count_[rank_[sample_idx]]; }

  // Precondition: as many draws as samples.
  double resampled_median() const {
    const std::size_t n = sorted_.size();
    std::size_t seen = 0;
    std::size_t rank = 0;
    while ((seen += count_[rank]) * 2 < n) ++rank;
    if (seen * 2 > n) return sorted_[rank];
    std::size_t upper = rank + 1;
    while (count_[upper] == 0) ++upper;
    return (sorted_[rank] + sorted_[upper]) / 2;
  }

 private:
  std::vector<double> sorted_;
  std::vector<std::size_t> rank_;
  std::vector<std::uint32_t> count_;
};

// The central `confidence` of `values`, which are sorted here.
Interval percentile_interval(std::vector<double>& values, double confidence) {
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  const double tail = (1.0 - confidence) / 2;
  return {values[static_cast<std::size_t>(std::floor(tail * last))],
          values[static_cast<std::size_t>(std::ceil((1.0 - tail) * last))]};
}

// Two-sided p of "the ratio is 1" from resampled ratios. Where too few of them lie beyond 1 to be counted,
// the tail is that of a normal distribution of log ratios with their spread.
double bootstrap_p(std::span<const double> ratios, double ratio) {
  constexpr std::ptrdiff_t kCountable = 10;
  const auto at_most = std::ranges::count_if(ratios, [](double r) { return r <= 1.0; });
  const auto at_least = std::ranges::count_if(ratios, [](double r) { return r >= 1.0; });
  const std::ptrdiff_t beyond = std::min(at_most, at_least);
  if (beyond >= kCountable) {
    return std::min(1.0, 2.0 * static_cast<double>(beyond + 1) / static_cast<double>(ratios.size() + 1));
  }
  double squares = 0.0;
  for (const double resampled : ratios) squares += std::pow(std::log(resampled / ratio), 2);
  const double spread = std::sqrt(squares / static_cast<double>(ratios.size()));
  if (spread == 0.0) return ratio == 1.0 ? 1.0 : 0.0;
  return std::erfc(std::abs(std::log(ratio)) / spread / std::numbers::sqrt2);
}

std::vector<double> resampled_ratios(std::span<const double> numerator, std::span<const double> denominator,
                                     Pairing pairing, const BootstrapOptions& options) {
  Draws draws(options.seed);
  Resampler upper(numerator);
  Resampler lower(denominator);
  std::vector<double> ratios(static_cast<std::size_t>(options.resamples));
  for (double& ratio : ratios) {
    upper.clear();
    lower.clear();
    for (std::size_t draw = 0; draw < numerator.size(); ++draw) {
      const std::size_t idx = draws.below(numerator.size());
      upper.draw(idx);
      if (pairing == Pairing::by_index) lower.draw(idx);
    }
    if (pairing == Pairing::independent) {
      for (std::size_t draw = 0; draw < denominator.size(); ++draw) {
        lower.draw(draws.below(denominator.size()));
      }
    }
    ratio = upper.resampled_median() / lower.resampled_median();
  }
  return ratios;
}

std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
    begin = end;
  }
  return ranks;
}

}  // namespace

double median(std::span<const double> values) {
  assert(!values.empty());
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::ranges::nth_element(copy, middle);
  if (copy.size() % 2 == 1) return *middle;
  return (*std::max_element(copy.begin(), middle) + *middle) / 2;
}

double median_absolute_deviation(std::span<const double> values) {
  const double center = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - center));
  return median(deviations);
}

Interval median_interval(std::span<const double> samples, const BootstrapOptions& options) {
  Draws draws(options.seed);
  Resampler resampler(samples);
  std::vector<double> medians(static_cast<std::size_t>(options.resamples));
  for (double& value : medians) {
    resampler.clear();
    for (std::size_t draw = 0; draw < samples.size(); ++draw) {
      resampler.draw(draws.below(samples.size()));
    }
    value = resampler.resampled_median();
  }
  return percentile_interval(medians, options.confidence);
}

double relative_half_width(std::span<const double> samples, const BootstrapOptions& options) {
  const Interval interval = median_interval(samples, options);
  return (interval.high - interval.low) / 2 / median(samples);
}

RatioEstimate ratio_of_medians(std::span<const double> numerator, std::span<const double> denominator,
                               Pairing pairing, const BootstrapOptions& options) {
  assert(pairing == Pairing::independent || numerator.size() == denominator.size());
  std::vector<double> ratios = resampled_ratios(numerator, denominator, pairing, options);
  RatioEstimate estimate;
  estimate.ratio = median(numerator) / median(denominator);
  const double supported = pairing == Pairing::by_index
                               ? sign_test_p(numerator, denominator)
                               : least_p(pairing, numerator.size(), denominator.size());
  estimate.p_value = std::max(bootstrap_p(ratios, estimate.ratio), supported);
  estimate.interval = percentile_interval(ratios, options.confidence);
  return estimate;
}

double least_p(Pairing pairing, std::size_t a, std::size_t b) {
  if (pairing == Pairing::by_index) return std::min(1.0, 2.0 * std::exp2(-static_cast<double>(a)));
  const auto log_factorial = [](std::size_t n) { return std::lgamma(static_cast<double>(n) + 1.0); };
  return std::min(1.0, 2.0 * std::exp(log_factorial(a) + log_factorial(b) - log_factorial(a + b)));
}

double sign_test_p(std::span<const double> a, std::span<const double> b) {
  std::size_t below = 0;
  std::size_t above = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    below += a[i] < b[i] ? 1U : 0U;
    above += a[i] > b[i] ? 1U : 0U;
  }
  const std::size_t n = below + above;
  const auto log_factorial = [](std::size_t k) { return std::lgamma(static_cast<double>(k) + 1.0); };
  double tail = 0.0;
  for (std::size_t k = 0; k <= std::min(below, above); ++k) {
    tail += std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) -
                     static_cast<double>(n) * std::log(2.0));
  }
  return std::min(1.0, 2.0 * tail);
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0.0;
  for (std::size_t step = 0; step < order.size(); ++step) {
    const auto remaining = static_cast<double>(order.size() - step);
    largest = std::max(largest, std::min(1.0, remaining * p_values[order[step]]));
    adjusted[order[step]] = largest;
  }
  return adjusted;
}

double rank_correlation(std::span<const double> x, std::span<const double> y) {
  assert(x.size() == y.size());
  const std::vector<double> rank_x = mean_ranks(x);
  const std::vector<double> rank_y = mean_ranks(y);
  const double mean = (static_cast<double>(x.size()) - 1.0) / 2;
  double xy = 0.0;
  double xx = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (rank_x[i] - mean) * (rank_y[i] - mean);
    xx += (rank_x[i] - mean) * (rank_x[i] - mean);
    yy += (rank_y[i] - mean) * (rank_y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0.0;
}

}  // namespace wavefill
