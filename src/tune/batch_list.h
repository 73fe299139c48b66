// Lists of batches as people write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace wavefill {

// "1-16", "1,8,64", "1-4,8": runs of three and more are ranges. Precondition: ascending.
std::string format_batches(std::span<const std::int32_t> batches);

}  // namespace wavefill
