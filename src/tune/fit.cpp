#include "tune/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "core/errors.h"
#include "measure/statistics.h"
#include "tune/cost_prediction.h"

namespace wavefill {
namespace {

// tile_us, tile_stream_us, cta_us, combine_us, partial_us, launch_us.
constexpr std::size_t kNumConstants = 6;
using Constants = std::array<double, kNumConstants>;

// The model is linear in its constants once it is known which slot is the busiest and whether a tile is
// bound by the slot or by the stream. Both depend on the constants, so they are settled in turn.
constexpr int kAlternations = 20;
constexpr int kSweeps = 2000;  // of coordinate descent; six constants settle in far fewer

constexpr std::size_t kMaxStarts = 12;  // of the numbers of active slots that were observed

// What is fitted: a plan's work and its measured time.
struct Seen {
  PlanWork work;
  double us = 0.0;
};

Constants constants_of(const CostModel& model) {
  return {model.tile_us,    model.tile_stream_us, model.cta_us,
          model.combine_us, model.partial_us,     model.launch_us};
}

CostModel model_of(const Constants& constants) {
  return {.tile_us = constants[0],
          .tile_stream_us = constants[1],
          .cta_us = constants[2],
          .combine_us = constants[3],
          .partial_us = constants[4],
          .launch_us = constants[5],
          .source = "fitted to measurements"};
}

Constants features_of(const PlanWork& work, const CostModel& model) {
  const CriticalPath path = critical_path(work, model);
  const auto active = static_cast<double>(work.active_slots);
  const auto tiles = static_cast<double>(path.tiles);
  const bool streams = model.tile_stream_us * active > model.tile_us;
  return {streams ? 0.0 : tiles,
          streams ? tiles * active : 0.0,
          static_cast<double>(path.items),
          work.has_partials ? 1.0 : 0.0,
          static_cast<double>(work.partials_per_slot),
          1.0};
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

double squared_error(std::span<const Seen> observations, const CostModel& model) {
  double sum = 0.0;
  for (const Seen& seen : observations) sum += std::pow(predict_us(seen.work, model) / seen.us - 1.0, 2);
  return sum;
}

// Alternates from `start`; the best model on the way.
CostModel settle(std::span<const Seen> observations, const CostModel& start) {
  CostModel current = start;
  CostModel best = start;
  double best_error = squared_error(observations, best);
  for (int alternation = 0; alternation < kAlternations; ++alternation) {
    std::vector<Constants> rows;
    for (const Seen& seen : observations) {
      Constants row = features_of(seen.work, current);
      for (double& feature : row) feature /= seen.us;
      rows.push_back(row);
    }
    Constants constants = constants_of(current);
    solve_non_negative(rows, constants);
    if (constants == constants_of(current)) break;  // and so it would stay
    current = model_of(constants);
    const double error = squared_error(observations, current);
    if (error >= best_error) continue;
    best_error = error;
    best = current;
  }
  return best;
}

// Numbers of active slots that were observed, thinned out evenly.
std::vector<std::int64_t> starting_points(std::span<const Seen> observations) {
  std::set<std::int64_t> active;
  for (const Seen& seen : observations) active.insert(seen.work.active_slots);
  const std::vector<std::int64_t> all(active.begin(), active.end());
  if (all.size() <= kMaxStarts) return all;
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < kMaxStarts; ++i) some.push_back(all[i * (all.size() - 1) / (kMaxStarts - 1)]);
  return some;
}

// The alternation stops at a local optimum, and which one depends on how many active slots the start takes
// for stream-bound: numbers of them that were observed are tried.
CostModel fitted_model(std::span<const Seen> observations, const CostModel& standard) {
  constexpr double kLeastTileUs = 1e-3;
  CostModel best = settle(observations, standard);
  double best_error = squared_error(observations, best);
  for (const std::int64_t from : starting_points(observations)) {
    CostModel start = standard;
    start.tile_us = std::max(start.tile_us, kLeastTileUs);
    start.tile_stream_us = start.tile_us / (static_cast<double>(from) - 0.5);
    const CostModel model = settle(observations, start);
    const double error = squared_error(observations, model);
    if (error >= best_error) continue;
    best_error = error;
    best = model;
  }
  return best;
}

// Observations of each batch apart.
void rank_within_batches(std::span<const FitObservation> observations,
                         const std::vector<double>& predicted_us, FitScore& score) {
  constexpr std::size_t kFewest = 3;
  std::map<std::int32_t, std::pair<std::vector<double>, std::vector<double>>> batches;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    auto& [predicted, measured] = batches[observations[i].plan->shape.batch];
    predicted.push_back(predicted_us[i]);
    measured.push_back(observations[i].us);
  }
  double sum = 0.0;
  for (const auto& [batch, sides] : batches) {
    if (sides.first.size() < kFewest) continue;
    sum += rank_correlation(sides.first, sides.second);
    ++score.ranked_batches;
  }
  if (score.ranked_batches > 0) score.rank_within_batches = sum / score.ranked_batches;
}

FitScore score_of(std::span<const FitObservation> observations, const std::vector<double>& predicted_us) {
  FitScore score;
  std::vector<double> measured;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const double residual = std::abs(predicted_us[i] / observations[i].us - 1.0);
    measured.push_back(observations[i].us);
    score.rms_relative_residual += residual * residual / static_cast<double>(observations.size());
    score.max_relative_residual = std::max(score.max_relative_residual, residual);
  }
  score.rms_relative_residual = std::sqrt(score.rms_relative_residual);
  score.rank_correlation = rank_correlation(predicted_us, measured);
  rank_within_batches(observations, predicted_us, score);
  return score;
}

}  // namespace

