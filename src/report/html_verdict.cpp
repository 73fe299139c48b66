// The decision, its key figures, and the table of what it means for each batch.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_parts.h"
#include "report/html_sections.h"
#include "report/report_figures.h"
#include "report/shown.h"

namespace wavefill::report {
namespace {

// `id`: of what on the page the value comes from; empty: of nothing.
std::string fact(std::string_view name, std::string_view value, std::string_view css_class,
                 const std::string& note, const std::string& id = {}) {
  return fmt::format(
      "<div><dt>{}</dt><dd><span class=\"value {}\">{}</span><span class=\"note\">{}</span></dd></div>\n",
      html_escaped(name), css_class, linked_html(id, html_escaped(value)), html_escaped(note));
}

std::string gain_fact(const Report& report) {
  if (report.keeps_deployed) return fact("Gain", "none", "", "no other setting is better here");
  return fact("Gain", percent_text(report.weighted_gain), report.weighted_gain > 0 ? "faster" : "",
              "tokens/s over the deployed setting, weighted by the workload", "table-heading");
}

std::string worst_fact(const Report& report) {
  const Batch* worst = nullptr;
  for (const Batch& batch : report.batches) {
    if (batch.weight <= 0.0 || !batch.chosen().is_measured()) continue;
    if (worst == nullptr || chosen_gain(batch).value.value < chosen_gain(*worst).value.value) worst = &batch;
  }
  if (worst == nullptr || report.keeps_deployed)
    return fact("Worst batch", "unchanged", "", "the deployed setting stays");
  const Shown gain = chosen_gain(*worst);
  if (&worst->chosen() == &worst->deployed()) {
    return fact("Worst batch", percent_text(0.0), "",
                fmt::format("at batch {}, where the deployed setting stays", worst->batch),
                deployed_time(*worst).samples_id);
  }
  return fact("Worst batch", percent_text(gain.value.value), verdict_class(verdict_of(*worst)),
              fmt::format("at batch {}, {}", worst->batch, verdict_of(*worst)), gain.samples_id);
}

std::string noise_fact(const Report& report) {
  if (report.batches.empty()) return fact("Noise floor", "unknown", "", "nothing was measured");
  const Batch& worst = *std::ranges::max_element(report.batches, {}, &Batch::noise);
  return fact("Noise floor", noise_text(worst.noise), "",
              fmt::format("at worst (batch {}): the deployed setting against itself", worst.batch),
              noise_of(worst).samples_id);
}

std::string checks_fact(const Report& report) {
  std::size_t passed = 0;
  std::size_t checked = 0;
  const Arm* worst = nullptr;
  std::string worst_id;
  for (const Batch& batch : report.batches) {
    for (const Arm& arm : batch.arms) {
      ++checked;
      passed += arm.verified ? 1 : 0;
      if (!arm.verified || (worst != nullptr && arm.max_o_error <= worst->max_o_error)) continue;
      worst = &arm;
      worst_id = arm_id(batch, arm);
    }
  }
  if (passed < checked) {
    return fact("Outputs checked", fmt::format("{} of {}", passed, checked), "slower",
                "right; the others cannot be chosen", "samples-heading");
  }
  const double error = worst == nullptr ? 0.0 : worst->max_o_error;
  return fact("Outputs checked", fmt::format("{}", checked), "",
              fmt::format("all right; worst relative error {:.2f}%", error * 100), worst_id);
}

}  // namespace

std::string verdict_section(const Report& report) {
  const std::string label = choice_label(report);
  std::string html = fmt::format("<h2 id=\"verdict-heading\">{} {}</h2>\n<p>{}</p>\n",
                                 report.keeps_deployed ? "Keep" : "Deploy",
                                 label == report.decision ? code_html(label) : "the " + html_escaped(label),
                                 html_escaped(reason_text(report)));
  const std::string shortfall = shortfall_text(report);
  if (!shortfall.empty()) html += fmt::format("<p><strong>{}</strong></p>\n", html_escaped(shortfall));
  html += "<dl class=\"facts\">\n" + gain_fact(report) + worst_fact(report) + noise_fact(report) +
          checks_fact(report) + "</dl>";
  return html;
}

std::string verdict_table(const Report& report) {
  HtmlTable table("Batch by batch", {{"Batch", ""},
                                     {"Serves", "left"},
                                     {"Splits", ""},
                                     {"Waves", ""},
                                     {"Full", ""},
                                     {"Time, \u00b5s", ""},
                                     {"Deployed, \u00b5s", ""},
                                     {"Gain", ""},
                                     {"Verdict", "left"},
                                     {"Noise", ""}});
  for (const Batch& batch : report.batches) {
    const Arm& chosen = batch.chosen();
    const bool stays = &chosen == &batch.deployed();
    const Shown us = chosen_time(batch);
    const Shown deployed_us = deployed_time(batch);
    const Shown gain = chosen_gain(batch);
    const Shown noise = noise_of(batch);
    table.add_row(
        {std::to_string(batch.batch), code_html(chosen.setting), std::to_string(chosen.num_splits),
         std::to_string(chosen.num_waves), fmt::format("{:.0f}%", chosen.wave_efficiency * 100),
         linked_html(us.samples_id, time_html(us.value)),
         linked_html(deployed_us.samples_id,
                     deployed_us.value.value > 0.0 ? time_text(deployed_us.value.value) : "not measured"),
         stays ? std::string("deployed") : linked_html(gain.samples_id, percent_html(gain.value)),
         stays ? std::string() : verdict_html(verdict_of(batch)),
         linked_html(noise.samples_id, noise_text(noise.value.value))});
  }
  return table.html();
}

std::string kernels_table(const Report& report) {
  if (report.kernels.empty()) return "";
  std::vector<HtmlColumn> columns = {{"Kernel", "left"}};
  for (const KernelRow::Figure& figure : report.kernels.front().figures) {
    columns.push_back({fmt::format("\u00b5s at {}", figure.batch), ""});
  }
  columns.push_back({"Throughput", ""});
  columns.push_back({"Why", "left"});
  HtmlTable table("Kernels compared before one was tuned", columns);
  for (const KernelRow& row : report.kernels) {
    std::vector<std::string> cells = {code_html(row.kernel)};
    for (const KernelRow::Figure& figure : row.figures) {
      cells.push_back(figure.us > 0.0 ? time_text(figure.us) : std::string("-"));
    }
    cells.push_back(row.throughput > 0.0 ? fmt::format("{:.1f}%", row.throughput * 100) : std::string("-"));
    cells.push_back(html_escaped((row.is_chosen ? "tuned: " : "") + row.reason));
    table.add_row(cells);
  }
  return table.html();
}

}  // namespace wavefill::report
