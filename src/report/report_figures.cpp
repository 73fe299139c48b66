#include "report/report_figures.h"

#include <algorithm>
#include <set>

#include "report/regret.h"
#include "report/shown.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

// More time is less throughput, so the ends of the interval change places.
CurvePoint point_of(const Report& report, const Batch& batch, const Shown& time) {
  const double rows = static_cast<double>(batch.batch) * report.shape.s_q;
  return {.batch = batch.batch,
          .value = rows * 1e6 / time.value.value,
          .low = rows * 1e6 / time.value.high,
          .high = rows * 1e6 / time.value.low,
          .href = time.samples_id.empty() ? "" : "#" + time.samples_id};
}

Curve curve_of(const Report& report, const std::string& setting) {
  Curve curve{.label = setting, .role = CurveRole::other, .points = {}};
  for (const Batch& batch : report.batches) {
    const Arm* arm = find_arm(batch, setting);
    if (arm == nullptr) continue;
    curve.points.push_back(point_of(report, batch, time_of(batch, *arm)));
  }
  return curve;
}

// The times of the table, batch by batch.
Curve shown_curve(const Report& report, std::string label, CurveRole role, Shown (*time_of)(const Batch&)) {
  Curve curve{.label = std::move(label), .role = role, .points = {}};
  for (const Batch& batch : report.batches) {
    const Shown time = time_of(batch);
    if (time.value.value > 0.0) curve.points.push_back(point_of(report, batch, time));
  }
  return curve;
}

// Settings that mean the same plans at every batch share a curve, and its label names them all.
void add_other_curve(std::vector<Curve>& curves, Curve curve) {
  for (Curve& drawn : curves) {
    if (drawn.role == CurveRole::chosen || drawn.points != curve.points) continue;
    drawn.label += ", " + curve.label;
    return;
  }
  curves.push_back(std::move(curve));
}

// Split counts in order, then the settings whose rows differ in splits.
std::vector<std::string> heat_rows(const Report& report) {
  std::set<std::int32_t> counts;
  std::vector<std::string> others;
  for (const Batch& batch : report.batches) {
    for (const Arm& arm : batch.arms) {
      if (!arm.is_measured()) continue;
      if (arm.is_uniform) {
        counts.insert(arm.num_splits);
      } else if (std::ranges::find(others, arm.setting) == others.end()) {
        others.push_back(arm.setting);
      }
    }
  }
  std::vector<std::string> rows;
  for (const std::int32_t count : counts) rows.push_back(std::to_string(count));
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

HeatCell heat_cell(const Batch& batch, const Arm& arm, std::size_t batch_idx, std::size_t row_idx) {
  return {.batch_idx = batch_idx,
          .row_idx = row_idx,
          .excess = arm.us.value / best_arm(batch)->us.value - 1.0,
          .is_chosen = &arm == &batch.chosen(),
          .is_deployed = &arm == &batch.deployed(),
          .href = "#" + arm_id(batch, arm)};
}

// Plans of the same split count may differ in their boundaries: the chosen one is shown, else the fastest.
void place(HeatMap& map, HeatCell cell) {
  const auto same_place = [&](const HeatCell& other) {
    return other.batch_idx == cell.batch_idx && other.row_idx == cell.row_idx;
  };
  const auto found = std::ranges::find_if(map.cells, same_place);
  if (found == map.cells.end()) {
    map.cells.push_back(std::move(cell));
  } else if (cell.is_chosen || (!found->is_chosen && cell.excess < found->excess)) {
    cell.is_deployed |= found->is_deployed;
    *found = std::move(cell);
  }
}

}  // namespace

std::string choice_label(const Report& report) {
  return report.decision == "measured" ? "per-batch table" : report.decision;
}

std::string reason_text(const Report& report) {
  const std::size_t colon = report.summary.find(": ");
  return colon == std::string::npos ? report.summary : report.summary.substr(colon + 2);
}

ThroughputFigure throughput_figure(const Report& report) {
  ThroughputFigure figure;
  figure.curves.push_back(shown_curve(report, choice_label(report), CurveRole::chosen, chosen_time));
  if (!report.keeps_deployed) {
    figure.curves.push_back(shown_curve(report, report.deployed, CurveRole::deployed, deployed_time));
  }
  for (const std::string& setting : settings_to_price(report.batches)) {
    if (setting == report.deployed || setting == report.decision || is_split_count(setting)) continue;
    add_other_curve(figure.curves, curve_of(report, setting));
  }
  std::erase_if(figure.curves, [](const Curve& curve) { return curve.points.empty(); });
  for (const Batch& batch : report.batches) {
    const Arm& arm = batch.chosen();
    figure.waves.push_back({.batch = batch.batch,
                            .num_splits = arm.num_splits,
                            .num_waves = arm.num_waves,
                            .efficiency = arm.wave_efficiency});
  }
  return figure;
}

std::vector<EffectPoint> effect_points(const Report& report) {
  std::vector<EffectPoint> points;
  for (const Batch& batch : report.batches) {
    if (!batch.chosen().is_measured()) continue;
    const bool is_deployed = &batch.chosen() == &batch.deployed();
    const Shown gain = chosen_gain(batch);
    points.push_back({.batch = batch.batch,
                      .effect = gain.value.value,
                      .low = gain.value.low,
                      .high = gain.value.high,
                      .noise = batch.noise,
                      .verdict = is_deployed ? "" : verdict_of(batch),
                      .href = "#" + (is_deployed ? deployed_time(batch) : gain).samples_id});
  }
  return points;
}

HeatMap heat_map(const Report& report) {
  HeatMap map{.batches = {}, .rows = heat_rows(report), .cells = {}};
  for (const Batch& batch : report.batches) {
    const std::size_t batch_idx = map.batches.size();
    map.batches.push_back(batch.batch);
    for (const Arm& arm : batch.arms) {
      if (!arm.is_measured()) continue;
      const std::string row = arm.is_uniform ? std::to_string(arm.num_splits) : arm.setting;
      const auto row_idx = static_cast<std::size_t>(std::ranges::find(map.rows, row) - map.rows.begin());
      place(map, heat_cell(batch, arm, batch_idx, row_idx));
    }
  }
  return map;
}

std::vector<std::pair<std::string, std::string>> to_svg_files(const Report& report) {
  return {{"throughput.svg", standalone_svg(draw_throughput(throughput_figure(report), FigureSize::wide))},
          {"effects.svg", standalone_svg(draw_effects(effect_points(report), FigureSize::wide))},
          {"heat-map.svg", standalone_svg(draw_heat_map(heat_map(report), FigureSize::wide))}};
}

}  // namespace wavefill::report
