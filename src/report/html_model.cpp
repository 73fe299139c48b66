// The cost model: how good it is, and what following it without measuring would have cost.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_parts.h"
#include "report/html_sections.h"
#include "report/shown.h"

namespace wavefill::report {
namespace {

std::string constants_html(const ModelFit& fit) {
  std::string html = "<dl class=\"pairs\">\n";
  for (const auto& [name, us] : fit.constants_us) {
    html += fmt::format("<dt>{}</dt><dd>{:.3f} \u00b5s</dd>\n", html_escaped(name), us);
  }
  return html + "</dl>";
}

std::string arm_link(const Report& report, const ModelPick& pick, const std::string& setting,
                     const std::string& html) {
  for (const Batch& batch : report.batches) {
    if (batch.batch != pick.batch) continue;
    for (const Arm& arm : batch.arms) {
      if (arm.setting == setting) return link_html("#" + arm_id(batch, arm), html);
    }
  }
  return html;
}

std::string score_text(const ModelScore& score) {
  return fmt::format(
      "off by {:.1f}% (root mean square) and by {:.1f}% at worst; it ranks the settings of one batch size "
      "with a correlation of {}, and all of them with {:.2f}",
      score.rms_residual * 100, score.max_residual * 100, rank_text(score), score.rank_correlation);
}

std::vector<std::string> row_of(const Report& report, const Batch* batch, const ModelPick& pick) {
  if (!pick.is_known()) {
    const bool is_searched = batch != nullptr && batch->is_searched;
    const std::string why = is_searched ? "unknown: nothing to fit to without it" : "unknown: not searched";
    return {std::to_string(pick.batch), why, "", "", "", "", "unknown"};
  }
  const bool is_measured = pick.is_priced();
  return {std::to_string(pick.batch),
          code_html(pick.setting),
          time_text(pick.predicted_us),
          is_measured ? arm_link(report, pick, pick.setting, time_text(pick.us)) : "not measured",
          code_html(pick.best_setting),
          arm_link(report, pick, pick.best_setting, time_text(pick.best_us)),
          is_measured ? fmt::format("{:.1f}%", pick.cost * 100) : "unknown"};
}

std::string picks_table(const Report& report, const std::string& caption, const ModelScore& score) {
  HtmlTable table(caption, {{"Batch", ""},
                            {"Model's choice", "left"},
                            {"Predicted, \u00b5s", ""},
                            {"Measured, \u00b5s", ""},
                            {"Fastest", "left"},
                            {"Time, \u00b5s", ""},
                            {"Cost", ""}});
  for (const ModelPick& pick : score.picks) {
    const auto batch = std::ranges::find(report.batches, pick.batch, &Batch::batch);
    table.add_row(row_of(report, batch == report.batches.end() ? nullptr : &*batch, pick));
  }
  return table.html() + "\n";
}

}  // namespace

std::string model_section(const Report& report) {
  const ModelFit& fit = report.fit;
  if (!fit.is_fitted)
    return "<p>Too little was measured to fit a model; nothing that is shipped needs one.</p>";
  std::string html =
      "<p>The model said where to measure, never what to ship: this is what it would have "
      "shipped.</p>\n";
  if (fit.has_out_of_sample) {
    html += fmt::format(
        "<p><strong>Out of sample</strong>, each batch size predicted by a fit to other sizes, the cost "
        "model "
        "is {}. This is what it is worth where nobody has measured.</p>\n",
        score_text(fit.out_of_sample));
    html += picks_table(report, "The model against the measurements, out of sample", fit.out_of_sample);
  } else {
    html +=
        "<p><strong>Out of sample</strong> nothing is known: too few batch sizes were measured to leave "
        "one out.</p>\n";
  }
  html += fmt::format(
      "<p><strong>In sample</strong>, fitted to the very times that it is compared with, it is {}. That "
      "flatters it.</p>\n",
      score_text(fit.in_sample));
  html += picks_table(report, "The model against the measurements, in sample", fit.in_sample);
  return html + constants_html(fit);
}

}  // namespace wavefill::report
