// What the cost model says that a plan takes. It says where to measure, never what to ship.
#pragma once

#include <cstdint>

#include "wavefill/plan.h"

namespace wavefill {

// The busiest slot when workers go, in order, to the slot that falls free first.
struct CriticalPath {
  double us = 0.0;
  std::int64_t items = 0;
  std::int64_t tiles = 0;
};

// Slots that have work at the same time: they share the memory bandwidth.
std::int64_t active_slots(const SplitPlan& plan);

// One kv tile on one of `active` slots: the longer of a lone slot's time and its share of the stream.
double tile_cost_us(const CostModel& model, std::int64_t active);

CriticalPath critical_path(const SplitPlan& plan, const CostModel& model);

// ceil(partials of all head tiles / slots): what one slot merges in the combine; 0 without partials.
std::int64_t partials_per_slot(const SplitPlan& plan);

// critical_path and the combine (docs/cost_model.md).
double predict_us(const SplitPlan& plan, const CostModel& model);

}  // namespace wavefill
