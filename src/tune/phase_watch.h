// What the machine did while one phase of a run was measured.
#pragma once

#include <cstdint>
#include <string>

namespace wavefill {

struct PhaseWatch {
  std::int32_t rounds = 0;               // that count
  std::int32_t contaminated_rounds = 0;  // in which something else used the machine
  std::string contamination = {};        // the last reason
  double clock_low_mhz = 0.0;            // of the batches' median clocks; 0 = not said
  double clock_high_mhz = 0.0;
  bool counts_contaminated = false;  // contaminated rounds are among `rounds`, as asked
};

// Adds one batch to `watch`: a BatchResult, or a ConfirmResult.
template <typename BatchOfPhase>
void add_to(PhaseWatch& watch, const BatchOfPhase& batch) {
  watch.rounds += batch.rounds;
  watch.contaminated_rounds += batch.contaminated_rounds;
  if (!batch.contamination.empty()) watch.contamination = batch.contamination;
  if (batch.clock_mhz <= 0.0) return;
  const bool is_first = watch.clock_low_mhz == 0.0;
  if (is_first || batch.clock_mhz < watch.clock_low_mhz) watch.clock_low_mhz = batch.clock_mhz;
  if (is_first || batch.clock_mhz > watch.clock_high_mhz) watch.clock_high_mhz = batch.clock_mhz;
}

}  // namespace wavefill