Result<CostFit> fit_cost_model(std::span<const FitObservation> observations) {
  if (observations.size() < kNumConstants) {
    return invalid_argument("{} observations cannot fix {} constants; allowed: >= {}", observations.size(),
                            kNumConstants, kNumConstants);
  }
  std::vector<Seen> seen;
  for (const FitObservation& observation : observations) {
    seen.push_back({work_of(*observation.plan), observation.us});
  }
  const SplitPlan& any = *observations.front().plan;
  CostFit fit;
  fit.model = fitted_model(seen, default_cost_model(any.device, any.kernel, any.shape));
  for (const Seen& observation : seen) fit.predicted_us.push_back(predict_us(observation.work, fit.model));
  static_cast<FitScore&>(fit) = score_of(observations, fit.predicted_us);
  return fit;
}

OutOfSampleFit fit_out_of_sample(std::span<const FitObservation> observations) {
  std::map<std::int32_t, std::size_t> folds;  // by batch
  for (const FitObservation& observation : observations) folds[observation.plan->shape.batch] = 0;
  std::size_t place = 0;
  for (auto& [batch, fold] : folds) fold = place++ % kMostFolds;
  OutOfSampleFit fit;
  for (std::size_t left_out = 0; left_out < std::min(folds.size(), kMostFolds); ++left_out) {
    std::vector<FitObservation> others;
    std::ranges::copy_if(observations, std::back_inserter(others), [&](const FitObservation& observation) {
      return folds[observation.plan->shape.batch] != left_out;
    });
    const auto fitted = fit_cost_model(others);
    if (!fitted.ok()) continue;
    for (const auto& [batch, fold] : folds) {
      if (fold == left_out) fit.models.emplace(batch, fitted->model);
    }
  }
  std::vector<FitObservation> scored;
  std::vector<double> predicted_us;
  for (const FitObservation& observation : observations) {
    const auto model = fit.models.find(observation.plan->shape.batch);
    if (model == fit.models.end()) continue;
    scored.push_back(observation);
    predicted_us.push_back(predict_us(*observation.plan, model->second));
  }
  if (!scored.empty()) static_cast<FitScore&>(fit) = score_of(scored, predicted_us);
  return fit;
}

}  // namespace wavefill
