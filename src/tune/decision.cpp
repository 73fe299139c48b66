#include "tune/decision.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "tune/assessment.h"

namespace wavefill {
namespace {

// What a difference of two weighted gains must exceed to mean something.
double weighted_noise(const JudgedEvidence& evidence, const VerdictRule& rule) {
  double noise = 0.0;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.deployed(batch);
    noise += evidence.weight(batch) * std::max(rule.min_effect, cell == nullptr ? 0.0 : cell->noise);
  }
  return noise;
}

// Highest gain; within noise of it the per-batch table, whose ties were broken batch by batch; then the
// fewest splits; then the one named first. nullptr: none is admissible.
const Assessment* choose(const std::vector<Assessment>& assessments, double noise) {
  const Assessment* best = nullptr;
  for (const Assessment& candidate : assessments) {
    if (!candidate.rejected && (best == nullptr || candidate.gain > best->gain)) best = &candidate;
  }
  if (best == nullptr) return nullptr;
  const auto rank = [](const Assessment& a) {
    return std::pair(a.setting != kPerBatchTable, a.total_splits == 0 ? INT64_MAX : a.total_splits);
  };
  const Assessment* chosen = best;
  for (const Assessment& candidate : assessments) {
    if (candidate.rejected || candidate.gain < best->gain - noise) continue;
    if (rank(candidate) < rank(*chosen)) chosen = &candidate;
  }
  return chosen;
}

Rejected lost_to(const Assessment& loser, const Assessment& chosen, double noise) {
  const bool tied = loser.gain >= chosen.gain - noise;
  return {
      .setting = loser.setting,
      .reason = tied ? RejectReason::more_splits : RejectReason::less_gain,
      .batch = 0,
      .effect = loser.gain,
      .detail = fmt::format("{} weighted gain; {} has {}{}", percent(loser.gain), chosen.setting,
                            percent(chosen.gain), tied ? ", within noise, and is preferred on ties" : "")};
}

std::vector<TableEntry> table_of(const JudgedEvidence& evidence, std::string_view setting) {
  std::vector<TableEntry> table;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell == nullptr || !cell->usable()) continue;
    table.push_back({batch, cell->evidence.setting, cell->evidence.num_splits});
  }
  return table;
}

// FASTER than the deployed and, within noise of the best such, with the fewest splits.
const JudgedCell* best_cell(const JudgedEvidence& evidence, std::int32_t batch, const VerdictRule& rule) {
  std::vector<const JudgedCell*> faster;
  for (const JudgedCell& cell : evidence.cells()) {
    const bool here = cell.evidence.batch == batch && cell.evidence.setting != kPerBatchTable;
    if (here && cell.usable() && cell.verdict == Verdict::faster) faster.push_back(&cell);
  }
  if (faster.empty()) return evidence.deployed(batch);
  const auto by_effect = [](const JudgedCell* cell) { return cell->effect.effect; };
  const JudgedCell* best = *std::ranges::max_element(faster, {}, by_effect);
  // Among so few samples the best is the luckiest as well: what it leads by is not worth more splits.
  const bool is_few = std::cmp_less(best->evidence.samples.size(), rule.min_samples);
  const double margin = is_few ? rule.assumed_noise : std::max(best->noise, rule.min_effect);
  const JudgedCell* chosen = best;
  for (const JudgedCell* cell : faster) {
    // Of throughputs, not of gains: noise is relative to what is measured, however slow the deployed setting
    // is.
    const bool tied = 1.0 + cell->effect.effect >= (1.0 + best->effect.effect) * (1.0 - margin);
    const bool fewer =
        cell->evidence.num_splits > 0 && cell->evidence.num_splits < chosen->evidence.num_splits;
    if (tied && fewer) chosen = cell;
  }
  return chosen;
}

std::vector<TableEntry> best_table(const JudgedEvidence& evidence, const VerdictRule& rule) {
  std::vector<TableEntry> table;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = best_cell(evidence, batch, rule);
    if (cell == nullptr || !cell->usable()) continue;
    table.push_back({batch, cell->evidence.setting, cell->evidence.num_splits});
  }
  return table;
}

