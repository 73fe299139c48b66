#include "tune/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "measure/student_t.h"

namespace wavefill {
namespace {

constexpr double kConfidence = 0.95;

// A pair with its samples side by side, if rounds are shared.
struct Sides {
  std::vector<double> baseline_us;
  std::vector<double> candidate_us;
  Pairing pairing = Pairing::independent;
};

std::size_t fewer(const SamplePair& pair) { return std::min(pair.baseline.size(), pair.candidate.size()); }

Sides sides_of(const SamplePair& pair, const VerdictRule& rule) {
  std::map<std::int32_t, double> of_round;
  for (const TimedSample& sample : pair.baseline) {
    if (sample.round >= 0) of_round.emplace(sample.round, sample.us);
  }
  Sides shared{.baseline_us = {}, .candidate_us = {}, .pairing = Pairing::by_index};
  for (const TimedSample& sample : pair.candidate) {
    const auto found = of_round.find(sample.round);
    if (found == of_round.end()) continue;
    shared.baseline_us.push_back(found->second);
    shared.candidate_us.push_back(sample.us);
  }
  const std::size_t enough = std::min(static_cast<std::size_t>(rule.min_samples), fewer(pair));
  if (shared.baseline_us.size() >= enough) return shared;
  return {times_us(pair.baseline), times_us(pair.candidate), Pairing::independent};
}

// log(baseline / candidate) of each round: throughput is the inverse of time.
std::vector<double> log_ratios(const Sides& sides) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < sides.baseline_us.size(); ++i) {
    logs.push_back(std::log(sides.baseline_us[i] / sides.candidate_us[i]));
  }
  return logs;
}

// Pairs with the same baseline share its noise, so among J of them the correlation of their squares is that
// of differences with one common term, (1/2)^2. By Satterthwaite their degrees count 4 / (J + 3).
Scatter scatter_of_rounds(std::span<const SamplePair> family, std::span<const Sides> sides) {
  struct Group {
    Scatter scatter;
    double pairs = 0.0;
  };
  std::map<const TimedSample*, Group> groups;
  for (std::size_t i = 0; i < family.size(); ++i) {
    if (sides[i].pairing != Pairing::by_index || sides[i].baseline_us.size() < 2) continue;
    Group& group = groups[family[i].baseline.data()];
    group.scatter.add(log_ratios(sides[i]));
    group.pairs += 1.0;
  }
  Scatter all;
  for (const auto& [baseline, group] : groups) all.add(group.scatter, 4.0 / (group.pairs + 3.0));
  return all;
}

// Of the median of n normal samples, in variances of one: of up to two it is the mean, and from three on
// pi / (2 n) is a bound that it comes close to.
double median_factor(std::size_t n) {
  const auto count = static_cast<double>(n);
  return n < 3 ? 1.0 / count : std::numbers::pi / 2.0 / count;
}

struct LogEffect {
  double estimate = 0.0;
  double error = 0.0;  // standard
};

// A pair that scatters more than the family is judged by its own scatter: a quiet family does not vouch for
// it. Never by less, since few samples agree by chance.
double variance_for(const Scatter& own, const Scatter& pooled) {
  return own.is_known() ? std::max(own.variance(), pooled.variance()) : pooled.variance();
}

LogEffect log_effect(const Sides& sides, const Scatter& pooled) {
  Scatter own;
  if (sides.pairing == Pairing::by_index) {
    const std::vector<double> logs = log_ratios(sides);
    own.add(logs);
    return {median(logs), std::sqrt(variance_for(own, pooled) * median_factor(logs.size()))};
  }
  for (const std::vector<double>* side : {&sides.baseline_us, &sides.candidate_us}) {
    std::vector<double> logs;
    for (const double us : *side) logs.push_back(std::log(us));
    own.add(logs);
  }
  const double factor = median_factor(sides.baseline_us.size()) + median_factor(sides.candidate_us.size());
  return {std::log(median(sides.baseline_us) / median(sides.candidate_us)),
          std::sqrt(variance_for(own, pooled) * factor)};
}

Effect student_effect(const LogEffect& log, double degrees) {
  const double reach = student_t_quantile(1.0 - kConfidence, degrees) * log.error;
  return {.effect = std::expm1(log.estimate),
          .interval = {std::expm1(log.estimate - reach), std::expm1(log.estimate + reach)},
          .p_value = student_t_p(log.estimate / log.error, degrees),
          .has_interval = true,
          .at_face_value = false};
}

