// The cost model: how good it is, and what following it without measuring would have cost.
#include <fmt/format.h>

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

}  // namespace

std::string model_section(const Report& report) {
  const ModelFit& fit = report.fit;
  if (!fit.is_fitted)
    return "<p>Too little was measured to fit a model; nothing that is shipped needs one.</p>";
  std::string html = fmt::format(
      "<p>Fitted to all measurements, the cost model is off by {:.1f}% (root mean square) and by {:.1f}% at "
      "worst. "
      "It ranks the settings of one batch size with a correlation of {:.2f}, and all of them with {:.2f}. It "
      "said "
      "where to measure, never what to ship: this is what it would have shipped.</p>\n",
      fit.rms_residual * 100, fit.max_residual * 100, fit.rank_within_batches, fit.rank_correlation);
  HtmlTable table("The model against the measurements", {{"Batch", ""},
                                                         {"Model's choice", "left"},
                                                         {"Predicted, \u00b5s", ""},
                                                         {"Measured, \u00b5s", ""},
                                                         {"Fastest", "left"},
                                                         {"Time, \u00b5s", ""},
                                                         {"Cost", ""}});
  for (const ModelPick& pick : fit.picks) {
    if (!pick.is_known()) {
      table.add_row({std::to_string(pick.batch), "unknown: not searched", "", "", "", "", "unknown"});
      continue;
    }
    const bool is_measured = pick.is_priced();
    table.add_row({std::to_string(pick.batch), code_html(pick.setting), time_text(pick.predicted_us),
                   is_measured ? arm_link(report, pick, pick.setting, time_text(pick.us)) : "not measured",
                   code_html(pick.best_setting),
                   arm_link(report, pick, pick.best_setting, time_text(pick.best_us)),
                   is_measured ? fmt::format("{:.1f}%", pick.cost * 100) : "unknown"});
  }
  return html + table.html() + "\n" + constants_html(fit);
}

}  // namespace wavefill::report
