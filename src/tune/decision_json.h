// A decision as JSON: for the ledger, for `--json`, and for people who commit it.
#pragma once

#include <string>
#include <vector>

#include "tune/decision.h"
#include "tune/tuner.h"

namespace wavefill {

// {"decision", "keeps_deployed", "weighted_gain", "table", "rejected", "next", "verdicts", "dips", "summary"}
std::string to_json(const Decision& decision);

// The same and "kernels", what was compared before one was tuned: each "kernel", "throughput", "is_chosen",
// "reason".
std::string to_json(const Decision& decision, const std::vector<KernelResult>& kernels);

}  // namespace wavefill
