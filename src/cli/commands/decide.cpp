// wavefill decide: judges measurements taken elsewhere by the rule that wavefill tune decides by.
#include <memory>

#include "cli/command.h"
#include "cli/decide_run.h"

namespace wavefill::cli {
namespace {

struct CommandOptions {
  DecideOptions decide;
  bool json = false;
};

Result<ExitCode> run(const CommandOptions& options, Console& console) {
  const Result<JudgedRecords> judged = judge_records(options.decide);
  if (!judged.ok()) return judged.status();
  console.print(options.json ? json_text(document(*judged)) : text_of(*judged, console.style()));
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
  add_json_option(set, options->json);
  add_plan_target_options(set, decide.target);
  set.text("--max-splits", decide.max_splits, "N", "splits that the wave model may propose");
  add_shape_options(set, decide.shape);
  return [options](Console& console) { return run(*options, console); };
}

}  // namespace wavefill::cli
