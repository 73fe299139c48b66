// Any bytes as records for `wavefill decide`, as CSV and as JSON lines: refused with a message, or evidence
// that is the same when written and read again, and that the decision rule can judge.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "require.h"
#include "tune/decision.h"
#include "tune/decision_json.h"
#include "tune/record_import.h"

namespace {

using wavefill::Evidence;
using wavefill::TimedSample;

// Judging draws a bootstrap for each pair: a few small ones are as good as many.
constexpr std::size_t kMaxCells = 12;
constexpr std::size_t kMaxSamples = 64;

void check_evidence(const std::vector<Evidence>& evidence) {
  require(std::ranges::any_of(evidence, [](const Evidence& item) { return !item.samples.empty(); }),
          "there is a sample");
  for (const Evidence& item : evidence) {
    require(!item.setting.empty() && item.batch >= 1, "a setting and a batch");
    for (const TimedSample& sample : item.samples) {
      require(std::isfinite(sample.us) && sample.us > 0.0, "a time is finite and > 0");
    }
  }
}

void check_round_trip(const std::vector<Evidence>& evidence) {
  std::string lines;
  for (const Evidence& item : evidence) {
    if (item.samples.empty()) {
      lines +=
          nlohmann::json{{"setting", item.setting}, {"batch", item.batch}, {"us", nullptr}}.dump() + "\n";
    }
    for (const TimedSample& sample : item.samples) {
      lines +=
          nlohmann::json{{"setting", item.setting}, {"batch", item.batch}, {"us", sample.us}}.dump() + "\n";
    }
  }
  const auto again = wavefill::parse_records_jsonl(lines);
  require(again.ok() && again->size() == evidence.size(), "what was taken is taken again");
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    require((*again)[i].setting == evidence[i].setting && (*again)[i].batch == evidence[i].batch &&
                (*again)[i].samples == evidence[i].samples,
            "the round trip is exact");
  }
}

bool is_measured(const std::vector<Evidence>& evidence, std::string_view setting, std::int32_t batch) {
  return std::ranges::any_of(
      evidence, [&](const Evidence& item) { return item.setting == setting && item.batch == batch; });
}

// Whatever the times: a decision, and never for what was not measured.
void check_decision(std::vector<Evidence> evidence) {
  std::erase_if(evidence, [](const Evidence& item) { return item.samples.empty(); });
  std::size_t samples = 0;
  for (const Evidence& item : evidence) samples += item.samples.size();
  if (evidence.size() > kMaxCells || samples > kMaxSamples) return;
  wavefill::DecisionInput input;
  input.evidence = evidence;
  input.deployed = evidence.front().setting;
  const auto decision = wavefill::decide(input);
  require(decision.ok(), "evidence for the deployed setting is judged");
  require(decision->keeps_deployed == (decision->decision == input.deployed), "keeping is keeping");
  for (const wavefill::TableEntry& entry : decision->table) {
    require(is_measured(evidence, entry.setting, entry.batch), "only what was measured is chosen");
  }
  for (const Evidence& item : evidence) {
    require(decision->keeps_deployed || is_measured(evidence, decision->decision, item.batch),
            "what replaces the deployed setting was measured at every batch");
  }
  require(nlohmann::json::accept(wavefill::to_json(*decision)), "its JSON is valid");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& records : {wavefill::parse_records_csv(text), wavefill::parse_records_jsonl(text)}) {
    if (!records.ok()) {
      require(records.status().code() == wavefill::StatusCode::corrupt_data, "refused as corrupt_data");
      require(!records.status().message().empty(), "refused with a message");
      continue;
    }
    check_evidence(*records);
    check_round_trip(*records);
    check_decision(*records);
  }
  return 0;
}
