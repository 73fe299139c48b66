// The tables of a ledger file, and what makes a file one.
#pragma once

#include <string>

#include "ledger/sqlite.h"

namespace wavefill {

// Version 1 is the only one so far; a later build migrates older files here, and refuses newer ones.
inline constexpr std::int64_t kSchemaVersion = 1;

// Makes the tables in an empty file, or checks that the file has them and is sound.
// Errors: corrupt_data (damaged, or another program's file), mismatch (newer schema), unavailable.
Status prepare_schema(const sqlite::Database& database, const std::string& path);

}  // namespace wavefill
