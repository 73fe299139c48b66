#include "tune/tune_evidence.h"

#include <algorithm>

#include "core/errors.h"

namespace wavefill {
namespace {

// More rounds than a phase can have.
constexpr std::int32_t kRoundsPerPhase = 1'000'000;

Evidence evidence_of(const ArmResult& arm, const BatchResult& batch) {
  Evidence evidence;
  evidence.setting = arm.candidate.name;
  evidence.aliases = arm.candidate.aliases;
  evidence.batch = batch.batch;
  evidence.samples = arm.samples;
  evidence.verified = arm.verified;
  evidence.failure = arm.verification.message;
  evidence.num_splits = arm.candidate.waves.num_splits;
  evidence.num_waves = arm.candidate.waves.num_waves;
  evidence.clock_mhz = batch.clock_mhz;
  return evidence;
}

Evidence* find_evidence(DecisionInput& input, std::string_view setting, std::int32_t batch) {
  const auto found = std::ranges::find_if(input.evidence, [&](const Evidence& evidence) {
    return evidence.batch == batch && evidence.setting == setting;
  });
  return found == input.evidence.end() ? nullptr : &*found;
}

void append(std::vector<TimedSample>& samples, const std::vector<TimedSample>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

const ConfirmResult* find_confirmed(const std::vector<ConfirmResult>& confirmed, std::int32_t batch) {
  const auto found = std::ranges::find(confirmed, batch, &ConfirmResult::batch);
  return found == confirmed.end() ? nullptr : &*found;
}

// The samples by which `decision` was made at a batch.
const Evidence* decisive_evidence(const DecisionInput& input, const Decision& decision,
                                  const TableEntry& entry) {
  const std::string_view names[] = {decision.decision, entry.setting};
  for (const std::string_view name : names) {
    for (const Evidence& evidence : input.evidence) {
      if (evidence.batch == entry.batch && evidence.setting == name) return &evidence;
    }
  }
  return nullptr;
}

}  // namespace

std::int32_t round_in_phase(Phase phase, std::int32_t round) {
  return static_cast<std::int32_t>(phase) * kRoundsPerPhase + round;
}

DecisionInput search_evidence(const TuneRequest& request, const std::vector<BatchResult>& batches) {
  DecisionInput input;
  input.deployed = to_string(request.deployed);
  input.workload = request.workload;
  input.rule = request.verdict;
  for (const BatchResult& batch : batches) {
    // A batch at which nothing could be measured is not served by the result.
    const bool measured = !batch.arms.front().samples.empty();
    if (measured) input.batches.push_back(batch.batch);
    for (const ArmResult& arm : batch.arms) {
      if (measured) input.evidence.push_back(evidence_of(arm, batch));
    }
    Evidence again;
    again.setting = input.deployed;
    again.batch = batch.batch;
    again.samples = batch.a_a_samples;
    input.deployed_again.push_back(std::move(again));
  }
  return input;
}

DecisionInput full_evidence(const TuneRequest& request, const std::vector<BatchResult>& batches,
                            const std::vector<ConfirmResult>& confirmed, const std::vector<TableEntry>& table,
                            const std::vector<std::int32_t>& measured_again) {
  DecisionInput input = search_evidence(request, batches);
  input.table = table;
  input.table_only = true;
  input.measured_again = measured_again;
  for (const TableEntry& entry : table) {
    const auto batch = std::ranges::find(batches, entry.batch, &BatchResult::batch);
    Evidence* deployed = find_evidence(input, batch->arms.front().candidate.name, entry.batch);
    const ConfirmResult* again = find_confirmed(confirmed, entry.batch);
    if (deployed == nullptr) continue;
    if (again != nullptr) append(deployed->samples, again->deployed_samples);
    if (entry.setting == deployed->setting) {
      deployed->aliases.emplace_back(kPerBatchTable);
      continue;
    }
    const Evidence* measured = find_evidence(input, entry.setting, entry.batch);
    if (measured == nullptr || again == nullptr) continue;
    Evidence whole = *measured;
    whole.setting = kPerBatchTable;
    whole.aliases.clear();
    whole.samples = again->samples;
    whole.clock_mhz = again->clock_mhz;  // of these samples; the search may have had other clocks
    input.evidence.push_back(std::move(whole));
  }
  return input;
}

void mark_arms(const Decision& decision, std::vector<BatchResult>& batches) {
  for (BatchResult& batch : batches) {
    for (std::size_t i = 0; i < batch.arms.size(); ++i) {
      ArmResult& arm = batch.arms[i];
      for (const VerdictRow& row : decision.verdicts) {
        if (row.batch == batch.batch && row.setting == arm.candidate.name) arm.verdict = row.verdict;
      }
      for (const TableEntry& entry : decision.table) {
        if (entry.batch == batch.batch && entry.setting == arm.candidate.name) batch.chosen_idx = i;
      }
    }
  }
}

Result<Profile> profile_of(const ProfileKey& key, const DecisionInput& input, const Decision& decision) {
  std::vector<ProfileEntry> entries;
  for (const TableEntry& entry : decision.table) {
    const Evidence* evidence = decisive_evidence(input, decision, entry);
    if (evidence == nullptr || evidence->samples.empty()) {
      return make_status(StatusCode::internal, "{} was chosen at batch {} without a sample", entry.setting,
                         entry.batch);
    }
    auto setting = parse_setting(entry.setting);
    if (!setting.ok()) return setting.status();
    std::vector<double> us;
    for (const TimedSample& sample : evidence->samples) us.push_back(sample.us);
    const Interval interval = median_interval(us, {.confidence = 0.95, .resamples = 2000, .seed = 1});
    entries.push_back({.batch = entry.batch,
                       .setting = *setting,
                       .us = median(us),
                       .us_low = interval.low,
                       .us_high = interval.high,
                       .samples = static_cast<std::int32_t>(us.size())});
  }
  return Profile(key, std::move(entries));
}

}  // namespace wavefill
