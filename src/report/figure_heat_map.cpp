// Time against the best of each batch, for every setting that was measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/figures.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

// Upper ends of the colour levels level-0 .. level-5 of figure.css, as shares of the best time; beyond the
// last lies level-6.
constexpr std::array<double, 6> kLevels = {0.01, 0.03, 0.07, 0.15, 0.30, 0.60};

std::size_t level_of(double excess) {
  return static_cast<std::size_t>(std::ranges::lower_bound(kLevels, excess) - kLevels.begin());
}

constexpr double kFontSize = 12.0;
constexpr double kMinCellForText = 26.0;
constexpr double kTop = 44.0;
constexpr double kLegendHeight = 50.0;

// Where a batch and a row of the map lie in the picture: batches run right (wide) or down (narrow).
class Grid {
 public:
  Grid(const HeatMap& map, FigureSize size)
      : is_wide_(size == FigureSize::wide),
        across_(is_wide_ ? map.batches.size() : map.rows.size()),
        down_(is_wide_ ? map.rows.size() : map.batches.size()) {
    left_ = is_wide_ ? 20.0 + std::max(text_width("splits", kFontSize), widest(map.rows)) : 44.0;
    cell_width_ = std::min(56.0, (width() - left_ - 4.0) / static_cast<double>(across_));
    cell_height_ = is_wide_ ? 26.0 : 24.0;
  }

  bool is_wide() const { return is_wide_; }
  double width() const { return is_wide_ ? 960.0 : 360.0; }
  double left() const { return left_; }
  double bottom() const { return kTop + cell_height_ * static_cast<double>(down_); }
  double right() const { return left_ + cell_width_ * static_cast<double>(across_); }
  bool has_text() const { return cell_width_ >= kMinCellForText; }

  Box cell(std::size_t batch_idx, std::size_t row_idx) const {
    const std::size_t column = is_wide_ ? batch_idx : row_idx;
    const std::size_t line = is_wide_ ? row_idx : batch_idx;
    return {.x = left_ + cell_width_ * static_cast<double>(column),
            .y = kTop + cell_height_ * static_cast<double>(line),
            .width = cell_width_,
            .height = cell_height_};
  }

 private:
  static double widest(const std::vector<std::string>& labels) {
    double width = 0.0;
    for (const std::string& label : labels) width = std::max(width, text_width(label, kFontSize));
    return width;
  }

  bool is_wide_;
  std::size_t across_;
  std::size_t down_;
  double left_ = 0.0;
  double cell_width_ = 0.0;
  double cell_height_ = 0.0;
};

Point center(const Box& box) { return {box.x + box.width / 2, box.y + box.height / 2}; }

bool is_number(std::string_view label) { return label.find_first_not_of("0123456789") == label.npos; }

// As much of a name as fits; the cells' tooltips have it whole.
std::string shortened(const std::string& label, double width) {
  std::string text = label;
  while (text.size() > 1 && text_width(text + ".", kFontSize) > width) text.pop_back();
  return text == label ? label : text + ".";
}

void draw_labels(Svg& svg, const HeatMap& map, const Grid& grid) {
  const auto down = [&](const Box& box, const std::string& label) {
    svg.text({grid.left() - 10, center(box).y + 4}, label, "label end");
  };
  const double least_gap = grid.is_wide() ? 8.0 : 2.0;
  double last_x = -INFINITY;
  const auto across = [&](const Box& box, const std::string& label) {
    const std::string shown = is_number(label) ? label : shortened(label, box.width);
    if (center(box).x - last_x < text_width(shown, kFontSize) + least_gap) return;
    svg.text({center(box).x, kTop - 8}, shown, "label middle");
    last_x = center(box).x;
  };
  for (std::size_t b = 0; b < map.batches.size(); ++b) {
    const std::string label = std::to_string(map.batches[b]);
    grid.is_wide() ? across(grid.cell(b, 0), label) : down(grid.cell(b, 0), label);
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    grid.is_wide() ? down(grid.cell(0, r), map.rows[r]) : across(grid.cell(0, r), map.rows[r]);
  }
  const std::string_view down_title = grid.is_wide() ? "splits" : "batch";
  const std::string_view across_title = grid.is_wide() ? "batch size" : "splits";
  svg.text({grid.left() - 10, kTop - 8}, down_title, "label end unit");
  svg.text({(grid.left() + grid.right()) / 2, kTop - 28}, across_title, "label middle unit");
}

