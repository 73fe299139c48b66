// What following a setting everywhere costs against the best setting measured at each batch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace wavefill::report {

// The name under which the cost model's own picks are listed: what a model alone would have shipped.
inline constexpr std::string_view kModelAlone = "cost model alone";

// "fixed=4": a plain split count, as against a policy that chooses one.
bool is_split_count(std::string_view setting);

// The measured arm of `setting` (by name or alias) at a batch; nullptr if there is none.
const Arm* find_arm(const Batch& batch, std::string_view setting);

// The fastest measured arm; nullptr if none was measured.
const Arm* best_arm(const Batch& batch);

// Settings that were measured at every batch: policies, then plain split counts, each in the order they
// stand in the batches.
std::vector<std::string> settings_everywhere(const std::vector<Batch>& batches);

// What the cost model alone would have shipped at each batch, and what that would have cost.
std::vector<ModelPick> model_picks(const std::vector<Batch>& batches);

// The choice first; then each setting measured at every batch, and the cost model alone, the least regret
// first.
std::vector<PolicyRegret> regrets_of(const std::vector<Batch>& batches);

}  // namespace wavefill::report
