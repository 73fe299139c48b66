#include "cli/ledger_option.h"

#include <fmt/format.h>

#include <utility>

#include "cli/files.h"
#include "core/errors.h"

namespace wavefill::cli {

void add_ledger_option(OptionSet& set, std::string& path, std::string_view what) {
  set.text("--ledger", path, "FILE",
           fmt::format("{} (default $XDG_STATE_HOME/wavefill/ledger.sqlite, else "
                       "~/.local/state/wavefill/ledger.sqlite)",
                       what));
}

Result<Ledger> open_ledger(std::string& path) {
  if (path.empty()) {
    Result<std::string> fallback = default_ledger_path();
    if (!fallback.ok()) return fallback.status();
    path = *std::move(fallback);
    WAVEFILL_RETURN_IF_ERROR(make_parent_directories(path));
  }
  return Ledger::open(path);
}

}  // namespace wavefill::cli
