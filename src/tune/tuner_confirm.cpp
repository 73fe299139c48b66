// Measuring the chosen table once more as a whole, and taking back what does not hold.
#include <algorithm>

#include "core/errors.h"
#include "tune/tune_evidence.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

// The batches at which the second measurement does not bear out the table's entry, or is too coarse to say
// that nothing is lost: one such batch would refuse the whole table.
std::vector<std::int32_t> unconfirmed_batches(const Decision& decision, const VerdictRule& rule) {
  std::vector<std::int32_t> batches;
  for (const VerdictRow& row : decision.verdicts) {
    const bool gains = row.effect.effect > 0.0 && row.verdict != Verdict::same &&
                       row.verdict != Verdict::slower && excludes_loss(row.effect, rule);
    if (row.setting == kPerBatchTable && !gains) batches.push_back(row.batch);
  }
  return batches;
}

// The batches on both sides of every fall of throughput that the table introduces, those already measured
// again left out.
std::vector<std::int32_t> batches_to_measure_again(const Decision& decision,
                                                   const std::vector<std::int32_t>& already) {
  std::vector<std::int32_t> batches;
  for (const Dip& dip : decision.dips) {
    if (dip.setting != kPerBatchTable || !dip.introduced || dip.out_of_time) continue;
    for (const std::int32_t batch : {dip.batch_before, dip.batch}) {
      if (std::ranges::find(already, batch) == already.end()) batches.push_back(batch);
    }
  }
  std::ranges::sort(batches);
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

TableEntry deployed_entry(const BatchResult& batch) {
  const Candidate& deployed = batch.arms.front().candidate;
  return {batch.batch, deployed.name, deployed.waves.num_splits};
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
  if (phase == Phase::confirm) {
    spec.last_deadline_us = start_us_ + request_.budget_us * (kSearchShare + kConfirmShare);
  }
  // The deployed setting alone has nothing to be compared with: a few rounds say what the table does here.
  if (arms.size() == 1) spec.max_samples = request_.stop.min_samples;
  auto outcome = measure_arms(context(), spec, std::move(arms));
  if (!outcome.ok()) return outcome.status();
  result_.cancelled = result_.cancelled || outcome->cancelled;
  result_.reused_measurements += outcome->from_earlier;
  ConfirmResult confirmed;
  confirmed.batch = entry.batch;
  confirmed.setting = entry.setting;
  confirmed.rounds = outcome->rounds;
  confirmed.contaminated_rounds = outcome->contaminated_rounds;
  confirmed.contamination = outcome->contamination;
  confirmed.clock_mhz = outcome->clock_mhz;
  for (Arm& arm : outcome->arms) {
    for (TimedSample& sample : arm.samples) sample.round = round_in_phase(phase, sample.round);
    if (arm.candidate->is_deployed) confirmed.deployed_samples = arm.samples;
    if (arm.candidate->name == entry.setting) confirmed.samples = std::move(arm.samples);
  }
  const auto before = std::ranges::find(result_.confirmed, entry.batch, &ConfirmResult::batch);
  if (before != result_.confirmed.end()) {
    confirmed.rounds += before->rounds;
    confirmed.contaminated_rounds += before->contaminated_rounds;
    if (confirmed.contamination.empty()) confirmed.contamination = before->contamination;
    result_.confirmed.erase(before);
  }
  result_.confirmed.push_back(std::move(confirmed));
  return {};
}

// What the table changes comes first. A winner that there is no time to measure again is not served; where
// the deployed setting stays, its samples of the search will do.
Status Tuner::confirm(std::vector<TableEntry> table) {
  phase_start_us_ = workbench_.now_us();
  const double end_us = start_us_ + request_.budget_us;
  const double phase_deadline_us = start_us_ + request_.budget_us * (kSearchShare + kConfirmShare);
  std::vector<TableEntry*> order;
  for (TableEntry& entry : table) order.push_back(&entry);
  std::ranges::reverse(order);  // as in the search: where time ends, throughput rises with the batch
  const auto changes = [this](const TableEntry* entry) {
    return entry->setting != batch_result(entry->batch).arms.front().candidate.name;
  };
  std::stable_partition(order.begin(), order.end(), changes);
  std::vector<std::int32_t> left;
  for (const TableEntry* entry : order) left.push_back(entry->batch);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double now_us = workbench_.now_us();
    if (now_us >= (changes(order[i]) ? end_us : phase_deadline_us)) {
      if (changes(order[i])) note_shortfall(order[i]->batch);
      *order[i] = deployed_entry(batch_result(order[i]->batch));
      continue;
    }
    const double deadline_us = share_deadline(phase_deadline_us, std::span(left).subspan(i));
    WAVEFILL_RETURN_IF_ERROR(
        confirm_batch(Phase::confirm, *order[i], static_cast<std::int32_t>(i), deadline_us));
    if (result_.cancelled) return {};
  }
  return settle(std::move(table));
}

// Of the batches without a verdict, those at which the table keeps the deployed setting.
std::vector<std::int32_t> Tuner::out_of_time(const std::vector<TableEntry>& table) {
  std::vector<std::int32_t> batches;
  for (const TableEntry& entry : table) {
    const std::vector<std::int32_t>& without = result_.shortfall.batches;
    const bool keeps = entry == deployed_entry(batch_result(entry.batch));
    if (keeps && std::ranges::find(without, entry.batch) != without.end()) batches.push_back(entry.batch);
  }
  return batches;
}

// Each turn takes entries back to the deployed setting, which was measured beside them, or measures some
// batches again, each at most once: so this ends, at worst with no change at all.
Status Tuner::settle(std::vector<TableEntry> table) {
  std::vector<std::int32_t> measured_again;
  for (;;) {
    DecisionInput input = full_evidence(request_, result_.batches, result_.confirmed, table, measured_again);
    input.out_of_time = out_of_time(table);
    auto decision = decide(input);
    if (!decision.ok()) return decision.status();
    const std::vector<std::int32_t> unconfirmed = unconfirmed_batches(*decision, input.rule);
    for (TableEntry& entry : table) {
      if (std::ranges::find(unconfirmed, entry.batch) == unconfirmed.end()) continue;
      entry = deployed_entry(batch_result(entry.batch));
    }
    if (!unconfirmed.empty()) continue;
    const std::vector<std::int32_t> again = batches_to_measure_again(*decision, measured_again);
    if (again.empty()) return conclude(std::move(input), std::move(*decision));
    for (std::size_t i = 0; i < again.size(); ++i) {
      const auto place = static_cast<std::int32_t>(i);
      WAVEFILL_RETURN_IF_ERROR(
          measure_again(*std::ranges::find(table, again[i], &TableEntry::batch), place, again.size() - i));
      if (result_.cancelled) return {};
      measured_again.push_back(again[i]);
    }
  }
}

// `left`: batches that share the time that is left, this one among them. Without any, a few rounds are
// measured all the same: a fall that nobody has looked at again would refuse the whole table.
Status Tuner::measure_again(const TableEntry& entry, std::int32_t place, std::size_t left) {
  const double now_us = workbench_.now_us();
  const double left_us = std::max(0.0, start_us_ + request_.budget_us - now_us);
  return confirm_batch(Phase::dip, entry, place, now_us + left_us / static_cast<double>(left));
}

}  // namespace wavefill
