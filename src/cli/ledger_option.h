// The ledger that a command works with.
#pragma once

#include <string>
#include <string_view>

#include "cli/option_set.h"
#include "ledger/ledger.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// --ledger, with its default in the help.
void add_ledger_option(OptionSet& set, std::string& path, std::string_view what);

// The ledger at `path`, made if need be; empty: at the default path, which `path` is then.
// Errors: those of default_ledger_path, make_parent_directories and Ledger::open.
Result<Ledger> open_ledger(std::string& path);

}  // namespace wavefill::cli
