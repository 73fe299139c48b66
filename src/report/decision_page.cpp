#include "report/decision_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "report/escape.h"
#include "report/phase_text.h"
#include "tune/batch_list.h"

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

// "64 (17), 80-96 (16 each)": batches that follow each other with the same weight are one.
std::string workload_text(const Json& workload) {
  std::string text;
  for (std::size_t i = 0; i < workload.size();) {
    const double weight = workload[i].at("weight").get<double>();
    std::vector<std::int32_t> batches;
    for (; i < workload.size() && workload[i].at("weight").get<double>() == weight; ++i) {
      batches.push_back(workload[i].at("batch").get<std::int32_t>());
    }
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", format_batches(batches), weight,
                        batches.size() > 1 ? " each" : "");
  }
  return text;
}

PhaseWatch watch_of(const Json& phase) {
  const auto clock = [&](const char* name) {
    return phase.at(name).is_number() ? phase.at(name).get<double>() : 0.0;
  };
  return {.rounds = phase.at("rounds").get<std::int32_t>(),
          .contaminated_rounds = phase.at("contaminated_rounds").get<std::int32_t>(),
          .contamination = phase.at("contamination").get<std::string>(),
          .clock_low_mhz = clock("clock_low_mhz"),
          .clock_high_mhz = clock("clock_high_mhz"),
          .counts_contaminated = phase.at("counts_contaminated").get<bool>()};
}

using Facts = std::vector<std::pair<std::string, std::string>>;

void add_request(const Json& request, Facts& facts) {
  facts.emplace_back("workload, batch (weight)", workload_text(request.at("workload")));
  if (request.at("budget_s").is_number()) {
    facts.emplace_back("budget", fmt::format("{} s", request.at("budget_s").get<double>()));
  }
  const Json& records = request.at("records");
  if (records.is_null()) return;
  facts.emplace_back("records", records.at("file").get<std::string>());
  facts.emplace_back("their SHA-256", records.at("sha256").get<std::string>());
  facts.emplace_back("their size",
                     fmt::format("{} bytes, {} samples", records.at("bytes").get<std::int64_t>(),
                                 records.at("samples").get<std::int64_t>()));
}

// What older builds did not keep is not there.
Facts facts_of(const Json& decision) {
  Facts facts;
  if (const auto request = decision.find("request"); request != decision.end()) add_request(*request, facts);
  const auto phases = decision.find("phases");
  if (phases == decision.end()) return facts;
  for (const auto& [phase, name] : {std::pair{"search", "search"}, std::pair{"confirm", "confirmation"}}) {
    const auto watch = phases->find(phase);
    if (watch != phases->end()) facts.emplace_back(name, watch_text(watch_of(*watch)));
  }
  return facts;
}

std::string command_of(const Json& decision) {
  const auto request = decision.find("request");
  if (request == decision.end() || !request->at("command").is_string()) return "";
  return request->at("command").get<std::string>();
}

// A fence longer than any run of backticks within: no text can end the block.
std::string code_block(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != std::string_view::npos) fence += '`';
  return fmt::format("{}sh\n{}\n{}\n", fence, valid_utf8(text), fence);
}

// A decision of this build, or one that `read` finds nothing in.
template <typename Read>
auto read_decision(std::string_view decision_json, Read read) -> decltype(read(Json())) {
  const Json decision = Json::parse(decision_json, nullptr, /*allow_exceptions=*/false);
  if (!decision.is_object()) return {};
  try {
    return read(decision);
  } catch (const Json::exception&) {
    return {};
  }
}

std::string page(const DecisionContext& context, const Json& decision) {
  const auto chosen = decision.at("decision").get<std::string>();
  const bool keeps = decision.at("keeps_deployed").get<bool>();
  std::string text = fmt::format("# {} {}: {}\n\n{}\n\n", keeps ? "Keep" : "Deploy", code(chosen),
                                 prose(context.title), prose(context.date));
  Facts facts = context.facts;
  std::ranges::move(facts_of(decision), std::back_inserter(facts));
  text += "## Context\n\n" + pairs_table(facts);
  if (!context.environment.empty()) text += "\n" + pairs_table(context.environment);
  if (const std::string command = command_of(decision); !command.empty()) {
    text += "\nAsked for by\n\n" + code_block(command);
  }
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

std::vector<std::pair<std::string, std::string>> request_facts(std::string_view decision_json) {
  return read_decision(decision_json, facts_of);
}

std::string request_command(std::string_view decision_json) {
  return read_decision(decision_json, command_of);
}

}  // namespace wavefill::report
