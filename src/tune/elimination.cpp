#include "tune/elimination.h"

#include <algorithm>
#include <map>
#include <vector>

namespace wavefill {
namespace {

constexpr double kClearLoss = 0.03;
constexpr double kConfidence = 0.999;
constexpr std::int32_t kResamples = 1000;

}  // namespace

bool beyond_gulf(std::span<const TimedSample> leader, std::span<const TimedSample> arm) {
  if (leader.size() < kGulfSamples || arm.size() < kGulfSamples) return false;
  const double longest = std::ranges::max(leader, {}, &TimedSample::us).us;
  const double shortest = std::ranges::min(arm, {}, &TimedSample::us).us;
  return shortest > longest * (1.0 + kGulf);
}

bool clearly_slower(std::span<const TimedSample> leader, std::span<const TimedSample> arm,
                    std::uint64_t seed) {
  std::map<std::int32_t, double> leader_us;
  for (const TimedSample& sample : leader) leader_us.emplace(sample.round, sample.us);
  std::vector<double> numerator;
  std::vector<double> denominator;
  for (const TimedSample& sample : arm) {
    const auto found = leader_us.find(sample.round);
    if (found == leader_us.end()) continue;
    numerator.push_back(found->second);
    denominator.push_back(sample.us);
  }
  if (numerator.size() < kEliminationSamples) return false;
  const RatioEstimate estimate =
      ratio_of_medians(numerator, denominator, Pairing::by_index,
                       {.confidence = kConfidence, .resamples = kResamples, .seed = seed});
  return estimate.interval.high - 1.0 < -kClearLoss;
}

}  // namespace wavefill
