// wavefill decide: judges measurements taken elsewhere by the rule that wavefill tune decides by.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/decide_ledger.h"
#include "cli/decide_run.h"
#include "cli/ledger_option.h"
#include "core/errors.h"

namespace wavefill::cli {
namespace {

struct CommandOptions {
  DecideOptions decide;
  std::string ledger;  // empty: the default one
  bool no_ledger = false;
  bool json = false;
};

// None: not wanted, or the default ledger cannot be written, which is no reason to withhold a decision.
Result<std::optional<KeptDecision>> keep(const CommandOptions& options, const JudgedRecords& judged,
                                         Console& console) {
  if (options.no_ledger) return std::optional<KeptDecision>();
  Result<KeptDecision> kept = keep_decision(judged, console.command_line(), options.ledger);
  if (kept.ok()) return std::optional<KeptDecision>(*std::move(kept));
  if (!options.ledger.empty()) return kept.status();
  console.note(fmt::format("the decision is not kept: {}", kept.status().message()));
  return std::optional<KeptDecision>();
}

Result<ExitCode> run(const CommandOptions& options, Console& console) {
  if (options.no_ledger && !options.ledger.empty()) {
    return invalid_argument("--ledger and --no-ledger are given; allowed: one of them");
  }
  const Result<JudgedRecords> judged = judge_records(options.decide);
  if (!judged.ok()) return judged.status();
  const Result<std::optional<KeptDecision>> kept = keep(options, *judged, console);
  if (!kept.ok()) return kept.status();
  if (options.json) {
    Json json = document(*judged, console.command_line());
    json["run"] = *kept ? Json((*kept)->run) : Json();
    json["ledger"] = *kept ? Json((*kept)->ledger) : Json();
    console.print(json_text(json));
  } else {
    console.print(text_of(*judged, console.style()));
    if (*kept) console.print(fmt::format("\nledger   {}, run {}\n", (*kept)->ledger, (*kept)->run));
  }
  return ExitCode::ok;
}

}  // namespace

Action define_decide(OptionSet& set) {
  const auto options = std::make_shared<CommandOptions>();
  DecideOptions& decide = options->decide;
  decide.target.device.device.clear();  // measured elsewhere, on what need not be known
  set.required_text("--records", decide.records, "FILE",
                    "CSV with the columns setting, batch, and tokens_per_s or us, or JSON lines of the same; "
                    "repeated rows are samples");
  set.required_text("--deployed", decide.deployed, "SETTING",
                    "the setting in use now, which others must beat");
  set.text("--workload", decide.workload, "LIST|FILE",
           "batch sizes that matter (48-80), or a file of size and weight a line (default: all alike)");
  set.text("--measured-again", decide.measured_again, "LIST",
           "batch sizes at which a fall of throughput was measured a second time");
  set.text("--capture-ceiling", decide.capture_ceiling, "N",
           "the largest batch that the server runs as a captured graph: names the cause of a dip");
  set.texts("--propose", decide.proposals, "SETTING@BATCH",
            "what somebody would deploy at a batch; may be repeated");
  add_ledger_option(set, options->ledger, "where the decision is kept, with the digest of the records");
  set.flag("--no-ledger", options->no_ledger, "do not keep the decision");
  add_json_option(set, options->json);
  add_plan_target_options(set, decide.target);
  set.text("--max-splits", decide.max_splits, "N", "splits that the wave model may propose");
  add_shape_options(set, decide.shape);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
