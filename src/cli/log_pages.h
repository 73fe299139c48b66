// Decisions of the ledger as pages that can be committed.
#pragma once

#include <string>
#include <vector>

#include "cli/git_commit.h"
#include "cli/log_run.h"
#include "ledger/ledger.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// "2026-12-02-run-3.md": the same for the same run, whenever it is asked for.
std::string page_name(const RunDetails& run);

// Precondition: the run has a decision. Errors: corrupt_data (its record is not readable).
Result<std::string> page_of(const RunDetails& run);

// A page for each run with a decision: of the ledger, or of `only` alone (0 = all). Errors: not_found (no
// such run, or it has no decision), those of the ledger and of page_of().
Result<std::vector<NewFile>> pages_of(const Ledger& ledger, RunId only);

}  // namespace wavefill::cli