Effect resampled_effect(const Sides& sides, const VerdictRule& rule) {
  const BootstrapOptions bootstrap{.confidence = kConfidence, .resamples = rule.resamples, .seed = rule.seed};
  const RatioEstimate estimate =
      ratio_of_medians(sides.baseline_us, sides.candidate_us, sides.pairing, bootstrap);
  return {.effect = estimate.ratio - 1.0,
          .interval = {estimate.interval.low - 1.0, estimate.interval.high - 1.0},
          .p_value = estimate.p_value,
          .has_interval = true,
          .at_face_value = false};
}

Effect face_value(const Sides& sides) {
  const double effect = median(sides.baseline_us) / median(sides.candidate_us) - 1.0;
  return {.effect = effect,
          .interval = {effect, effect},
          .p_value = 1.0,
          .has_interval = false,
          .at_face_value = true};
}

bool may_resample(const Sides& sides, const VerdictRule& rule) {
  const std::size_t fewest = std::min(sides.baseline_us.size(), sides.candidate_us.size());
  return std::cmp_greater_equal(fewest, rule.min_samples);
}

// Whether resampling could ever make a claim that holds among so many.
bool can_claim(const Sides& sides, std::size_t family_size, const VerdictRule& rule) {
  const double least = least_p(sides.pairing, sides.baseline_us.size(), sides.candidate_us.size());
  return may_resample(sides, rule) && least * static_cast<double>(family_size) < rule.alpha;
}

}  // namespace

void Scatter::add(std::span<const double> logs) {
  if (logs.size() < 2) return;
  // From the first on, so that equal figures have a scatter of exactly 0.
  double sum = 0.0;
  for (const double value : logs) sum += value - logs.front();
  const double mean = sum / static_cast<double>(logs.size());
  for (const double value : logs) squares_ += std::pow(value - logs.front() - mean, 2);
  degrees_ += static_cast<double>(logs.size() - 1);
}

void Scatter::add(std::span<const TimedSample> cell) {
  std::vector<double> logs;
  for (const TimedSample& sample : cell) logs.push_back(std::log(sample.us));
  add(logs);
}

void Scatter::add(const Scatter& other, double part) {
  squares_ += other.squares_ * part;
  degrees_ += other.degrees_ * part;
}

bool Scatter::is_known() const {
  constexpr double kRounding = 1e-24;  // of logs, squared; no clock comes near
  return degrees_ > 0.0 && squares_ / degrees_ > kRounding;
}

std::vector<Effect> compare_family(std::span<const SamplePair> family, const Scatter& times,
                                   const VerdictRule& rule) {
  std::vector<Sides> sides;
  for (const SamplePair& pair : family) sides.push_back(sides_of(pair, rule));
  const Scatter rounds = scatter_of_rounds(family, sides);
  std::vector<Effect> effects;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const Scatter& pooled = sides[i].pairing == Pairing::by_index ? rounds : times;
    const bool resamples =
        can_claim(sides[i], family.size(), rule) || (may_resample(sides[i], rule) && !pooled.is_known());
    if (resamples) {
      effects.push_back(family[i].alone != nullptr ? *family[i].alone : resampled_effect(sides[i], rule));
    } else if (pooled.is_known()) {
      effects.push_back(student_effect(log_effect(sides[i], pooled), pooled.degrees()));
    } else {
      effects.push_back(face_value(sides[i]));
    }
  }
  return effects;
}

Effect compare(std::span<const TimedSample> baseline, std::span<const TimedSample> candidate,
               const VerdictRule& rule) {
  Scatter times;
  times.add(baseline);
  times.add(candidate);
  const SamplePair pair{.baseline = baseline, .candidate = candidate};
  return compare_family(std::span(&pair, 1), times, rule).front();
}

Interval student_interval(std::span<const TimedSample> numerator, std::span<const TimedSample> denominator,
                          const Scatter& times) {
  const Sides sides{times_us(numerator), times_us(denominator), Pairing::independent};
  const Effect effect = student_effect(log_effect(sides, times), times.degrees());
  return {effect.interval.low + 1.0, effect.interval.high + 1.0};
}

}  // namespace wavefill