bool gains_over_deployed(const JudgedEvidence& evidence, const std::vector<TableEntry>& table) {
  return std::ranges::any_of(table, [&](const TableEntry& entry) {
    const JudgedCell* cell = evidence.find(entry.setting, entry.batch);
    return cell != nullptr && !cell->is_deployed;
  });
}

// Of the settings that only lack samples, the one that would gain most; none if the decision gains as much.
std::optional<NextMeasurement> more_samples(const JudgedEvidence& evidence, const DecisionInput& input,
                                            const std::vector<Assessment>& assessments, double gain) {
  const Assessment* best = nullptr;
  for (const Assessment& candidate : assessments) {
    if (!candidate.rejected || candidate.rejected->reason != RejectReason::undecided) continue;
    if (candidate.gain > (best == nullptr ? gain : best->gain)) best = &candidate;
  }
  if (best == nullptr) return std::nullopt;
  NextMeasurement next{
      .setting = best->setting,
      .table = {},
      .reason = fmt::format("{} weighted gain, but {}", percent(best->gain), best->rejected->detail)};
  for (const std::int32_t batch : unguarded_batches(evidence, input.rule, best->setting)) {
    next.table.push_back({batch, best->setting, evidence.find(best->setting, batch)->evidence.num_splits});
  }
  return next;
}

// The deployed setting where it lacks and a setting gains elsewhere: without it no batch of these can be
// judged.
std::optional<NextMeasurement> missing_deployed(const JudgedEvidence& evidence, const DecisionInput& input,
                                                const std::vector<Assessment>& assessments) {
  const std::vector<std::int32_t> batches = batches_without_deployed(evidence);
  const bool would_help = std::ranges::any_of(assessments, [](const Assessment& a) {
    return a.gain > 0.0 && a.rejected && a.rejected->reason == RejectReason::not_measured;
  });
  if (batches.empty() || !would_help) return std::nullopt;
  NextMeasurement next{
      .setting = input.deployed,
      .table = {},
      .reason = fmt::format("deployed, but never measured at batch {}: nothing can be compared there",
                            batches.front())};
  for (const std::int32_t batch : batches) next.table.push_back({batch, input.deployed, 0});
  return next;
}

std::optional<NextMeasurement> next_measurement(const JudgedEvidence& evidence, const DecisionInput& input,
                                                const std::vector<Assessment>& assessments,
                                                const Decision& decision) {
  if (auto next = missing_deployed(evidence, input, assessments)) return next;
  if (auto next = more_samples(evidence, input, assessments, decision.weighted_gain)) return next;
  const std::vector<TableEntry> best = best_table(evidence, input.rule);
  const bool measured_as_whole = evidence.find(kPerBatchTable, evidence.batches().front()) != nullptr;
  if (!measured_as_whole && best != decision.table && gains_over_deployed(evidence, best)) {
    return NextMeasurement{.setting = std::string(kPerBatchTable),
                           .table = best,
                           .reason = "each batch's own winner; the table as a whole has not been measured"};
  }
  for (const Rejected& rejected : decision.rejected) {
    NextMeasurement next;
    next.setting = rejected.setting;
    if (rejected.reason == RejectReason::not_measured && rejected.effect > 0.0) {
      next.reason = fmt::format("{} weighted gain where it was measured; batch {} is missing",
                                percent(rejected.effect), rejected.batch);
      return next;
    }
    if (rejected.reason == RejectReason::dip) {
      next.reason = rejected.detail + "; measure both batches again";
      return next;
    }
  }
  return std::nullopt;
}

std::vector<Rejected> unmeasured_proposals(const JudgedEvidence& evidence, const DecisionInput& input) {
  std::vector<Rejected> rejected;
  for (const Proposal& proposal : input.proposals) {
    const JudgedCell* cell = evidence.find(proposal.setting, proposal.batch);
    if (cell != nullptr && !cell->evidence.samples.empty()) continue;
    rejected.push_back({.setting = proposal.setting,
                        .reason = RejectReason::not_measured,
                        .batch = proposal.batch,
                        .effect = 0.0,
                        .detail = fmt::format("{} was proposed by {} for batch {}, but never measured there",
                                              proposal.setting, proposal.source, proposal.batch),
                        .num_splits = proposal.num_splits});
  }
  return rejected;
}

