// When an arm need not be timed any further: it is behind, and chance cannot be the reason.
#pragma once

#include <cstdint>
#include <span>

#include "tune/verdict.h"

namespace wavefill {

// Few samples are enough for a gulf: every sample of the arm is at least this much longer than every sample
// of the leader. Three against three are parted so by chance in 1 of 20 orders, and by this much in next to
// none.
inline constexpr std::size_t kGulfSamples = 3;
inline constexpr double kGulf = 0.25;
bool beyond_gulf(std::span<const TimedSample> leader, std::span<const TimedSample> arm);

// Otherwise the interval of the effect must put the arm more than 3 % behind, at 99.9 %: this is asked again
// and again. Only rounds in which both were timed count; false with fewer than kEliminationSamples of them.
inline constexpr std::size_t kEliminationSamples = 6;
bool clearly_slower(std::span<const TimedSample> leader, std::span<const TimedSample> arm,
                    std::uint64_t seed);

}  // namespace wavefill
