// A decision as JSON: for the ledger, for `--json`, and for people who commit it.
#pragma once

#include <string>

#include "tune/decision.h"

namespace wavefill {

// {"decision", "keeps_deployed", "weighted_gain", "table", "rejected", "next", "verdicts", "dips", "summary"}
std::string to_json(const Decision& decision);

}  // namespace wavefill
