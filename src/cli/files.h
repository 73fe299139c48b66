// Files that commands read and write.
#pragma once

#include <string>
#include <string_view>

#include "wavefill/status.h"

namespace wavefill::cli {

// Errors: not_found (no such file), unavailable (cannot be read), invalid_argument (a directory, or larger
// than any file that is read this way). `option` names where the path comes from.
Result<std::string> read_file(std::string_view option, const std::string& path);

// Whole or not at all: written beside `path` and renamed over it. Errors: unavailable.
Status write_file(const std::string& path, std::string_view content);

// Whether write_file(path) could work now: the directory is there and files can be made in it. Asked before
// time is spent on what will be written. Errors: not_found (no such directory), unavailable,
// invalid_argument (`path` is a directory).
Status check_writable(std::string_view option, const std::string& path);

// Creates the directory of `path` and those above it. Errors: unavailable.
Status make_parent_directories(const std::string& path);

// $XDG_STATE_HOME/wavefill/ledger.sqlite, or ~/.local/state/wavefill/ledger.sqlite.
// Errors: unavailable (neither XDG_STATE_HOME nor HOME is set).
Result<std::string> default_ledger_path();

}  // namespace wavefill::cli
