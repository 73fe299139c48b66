#include "report/legend.h"

#include <fmt/format.h>

namespace wavefill::report {
namespace {

constexpr double kFontSize = 12.0;
constexpr double kSampleWidth = 26.0;
constexpr double kEntryGap = 18.0;
constexpr double kLineHeight = 20.0;

}  // namespace

Legend::Legend(std::vector<Entry> entries, double width) : entries_(std::move(entries)) {
  Point cursor{.x = 2.0, .y = kLineHeight / 2};
  for (Entry& entry : entries_) {
    const double entry_width = kSampleWidth + 6 + text_width(entry.label, kFontSize);
    if (cursor.x > 2.0 && cursor.x + entry_width > width) cursor = {.x = 2.0, .y = cursor.y + kLineHeight};
    entry.at = cursor;
    cursor.x += entry_width + kEntryGap;
  }
  height_ = cursor.y + kLineHeight / 2;
}

void Legend::draw(Svg& svg) const {
  for (const Entry& entry : entries_) {
    svg.open_group("legend-entry series " + entry.css_class, entry.series);
    svg.line(entry.at, {entry.at.x + kSampleWidth, entry.at.y}, "curve");
    svg.circle({entry.at.x + kSampleWidth / 2, entry.at.y}, 3.0, "mark");
    svg.text({entry.at.x + kSampleWidth + 6, entry.at.y + 4}, entry.label, "label start legend-label");
    svg.close_group();
  }
}

std::string curve_class(std::span<const Curve> curves, std::size_t curve_idx) {
  if (curves[curve_idx].role == CurveRole::chosen) return "chosen";
  if (curves[curve_idx].role == CurveRole::deployed) return "deployed";
  std::size_t others_before = 0;
  for (std::size_t i = 0; i < curve_idx; ++i) others_before += curves[i].role == CurveRole::other ? 1 : 0;
  return others_before < kOtherStyles ? fmt::format("other-{}", others_before) : "rest";
}

Legend curve_legend(std::span<const Curve> curves, double width) {
  std::vector<Legend::Entry> entries;
  for (const CurveRole role : {CurveRole::chosen, CurveRole::deployed, CurveRole::other}) {
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (curves[i].role != role) continue;
      std::string label = curves[i].label;
      if (role == CurveRole::chosen) label += " (chosen)";
      if (role == CurveRole::deployed) label += " (deployed)";
      entries.push_back({.series = curves[i].label,
                         .label = std::move(label),
                         .css_class = curve_class(curves, i),
                         .at = {}});
    }
  }
  return {std::move(entries), width};
}

}  // namespace wavefill::report
