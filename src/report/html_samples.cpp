// Every measurement with all its samples: what the numbers of the page link to.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/figures.h"
#include "report/html_parts.h"
#include "report/html_sections.h"

namespace wavefill::report {
namespace {

std::string raw_html(const std::vector<double>& samples_us) {
  std::string list;
  for (const double sample : samples_us) list += (list.empty() ? "" : " ") + time_text(sample);
  return fmt::format("<p class=\"raw\">{}</p>\n", list);
}

std::string pair_html(std::string_view name, const std::string& value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(name), html_escaped(value));
}

std::string aliases_text(const Arm& arm) {
  std::string text;
  for (const std::string& alias : arm.aliases) text += (text.empty() ? "" : ", ") + alias;
  return text;
}

std::string arm_figures(const Arm& arm) {
  std::string html = "<dl>\n";
  html += pair_html("median", fmt::format("{} \u00b5s, 95 % interval {} to {}", time_text(arm.us.value),
                                          time_text(arm.us.low), time_text(arm.us.high)));
  html += pair_html("samples", fmt::format("{}, stopped by {}", arm.samples_us.size(), arm.stopped_by));
  html += pair_html("against deployed",
                    fmt::format("{} ({} to {}), {}", percent_text(arm.effect.value),
                                percent_text(arm.effect.low), percent_text(arm.effect.high), arm.verdict));
  html += pair_html("launch", fmt::format("splits {}, CTAs {}, waves {}, {:.1f}% full", arm.num_splits,
                                          arm.num_ctas, arm.num_waves, arm.wave_efficiency * 100));
  html += pair_html("predicted", fmt::format("{} \u00b5s by the cost model", time_text(arm.predicted_us)));
  html += pair_html("output", arm.verified ? fmt::format("right: relative error {:.2f}%, lse error {:.1e}",
                                                         arm.max_o_error * 100, arm.max_lse_error)
                                           : "wrong: " + arm.failure);
  if (!arm.aliases.empty()) html += pair_html("same plan as", aliases_text(arm));
  return html + "</dl>\n";
}

std::string arm_details(const Batch& batch, const Arm& arm) {
  const std::string id = arm_id(batch, arm);
  std::string role;
  if (&arm == &batch.chosen()) role += ", chosen";
  if (&arm == &batch.deployed()) role += ", deployed";
  const std::string state = !arm.verified            ? "output wrong"
                            : arm.samples_us.empty() ? "not measured"
                                                     : time_text(arm.us.value) + " \u00b5s";
  std::string html = fmt::format(
      "<details class=\"arm\" id=\"{}\">\n<summary>{} {} <span class=\"quiet\">{} "
      "samples{}</span></summary>\n"
      "<div class=\"inside\">\n",
      id, code_html(arm.setting), html_escaped(state), arm.samples_us.size(), role);
  html += draw_samples({.id = "strip-" + id,
                        .title = fmt::format("Samples of {} at batch {}", arm.setting, batch.batch),
                        .samples_us = arm.samples_us,
                        .median_us = arm.us.value,
                        .low_us = arm.us.low,
                        .high_us = arm.us.high});
  return html + arm_figures(arm) + raw_html(arm.samples_us) + "</div>\n</details>\n";
}

std::string side_details(const std::string& id, const std::string& title,
                         const std::vector<double>& samples_us) {
  if (samples_us.empty()) return {};
  return fmt::format(
      "<details class=\"arm\" id=\"{}\">\n<summary>{} <span class=\"quiet\">{} samples</span></summary>\n"
      "<div class=\"inside\">\n{}</div>\n</details>\n",
      html_escaped(id), html_escaped(title), samples_us.size(), raw_html(samples_us));
}

}  // namespace

std::string samples_section(const Report& report) {
  std::string html;
  for (const Batch& batch : report.batches) {
    html += fmt::format(
        "<details id=\"b-{0}\">\n<summary>Batch {0} <span class=\"quiet\">{1} settings, {2} rounds, {3} {4} "
        "a "
        "sample</span></summary>\n<div class=\"inside\">\n",
        batch.batch, batch.arms.size(), batch.rounds, batch.calls_per_sample,
        batch.calls_per_sample == 1 ? "call" : "calls");
    for (const Arm& arm : batch.arms) html += arm_details(batch, arm);
    html += side_details(
        fmt::format("aa-{}", batch.batch),
        fmt::format("{} again (A/A), {}", batch.deployed().setting, percent_text(batch.a_a_effect.value)),
        batch.a_a_samples_us);
    if (batch.is_confirmed) {
      html += side_details(fmt::format("c-{}", batch.batch), "confirmation: " + batch.chosen().setting,
                           batch.confirmation.samples_us);
      html += side_details(fmt::format("cd-{}", batch.batch),
                           "confirmation: deployed " + batch.deployed().setting,
                           batch.confirmation.deployed_samples_us);
    }
    html += "</div>\n</details>\n";
  }
  return html;
}

}  // namespace wavefill::report
