#include "cli/decide_ledger.h"

#include <utility>

#include "cli/ledger_option.h"
#include "tune/batch_list.h"
#include "wavefill/version.h"

namespace wavefill::cli {
namespace {

// RunKey::timing, which says how calls were timed: nobody here knows.
constexpr std::string_view kTakenElsewhere = "records taken elsewhere";

RunKey key_of(const JudgedRecords& judged) {
  RunKey key{.profile = {},
             .deployed = judged.input.deployed,
             .batches = format_batches(judged.batches),
             .timing = std::string(kTakenElsewhere),
             .seed = judged.input.rule.seed};
  if (judged.measured_on) {
    const auto& [target, shape] = *judged.measured_on;
    key.profile = wavefill::key_of(target.device, target.kernel, shape);
  }
  key.profile.library_version = std::string(library_build());
  key.profile.timing.clear();  // that of this build's own calls
  return key;
}

// Of the measurements: this machine only thought about them.
Environment environment_of(const JudgedRecords& judged) {
  Environment environment;
  environment.set("records_file", judged.records.path);
  environment.set("records_sha256", judged.records.sha256);
  environment.set("records_bytes", std::to_string(judged.records.bytes));
  environment.set("records_samples", std::to_string(judged.records.samples));
  return environment;
}

}  // namespace

Result<KeptDecision> keep_decision(const JudgedRecords& judged, const std::string& command,
                                   std::string ledger) {
  Result<Ledger> opened = open_ledger(ledger);
  if (!opened.ok()) return opened.status();
  const Decision& decision = judged.decision;
  const Result<RunId> run = opened->record_decision(key_of(judged), environment_of(judged),
                                                    {.run = 0,
                                                     .deployed = judged.input.deployed,
                                                     .decision = decision.decision,
                                                     .summary = decision.summary,
                                                     .json = to_json(decision, request_of(judged, command)),
                                                     .at_unix_us = unix_time_us()});
  if (!run.ok()) return run.status();
  return KeptDecision{.ledger = std::move(ledger), .run = *run};
}

bool is_decided_elsewhere(const RunKey& key) { return key.timing == kTakenElsewhere; }

}  // namespace wavefill::cli
