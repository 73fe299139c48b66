#include "cli/decide_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/files.h"
#include "cli/number_list.h"
#include "cli/sha256.h"
#include "core/errors.h"
#include "core/parse.h"
#include "plan/setting.h"
#include "tune/record_import.h"
#include "tune/wave_model.h"

namespace wavefill::cli {
namespace {

std::vector<std::int32_t> batches_of(const std::vector<Evidence>& evidence) {
  std::set<std::int32_t> batches;
  for (const Evidence& item : evidence) batches.insert(item.batch);
  return {batches.begin(), batches.end()};
}

std::vector<std::string> foreign_settings(const std::vector<Evidence>& evidence) {
  std::vector<std::string> foreign;
  for (const Evidence& item : evidence) {
    const bool is_profile = item.setting.starts_with(std::string(kPerBatchTable) + "=");
    const bool is_ours =
        is_profile || item.setting == kPerBatchTable || parse_unmeasured_setting(item.setting).ok();
    if (!is_ours && std::ranges::find(foreign, item.setting) == foreign.end())
      foreign.push_back(item.setting);
  }
  return foreign;
}

// "fixed=8@96"
Result<Proposal> parse_proposal(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || at == 0) {
    return invalid_argument("--propose is {}; allowed: SETTING@BATCH, as in fixed=8@96", quote_text(text));
  }
  const Result<std::int64_t> batch = parse_integer("--propose batch", text.substr(at + 1), 1, kMaxBatch);
  if (!batch.ok()) return batch.status();
  return Proposal{.setting = text.substr(0, at),
                  .batch = static_cast<std::int32_t>(*batch),
                  .source = "--propose",
                  .num_splits = 0};
}

Result<std::vector<Proposal>> parse_proposals(const std::vector<std::string>& texts) {
  std::vector<Proposal> proposals;
  for (const std::string& text : texts) {
    Result<Proposal> proposal = parse_proposal(text);
    if (!proposal.ok()) return proposal.status();
    proposals.push_back(*std::move(proposal));
  }
  return proposals;
}

// What the records name without a figure is proposed by them.
std::vector<Proposal> take_proposals(std::vector<Evidence>& evidence) {
  std::vector<Proposal> proposals;
  for (const Evidence& item : evidence) {
    if (!item.samples.empty()) continue;
    proposals.push_back(
        {.setting = item.setting, .batch = item.batch, .source = "the records", .num_splits = 0});
  }
  std::erase_if(evidence, [](const Evidence& item) { return item.samples.empty(); });
  return proposals;
}

// What is known of a setting whatever it ran on: fixed=N says its splits itself. 0 = unknown.
std::int32_t splits_said(const std::string& text) {
  const Result<Setting> setting = parse_unmeasured_setting(text);
  const bool is_fixed = setting.ok() && setting->kind == PolicyKind::fixed;
  return is_fixed ? static_cast<std::int32_t>(setting->value) : 0;
}

void add_said_splits(DecisionInput& input) {
  for (Evidence& item : input.evidence) item.num_splits = splits_said(item.setting);
  for (Proposal& proposal : input.proposals) proposal.num_splits = splits_said(proposal.setting);
}

// Of the proposals that were written, what plans say.
void annotate_proposals(const PlanTarget& target, const DecodeShape& shape,
                        std::vector<Proposal>& proposals) {
  std::vector<Evidence> planned;
  for (const Proposal& proposal : proposals) {
    planned.push_back({});
    planned.back().setting = proposal.setting;
    planned.back().batch = proposal.batch;
  }
  annotate_with_plans(target.device, target.kernel, shape, planned);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (planned[i].num_splits > 0) proposals[i].num_splits = planned[i].num_splits;
  }
}

// What the records were measured on. Errors: as judge_records().
Result<std::optional<MeasuredOn>> read_measured_on(const DecideOptions& options) {
  const bool has_device = !options.target.device.device.empty();
  if (has_device != is_given(options.shape)) {
    return invalid_argument("{} is given without {}; allowed: both or neither",
                            has_device ? "--device" : "a shape",
                            has_device ? "a shape (--model, or --heads and --topk)" : "--device");
  }
  if (!has_device) return std::optional<MeasuredOn>();
  const Result<NamedShape> named = read_shape(options.shape);
  if (!named.ok()) return named.status();
  Result<PlanTarget> target = read_plan_target(options.target, named->shape);
  if (!target.ok()) return target.status();
  return std::optional<MeasuredOn>({.target = *std::move(target), .shape = named->shape});
}

