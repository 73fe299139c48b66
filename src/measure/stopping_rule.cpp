#include "measure/stopping_rule.h"

#include "measure/statistics.h"

namespace wavefill {

StopReason should_stop(const StoppingRule& rule, std::span<const double> samples_us, double elapsed_us,
                       double budget_us) {
  // A rough interval suffices to stop by: its own error at 400 resamples is some 5 % of its width.
  constexpr std::int32_t kResamples = 400;
  // Looking less often costs less, and stops less often by luck.
  constexpr std::int64_t kLookEvery = 4;
  const auto count = static_cast<std::int64_t>(samples_us.size());
  if (count >= rule.max_samples) return StopReason::max_samples;
  if (count >= rule.min_samples && count > 1 && count % kLookEvery == 0) {
    const BootstrapOptions bootstrap{.confidence = 0.95, .resamples = kResamples, .seed = rule.seed};
    if (relative_half_width(samples_us, bootstrap) <= rule.relative_half_width) return StopReason::precision;
  }
  return elapsed_us >= budget_us ? StopReason::time_budget : StopReason::none;
}

}  // namespace wavefill
