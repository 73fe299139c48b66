#include "report/decision_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "report/escape.h"

namespace wavefill::report {
namespace {

using Json = nlohmann::json;

// Text of any origin within a table cell or a paragraph: nothing in it may start a cell, markup or a line.
std::string prose(std::string_view text) {
  std::string escaped;
  for (const char c : valid_utf8(text)) {
    constexpr std::string_view kMarkup = "\\`*_{}[]<>|#";
    if (kMarkup.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return escaped;
}

// A setting in a code span, in which nothing can be escaped.
std::string code(std::string_view text) {
  std::string plain;
  for (const char c : valid_utf8(text)) {
    const bool ends_span = c == '`' || c == '|' || c == '\n' || c == '\r';
    plain += ends_span ? ' ' : c;
  }
  return "`" + plain + "`";
}

std::string percent(double effect) { return fmt::format("{:+.1f} %", effect * 100.0); }

std::string number_or(const Json& value, std::string_view otherwise) {
  return value.is_number() ? fmt::format("{}", value.get<std::int64_t>()) : std::string(otherwise);
}

std::string verdict_text(const Json& row, const std::string& deployed) {
  return row.at("setting") == deployed ? "deployed" : row.at("verdict").get<std::string>();
}

std::string effect_text(const Json& row, const std::string& deployed) {
  if (row.at("setting") == deployed) return "";
  std::string text = percent(row.at("effect").get<double>());
  if (row.at("effect_low").is_number()) {
    text += fmt::format(" ({} .. {})", percent(row.at("effect_low").get<double>()),
                        percent(row.at("effect_high").get<double>()));
  }
  return text;
}

std::string pairs_table(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text = "| | |\n|---|---|\n";
  for (const auto& [name, value] : pairs) text += fmt::format("| {} | {} |\n", prose(name), prose(value));
  return text;
}

std::string served_table(const Json& table) {
  std::string text = "| batch | setting | splits |\n|---:|---|---:|\n";
  for (const Json& entry : table) {
    text += fmt::format("| {} | {} | {} |\n", entry.at("batch").get<std::int64_t>(),
                        code(entry.at("setting").get<std::string>()), number_or(entry.at("num_splits"), ""));
  }
  return text;
}

std::string numbers_table(const Json& verdicts, const std::string& deployed) {
  std::string text =
      "| setting | batch | time, us | effect on throughput | verdict | noise | samples |\n"
      "|---|---:|---:|---|---|---:|---:|\n";
  for (const Json& row : verdicts) {
    text += fmt::format("| {} | {} | {:.1f} | {} | {} | {:.1f} % | {} |\n",
                        code(row.at("setting").get<std::string>()), row.at("batch").get<std::int64_t>(),
                        row.at("median_us").get<double>(), effect_text(row, deployed),
                        verdict_text(row, deployed), row.at("noise").get<double>() * 100.0,
                        row.at("samples").get<std::int64_t>());
  }
  return text;
}

std::string alternatives(const Json& rejected) {
  if (rejected.empty()) return "There was no other setting to choose from.\n";
  std::string text = "| setting | reason | batch | detail |\n|---|---|---:|---|\n";
  for (const Json& row : rejected) {
    text += fmt::format("| {} | {} | {} | {} |\n", code(row.at("setting").get<std::string>()),
                        prose(row.at("reason").get<std::string>()), number_or(row.at("batch"), ""),
                        prose(row.at("detail").get<std::string>()));
  }
  return text;
}

std::string what_would_change_it(const Json& decision) {
  std::string text;
  if (const Json& next = decision.at("next"); !next.is_null()) {
    text += fmt::format("- Measuring {}: {}.\n", code(next.at("setting").get<std::string>()),
                        prose(next.at("reason").get<std::string>()));
    for (const Json& entry : next.at("table")) {
      text += fmt::format("  - batch {}: {}\n", entry.at("batch").get<std::int64_t>(),
                          code(entry.at("setting").get<std::string>()));
    }
  }
  for (const Json& dip : decision.at("dips")) {
    text += fmt::format(
        "- {} falls by {:.1f} % from batch {} to {}{}; likely cause: {}. Without that cause it would "
        "be judged anew.\n",
        code(dip.at("setting").get<std::string>()), -dip.at("effect").get<double>() * 100.0,
        dip.at("batch_before").get<std::int64_t>(), dip.at("batch").get<std::int64_t>(),
        dip.at("measured_again").get<bool>() ? " (measured again, and still there)" : "",
        prose(dip.at("cause").get<std::string>()));
  }
  return text +
         "- Another device, driver, kernel, build or shape: the figures hold for those above.\n"
         "- A load at batch sizes that had no weight here.\n";
}

// Pages of runs without a choice of kernels, and of older ones, have no such part.
std::string kernels_part(const Json& decision) {
  const auto kernels = decision.find("kernels");
  if (kernels == decision.end() || kernels->empty()) return "";
  std::string text = "\n## Kernel\n\n| kernel | weighted throughput | tuned | why |\n|---|---:|---|---|\n";
  for (const Json& row : *kernels) {
    text +=
        fmt::format("| {} | {:.1f} % | {} | {} |\n", code(row.at("kernel").get<std::string>()),
                    row.at("throughput").get<double>() * 100.0, row.at("is_chosen").get<bool>() ? "yes" : "",
                    prose(row.at("reason").get<std::string>()));
  }
  return text;
}

std::string page(const DecisionContext& context, const Json& decision) {
  const auto chosen = decision.at("decision").get<std::string>();
  const bool keeps = decision.at("keeps_deployed").get<bool>();
  std::string text = fmt::format("# {} {}: {}\n\n{}\n\n", keeps ? "Keep" : "Deploy", code(chosen),
                                 prose(context.title), prose(context.date));
  text += "## Context\n\n" + pairs_table(context.facts);
  if (!context.environment.empty()) text += "\n" + pairs_table(context.environment);
  text += fmt::format("\n## Decision\n\n{}\n\n", prose(decision.at("summary").get<std::string>()));
  text += served_table(decision.at("table"));
  text += kernels_part(decision);
  text += "\n## Numbers\n\n" + numbers_table(decision.at("verdicts"), context.deployed);
  text += "\n## Alternatives\n\n" + alternatives(decision.at("rejected"));
  return text + "\n## What would change it\n\n" + what_would_change_it(decision);
}

}  // namespace

Result<std::string> decision_page(const DecisionContext& context, std::string_view decision_json) {
  const Json decision = Json::parse(decision_json, nullptr, /*allow_exceptions=*/false);
  try {
    return page(context, decision);
  } catch (const Json::exception& error) {
    return make_status(StatusCode::corrupt_data, "the decision is not one of this build: {}", error.what());
  }
}

}  // namespace wavefill::report