std::string summary_of(const Decision& decision, const DecisionInput& input) {
  if (decision.keeps_deployed) {
    return fmt::format("keep {}: none of {} other settings is admissible and faster", input.deployed,
                       decision.rejected.size());
  }
  return fmt::format("{} instead of {}: {} weighted throughput, slower nowhere", decision.decision,
                     input.deployed, percent(decision.weighted_gain));
}

std::vector<VerdictRow> verdict_rows(const JudgedEvidence& evidence) {
  std::vector<VerdictRow> rows;
  for (const JudgedCell& cell : evidence.cells()) {
    rows.push_back({.setting = cell.evidence.setting,
                    .batch = cell.evidence.batch,
                    .verdict = cell.verdict,
                    .effect = cell.effect,
                    .noise = cell.noise,
                    .median_us = cell.median_us,
                    .samples = static_cast<std::int32_t>(cell.evidence.samples.size()),
                    .num_splits = cell.evidence.num_splits});
  }
  std::ranges::stable_sort(rows, {}, [](const VerdictRow& row) { return std::tie(row.setting, row.batch); });
  return rows;
}

}  // namespace

double weight_of(std::span<const WorkloadWeight> workload, std::int32_t batch) {
  if (workload.empty()) return 1.0;
  double sum = 0.0;
  for (const WorkloadWeight& weight : workload) sum += weight.batch == batch ? weight.weight : 0.0;
  return sum;
}

std::string_view to_string(RejectReason reason) {
  switch (reason) {
    case RejectReason::slower: return "slower";
    case RejectReason::undecided: return "undecided";
    case RejectReason::unverified: return "unverified";
    case RejectReason::dip: return "dip";
    case RejectReason::not_measured: return "not_measured";
    case RejectReason::no_gain: return "no_gain";
    case RejectReason::less_gain: return "less_gain";
    case RejectReason::more_splits: return "more_splits";
    case RejectReason::unconfirmed: return "unconfirmed";
  }
  return "no_gain";
}

Result<Decision> decide(const DecisionInput& input) {
  const auto evidence = JudgedEvidence::make(input);
  if (!evidence.ok()) return evidence.status();
  std::vector<Assessment> assessments;
  for (const std::string& setting : evidence->settings()) {
    if (setting != input.deployed) assessments.push_back(assess(*evidence, input, setting));
  }
  const double noise = weighted_noise(*evidence, input.rule);
  const Assessment* chosen = choose(assessments, noise);

  Decision decision;
  decision.keeps_deployed = chosen == nullptr;
  decision.decision = chosen == nullptr ? input.deployed : chosen->setting;
  decision.weighted_gain = chosen == nullptr ? 0.0 : chosen->gain;
  decision.dips = find_dips(*evidence, input.deployed, input);
  for (const Assessment& assessment : assessments) {
    decision.dips.insert(decision.dips.end(), assessment.dips.begin(), assessment.dips.end());
    if (&assessment == chosen) continue;
    decision.rejected.push_back(assessment.rejected ? *assessment.rejected
                                                    : lost_to(assessment, *chosen, noise));
    // How much a setting with gaps gained where it was measured says whether the gaps are worth filling.
    Rejected& last = decision.rejected.back();
    if (last.reason == RejectReason::not_measured) last.effect = assessment.gain;
  }
  for (Rejected& proposal : unmeasured_proposals(*evidence, input)) {
    decision.rejected.push_back(std::move(proposal));
  }
  const bool is_known_table = decision.decision == kPerBatchTable && !input.table.empty();
  decision.table = is_known_table ? input.table : table_of(*evidence, decision.decision);
  decision.verdicts = verdict_rows(*evidence);
  decision.at_face_value =
      std::ranges::any_of(decision.verdicts, [](const VerdictRow& row) { return row.effect.at_face_value; });
  decision.next = next_measurement(*evidence, input, assessments, decision);
  decision.summary = summary_of(decision, input);
  return decision;
}

Result<std::vector<TableEntry>> best_per_batch(const DecisionInput& input) {
  const auto evidence = JudgedEvidence::make(input);
  if (!evidence.ok()) return evidence.status();
  return best_table(*evidence, input.rule);
}

}  // namespace wavefill
