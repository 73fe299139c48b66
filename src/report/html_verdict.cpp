// The decision, its key figures, and the table of what it means for each batch.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_parts.h"
#include "report/html_sections.h"
#include "report/report_figures.h"

namespace wavefill::report {
namespace {

std::string fact(std::string_view name, std::string_view value, std::string_view css_class,
                 const std::string& note) {
  return fmt::format(
      "<div><dt>{}</dt><dd><span class=\"value {}\">{}</span><span class=\"note\">{}</span></dd></div>\n",
      html_escaped(name), css_class, html_escaped(value), html_escaped(note));
}

std::string gain_fact(const Report& report) {
  if (report.keeps_deployed) return fact("Gain", "none", "", "no other setting is better here");
  return fact("Gain", percent_text(report.weighted_gain), report.weighted_gain > 0 ? "faster" : "",
              "tokens/s over the deployed setting, weighted by the workload");
}

std::string worst_fact(const Report& report) {
  const Batch* worst = nullptr;
  for (const Batch& batch : report.batches) {
    if (batch.weight <= 0.0 || !batch.chosen().is_measured()) continue;
    if (worst == nullptr || gain_of(batch).value < gain_of(*worst).value) worst = &batch;
  }
  if (worst == nullptr || report.keeps_deployed)
    return fact("Worst batch", "unchanged", "", "the deployed setting stays");
  const bool stays = &worst->chosen() == &worst->deployed();
  return fact("Worst batch", percent_text(stays ? 0.0 : gain_of(*worst).value),
              stays ? "" : verdict_class(verdict_of(*worst)),
              stays ? fmt::format("at batch {}, where the deployed setting stays", worst->batch)
                    : fmt::format("at batch {}, {}", worst->batch, verdict_of(*worst)));
}

std::string noise_fact(const Report& report) {
  double worst = 0.0;
  std::int32_t batch_of_worst = 0;
  for (const Batch& batch : report.batches) {
    if (batch.noise < worst) continue;
    worst = batch.noise;
    batch_of_worst = batch.batch;
  }
  return fact("Noise floor", fmt::format("\u00b1{:.1f}%", worst * 100), "",
              fmt::format("at worst (batch {}): the deployed setting against itself", batch_of_worst));
}

std::string checks_fact(const Report& report) {
  std::size_t passed = 0;
  std::size_t checked = 0;
  double worst = 0.0;
  for (const Batch& batch : report.batches) {
    for (const Arm& arm : batch.arms) {
      ++checked;
      passed += arm.verified ? 1 : 0;
      if (arm.verified) worst = std::max(worst, arm.max_o_error);
    }
  }
  return fact("Outputs checked",
              passed == checked ? fmt::format("{}", checked) : fmt::format("{} of {}", passed, checked),
              passed == checked ? "" : "slower",
              passed == checked ? fmt::format("all right; worst relative error {:.2f}%", worst * 100)
                                : std::string("right; the others cannot be chosen"));
}

std::string deployed_time_html(const Batch& batch) {
  const double us = batch.is_confirmed ? batch.confirmation.deployed_us : batch.deployed().us.value;
  return link_html("#" + arm_id(batch, batch.deployed()), us > 0.0 ? time_text(us) : "not measured");
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
    const Estimate us = batch.is_confirmed ? batch.confirmation.us : chosen.us;
    table.add_row({std::to_string(batch.batch), code_html(chosen.setting), std::to_string(chosen.num_splits),
                   std::to_string(chosen.num_waves), fmt::format("{:.0f}%", chosen.wave_efficiency * 100),
                   link_html("#" + arm_id(batch, chosen), time_html(us)), deployed_time_html(batch),
                   &chosen == &batch.deployed() ? std::string("deployed") : percent_html(gain_of(batch)),
                   &chosen == &batch.deployed() ? std::string() : verdict_html(verdict_of(batch)),
                   fmt::format("\u00b1{:.1f}%", batch.noise * 100)});
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
