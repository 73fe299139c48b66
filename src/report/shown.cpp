#include "report/shown.h"

#include <fmt/format.h>

#include <algorithm>

#include "tune/decision.h"

namespace wavefill::report {
namespace {

bool keeps_deployed(const Batch& batch) { return &batch.chosen() == &batch.deployed(); }

bool has_deployed_again(const Batch& batch) {
  return batch.is_confirmed && !batch.confirmation.deployed_samples_us.empty();
}

Shown time_of_arm(const Batch& batch, const Arm& arm) {
  return {.value = arm.us, .samples_id = arm.samples_us.empty() ? "" : arm_id(batch, arm)};
}

bool is_called(const Arm& arm, std::string_view setting) {
  return arm.setting == setting || std::ranges::find(arm.aliases, setting) != arm.aliases.end();
}

// The per-batch table is judged by its confirmation, the deployed setting by all its samples.
std::string judged_id_at(const Batch& batch, std::string_view setting) {
  const bool is_table = setting == kPerBatchTable;
  if (is_table && batch.is_confirmed && batch.confirmation.setting != batch.deployed().setting &&
      is_choice_confirmed(batch)) {
    return confirmed_id(batch);
  }
  if (is_table || is_called(batch.deployed(), setting)) {
    return has_deployed_again(batch) ? batch_id(batch) : time_of_arm(batch, batch.deployed()).samples_id;
  }
  const auto arm =
      std::ranges::find_if(batch.arms, [&](const Arm& each) { return is_called(each, setting); });
  return arm == batch.arms.end() ? std::string() : time_of_arm(batch, *arm).samples_id;
}

}  // namespace

std::string judged_id(const Report& report, std::string_view setting, std::int32_t batch) {
  const auto found = std::ranges::find(report.batches, batch, &Batch::batch);
  return found == report.batches.end() ? std::string() : judged_id_at(*found, setting);
}

bool is_choice_confirmed(const Batch& batch) {
  if (keeps_deployed(batch)) return has_deployed_again(batch);
  return batch.is_confirmed && batch.confirmation.setting == batch.chosen().setting &&
         !batch.confirmation.samples_us.empty();
}

Shown chosen_time(const Batch& batch) {
  if (keeps_deployed(batch)) return deployed_time(batch);
  if (!is_choice_confirmed(batch)) return time_of_arm(batch, batch.chosen());
  return {.value = batch.confirmation.us, .samples_id = confirmed_id(batch)};
}

// Beside a choice that was not confirmed stands what was measured together with it.
Shown deployed_time(const Batch& batch) {
  if (!is_choice_confirmed(batch) || !has_deployed_again(batch)) return time_of_arm(batch, batch.deployed());
  return {.value = batch.confirmation.deployed_us, .samples_id = confirmed_deployed_id(batch)};
}

Shown time_of(const Batch& batch, const Arm& arm) {
  if (&arm == &batch.deployed()) return deployed_time(batch);
  return &arm == &batch.chosen() ? chosen_time(batch) : time_of_arm(batch, arm);
}

Shown chosen_gain(const Batch& batch) {
  if (keeps_deployed(batch)) return {};
  return {.value = is_choice_confirmed(batch) ? batch.confirmation.effect : batch.chosen().effect,
          .samples_id = chosen_time(batch).samples_id};
}

std::string verdict_of(const Batch& batch) {
  const bool is_confirmed = is_choice_confirmed(batch) && !keeps_deployed(batch);
  return is_confirmed ? batch.confirmation.verdict : batch.chosen().verdict;
}

Shown noise_of(const Batch& batch) {
  return {.value = {.value = batch.noise, .low = batch.a_a_effect.low, .high = batch.a_a_effect.high},
          .samples_id = batch.a_a_samples_us.empty() ? "" : a_a_id(batch)};
}

std::string batch_id(const Batch& batch) { return fmt::format("b-{}", batch.batch); }
std::string arm_id(const Batch& batch, const Arm& arm) {
  return fmt::format("m-{}-{}", batch.batch, &arm - batch.arms.data());
}
std::string confirmed_id(const Batch& batch) { return fmt::format("c-{}", batch.batch); }
std::string confirmed_deployed_id(const Batch& batch) { return fmt::format("cd-{}", batch.batch); }
std::string a_a_id(const Batch& batch) { return fmt::format("aa-{}", batch.batch); }

std::string rank_text(const ModelScore& score) {
  return score.ranked_batches > 0 ? fmt::format("{:.2f}", score.rank_within_batches) : "unknown";
}

bool was_confirmed(const Report& report) { return std::ranges::any_of(report.batches, &Batch::is_confirmed); }

}  // namespace wavefill::report
