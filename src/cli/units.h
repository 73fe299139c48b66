// Figures as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace wavefill::cli {

std::string bytes_text(std::uint64_t bytes);  // "0", "512 B", "1.3 MiB"
std::string time_text_us(double us);          // "12.3 us", "1.23 ms"

}  // namespace wavefill::cli
