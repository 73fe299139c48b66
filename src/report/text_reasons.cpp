// What the decision turned down, and where throughput falls, for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/report_figures.h"
#include "report/text_reasons.h"
#include "tune/batch_list.h"
#include "tune/decision.h"

namespace wavefill::report {
namespace {

// A setting is often turned down for one reason at many batches: that is one row.
struct Reason {
  const RejectedSetting* first = nullptr;
  std::vector<std::int32_t> batches = {};
  std::size_t count = 0;
};

std::vector<Reason> reasons_of(const Report& report) {
  std::vector<Reason> reasons;
  for (const RejectedSetting& rejected : report.rejected) {
    auto same = std::ranges::find_if(reasons, [&](const Reason& reason) {
      return reason.first->setting == rejected.setting && reason.first->reason == rejected.reason;
    });
    if (same == reasons.end()) {
      reasons.push_back({.first = &rejected});
      same = reasons.end() - 1;
    }
    ++same->count;
    if (rejected.batch > 0) same->batches.push_back(rejected.batch);
  }
  return reasons;
}

std::string label_of(const Report& report, const std::string& setting) {
  return setting == report.decision ? choice_label(report) : setting;
}

}  // namespace

std::string rejected_text(const Report& report, const TerminalStyle& style) {
  if (report.rejected.empty()) return "";
  TextTable table({{"not chosen", Align::left}, {"reason", Align::left}, {"batch"}, {"why", Align::left}});
  for (const Reason& reason : reasons_of(report)) {
    std::vector<std::int32_t> batches = reason.batches;
    std::ranges::sort(batches);
    std::string why = reason.first->detail;
    if (reason.count > 1) why += fmt::format(" (and {} more of this)", reason.count - 1);
    table.add_row({reason.first->setting, reason.first->reason,
                   batches.empty() ? std::string("-") : format_batches(batches), why});
  }
  return table.render(style);
}

std::string dips_text(const Report& report, const TerminalStyle& style) {
  TextTable table({{"throughput falls", Align::left},
                   {"from"},
                   {"to"},
                   {"by"},
                   {"likely cause", Align::left},
                   {"deployed too", Align::left},
                   {"measured again", Align::left}});
  std::size_t shown = 0;
  for (const Dip& dip : report.dips) {
    if (dip.setting != report.decision && dip.setting != report.deployed) continue;
    ++shown;
    table.add_row({label_of(report, dip.setting), std::to_string(dip.batch_before), std::to_string(dip.batch),
                   fmt::format("{:.1f}%", -dip.effect * 100), dip.cause, dip.introduced ? "no" : "yes",
                   dip.measured_again ? "yes" : "no"});
  }
  std::string text = shown > 0 ? table.render(style) : "";
  if (const std::size_t others = report.dips.size() - shown; others > 0) {
    text += fmt::format("{}{} of throughput with settings that were not chosen: see --report or --json\n",
                        shown > 0 ? "\n" : "", others == 1 ? "1 fall" : fmt::format("{} falls", others));
  }
  return text;
}

}  // namespace wavefill::report