// What is known of settings and batches once it is known what they ran on.
Status add_plans(const DecideOptions& options, const MeasuredOn& measured_on, DecisionInput& input) {
  const auto& [target, shape] = measured_on;
  const Result<std::int64_t> max_splits = parse_integer("--max-splits", options.max_splits, 1, kMaxNumSplits);
  if (!max_splits.ok()) return max_splits.status();
  annotate_with_plans(target.device, target.kernel, shape, input.evidence);
  Result<std::vector<Proposal>> proposals =
      wave_model_proposals(target.device, target.kernel, shape, batches_of(input.evidence),
                           static_cast<std::int32_t>(*max_splits));
  if (!proposals.ok()) return proposals.status();
  annotate_proposals(target, shape, input.proposals);
  // What the model likes may have been measured under another name: the same number of splits is the same
  // plan. And it may have been proposed already.
  std::erase_if(*proposals, [&](const Proposal& proposal) {
    return std::ranges::any_of(input.evidence,
                               [&](const Evidence& item) {
                                 return item.batch == proposal.batch && item.num_splits > 0 &&
                                        proposal.setting == fmt::format("fixed={}", item.num_splits);
                               }) ||
           std::ranges::any_of(input.proposals, [&](const Proposal& other) {
             return other.batch == proposal.batch && other.setting == proposal.setting;
           });
  });
  std::ranges::move(*proposals, std::back_inserter(input.proposals));
  return {};
}

// The digest is of the very bytes that are judged.
Status read_evidence(const std::string& path, JudgedRecords& judged) {
  const Result<std::string> content = read_file("--records", path);
  if (!content.ok()) return content.status();
  Result<std::vector<Evidence>> evidence = parse_records(*content);
  if (!evidence.ok()) {
    return make_status(evidence.status().code(), "{}: {}", path, evidence.status().message());
  }
  judged.records = {.path = path,
                    .sha256 = sha256(*content),
                    .bytes = static_cast<std::int64_t>(content->size()),
                    .samples = 0};
  for (const Evidence& item : *evidence) judged.records.samples += std::ssize(item.samples);
  judged.input.evidence = *std::move(evidence);
  return {};
}

}  // namespace

Result<JudgedRecords> judge_records(const DecideOptions& options) {
  JudgedRecords judged;
  WAVEFILL_RETURN_IF_ERROR(read_evidence(options.records, judged));
  judged.input.proposals = take_proposals(judged.input.evidence);
  judged.input.deployed = options.deployed;
  judged.foreign = foreign_settings(judged.input.evidence);
  Result<std::vector<Proposal>> proposals = parse_proposals(options.proposals);
  if (!proposals.ok()) return proposals.status();
  std::ranges::move(*proposals, std::back_inserter(judged.input.proposals));
  add_said_splits(judged.input);
  Result<std::optional<MeasuredOn>> measured_on = read_measured_on(options);
  if (!measured_on.ok()) return measured_on.status();
  judged.measured_on = *std::move(measured_on);
  if (judged.measured_on) {
    WAVEFILL_RETURN_IF_ERROR(add_plans(options, *judged.measured_on, judged.input));
  }
  if (!options.measured_again.empty()) {
    Result<std::vector<std::int32_t>> again = parse_batch_list("--measured-again", options.measured_again);
    if (!again.ok()) return again.status();
    judged.input.measured_again = *std::move(again);
  }
  if (!options.capture_ceiling.empty()) {
    const Result<std::int64_t> ceiling =
        parse_integer("--capture-ceiling", options.capture_ceiling, 1, kMaxBatch);
    if (!ceiling.ok()) return ceiling.status();
    judged.input.capture_ceiling = static_cast<std::int32_t>(*ceiling);
  }
  judged.batches = batches_of(judged.input.evidence);
  const Result<std::vector<WorkloadWeight>> workload = parse_workload(options.workload);
  if (!workload.ok()) return workload.status();
  judged.workload = serve_workload(*workload, judged.batches);
  if (!options.workload.empty() && judged.workload.weights.empty()) {
    return invalid_argument("--workload begins at batch {}; allowed: up to {}, the largest measured",
                            workload->front().batch, judged.batches.back());
  }
  judged.input.workload = judged.workload.weights;
  Result<Decision> decision = decide(judged.input);
  if (!decision.ok()) return decision.status();
  judged.decision = *std::move(decision);
  return judged;
}

DecisionRequest request_of(const JudgedRecords& judged, const std::string& command) {
  return {.command = command,
          .batches = judged.batches,
          .workload = judged.input.workload,
          .budget_s = std::nullopt,
          .seed = judged.input.rule.seed,
          .records = judged.records};
}

Json document(const JudgedRecords& judged, const std::string& command) {
  Json json = Json::parse(to_json(judged.decision, request_of(judged, command)));
  Json weights = Json::array();
  for (const WorkloadWeight& weight : judged.workload.weights) {
    weights.push_back({{"batch", weight.batch}, {"weight", weight.weight}});
  }
  Json beyond = Json::array();
  for (const WorkloadWeight& weight : judged.workload.beyond) beyond.push_back(weight.batch);
  json["deployed"] = judged.input.deployed;
  json["records"] = judged.records.path;
  json["workload"] = std::move(weights);
  json["workload_beyond"] = std::move(beyond);
  json["foreign_settings"] = judged.foreign;
  return json;
}

}  // namespace wavefill::cli