void draw_cell(Svg& svg, const HeatMap& map, const HeatCell& cell, const Grid& grid) {
  const Box box = grid.cell(cell.batch_idx, cell.row_idx);
  const std::string excess = fmt::format("{:.{}f}", cell.excess * 100, cell.excess < 0.0995 ? 1 : 0);
  const std::string marks =
      fmt::format("{}{}", cell.is_chosen ? ", chosen" : "", cell.is_deployed ? ", deployed" : "");
  const std::string tooltip =
      fmt::format("batch {}, {}{}: {}{}", map.batches[cell.batch_idx],
                  is_number(map.rows[cell.row_idx]) ? "splits " : "", map.rows[cell.row_idx],
                  cell.excess <= 0.0 ? std::string("the best") : excess + " % slower than the best", marks);
  svg.open_link(cell.href, tooltip);
  svg.rect({.x = box.x + 1, .y = box.y + 1, .width = box.width - 2, .height = box.height - 2},
           fmt::format("cell level-{}", level_of(cell.excess)), tooltip);
  if (grid.has_text()) {
    svg.text({center(box).x, center(box).y + 4}, cell.excess <= 0.0 ? "best" : excess,
             fmt::format("label middle on-level-{}", level_of(cell.excess)));
  }
  if (cell.is_deployed) {
    svg.polygon(std::vector<Point>{{box.x + 2, box.y + 2}, {box.x + 10, box.y + 2}, {box.x + 2, box.y + 10}},
                "deployed-corner");
  }
  svg.close_link();
}

// The chosen cells are joined by a line and ringed, on top of everything.
void draw_chosen_path(Svg& svg, const HeatMap& map, const Grid& grid) {
  std::vector<const HeatCell*> chosen;
  for (const HeatCell& cell : map.cells) {
    if (cell.is_chosen) chosen.push_back(&cell);
  }
  std::ranges::sort(chosen, {}, &HeatCell::batch_idx);
  for (const HeatCell* cell : chosen) {
    const Box box = grid.cell(cell->batch_idx, cell->row_idx);
    svg.rect({.x = box.x + 1, .y = box.y + 1, .width = box.width - 2, .height = box.height - 2},
             "chosen-ring");
  }
}

void draw_key(Svg& svg, const Grid& grid) {
  const double y = grid.bottom() + 18;
  const double swatch = grid.is_wide() ? 46.0 : 34.0;
  double x = grid.is_wide() ? grid.left() : 8.0;
  for (std::size_t level = 0; level <= kLevels.size(); ++level) {
    svg.rect({.x = x, .y = y, .width = swatch, .height = 10}, fmt::format("cell level-{}", level));
    const std::string label = level < kLevels.size() ? fmt::format("{:.0f}%", kLevels[level] * 100) : "more";
    svg.text({x + swatch, y + 24}, label, "label end");
    x += swatch;
  }
  const double marks_y = grid.is_wide() ? y : y + 34;
  double marks_x = grid.is_wide() ? x + 40 : 8.0;
  svg.rect({.x = marks_x, .y = marks_y - 3, .width = 22, .height = 16}, "chosen-ring");
  svg.text({marks_x + 28, marks_y + 10}, "chosen", "label start");
  marks_x += 94;
  svg.polygon(
      std::vector<Point>{{marks_x, marks_y - 2}, {marks_x + 12, marks_y - 2}, {marks_x, marks_y + 10}},
      "deployed-corner");
  svg.text({marks_x + 18, marks_y + 10}, "deployed", "label start");
}

}  // namespace

std::string draw_heat_map(const HeatMap& map, FigureSize size) {
  if (map.batches.empty() || map.rows.empty()) return {};
  const Grid grid(map, size);
  Svg svg(
      grid.width(), grid.bottom() + kLegendHeight + (grid.is_wide() ? 0.0 : 24.0),
      {.id = grid.is_wide() ? "heat-map" : "heat-map-narrow",
       .title = "Time against the best of each batch size",
       .description = fmt::format("{} batch sizes by {} split settings; each cell gives the percentage by "
                                  "which it is slower than the best of its batch.",
                                  map.batches.size(), map.rows.size())});
  draw_labels(svg, map, grid);
  for (std::size_t b = 0; b < map.batches.size(); ++b) {
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
      const Box box = grid.cell(b, r);
      svg.rect({.x = box.x + 1, .y = box.y + 1, .width = box.width - 2, .height = box.height - 2},
               "not-measured");
    }
  }
  for (const HeatCell& cell : map.cells) draw_cell(svg, map, cell, grid);
  draw_chosen_path(svg, map, grid);
  draw_key(svg, grid);
  return svg.str();
}

}  // namespace wavefill::report
