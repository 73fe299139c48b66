#include "tune/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/errors.h"
#include "measure/statistics.h"
#include "tune/cost_prediction.h"

namespace wavefill {
namespace {

// tile_us, tile_stream_us, cta_us, combine_us, partial_us.
constexpr std::size_t kNumConstants = 5;
using Constants = std::array<double, kNumConstants>;

// The model is linear in its constants once it is known which slot is the busiest and whether a tile is
// bound by the slot or by the stream. Both depend on the constants, so they are settled in turn.
constexpr int kAlternations = 20;
constexpr int kSweeps = 2000;  // of coordinate descent; five constants settle in far fewer

Constants constants_of(const CostModel& model) {
  return {model.tile_us, model.tile_stream_us, model.cta_us, model.combine_us, model.partial_us};
}

CostModel model_of(const Constants& constants) {
  return {.tile_us = constants[0],
          .tile_stream_us = constants[1],
          .cta_us = constants[2],
          .combine_us = constants[3],
          .partial_us = constants[4],
          .source = "fitted to measurements"};
}

Constants features_of(const SplitPlan& plan, const CostModel& model) {
  const CriticalPath path = critical_path(plan, model);
  const auto active = static_cast<double>(active_slots(plan));
  const auto tiles = static_cast<double>(path.tiles);
  const bool streams = model.tile_stream_us * active > model.tile_us;
  return {streams ? 0.0 : tiles, streams ? tiles * active : 0.0, static_cast<double>(path.items),
          plan.num_partials() > 0 ? 1.0 : 0.0, static_cast<double>(partials_per_slot(plan))};
}

// Least squares of sum_k row[k] * x[k] = 1 with x >= 0, by coordinate descent on the normal equations: the
// problem is convex, so it cannot stick elsewhere. A constant that no row mentions keeps its value.
void solve_non_negative(const std::vector<Constants>& rows, Constants& x) {
  std::array<Constants, kNumConstants> gram{};
  Constants target{};
  for (const Constants& row : rows) {
    for (std::size_t i = 0; i < kNumConstants; ++i) {
      target[i] += row[i];
      for (std::size_t j = 0; j < kNumConstants; ++j) gram[i][j] += row[i] * row[j];
    }
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t i = 0; i < kNumConstants; ++i) {
      if (gram[i][i] == 0.0) continue;
      double residual = target[i];
      for (std::size_t j = 0; j < kNumConstants; ++j) residual -= j == i ? 0.0 : gram[i][j] * x[j];
      x[i] = std::max(0.0, residual / gram[i][i]);
    }
  }
}

double squared_error(std::span<const FitObservation> observations, const CostModel& model) {
  double sum = 0.0;
  for (const FitObservation& seen : observations) {
    sum += std::pow(predict_us(*seen.plan, model) / seen.us - 1.0, 2);
  }
  return sum;
}

// Alternates from `start`; the best model on the way.
CostModel settle(std::span<const FitObservation> observations, const CostModel& start) {
  CostModel current = start;
  CostModel best = start;
  double best_error = squared_error(observations, best);
  for (int alternation = 0; alternation < kAlternations; ++alternation) {
    std::vector<Constants> rows;
    for (const FitObservation& seen : observations) {
      Constants row = features_of(*seen.plan, current);
      for (double& feature : row) feature /= seen.us;
      rows.push_back(row);
    }
    Constants constants = constants_of(current);
    solve_non_negative(rows, constants);
    current = model_of(constants);
    const double error = squared_error(observations, current);
    if (error >= best_error) continue;
    best_error = error;
    best = current;
  }
  return best;
}

// The alternation stops at a local optimum, and which one depends on how many active slots the start takes
// for stream-bound: each number of them that was observed is tried.
CostModel fitted_model(std::span<const FitObservation> observations) {
  constexpr double kLeastTileUs = 1e-3;
  const SplitPlan& any = *observations.front().plan;
  const CostModel standard = default_cost_model(any.device, any.kernel, any.shape);
  std::set<std::int64_t> active;
  for (const FitObservation& seen : observations) active.insert(active_slots(*seen.plan));
  CostModel best = settle(observations, standard);
  for (const std::int64_t from : active) {
    CostModel start = standard;
    start.tile_us = std::max(start.tile_us, kLeastTileUs);
    start.tile_stream_us = start.tile_us / (static_cast<double>(from) - 0.5);
    const CostModel model = settle(observations, start);
    if (squared_error(observations, model) < squared_error(observations, best)) best = model;
  }
  return best;
}

}  // namespace

Result<CostFit> fit_cost_model(std::span<const FitObservation> observations) {
  if (observations.size() < kNumConstants) {
    return invalid_argument("{} observations cannot fix {} constants; allowed: >= {}", observations.size(),
                            kNumConstants, kNumConstants);
  }
  CostFit fit;
  fit.model = fitted_model(observations);
  std::vector<double> measured;
  for (const FitObservation& seen : observations) {
    const double predicted = predict_us(*seen.plan, fit.model);
    const double residual = std::abs(predicted / seen.us - 1.0);
    fit.predicted_us.push_back(predicted);
    measured.push_back(seen.us);
    fit.rms_relative_residual += residual * residual / static_cast<double>(observations.size());
    fit.max_relative_residual = std::max(fit.max_relative_residual, residual);
  }
  fit.rms_relative_residual = std::sqrt(fit.rms_relative_residual);
  fit.rank_correlation = rank_correlation(fit.predicted_us, measured);
  return fit;
}

}  // namespace wavefill
