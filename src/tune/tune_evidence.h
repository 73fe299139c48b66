// From what was measured to what the decision rule reads, and back to what a profile keeps.
#pragma once

#include <vector>

#include "tune/decision.h"
#include "tune/tuner.h"

namespace wavefill {

// Rounds of different phases have nothing in common: each phase's numbers are moved to a range of its own.
std::int32_t round_in_phase(Phase phase, std::int32_t round);

// The search alone: one piece of evidence a candidate and batch.
DecisionInput search_evidence(const TuneRequest& request, const std::vector<BatchResult>& batches);

// The search and the table measured as a whole. Where the table keeps the deployed setting, the deployed
// one's samples are the table's.
DecisionInput full_evidence(const TuneRequest& request, const std::vector<BatchResult>& batches,
                            const std::vector<ConfirmResult>& confirmed, const std::vector<TableEntry>& table,
                            const std::vector<std::int32_t>& measured_again);

// Verdicts and choices of `decision` into the arms they concern.
void mark_arms(const Decision& decision, std::vector<BatchResult>& batches);

// What the decision serves at each batch, with the times of its evidence.
// Errors: those of parse_setting.
Result<Profile> profile_of(const ProfileKey& key, const DecisionInput& input, const Decision& decision);

}  // namespace wavefill
