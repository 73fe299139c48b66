// What following a setting everywhere costs against the best setting measured at each batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace wavefill::report {

// What a model's pick at a batch is made by.
enum class Scoring : std::uint8_t {
  in_sample,      // constants fitted to all batches, this one too; without a fit those of before
  out_of_sample,  // constants fitted to the other batches
};

// The names under which the cost model's own picks are listed: what a model alone would have shipped.
inline constexpr std::string_view kModelInSample = "cost model alone, in sample";
inline constexpr std::string_view kModelOutOfSample = "cost model alone, out of sample";
inline constexpr std::string_view kModelUnfitted = "cost model alone, not fitted";
bool is_model(std::string_view setting);  // one of these

// "fixed=4": a plain split count, as against a policy that chooses one.
bool is_split_count(std::string_view setting);

// The measured arm of `setting` (by name or alias) at a batch; nullptr if there is none.
const Arm* find_arm(const Batch& batch, std::string_view setting);

// The fastest measured arm; nullptr if none was measured.
const Arm* best_arm(const Batch& batch);

// Whether settings were compared here: it was searched, and something was measured. Elsewhere nothing is
// known of what a setting costs, not even of the deployed one.
bool is_compared(const Batch& batch);

// Settings whose cost can be told: policies measured at one compared batch at least, then plain split counts
// measured at all of them; each in the order they stand in the batches. A policy is one thing at all batches;
// a split count that was ruled out at some is no policy anybody would follow.
std::vector<std::string> settings_to_price(const std::vector<Batch>& batches);

// What the cost model alone would have shipped at each batch, and what that would have cost. Where nothing
// was searched it is unknown, and out of sample also where there is no fit without the batch.
std::vector<ModelPick> model_picks(const std::vector<Batch>& batches, Scoring scoring);

// The choice first; then each setting to price and the cost model alone, in sample and out of it: those
// measured at all compared batches before the others, the least regret first. Empty if there is no compared
// batch.
std::vector<PolicyRegret> regrets_of(const std::vector<Batch>& batches);

}  // namespace wavefill::report
