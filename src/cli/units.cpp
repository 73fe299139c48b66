#include "cli/units.h"

#include <fmt/format.h>

#include <array>

namespace wavefill::cli {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return bytes == 0 ? "0" : fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string time_text_us(double us) {
  if (us >= 1000.0) return fmt::format("{:.2f} ms", us / 1000.0);
  return fmt::format("{:.1f} us", us);
}

}  // namespace wavefill::cli
