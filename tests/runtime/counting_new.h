// How often operator new was called, by any thread, since the program began.
#pragma once

#include <cstdint>

namespace wavefill {

std::int64_t num_allocations();

}  // namespace wavefill
