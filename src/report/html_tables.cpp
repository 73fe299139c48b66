// Regrets, rejected settings, trust and environment.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_parts.h"
#include "report/html_sections.h"
#include "report/phase_text.h"
#include "report/regret.h"
#include "report/shown.h"

namespace wavefill::report {
namespace {

std::string batches_text(const PolicyRegret& regret) {
  return fmt::format("{} of {}", regret.num_batches, regret.num_compared);
}

// Of the arm that a policy had where it did worst. Regrets are of the search, where settings took turns.
std::string worst_id(const Report& report, const PolicyRegret& regret) {
  const auto batch = std::ranges::find(report.batches, regret.worst_batch, &Batch::batch);
  if (batch == report.batches.end()) return {};
  if (&regret == &report.regrets.front()) return arm_id(*batch, batch->chosen());
  const std::vector<ModelPick>& picks =
      regret.setting == kModelOutOfSample ? report.fit.out_of_sample.picks : report.fit.in_sample.picks;
  const auto pick = std::ranges::find(picks, regret.worst_batch, &ModelPick::batch);
  const bool is_picked = is_model(regret.setting) && pick != picks.end();
  const Arm* arm = find_arm(*batch, is_picked ? pick->setting : regret.setting);
  return arm == nullptr ? std::string() : arm_id(*batch, *arm);
}

std::string measure_html(double value, double full, bool is_chosen) {
  const double share = full > 0.0 ? std::clamp(value / full, 0.0, 1.0) : 0.0;
  return fmt::format(
      "<span class=\"measure{}\" aria-hidden=\"true\"><span style=\"width:{:.1f}%\"></span></span>",
      is_chosen ? " chosen" : "", share * 100);
}

std::string readable_reason(std::string_view reason) {
  std::string text(reason);
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string pair_html(std::string_view name, std::string_view value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(name), html_escaped(value));
}

std::string dips_table(const Report& report) {
  if (report.dips.empty()) return {};
  HtmlTable table("Where throughput falls", {{"Setting", "left"},
                                             {"From batch", ""},
                                             {"To batch", ""},
                                             {"Throughput", ""},
                                             {"Likely cause", "left"},
                                             {"Deployed falls too", "left"},
                                             {"Measured again", "left"}});
  for (const Dip& dip : report.dips) {
    const auto batch_html = [&](std::int32_t batch) {
      return linked_html(judged_id(report, dip.setting, batch), std::to_string(batch));
    };
    table.add_row({code_html(dip.setting), batch_html(dip.batch_before), batch_html(dip.batch),
                   percent_text(dip.effect), html_escaped(dip.cause), dip.introduced ? "no" : "yes",
                   dip.measured_again ? "yes, still there" : "no"});
  }
  return "<p>Throughput falls from one batch size to the next larger one here:</p>\n" + table.html() + "\n";
}

}  // namespace

std::string regrets_section(const Report& report) {
  if (report.regrets.empty()) {
    return "<p>Unknown: the budget had room for the deployed setting alone, so nothing was compared with "
           "it.</p>";
  }
  double full = 0.0;
  for (const PolicyRegret& regret : report.regrets) full = std::max(full, regret.geometric_mean);
  HtmlTable table("What each policy would cost", {{"Setting", "left"},
                                                  {"Time lost, mean", ""},
                                                  {"", "left"},
                                                  {"Worst", ""},
                                                  {"At batch", ""},
                                                  {"Batches", ""}});
  for (const PolicyRegret& regret : report.regrets) {
    const bool is_chosen = &regret == &report.regrets.front();
    const bool is_setting = !is_chosen && !is_model(regret.setting);
    std::string name = is_setting ? code_html(regret.setting) : html_escaped(regret.setting);
    if (regret.setting == report.deployed) name += " deployed";
    if (regret.num_batches == 0) {
      table.add_row({name, "unknown", "", "unknown", "", batches_text(regret)});
      continue;
    }
    table.add_row({name, linked_html("samples-heading", fmt::format("{:.1f}%", regret.geometric_mean * 100)),
                   measure_html(regret.geometric_mean, full, is_chosen),
                   linked_html(worst_id(report, regret), fmt::format("{:.1f}%", regret.worst * 100)),
                   std::to_string(regret.worst_batch), batches_text(regret)});
  }
  return table.html();
}

std::string rejected_section(const Report& report) {
  if (report.rejected.empty()) return "<p>There was no other setting to choose from.</p>";
  HtmlTable table("Settings not chosen",
                  {{"Setting", "left"}, {"Why", "left"}, {"At batch", ""}, {"Detail", "left prose"}});
  for (const RejectedSetting& rejected : report.rejected) {
    table.add_row({code_html(rejected.setting), html_escaped(readable_reason(rejected.reason)),
                   rejected.batch > 0 ? linked_html(judged_id(report, rejected.setting, rejected.batch),
                                                    std::to_string(rejected.batch))
                                      : std::string(),
                   html_escaped(rejected.detail)});
  }
  std::string html = table.html();
  if (!report.next.empty()) html += "\n<p>To get further, measure " + html_escaped(report.next) + "</p>";
  return html;
}

std::string trust_section(const Report& report) {
  std::string html = dips_table(report);
  html += "<dl class=\"pairs\">\n";
  html += pair_html("timing", report.timing);
  if (!report.batches.empty()) html += pair_html("caches", report.batches.back().cache_state);
  html += pair_html("disturbed, search", disturbed_text(report.search_watch));
  if (was_confirmed(report)) {
    html += pair_html("disturbed, confirmation", disturbed_text(report.confirm_watch));
  }
  html += pair_html("time spent", fmt::format("{:.0f} s", report.elapsed_s));
  return html + "</dl>";
}

std::string environment_section(const Report& report) {
  std::string html = "<dl class=\"pairs\">\n";
  html += pair_html("device", report.device);
  html += pair_html("kernel", fmt::format("{} ({} slots)", report.kernel, report.slots));
  html += pair_html("search", watch_text(report.search_watch));
  if (was_confirmed(report)) html += pair_html("confirmation", watch_text(report.confirm_watch));
  for (const auto& [name, value] : report.environment) html += pair_html(name, value);
  return html + "</dl>";
}

}  // namespace wavefill::report
