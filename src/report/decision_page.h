// A decision as a page of markdown that can be committed beside what it is about.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wavefill/status.h"

namespace wavefill::report {

// What a decision was made on and from, as names and values in the order to show.
struct DecisionContext {
  std::string title;  // "8 heads, 128 + 512 tokens, on NVIDIA H200"
  std::string date;   // "2026-12-01 23:45 UTC"
  std::string deployed;
  std::vector<std::pair<std::string, std::string>> facts;        // device, kernel, batches, samples, ...
  std::vector<std::pair<std::string, std::string>> environment;  // may be empty
};

// Context, decision, numbers, alternatives, and what would change it. `decision_json` is
// tune/decision_json.h's. Errors: corrupt_data (the JSON is not such a decision).
Result<std::string> decision_page(const DecisionContext& context, std::string_view decision_json);

// What a decision was asked for and how the machine behaved, as names and values in the order to show:
// workload, budget, records, disturbed rounds and clocks. Empty for a decision that was kept by an older
// build, which did not write them down. `decision_json` as above.
std::vector<std::pair<std::string, std::string>> request_facts(std::string_view decision_json);

// The command that asked for it, quoted for a shell; empty likewise.
std::string request_command(std::string_view decision_json);

}  // namespace wavefill::report
