// When one arm of a measurement has enough samples.
#pragma once

#include <cstdint>
#include <span>

#include "measure/records.h"

namespace wavefill {

struct StoppingRule {
  double relative_half_width = 0.005;  // of the 95 % interval of the median
  // On a quiet device precision comes before certainty: n samples that all agree have a sign-test p value of
  // 2^(1 - n), which must stay below 5 % after a correction for as many comparisons as a run makes. 20 do for
  // 26,000.
  std::int32_t min_samples = 20;
  std::int32_t max_samples = 200;
  std::uint64_t seed = 1;  // of the bootstrap

  friend bool operator==(const StoppingRule&, const StoppingRule&) = default;
};

// none: take more samples. Precision is looked at every few samples. `samples_us` are the clean ones; elapsed
// and budget are of this arm's batch. An arm whose time is out stops with fewer than min_samples, and says
// time_budget.
StopReason should_stop(const StoppingRule& rule, std::span<const double> samples_us, double elapsed_us,
                       double budget_us);

}  // namespace wavefill
