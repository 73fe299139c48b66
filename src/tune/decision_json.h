// A decision as JSON: for the ledger, for `--json`, and for people who commit it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tune/decision.h"
#include "tune/tuner.h"

namespace wavefill {

// {"setting", "batch_before", "batch", "effect", "introduced", "measured_again", "out_of_time", "cause"}
nlohmann::ordered_json json_of(const Dip& dip);

// {"decision", "keeps_deployed", "weighted_gain", "table", "rejected", "next", "verdicts", "dips",
// "at_face_value", "summary"}
std::string to_json(const Decision& decision);

// The same and "kernels", what was compared before one was tuned: each "kernel", "throughput", "is_chosen",
// "reason".
std::string to_json(const Decision& decision, const std::vector<KernelResult>& kernels);

}  // namespace wavefill
