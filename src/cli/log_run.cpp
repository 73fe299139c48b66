#include "cli/log_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <tuple>

#include "cli/decide_ledger.h"
#include "core/errors.h"
#include "measure/statistics.h"
#include "report/decision_page.h"

namespace wavefill::cli {
namespace {

using ArmKey = std::tuple<Phase, std::int32_t, std::string, std::int32_t>;

Result<RunSummary> find_summary(const Ledger& ledger, RunId id) {
  const Result<std::vector<RunSummary>> runs = ledger.runs();
  if (!runs.ok()) return runs.status();
  const auto found = std::ranges::find(*runs, id, &RunSummary::id);
  if (found != runs->end()) return *found;
  std::string ids;
  for (const RunSummary& run : *runs) ids += (ids.empty() ? "" : ", ") + std::to_string(run.id);
  return make_status(StatusCode::not_found, "--run is {}; allowed: {}", id,
                     ids.empty() ? "none, there are no runs" : ids);
}

Result<std::vector<MeasuredArm>> read_arms(const Ledger& ledger, RunId id) {
  const Result<std::vector<Measurement>> measurements = ledger.measurements(id);
  if (!measurements.ok()) return measurements.status();
  const Result<std::vector<Verification>> verifications = ledger.verifications(id);
  if (!verifications.ok()) return verifications.status();
  const Result<std::vector<ArmEnd>> ends = ledger.ends(id);
  if (!ends.ok()) return ends.status();

  std::map<ArmKey, MeasuredArm> arms;
  for (const Measurement& sample : *measurements) {
    MeasuredArm& arm = arms[{sample.phase, sample.batch, sample.setting, sample.replica}];
    arm.phase = sample.phase;
    arm.batch = sample.batch;
    arm.setting = sample.setting;
    arm.replica = sample.replica;
    if (sample.contaminated) {
      ++arm.contaminated;
    } else {
      arm.clean_us.push_back(sample.us);
    }
  }
  for (const ArmEnd& end : *ends) {
    const auto found = arms.find({end.phase, end.batch, end.setting, end.replica});
    if (found != arms.end()) found->second.stopped_by = to_string(end.reason);
  }
  std::vector<MeasuredArm> list;
  for (auto& [key, arm] : arms) {
    for (const Verification& verification : *verifications) {
      if (verification.batch == arm.batch && verification.setting == arm.setting)
        arm.verification = verification;
    }
    list.push_back(std::move(arm));
  }
  return list;
}

Json json_of(const MeasuredArm& arm) {
  const bool has_samples = !arm.clean_us.empty();
  return {{"phase", to_string(arm.phase)},
          {"batch", arm.batch},
          {"setting", arm.setting},
          {"replica", arm.replica},
          {"samples", arm.clean_us.size()},
          {"contaminated", arm.contaminated},
          {"median_us", has_samples ? Json(median(arm.clean_us)) : Json()},
          {"min_us", has_samples ? Json(std::ranges::min(arm.clean_us)) : Json()},
          {"max_us", has_samples ? Json(std::ranges::max(arm.clean_us)) : Json()},
          {"stopped_by", arm.stopped_by},
          {"verified", arm.verification ? Json(arm.verification->passed) : Json()},
          {"max_o_error", arm.verification ? Json(arm.verification->max_o_error) : Json()}};
}

std::string verified_text(const MeasuredArm& arm) {
  if (!arm.verification) return "no";
  return arm.verification->passed ? fmt::format("right, {:.1e}", arm.verification->max_o_error) : "wrong";
}

std::string arms_table(const std::vector<MeasuredArm>& arms, const report::TerminalStyle& style) {
  using report::Align;
  report::TextTable table({{"phase", Align::left},
                           {"batch"},
                           {"setting", Align::left},
                           {"samples"},
                           {"dropped"},
                           {"median us"},
                           {"min"},
                           {"max"},
                           {"stopped by", Align::left},
                           {"output", Align::left}});
  for (const MeasuredArm& arm : arms) {
    const bool has_samples = !arm.clean_us.empty();
    const auto us = [&](double value) {
      return has_samples ? fmt::format("{:.1f}", value) : std::string("-");
    };
    table.add_row({std::string(to_string(arm.phase)), std::to_string(arm.batch),
                   arm.setting + (arm.replica > 0 ? " (A/A)" : ""), std::to_string(arm.clean_us.size()),
                   std::to_string(arm.contaminated), us(has_samples ? median(arm.clean_us) : 0.0),
                   us(has_samples ? std::ranges::min(arm.clean_us) : 0.0),
                   us(has_samples ? std::ranges::max(arm.clean_us) : 0.0),
                   arm.stopped_by.empty() ? "unfinished" : arm.stopped_by, verified_text(arm)});
  }
  return table.render(style);
}

// What was asked for, and what was decided.
std::string decision_text(const RunDetails& details) {
  if (!details.decision) return "Unfinished: the same wavefill tune command goes on with it.\n";
  std::string text;
  for (const auto& [name, value] : report::request_facts(details.decision->json)) {
    text += fmt::format("{:<24} {}\n", name, value);
  }
  const std::string command = report::request_command(details.decision->json);
  if (!command.empty()) text += fmt::format("{:<24} {}\n", "command", command);
  if (!text.empty()) text += "\n";
  return text + fmt::format("Decision: {}\n{}\n", details.summary.decision, details.summary.summary);
}

}  // namespace

std::string utc_text(std::int64_t unix_us) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(unix_us / 1'000'000)));
}

