// Fitting the cost model to measurements, and saying how well it does. Nothing that ships depends on it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

struct FitObservation {
  const SplitPlan* plan = nullptr;
  double us = 0.0;  // measured
};

// Predicted times against measured ones.
struct FitScore {
  double rms_relative_residual = 0.0;
  double max_relative_residual = 0.0;
  double rank_correlation = 0.0;  // Spearman's, predicted against measured, over all observations
  // The same within each batch, averaged over batches of at least 3 observations: what pruning lives on. Over
  // all, large batches being slower than small ones makes any model look good. 0 without such a batch.
  double rank_within_batches = 0.0;
  std::int32_t ranked_batches = 0;  // that it is the average of
};

// In sample: the score is over the very observations that the constants were fitted to.
struct CostFit : FitScore {
  CostModel model;
  std::vector<double> predicted_us;  // of each observation
};

// Least squares on relative errors with constants >= 0.
// Errors: invalid_argument (fewer observations than constants).
Result<CostFit> fit_cost_model(std::span<const FitObservation> observations);

// Out of sample: each batch is scored by constants that were fitted without it.
struct OutOfSampleFit : FitScore {
  // By the batch that was left out. Not there: the others have fewer observations than constants.
  std::map<std::int32_t, CostModel> models;
};

// One fit for each batch left out; of many batches, kMostFolds fits, each of which leaves out batches that do
// not neighbour each other. No fit, and no choice of where a fit starts, sees a time of what it leaves out.
inline constexpr std::size_t kMostFolds = 8;
OutOfSampleFit fit_out_of_sample(std::span<const FitObservation> observations);

}  // namespace wavefill
