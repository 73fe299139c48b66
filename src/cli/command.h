// What a command of the program is. The table of them stands in commands.cpp.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/option_set.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// Runs a command whose options have been read. A Status ends the program with exit_code_of(it).
using Action = std::function<Result<ExitCode>(Console&)>;

struct Command {
  std::string_view name;
  std::string_view summary;  // one line
  std::string_view example;  // shown by --help
  // Adds the command's options to `set`; they are read before the returned action runs.
  Action (*define)(OptionSet& set);
};

std::span<const Command> commands();

// A file each, in commands/.
Action define_devices(OptionSet& set);
Action define_kernels(OptionSet& set);
Action define_plan(OptionSet& set);
Action define_verify(OptionSet& set);
Action define_bench(OptionSet& set);
Action define_tune(OptionSet& set);
Action define_decide(OptionSet& set);
Action define_profile(OptionSet& set);
Action define_log(OptionSet& set);

}  // namespace wavefill::cli
