#include "tune/judged_evidence.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.h"

namespace wavefill {
namespace {

Status check_samples(const Evidence& evidence) {
  for (const TimedSample& sample : evidence.samples) {
    if (!std::isfinite(sample.us) || sample.us <= 0.0) {
      return invalid_argument("a time of {} at batch {} is {} us; allowed: finite and > 0", evidence.setting,
                              evidence.batch, sample.us);
    }
  }
  if (evidence.batch < 1) {
    return invalid_argument("a batch of {} is {}; allowed: >= 1", evidence.setting, evidence.batch);
  }
  return {};
}

double median_us(const Evidence& evidence) {
  if (evidence.samples.empty()) return 0.0;
  std::vector<double> us;
  for (const TimedSample& sample : evidence.samples) us.push_back(sample.us);
  return median(us);
}

void merge_into(Evidence& known, const Evidence& more) {
  known.samples.insert(known.samples.end(), more.samples.begin(), more.samples.end());
  if (known.verified && !more.verified) known.failure = more.failure;
  known.verified = known.verified && more.verified;
  if (known.num_splits == 0) known.num_splits = more.num_splits;
  if (known.num_waves == 0) known.num_waves = more.num_waves;
  if (known.clock_mhz == 0.0) known.clock_mhz = more.clock_mhz;
}

bool names(const Evidence& evidence, std::string_view setting) {
  return evidence.setting == setting ||
         std::ranges::find(evidence.aliases, setting) != evidence.aliases.end();
}

double noise_at(const DecisionInput& input, std::int32_t batch, const JudgedCell* deployed) {
  if (deployed == nullptr || !deployed->usable()) return 0.0;
  for (const Evidence& again : input.deployed_again) {
    if (again.batch != batch || again.samples.empty()) continue;
    return noise_floor(compare(deployed->evidence.samples, again.samples, input.rule));
  }
  return 0.0;
}

}  // namespace

Result<JudgedEvidence> JudgedEvidence::make(const DecisionInput& input) {
  JudgedEvidence judged;
  judged.deployed_ = input.deployed;
  WAVEFILL_RETURN_IF_ERROR(judged.add_cells(input));
  judged.set_batches(input);
  WAVEFILL_RETURN_IF_ERROR(judged.set_weights(input));
  judged.judge_cells(input);
  return judged;
}

Status JudgedEvidence::add_cells(const DecisionInput& input) {
  bool has_deployed = false;
  for (const Evidence& evidence : input.evidence) {
    WAVEFILL_RETURN_IF_ERROR(check_samples(evidence));
    has_deployed = has_deployed || (names(evidence, input.deployed) && !evidence.samples.empty());
    const auto [at, is_new] = cell_of_.try_emplace({evidence.setting, evidence.batch}, cells_.size());
    if (is_new) {
      cells_.push_back({});
      cells_.back().evidence = evidence;
    } else {
      merge_into(cells_[at->second].evidence, evidence);
    }
    std::vector<std::string> all_names = {evidence.setting};
    all_names.insert(all_names.end(), evidence.aliases.begin(), evidence.aliases.end());
    for (const std::string& name : all_names) {
      cell_of_.try_emplace({name, evidence.batch}, at->second);
      if (std::ranges::find(settings_, name) == settings_.end()) settings_.push_back(name);
    }
  }
  if (!has_deployed) {
    return invalid_argument("the deployed setting {} has no measurement; measured: {}", input.deployed,
                            fmt::join(settings_, ", "));
  }
  return {};
}

void JudgedEvidence::set_batches(const DecisionInput& input) {
  std::set<std::int32_t> batches(input.batches.begin(), input.batches.end());
  if (input.batches.empty()) {
    for (const JudgedCell& cell : cells_) batches.insert(cell.evidence.batch);
  }
  batches_.assign(batches.begin(), batches.end());
}

Status JudgedEvidence::set_weights(const DecisionInput& input) {
  double sum = 0.0;
  for (const WorkloadWeight& weight : input.workload) {
    if (!std::isfinite(weight.weight) || weight.weight < 0.0) {
      return invalid_argument("the weight of batch {} is {}; allowed: finite and >= 0", weight.batch,
                              weight.weight);
    }
    if (!std::ranges::binary_search(batches_, weight.batch)) continue;
    weights_[weight.batch] += weight.weight;
    sum += weight.weight;
  }
  if (sum <= 0.0 && !input.workload.empty()) {
    return invalid_argument("no batch of the workload was measured; measured: {}", fmt::join(batches_, ", "));
  }
  for (const std::int32_t batch : batches_) {
    if (input.workload.empty())
      weights_[batch] = 1.0 / static_cast<double>(batches_.size());
    else
      weights_[batch] /= sum;
  }
  return {};
}

void JudgedEvidence::judge_cells(const DecisionInput& input) {
  std::map<std::int32_t, double> noise;
  for (const std::int32_t batch : batches_) noise[batch] = noise_at(input, batch, deployed(batch));
  std::vector<SamplePair> family;
  std::vector<double> family_noise;
  std::vector<JudgedCell*> members;
  for (JudgedCell& cell : cells_) {
    cell.median_us = median_us(cell.evidence);
    cell.noise = noise[cell.evidence.batch];
    if (cell.usable()) scatter_.add(cell.evidence.samples);
    const JudgedCell* baseline = deployed(cell.evidence.batch);
    cell.is_deployed = &cell == baseline;
    if (cell.is_deployed && cell.usable()) cell.verdict = Verdict::same;
    if (cell.is_deployed || !cell.usable() || baseline == nullptr || !baseline->usable()) continue;
    family.push_back({.baseline = baseline->evidence.samples, .candidate = cell.evidence.samples});
    family_noise.push_back(cell.noise);
    members.push_back(&cell);
  }
  const std::vector<Effect> effects = compare_family(family, scatter_, input.rule);
  const std::vector<Verdict> verdicts = judge(effects, family_noise, input.rule);
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i]->effect = effects[i];
    members[i]->verdict = verdicts[i];
  }
}

const JudgedCell* JudgedEvidence::find(std::string_view setting, std::int32_t batch) const {
  const auto found = cell_of_.find({std::string(setting), batch});
  return found == cell_of_.end() ? nullptr : &cells_[found->second];
}

double JudgedEvidence::weight(std::int32_t batch) const {
  const auto found = weights_.find(batch);
  return found == weights_.end() ? 0.0 : found->second;
}

}  // namespace wavefill
