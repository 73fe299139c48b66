// Fitting the cost model to measurements, and saying how well it does. Nothing that ships depends on it.
#pragma once

#include <span>
#include <vector>

#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

struct FitObservation {
  const SplitPlan* plan = nullptr;
  double us = 0.0;  // measured
};

struct CostFit {
  CostModel model;
  double rms_relative_residual = 0.0;
  double max_relative_residual = 0.0;
  double rank_correlation = 0.0;  // Spearman's, predicted against measured, over all observations
  // The same within each batch, averaged over batches of at least 3 observations: what pruning lives on. Over
  // all, large batches being slower than small ones makes any model look good. 0 without such a batch.
  double rank_within_batches = 0.0;
  std::vector<double> predicted_us;  // of each observation
};

// Least squares on relative errors with constants >= 0.
// Errors: invalid_argument (fewer observations than constants).
Result<CostFit> fit_cost_model(std::span<const FitObservation> observations);

}  // namespace wavefill
