// What `wavefill decide` leaves in the ledger: a run that is finished from the start.
#pragma once

#include <string>

#include "cli/decide_run.h"
#include "ledger/ledger.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// Where a decision is kept.
struct KeptDecision {
  std::string ledger;
  RunId run = 0;
};

// `ledger`: its path; empty: the default one. The records themselves are not copied: their file's name,
// digest and size are. Errors: those of open_ledger and Ledger::record_decision.
Result<KeptDecision> keep_decision(const JudgedRecords& judged, const std::string& command,
                                   std::string ledger);

// Whether a run of the ledger is such a decision: it has no measurements of its own.
bool is_decided_elsewhere(const RunKey& key);

}  // namespace wavefill::cli