std::string shape_text(const ProfileKey& key) {
  if (key.num_heads == 0) return "-";
  std::string text = fmt::format("{} heads, {}", key.num_heads, key.topk);
  if (key.extra_topk > 0) text += fmt::format(" + {}", key.extra_topk);
  if (key.s_q > 1) text += fmt::format(", s_q {}", key.s_q);
  return text;
}

Result<RunDetails> read_run(const Ledger& ledger, RunId id) {
  RunDetails details;
  const Result<RunSummary> summary = find_summary(ledger, id);
  if (!summary.ok()) return summary.status();
  details.summary = *summary;
  Result<Environment> environment = ledger.environment(id);
  if (!environment.ok()) return environment.status();
  details.environment = *std::move(environment);
  Result<std::vector<MeasuredArm>> arms = read_arms(ledger, id);
  if (!arms.ok()) return arms.status();
  details.arms = *std::move(arms);
  if (!details.summary.finished) return details;
  Result<DecisionRecord> decision = ledger.decision(id);
  if (!decision.ok()) return decision.status();
  details.decision = *std::move(decision);
  return details;
}

Json json_of(const RunSummary& run) {
  const ProfileKey& key = run.key.profile;
  return {{"run", run.id},
          {"started", utc_text(run.started_unix_us) + " UTC"},
          {"device", key.device},
          {"kernel", key.kernel},
          {"num_heads", key.num_heads},
          {"topk", key.topk},
          {"extra_topk", key.extra_topk},
          {"kv_format", key.kv_format},
          {"s_q", key.s_q},
          {"batches", run.key.batches},
          {"deployed", run.key.deployed},
          {"timing", run.key.timing},
          {"seed", run.key.seed},
          {"library_version", run.key.profile.library_version},
          {"sessions", run.num_sessions},
          {"measurements", run.num_measurements},
          {"contaminated", run.num_contaminated},
          {"finished", run.finished},
          {"decision", run.finished ? Json(run.decision) : Json()},
          {"summary", run.finished ? Json(run.summary) : Json()}};
}

Json document(const RunDetails& details) {
  Json json = json_of(details.summary);
  json["environment"] = Json::object();
  for (const EnvironmentField& field : details.environment.fields)
    json["environment"][field.name] = field.value;
  json["arms"] = Json::array();
  for (const MeasuredArm& arm : details.arms) json["arms"].push_back(json_of(arm));
  const Json record = details.decision ? Json::parse(details.decision->json, nullptr, false) : Json();
  // Null where an older build kept the decision.
  json["request"] = record.is_object() ? record.value("request", Json()) : Json();
  json["record"] = record;
  return json;
}

std::string text_of(const RunDetails& details, const report::TerminalStyle& style) {
  const RunSummary& run = details.summary;
  const ProfileKey& key = run.key.profile;
  std::string text = fmt::format("run {}, {} UTC, {} sessions, wavefill {}\n", run.id,
                                 utc_text(run.started_unix_us), run.num_sessions, key.library_version);
  const std::string device = key.device.empty() ? "" : fmt::format("{}, {}, ", key.device, shape_text(key));
  const std::string kernel = key.kernel.empty() ? "" : key.kernel + " ";
  text += fmt::format("{}batches {}\n{}against {}, {}, seed {}\n\n", device, run.key.batches, kernel,
                      run.key.deployed, run.key.timing, run.key.seed);
  if (!details.arms.empty()) text += arms_table(details.arms, style) + "\n";
  // Of a decision from records the environment is their file, which the request names.
  if (!is_decided_elsewhere(run.key)) {
    for (const EnvironmentField& field : details.environment.fields)
      text += fmt::format("{:<22} {}\n", field.name, field.value);
    text += "\n";
  }
  return text + decision_text(details);
}

}  // namespace wavefill::cli
