// The numbers that stand for a batch wherever it is shown, each with the samples behind it.
#pragma once

#include <string>
#include <string_view>

#include "report/report.h"

namespace wavefill::report {

// A number and where its samples stand on the page; an empty id: none were kept.
struct Shown {
  Estimate value;
  std::string samples_id;
};

// What the choice and the deployed setting take: as confirmed, or else as the search saw it. 0 where there is
// no sample.
Shown chosen_time(const Batch& batch);
Shown deployed_time(const Batch& batch);

// The same of any measured arm: where it is the choice or the deployed setting, their time.
Shown time_of(const Batch& batch, const Arm& arm);

// What the choice was found to gain, by the same samples; 0 where the deployed setting stays.
Shown chosen_gain(const Batch& batch);
std::string verdict_of(const Batch& batch);

// The model's correlation within batch sizes; "unknown" where none had settings enough.
std::string rank_text(const ModelScore& score);

// The noise floor; `low` and `high` are what the A/A comparison lies between.
Shown noise_of(const Batch& batch);

// Where the samples of a setting at a batch stand by which it was judged; the whole batch's where they are of
// the search and of the confirmation; empty where there are none.
std::string judged_id(const Report& report, std::string_view setting, std::int32_t batch);

// Ids of what the page has of a batch: all of it, an arm, the two sides of the confirmation, the A/A arm.
std::string batch_id(const Batch& batch);
std::string arm_id(const Batch& batch, const Arm& arm);
std::string confirmed_id(const Batch& batch);
std::string confirmed_deployed_id(const Batch& batch);
std::string a_a_id(const Batch& batch);

// Whether the confirmation is of what was chosen. Where the deployed setting is, it always is.
bool is_choice_confirmed(const Batch& batch);

// Whether the run had a confirmation at any batch.
bool was_confirmed(const Report& report);

}  // namespace wavefill::report
