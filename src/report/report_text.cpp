// The report for a terminal.
#include <fmt/format.h>

#include <utility>

#include "report/html_parts.h"
#include "report/phase_text.h"
#include "report/regret.h"
#include "report/report.h"
#include "report/report_figures.h"
#include "report/shown.h"
#include "report/text_reasons.h"
#include "report/text_table.h"

namespace wavefill::report {
namespace {

Tone tone_of(std::string_view verdict) {
  if (verdict == "FASTER") return Tone::good;
  if (verdict == "SLOWER") return Tone::bad;
  return Tone::dim;
}

std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", fraction * 100); }

std::string interval_text(const Estimate& effect) {
  return fmt::format("{} .. {}", signed_percent(effect.low), signed_percent(effect.high));
}

std::vector<Cell> row_of(const Batch& batch) {
  const Arm& chosen = batch.chosen();
  const double us = chosen_time(batch).value.value;
  const double deployed_us = deployed_time(batch).value.value;
  std::vector<Cell> row = {std::to_string(batch.batch),
                           chosen.setting,
                           std::to_string(chosen.num_splits),
                           std::to_string(chosen.num_waves),
                           fmt::format("{:.0f}%", chosen.wave_efficiency * 100),
                           us > 0.0 ? time_text(us) : "-",
                           deployed_us > 0.0 ? time_text(deployed_us) : "-"};
  if (&chosen == &batch.deployed()) {
    row.insert(row.end(), {Cell("deployed", Tone::dim), Cell(""), Cell("")});
  } else {
    const Estimate gain = chosen_gain(batch).value;
    row.insert(row.end(), {Cell(signed_percent(gain.value)), Cell(interval_text(gain)),
                           Cell(verdict_of(batch), tone_of(verdict_of(batch)))});
  }
  row.emplace_back(fmt::format("{:.1f}%", batch.noise * 100));
  return row;
}

std::string regrets_text(const Report& report, const TerminalStyle& style) {
  if (report.regrets.empty()) return "What other settings cost is unknown: no batch was searched.\n";
  TextTable table({{"setting", Align::left}, {"time lost, mean"}, {"worst"}, {"at batch"}, {"batches"}});
  for (const PolicyRegret& regret : report.regrets) {
    const bool is_known = regret.num_batches > 0;
    table.add_row({regret.setting, is_known ? fmt::format("{:.1f}%", regret.geometric_mean * 100) : "unknown",
                   is_known ? fmt::format("{:.1f}%", regret.worst * 100) : "unknown",
                   is_known ? std::to_string(regret.worst_batch) : "",
                   fmt::format("{} of {}", regret.num_batches, regret.num_compared)});
  }
  return table.render(style);
}

// Where the model alone would have done worse than what was measured best.
std::string misses_text(const ModelScore& score) {
  const ModelPick* worst = nullptr;
  std::size_t known = 0;
  std::size_t misses = 0;
  for (const ModelPick& pick : score.picks) {
    known += pick.is_known() ? 1 : 0;
    misses += pick.setting == pick.best_setting ? 0 : 1;
    if (pick.is_priced() && (worst == nullptr || pick.cost > worst->cost)) worst = &pick;
  }
  std::string text;
  if (worst != nullptr && misses > 0) {
    text += fmt::format(
        "  alone it would have missed the best at {} of {} batches, by up to {:.1f}% (batch {}: {})\n",
        misses, known, worst->cost * 100, worst->batch, worst->setting);
  }
  if (known < score.picks.size()) {
    text += fmt::format("  of {} batches, what it would have cost is unknown\n", score.picks.size() - known);
  }
  return text;
}

std::string score_text(std::string_view name, const ModelScore& score) {
  return fmt::format(
             "Cost model, {}: off by {:.1f}% (root mean square, at worst {:.1f}%), "
             "rank correlation {} within batches\n",
             name, score.rms_residual * 100, score.max_residual * 100, rank_text(score)) +
         misses_text(score);
}

std::string model_text(const ModelFit& fit) {
  if (!fit.is_fitted) return "";
  const std::string out_of_sample =
      fit.has_out_of_sample
          ? score_text("out of sample (each batch by a fit to others)", fit.out_of_sample)
          : std::string("Cost model, out of sample: unknown, too few batches to leave one out\n");
  return "\n" + out_of_sample + score_text("in sample (fitted to these very times)", fit.in_sample);
}

// Quiet where nothing was disturbed.
std::string disturbed_lines(const Report& report) {
  std::string text;
  for (const auto& [phase, watch] :
       {std::pair{"search", &report.search_watch}, std::pair{"confirmation", &report.confirm_watch}}) {
    if (watch->contaminated_rounds == 0) continue;
    text += fmt::format("Disturbed in the {}: {}\n", phase, disturbed_text(*watch));
  }
  return text;
}

}  // namespace

std::string kernels_text(const Report& report, const TerminalStyle& style) {
  if (report.kernels.empty()) return "";
  std::vector<Column> columns = {{"kernel", Align::left}};
  for (const KernelRow::Figure& figure : report.kernels.front().figures) {
    columns.push_back({fmt::format("us at {}", figure.batch)});
  }
  columns.push_back({"throughput"});
  columns.push_back({"choice", Align::left});
  TextTable table(columns);
  for (const KernelRow& row : report.kernels) {
    std::vector<Cell> cells = {row.kernel};
    for (const KernelRow::Figure& figure : row.figures) {
      cells.emplace_back(figure.us > 0.0 ? time_text(figure.us) : "-");
    }
    cells.emplace_back(row.throughput > 0.0 ? fmt::format("{:.1f}%", row.throughput * 100) : "-");
    cells.emplace_back((row.is_chosen ? "tuned: " : "") + row.reason, row.is_chosen ? Tone::good : Tone::dim);
    table.add_row(std::move(cells));
  }
  return table.render(style);
}

std::string decision_text(const Report& report) {
  const std::string label = choice_label(report);
  const std::string_view verb = report.keeps_deployed      ? "keep"
                                : label == report.decision ? "deploy"
                                                           : "deploy the";
  return fmt::format("{} {}", verb, label);
}

std::string to_text(const Report& report, const TerminalStyle& style) {
  TextTable table({{"batch"},
                   {"serves", Align::left},
                   {"splits"},
                   {"waves"},
                   {"full"},
                   {"us"},
                   {"deployed us"},
                   {"gain"},
                   {"95% interval", Align::left},
                   {"verdict", Align::left},
                   {"noise"}});
  for (const Batch& batch : report.batches) table.add_row(row_of(batch));
  std::string text =
      fmt::format("{} on {}, {}\n\n{}{}{}\n{}{}\n", report.title, report.device, shape_text(report.shape),
                  kernels_text(report, style), report.kernels.empty() ? "" : "\n", table.render(style),
                  regrets_text(report, style), model_text(report.fit));
  for (const std::string& part :
       {rejected_text(report, style), dips_text(report, style), disturbed_lines(report)}) {
    if (!part.empty()) text += part + "\n";
  }
  text += emphasised("Decision: " + decision_text(report), style);
  text += "\n" + reason_text(report) + "\n";
  const std::string shortfall = shortfall_text(report);
  return shortfall.empty() ? text : text + shortfall + "\n";
}

}  // namespace wavefill::report
