// What the operating system says about this CPU.
#pragma once

#include <cstdint>
#include <string>

namespace wavefill::cpu {

// "Intel(R) Xeon(R) Processor"; the machine's architecture where there is no model name.
std::string model_name();

// Bytes of the highest cache level, shared or not; 0 if unknown.
std::int64_t last_level_cache_bytes();

// Hardware threads this process may run on.
int hardware_threads();

}  // namespace wavefill::cpu
