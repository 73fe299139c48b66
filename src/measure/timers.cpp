#include "measure/timers.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace wavefill {

double monotonic_us() {
  using Microseconds = std::chrono::duration<double, std::micro>;
  return Microseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int32_t calls_for_burst(double us_per_call, double burst_us, std::int32_t max_calls) {
  if (!(us_per_call > 0.0)) return max_calls;
  const double calls = std::ceil(burst_us / us_per_call);
  return calls >= max_calls ? max_calls : std::max(1, static_cast<std::int32_t>(calls));
}

}  // namespace wavefill
