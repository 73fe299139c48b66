// Measuring the chosen table once more as a whole, and taking back what does not hold.
#include <algorithm>

#include "core/errors.h"
#include "tune/tune_evidence.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

// A batch at which the second measurement does not bear out the table's entry. 0: there is none.
std::int32_t unconfirmed_batch(const Decision& decision) {
  for (const VerdictRow& row : decision.verdicts) {
    const bool gains =
        row.effect.effect > 0.0 && row.verdict != Verdict::same && row.verdict != Verdict::slower;
    if (row.setting == kPerBatchTable && !gains) return row.batch;
  }
  return 0;
}

// The batches on both sides of every fall of throughput that the table introduces, those already measured
// again left out.
std::vector<std::int32_t> batches_to_measure_again(const Decision& decision,
                                                   const std::vector<std::int32_t>& already) {
  std::vector<std::int32_t> batches;
  for (const Dip& dip : decision.dips) {
    if (dip.setting != kPerBatchTable || !dip.introduced) continue;
    for (const std::int32_t batch : {dip.batch_before, dip.batch}) {
      if (std::ranges::find(already, batch) == already.end()) batches.push_back(batch);
    }
  }
  std::ranges::sort(batches);
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

}  // namespace

Status Tuner::confirm_batch(Phase phase, const TableEntry& entry, std::int32_t place, double deadline_us) {
  BatchResult& batch = batch_result(entry.batch);
  const auto rotation = workbench_.prepare(shape_at(entry.batch));
  if (!rotation.ok()) return rotation.status();
  std::vector<Arm> arms;
  for (const ArmResult& arm : batch.arms) {
    if (!arm.candidate.is_deployed && arm.candidate.name != entry.setting) continue;
    arms.push_back({.candidate = &arm.candidate,
                    .replica = 0,
                    .is_reference = arm.candidate.is_deployed,
                    .may_be_eliminated = false,
                    .samples = {},
                    .stop = StopReason::none});
  }
  SessionSpec spec = session_spec(phase, entry.batch, place, deadline_us);
  // The deployed setting alone has nothing to be compared with: a few rounds say what the table does here.
  if (arms.size() == 1) spec.max_samples = request_.stop.min_samples;
  auto outcome = measure_arms(context(), spec, std::move(arms));
  if (!outcome.ok()) return outcome.status();
  result_.cancelled = result_.cancelled || outcome->cancelled;
  result_.reused_measurements += outcome->from_earlier;
  ConfirmResult confirmed;
  confirmed.batch = entry.batch;
  confirmed.setting = entry.setting;
  for (Arm& arm : outcome->arms) {
    for (TimedSample& sample : arm.samples) sample.round = round_in_phase(phase, sample.round);
    if (arm.candidate->is_deployed) confirmed.deployed_samples = arm.samples;
    if (arm.candidate->name == entry.setting) confirmed.samples = std::move(arm.samples);
  }
  std::erase_if(result_.confirmed, [&](const ConfirmResult& old) { return old.batch == entry.batch; });
  result_.confirmed.push_back(std::move(confirmed));
  return {};
}

Status Tuner::confirm(const std::vector<TableEntry>& table) {
  phase_start_us_ = workbench_.now_us();
  const double phase_deadline_us = start_us_ + request_.budget_us * (kSearchShare + kConfirmShare);
  std::vector<std::int32_t> left;
  for (const TableEntry& entry : table) left.push_back(entry.batch);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double deadline_us = share_deadline(phase_deadline_us, std::span(left).subspan(i));
    WAVEFILL_RETURN_IF_ERROR(
        confirm_batch(Phase::confirm, table[i], static_cast<std::int32_t>(i), deadline_us));
    if (result_.cancelled) return {};
  }
  return settle(table);
}

// Each turn takes one entry back to the deployed setting, which was measured beside it, or measures some
// batches again, each at most once: so this ends, at worst with no change at all.
Status Tuner::settle(std::vector<TableEntry> table) {
  std::vector<std::int32_t> measured_again;
  for (;;) {
    DecisionInput input = full_evidence(request_, result_.batches, result_.confirmed, table, measured_again);
    auto decision = decide(input);
    if (!decision.ok()) return decision.status();
    const auto entry = std::ranges::find(table, unconfirmed_batch(*decision), &TableEntry::batch);
    if (entry != table.end()) {
      const Candidate& deployed = batch_result(entry->batch).arms.front().candidate;
      *entry = {entry->batch, deployed.name, deployed.waves.num_splits};
      continue;
    }
    const std::vector<std::int32_t> again = batches_to_measure_again(*decision, measured_again);
    if (again.empty()) return conclude(std::move(input), std::move(*decision));
    WAVEFILL_RETURN_IF_ERROR(measure_again(table, again));
    if (result_.cancelled) return {};
    measured_again.insert(measured_again.end(), again.begin(), again.end());
  }
}

// With all the time that is left.
Status Tuner::measure_again(const std::vector<TableEntry>& table, const std::vector<std::int32_t>& batches) {
  const double end_us = start_us_ + request_.budget_us;
  for (std::size_t i = 0; i < batches.size() && !result_.cancelled; ++i) {
    const auto entry = std::ranges::find(table, batches[i], &TableEntry::batch);
    const double now_us = workbench_.now_us();
    const double share_us = std::max(0.0, end_us - now_us) / static_cast<double>(batches.size() - i);
    WAVEFILL_RETURN_IF_ERROR(
        confirm_batch(Phase::dip, *entry, static_cast<std::int32_t>(i), now_us + share_us));
  }
  return {};
}

}  // namespace wavefill
