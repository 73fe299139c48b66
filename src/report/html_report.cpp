// The page: the template of assets/report.html with its {{places}} filled.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/assets.h"
#include "report/escape.h"
#include "report/html_sections.h"
#include "report/report.h"

namespace wavefill::report {
namespace {

using Places = std::vector<std::pair<std::string_view, std::string>>;

// One pass over the template: what is filled in is never looked at again, so no string in it can name a
// place. A place that has no filling stays empty.
std::string filled(std::string_view text, const Places& places) {
  std::string result;
  while (true) {
    const std::size_t open = text.find("{{");
    const std::size_t close = open == text.npos ? text.npos : text.find("}}", open);
    if (close == text.npos) return result += text;
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto found = std::ranges::find(places, name, &Places::value_type::first);
    result += text.substr(0, open);
    if (found != places.end()) result += found->second;
    text.remove_prefix(close + 2);
  }
}

std::string batches_text(const Report& report) {
  if (report.batches.empty()) return "no batch sizes";
  if (report.batches.size() == 1) return fmt::format("batch {}", report.batches.front().batch);
  return fmt::format("{} batch sizes from {} to {}", report.batches.size(), report.batches.front().batch,
                     report.batches.back().batch);
}

std::string footer_html(const Report& report) {
  return fmt::format("<p>wavefill {}, run {} of the ledger, {}</p>\n<p>Made by <code>{}</code></p>",
                     html_escaped(report.library_version), report.run, html_escaped(report.created),
                     html_escaped(report.command));
}

}  // namespace

std::string to_html(const Report& report) {
  return filled(asset("report.html"),
                {{"version", html_escaped(report.library_version)},
                 {"title", html_escaped(report.title + " on " + report.device + " - wavefill")},
                 {"heading", html_escaped(report.title)},
                 {"subheading",
                  html_escaped(fmt::format("{} \u00b7 {} \u00b7 {} \u00b7 {}", report.device,
                                           shape_text(report.shape), batches_text(report), report.created))},
                 {"figure.css", std::string(asset("figure.css"))},
                 {"report.css", std::string(asset("report.css"))},
                 {"report.js", std::string(asset("report.js"))},
                 {"verdict", verdict_section(report)},
                 {"figures", figures_section(report)},
                 {"verdict-table", verdict_table(report) + kernels_table(report)},
                 {"regrets", regrets_section(report)},
                 {"rejected", rejected_section(report)},
                 {"model", model_section(report)},
                 {"trust", trust_section(report)},
                 {"samples", samples_section(report)},
                 {"environment", environment_section(report)},
                 {"footer", footer_html(report)},
                 {"data", script_escaped(to_json(report))}});
}

}  // namespace wavefill::report
