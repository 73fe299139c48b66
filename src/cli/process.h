// Running another program, without a shell between.
#pragma once

#include <string>
#include <vector>

#include "wavefill/status.h"

namespace wavefill::cli {

struct ProcessOutcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

// arguments[0] is looked up in PATH; stdin is empty. A program that ends with any exit code is an outcome.
// Errors: unavailable (it cannot be started, or ended by a signal).
Result<ProcessOutcome> run_process(const std::vector<std::string>& arguments);

}  // namespace wavefill::cli
