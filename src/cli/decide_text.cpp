// What `wavefill decide` says on a terminal.
#include <fmt/ranges.h>

#include "cli/decide_run.h"
#include "cli/verdict_text.h"
#include "report/text_table.h"

namespace wavefill::cli {
namespace {

std::string splits_text(std::int32_t num_splits) {
  return num_splits > 0 ? std::to_string(num_splits) : std::string("-");
}

// Not where the deployed setting has no sample at this batch.
bool is_compared(const VerdictRow& row) { return row.effect.has_interval || row.effect.at_face_value; }

std::string verdict_table(const JudgedRecords& judged, const report::TerminalStyle& style) {
  using report::Align;
  report::TextTable table({{"setting", Align::left},
                           {"batch"},
                           {"splits"},
                           {"tokens/s"},
                           {"effect"},
                           {"95% interval", Align::left},
                           {"verdict", Align::left},
                           {"samples"}});
  for (const VerdictRow& row : judged.decision.verdicts) {
    const bool is_deployed = row.setting == judged.input.deployed;
    const bool is_measured = row.samples > 0;
    table.add_row({row.setting, std::to_string(row.batch), splits_text(row.num_splits),
                   is_measured ? fmt::format("{:.1f}", row.batch * 1e6 / row.median_us) : "-",
                   is_deployed        ? ""
                   : is_compared(row) ? percent_text(row.effect.effect)
                                      : "-",
                   row.effect.has_interval && !is_deployed ? range_text(row.effect.interval) : "",
                   is_deployed ? report::Cell("deployed", report::Tone::dim)
                               : report::Cell(std::string(to_string(row.verdict)), tone_of(row.verdict)),
                   std::to_string(row.samples)});
  }
  return table.render(style);
}

std::string rejected_table(const Decision& decision, const report::TerminalStyle& style) {
  if (decision.rejected.empty()) return "";
  using report::Align;
  report::TextTable table(
      {{"rejected", Align::left}, {"reason", Align::left}, {"batch"}, {"why", Align::left}});
  for (const Rejected& rejected : decision.rejected) {
    table.add_row({rejected.setting, std::string(to_string(rejected.reason)),
                   rejected.batch > 0 ? std::to_string(rejected.batch) : "-", rejected.detail});
  }
  return "\n" + table.render(style);
}

std::string dips_text(const Decision& decision) {
  std::string text;
  for (const Dip& dip : decision.dips) {
    text += fmt::format("\ndip: {} falls by {:.1f}% from batch {} to {}{}; likely cause: {}{}\n", dip.setting,
                        -dip.effect * 100.0, dip.batch_before, dip.batch,
                        dip.introduced ? "" : ", and so does the deployed setting or it is within noise",
                        dip.cause, dip.measured_again ? " (measured again)" : "");
  }
  return text;
}

std::string entry_text(const TableEntry& entry) {
  const std::string splits = entry.num_splits > 0 ? fmt::format(" ({} splits)", entry.num_splits) : "";
  return fmt::format("batch {}: {}{}", entry.batch, entry.setting, splits);
}

std::string next_text(const std::optional<NextMeasurement>& next) {
  if (!next) return "";
  const bool is_table = next->setting == kPerBatchTable;
  std::string text = fmt::format("\nMeasure next: {}\n  {}\n",
                                 is_table ? "the per-batch table" : next->setting, next->reason);
  for (const TableEntry& entry : next->table) text += fmt::format("  {}\n", entry_text(entry));
  return text;
}

std::string workload_text(const ServedWorkload& workload) {
  if (workload.weights.empty()) return "all batch sizes alike";
  double sum = 0.0;
  for (const WorkloadWeight& weight : workload.weights) sum += weight.weight;
  std::string text = "workload";
  for (const WorkloadWeight& weight : workload.weights) {
    text += fmt::format("{} {} ({:.0f}%)", text == "workload" ? "" : ",", weight.batch,
                        weight.weight / sum * 100.0);
  }
  return text;
}

}  // namespace

std::string text_of(const JudgedRecords& judged, const report::TerminalStyle& style) {
  const Decision& decision = judged.decision;
  std::string text = fmt::format("{}, deployed {}, {}\n\n", judged.records.path, judged.input.deployed,
                                 workload_text(judged.workload));
  text += verdict_table(judged, style);
  if (decision.at_face_value) {
    text += fmt::format("\nno figure was repeated: what is beyond {:.0f}% is taken at face value\n",
                        judged.input.rule.assumed_noise * 100.0);
  }
  text += rejected_table(decision, style) + dips_text(decision);
  if (!judged.workload.beyond.empty()) {
    text += fmt::format("\nno measurement serves batch {}{} of the workload: left out of the weights\n",
                        judged.workload.beyond.front().batch,
                        judged.workload.beyond.size() > 1 ? " and above" : "");
  }
  if (!judged.foreign.empty()) {
    text += fmt::format("\njudged by name only, wavefill has no such setting: {}\n",
                        fmt::join(judged.foreign, ", "));
  }
  text += next_text(decision.next);
  const std::string verb = decision.keeps_deployed ? "keep" : "deploy";
  text += "\n" + report::emphasised(fmt::format("Decision: {} {}", verb, decision.decision), style) + "\n";
  return text + decision.summary + "\n";
}

}  // namespace wavefill::cli
