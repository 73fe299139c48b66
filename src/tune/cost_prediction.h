// What the cost model says that a plan takes. It says where to measure, never what to ship.
#pragma once

#include <cstdint>
#include <vector>

#include "wavefill/plan.h"

namespace wavefill {

// The busiest slot when workers go, in order, to the slot that falls free first.
struct CriticalPath {
  double us = 0.0;
  std::int64_t items = 0;
  std::int64_t tiles = 0;
};

// Workers that follow each other and have the same work.
struct WorkGroup {
  std::int64_t items = 0;  // of each worker
  std::int64_t tiles = 0;
  std::int64_t workers = 0;
};

// All that the model looks at in a plan: a fit asks thousands of times.
struct PlanWork {
  std::vector<WorkGroup> groups;  // in launch order
  std::int64_t slots = 1;
  std::int64_t active_slots = 0;       // that have work at the same time: they share the memory bandwidth
  std::int64_t partials_per_slot = 0;  // ceil(partials of all head tiles / slots); 0 without partials
  bool has_partials = false;
};
PlanWork work_of(const SplitPlan& plan);

// One kv tile on one of `active` slots: the longer of a lone slot's time and its share of the stream.
double tile_cost_us(const CostModel& model, std::int64_t active);

CriticalPath critical_path(const PlanWork& work, const CostModel& model);

// launch_us, critical_path and the combine (docs/cost_model.md).
double predict_us(const PlanWork& work, const CostModel& model);
double predict_us(const SplitPlan& plan, const CostModel& model);

}  // namespace wavefill
