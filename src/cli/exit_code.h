// What the program's exit code says, and which Status means which.
#pragma once

#include <cstdint>

#include "wavefill/status.h"

namespace wavefill::cli {

enum class ExitCode : std::uint8_t {
  ok = 0,
  no = 1,           // the command worked, and its answer is no: a case failed, a setting is not admissible
  usage = 2,        // an option, environment variable or file that was given is wrong
  environment = 3,  // no such device here, no driver, not enough memory, an I/O error
};

// Precondition: !status.ok().
ExitCode exit_code_of(const Status& status);

}  // namespace wavefill::cli
