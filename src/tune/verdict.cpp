#include "tune/verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace wavefill {
namespace {

double same_margin(double noise, const VerdictRule& rule) {
  return std::max(rule.equality_margin, std::min(noise, rule.assumed_noise));
}

}  // namespace

std::vector<double> times_us(std::span<const TimedSample> samples) {
  std::vector<double> us;
  us.reserve(samples.size());
  for (const TimedSample& sample : samples) us.push_back(sample.us);
  return us;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster: return "FASTER";
    case Verdict::slower: return "SLOWER";
    case Verdict::same: return "SAME";
    case Verdict::undecided: return "UNDECIDED";
  }
  return "UNDECIDED";
}

double noise_floor(const Effect& a_a) {
  return a_a.has_interval ? std::max(std::abs(a_a.interval.low), std::abs(a_a.interval.high)) : 0.0;
}

bool is_loss(const Effect& effect, double noise, const VerdictRule& rule) {
  return effect.has_interval && effect.interval.high < -same_margin(noise, rule);
}

bool excludes_loss(const Effect& effect, const VerdictRule& rule) {
  return effect.interval.low >= -rule.max_loss;
}

std::vector<Verdict> judge(std::span<const Effect> family, std::span<const double> noise,
                           const VerdictRule& rule) {
  std::vector<double> p_values;
  for (const Effect& effect : family) {
    if (effect.has_interval) p_values.push_back(effect.p_value);
  }
  const std::vector<double> adjusted = holm_adjusted(p_values);
  std::vector<Verdict> verdicts;
  std::size_t next_p = 0;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const Effect& effect = family[i];
    const bool beyond_chance = !effect.has_interval || adjusted[next_p] < rule.alpha;
    next_p += effect.has_interval ? 1U : 0U;
    const double floor = effect.has_interval ? std::max(noise[i], rule.min_effect) : rule.assumed_noise;
    const double margin = same_margin(noise[i], rule);
    if (beyond_chance && effect.effect > floor) {
      verdicts.push_back(Verdict::faster);
    } else if (beyond_chance && effect.effect < -floor) {
      verdicts.push_back(Verdict::slower);
    } else if (effect.has_interval && effect.interval.low > -margin && effect.interval.high < margin) {
      verdicts.push_back(Verdict::same);
    } else {
      verdicts.push_back(Verdict::undecided);
    }
  }
  return verdicts;
}

}  // namespace wavefill
