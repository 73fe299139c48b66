#include "tune/assessment.h"

#include <algorithm>

#include "core/errors.h"

namespace wavefill {
namespace {

// Doubtful losses count and doubtful gains do not: a setting has to earn its place.
double counted_effect(const JudgedCell& cell) {
  switch (cell.verdict) {
    case Verdict::faster:
    case Verdict::slower: return cell.effect.effect;
    case Verdict::same: return 0.0;
    case Verdict::undecided: return std::min(0.0, cell.effect.effect);
  }
  return 0.0;
}

double weighted_gain(const JudgedEvidence& evidence, std::string_view setting) {
  double gain = 0.0;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell != nullptr) gain += evidence.weight(batch) * counted_effect(*cell);
  }
  return gain;
}

std::int64_t total_splits(const JudgedEvidence& evidence, std::string_view setting) {
  std::int64_t total = 0;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell == nullptr || cell->evidence.num_splits == 0) return 0;
    total += cell->evidence.num_splits;
  }
  return total;
}

std::optional<Rejected> wrong_output(const JudgedEvidence& evidence, std::string_view setting) {
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell == nullptr || cell->evidence.verified) continue;
    return Rejected{.setting = std::string(setting),
                    .reason = RejectReason::unverified,
                    .batch = batch,
                    .effect = 0.0,
                    .detail = fmt::format("its output at batch {} failed verification: {}", batch,
                                          cell->evidence.failure)};
  }
  return std::nullopt;
}

// Where a loss counts: at the batches that have weight, and at all that a per-batch table names.
bool matters(const JudgedEvidence& evidence, std::string_view setting, std::int32_t batch) {
  return setting == kPerBatchTable || evidence.weight(batch) > 0.0;
}

// The worst of the batches that matter and where the setting loses, whether or not the verdict can say so
// among as many comparisons.
std::optional<Rejected> regression(const JudgedEvidence& evidence, const VerdictRule& rule,
                                   std::string_view setting) {
  const JudgedCell* worst = nullptr;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell == nullptr || !matters(evidence, setting, batch)) continue;
    if (cell->verdict != Verdict::slower && !is_loss(cell->effect, cell->noise, rule)) continue;
    if (worst == nullptr || cell->effect.effect < worst->effect.effect) worst = cell;
  }
  if (worst == nullptr) return std::nullopt;
  const std::int32_t batch = worst->evidence.batch;
  return Rejected{.setting = std::string(setting),
                  .reason = RejectReason::slower,
                  .batch = batch,
                  .effect = worst->effect.effect,
                  .detail = fmt::format("{} throughput at batch {}", percent(worst->effect.effect), batch)};
}

std::optional<Rejected> unmeasured(const JudgedEvidence& evidence, std::string_view setting) {
  Rejected rejected{.setting = std::string(setting),
                    .reason = RejectReason::not_measured,
                    .batch = 0,
                    .effect = 0.0,
                    .detail = ""};
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell != nullptr && cell->usable()) continue;
    rejected.batch = batch;
    rejected.detail = fmt::format("never measured at batch {}, which it would serve", batch);
    return rejected;
  }
  for (const std::int32_t batch : batches_without_deployed(evidence)) {
    if (!matters(evidence, setting, batch)) continue;
    rejected.batch = batch;
    rejected.detail = fmt::format(
        "the deployed setting was never measured at batch {}, "
        "so nothing says that this one loses nothing there",
        batch);
    return rejected;
  }
  return std::nullopt;
}

// Of the batches at which the guard is not passed for want of samples, the one that may lose most.
std::optional<Rejected> undecided(const JudgedEvidence& evidence, const VerdictRule& rule,
                                  const std::string& setting) {
  const JudgedCell* worst = nullptr;
  for (const std::int32_t batch : unguarded_batches(evidence, rule, setting)) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (worst == nullptr || cell->effect.interval.low < worst->effect.interval.low) worst = cell;
  }
  if (worst == nullptr) return std::nullopt;
  const Effect& effect = worst->effect;
  return Rejected{
      .setting = setting,
      .reason = RejectReason::undecided,
      .batch = worst->evidence.batch,
      .effect = effect.effect,
      .detail = fmt::format("between {} and {} throughput at batch {}: the samples do not exclude "
                            "a loss beyond {:.1f} %",
                            percent(effect.interval.low), percent(effect.interval.high),
                            worst->evidence.batch, rule.max_loss * 100.0)};
}

std::optional<Rejected> falling(const std::vector<Dip>& dips) {
  const auto dip = std::ranges::find_if(
      dips, [](const Dip& d) { return d.introduced && !d.measured_again && !d.out_of_time; });
  if (dip == dips.end()) return std::nullopt;
  return Rejected{.setting = dip->setting,
                  .reason = RejectReason::dip,
                  .batch = dip->batch,
                  .effect = dip->effect,
                  .detail = fmt::format("throughput falls by {:.1f} % from batch {} to {}; likely cause: {}",
                                        -dip->effect * 100.0, dip->batch_before, dip->batch, dip->cause)};
}

std::optional<Rejected> gainless(const JudgedEvidence& evidence, std::string_view setting, double gain) {
  const bool faster_somewhere = std::ranges::any_of(evidence.batches(), [&](std::int32_t batch) {
    const JudgedCell* cell = evidence.find(setting, batch);
    return cell != nullptr && cell->verdict == Verdict::faster && evidence.weight(batch) > 0.0;
  });
  if (faster_somewhere && gain > 0.0) return std::nullopt;
  return Rejected{.setting = std::string(setting),
                  .reason = RejectReason::no_gain,
                  .batch = 0,
                  .effect = gain,
                  .detail = faster_somewhere ? "what it may lose outweighs what it gains"
                                             : "not FASTER at any batch that has weight"};
}

}  // namespace

std::string percent(double effect) { return fmt::format("{:+.1f} %", effect * 100.0); }

std::vector<std::int32_t> batches_without_deployed(const JudgedEvidence& evidence) {
  std::vector<std::int32_t> batches;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* deployed = evidence.deployed(batch);
    if (deployed == nullptr || !deployed->usable()) batches.push_back(batch);
  }
  return batches;
}

std::vector<std::int32_t> unguarded_batches(const JudgedEvidence& evidence, const VerdictRule& rule,
                                            std::string_view setting) {
  std::vector<std::int32_t> batches;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* cell = evidence.find(setting, batch);
    if (cell == nullptr || !matters(evidence, setting, batch)) continue;
    if (!excludes_loss(cell->effect, rule)) batches.push_back(batch);
  }
  return batches;
}

Assessment assess(const JudgedEvidence& evidence, const DecisionInput& input, const std::string& setting) {
  Assessment result;
  result.setting = setting;
  result.gain = weighted_gain(evidence, setting);
  result.total_splits = total_splits(evidence, setting);
  result.dips = find_dips(evidence, setting, input);
  result.rejected = wrong_output(evidence, setting);
  if (!result.rejected) result.rejected = regression(evidence, input.rule, setting);
  if (!result.rejected) result.rejected = unmeasured(evidence, setting);
  if (!result.rejected) result.rejected = falling(result.dips);
  if (!result.rejected) result.rejected = gainless(evidence, setting, result.gain);
  if (!result.rejected && input.table_only && setting != kPerBatchTable) {
    result.rejected = Rejected{.setting = setting,
                               .reason = RejectReason::unconfirmed,
                               .batch = 0,
                               .effect = result.gain,
                               .detail = "not measured a second time; its wins are in the per-batch table"};
  }
  if (!result.rejected) result.rejected = undecided(evidence, input.rule, setting);
  return result;
}

}  // namespace wavefill
