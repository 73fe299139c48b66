#include "report/phase_text.h"

#include <fmt/format.h>

namespace wavefill::report {

std::string disturbed_text(const PhaseWatch& watch) {
  const auto dropped = watch.contaminated_rounds;
  if (dropped == 0) return fmt::format("none of {} rounds", watch.rounds);
  return watch.counts_contaminated
             ? fmt::format("{} of {} rounds, used all the same as asked; the last because {}", dropped,
                           watch.rounds, watch.contamination)
             : fmt::format("{} of {} rounds, left out of every figure; the last because {}", dropped,
                           dropped + watch.rounds, watch.contamination);
}

std::string watch_text(const PhaseWatch& watch) {
  return fmt::format("{} rounds used, {} {} disturbed; clock {}", watch.rounds, watch.contaminated_rounds,
                     watch.counts_contaminated ? "of them" : "others", clock_text(watch));
}

std::string clock_text(const PhaseWatch& watch) {
  if (watch.clock_low_mhz <= 0.0) return "not said";
  const std::string low = fmt::format("{:.0f}", watch.clock_low_mhz);
  const std::string high = fmt::format("{:.0f}", watch.clock_high_mhz);
  return low == high ? low + " MHz" : fmt::format("{} to {} MHz", low, high);
}

}  // namespace wavefill::report
