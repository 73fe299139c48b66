// Every measurement with all its samples: what the numbers of the page link to.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/figures.h"
#include "report/html_parts.h"
#include "report/html_sections.h"
#include "report/shown.h"

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

std::string median_pair(const Estimate& us) {
  return pair_html("median", fmt::format("{} \u00b5s, 95 % interval {} to {}", time_text(us.value),
                                         time_text(us.low), time_text(us.high)));
}

std::string effect_pair(const Estimate& effect, std::string_view verdict) {
  return pair_html("against deployed",
                   fmt::format("{} ({} to {}), {}", percent_text(effect.value), percent_text(effect.low),
                               percent_text(effect.high), verdict));
}

std::string arm_figures(const Arm& arm) {
  std::string html = "<dl>\n" + median_pair(arm.us);
  html += pair_html("samples", fmt::format("{}, stopped by {}", arm.samples_us.size(), arm.stopped_by));
  html += effect_pair(arm.effect, arm.verdict);
  html += pair_html("launch", fmt::format("splits {}, CTAs {}, waves {}, {:.1f}% full", arm.num_splits,
                                          arm.num_ctas, arm.num_waves, arm.wave_efficiency * 100));
  html += pair_html("predicted", fmt::format("{} \u00b5s by the cost model", time_text(arm.predicted_us)));
  html += pair_html("output", arm.verified ? fmt::format("right: relative error {:.2f}%, lse error {:.1e}",
                                                         arm.max_o_error * 100, arm.max_lse_error)
                                           : "wrong: " + arm.failure);
  if (!arm.aliases.empty()) html += pair_html("same plan as", aliases_text(arm));
  return html + "</dl>\n";
}

std::string strip_html(const std::string& id, const std::string& title, const std::vector<double>& samples_us,
                       const Estimate& us) {
  return draw_samples({.id = "strip-" + id,
                       .title = title,
                       .samples_us = samples_us,
                       .median_us = us.value,
                       .low_us = us.low,
                       .high_us = us.high});
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
  html += strip_html(id, fmt::format("Samples of {} at batch {}", arm.setting, batch.batch), arm.samples_us,
                     arm.us);
  return html + arm_figures(arm) + raw_html(arm.samples_us) + "</div>\n</details>\n";
}

// What was measured of a setting beside its arm in the search. `pairs_html`: what its samples say.
std::string side_details(const std::string& id, const std::string& title, const std::string& pairs_html,
                         const std::vector<double>& samples_us) {
  if (samples_us.empty()) return {};
  return fmt::format(
      "<details class=\"arm\" id=\"{}\">\n<summary>{} <span class=\"quiet\">{} samples</span></summary>\n"
      "<div class=\"inside\">\n{}{}</div>\n</details>\n",
      html_escaped(id), html_escaped(title), samples_us.size(), pairs_html, raw_html(samples_us));
}

std::string a_a_details(const Batch& batch) {
  const Shown noise = noise_of(batch);
  const std::string title =
      fmt::format("{} again (A/A), {}", batch.deployed().setting, percent_text(batch.a_a_effect.value));
  const std::string pairs =
      "<dl>\n" +
      pair_html("against itself",
                fmt::format("{} ({} to {})", percent_text(batch.a_a_effect.value),
                            percent_text(noise.value.low), percent_text(noise.value.high))) +
      pair_html("noise floor", noise_text(noise.value.value)) + "</dl>\n";
  return side_details(a_a_id(batch), title, pairs, batch.a_a_samples_us);
}

// Where the deployed setting alone was measured again, both sides are the same samples.
std::string confirmation_details(const Batch& batch) {
  const Confirmation& confirmation = batch.confirmation;
  const std::string id = confirmed_id(batch);
  const std::string deployed_id = confirmed_deployed_id(batch);
  std::string html;
  if (confirmation.setting != batch.deployed().setting) {
    const std::string title = "confirmation: " + confirmation.setting;
    html += side_details(id, title,
                         strip_html(id, title, confirmation.samples_us, confirmation.us) + "<dl>\n" +
                             median_pair(confirmation.us) +
                             // An entry that was taken back has no verdict of the table's.
                             (is_choice_confirmed(batch) && &batch.chosen() != &batch.deployed()
                                  ? effect_pair(confirmation.effect, confirmation.verdict)
                                  : pair_html("outcome", "did not hold; the deployed setting stays")) +
                             "</dl>\n",
                         confirmation.samples_us);
  }
  const std::string title = "confirmation: deployed " + batch.deployed().setting;
  return html + side_details(deployed_id, title,
                             strip_html(deployed_id, title, confirmation.deployed_samples_us,
                                        confirmation.deployed_us) +
                                 "<dl>\n" + median_pair(confirmation.deployed_us) + "</dl>\n",
                             confirmation.deployed_samples_us);
}

}  // namespace

std::string samples_section(const Report& report) {
  std::string html;
  for (const Batch& batch : report.batches) {
    html += fmt::format(
        "<details id=\"{}\">\n<summary>Batch {} <span class=\"quiet\">{} settings, {} rounds, {} {} a "
        "sample</span></summary>\n<div class=\"inside\">\n",
        batch_id(batch), batch.batch, batch.arms.size(), batch.rounds, batch.calls_per_sample,
        batch.calls_per_sample == 1 ? "call" : "calls");
    for (const Arm& arm : batch.arms) html += arm_details(batch, arm);
    html += a_a_details(batch);
    if (batch.is_confirmed) html += confirmation_details(batch);
    html += "</div>\n</details>\n";
  }
  return html;
}

}  // namespace wavefill::report
