// A decision as JSON: for the ledger, for `--json`, and for people who commit it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tune/decision.h"
#include "tune/tuner.h"

namespace wavefill {

// {"setting", "batch_before", "batch", "effect", "introduced", "measured_again", "out_of_time", "cause"}
nlohmann::ordered_json json_of(const Dip& dip);

// {"rounds", "contaminated_rounds", "counts_contaminated", "contamination", "clock_low_mhz",
// "clock_high_mhz"}, clocks null where the device did not say.
nlohmann::ordered_json json_of(const PhaseWatch& watch);

// A file of measurements that a decision was made from.
struct RecordsFile {
  std::string path;    // as given
  std::string sha256;  // of its bytes, in hex
  std::int64_t bytes = 0;
  std::int64_t samples = 0;
};

// What a decision was asked for: enough to ask again.
struct DecisionRequest {
  std::string command;  // quoted for a shell; empty: not asked for by a command
  std::vector<std::int32_t> batches;
  std::vector<WorkloadWeight> workload;  // as in DecisionInput
  std::optional<double> budget_s;        // of the call that decided; absent: nothing was measured
  std::optional<std::uint64_t> seed;
  std::optional<RecordsFile> records;  // absent: wavefill measured itself
};

// {"decision", "keeps_deployed", "weighted_gain", "table", "rejected", "next", "verdicts", "dips",
// "at_face_value", "summary"}
std::string to_json(const Decision& decision);

// The same and "request": "command", "batches", "workload" (a "batch" and its "weight" for each of the
// batches), "budget_s", "seed", "records".
std::string to_json(const Decision& decision, const DecisionRequest& request);

// The same of a run of the tuner, and
//  "kernels": what was compared before one was tuned: each "kernel", "throughput", "is_chosen", "reason";
//  "phases": "search" and, if there was one, "confirm".
std::string to_json(const TuneRequest& request, const TuneResult& result);

}  // namespace wavefill
