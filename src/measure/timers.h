// The clock for timing, and how many calls are worth one reading of it.
#pragma once

#include <cstdint>

namespace wavefill {

// Monotonic time in microseconds since an arbitrary start.
double monotonic_us();

// Calls of `us_per_call` each that make a burst of at least `burst_us`, 1..max_calls.
std::int32_t calls_for_burst(double us_per_call, double burst_us, std::int32_t max_calls);

}  // namespace wavefill
