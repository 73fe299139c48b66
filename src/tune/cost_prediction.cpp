#include "tune/cost_prediction.h"

#include <algorithm>
#include <queue>
#include <vector>

#include "core/math.h"

namespace wavefill {
namespace {

struct LaterFirst {
  bool operator()(const CriticalPath& a, const CriticalPath& b) const { return a.us > b.us; }
};

}  // namespace

std::int64_t active_slots(const SplitPlan& plan) {
  return std::min(plan.num_workers(), num_slots(plan.device, plan.kernel));
}

double tile_cost_us(const CostModel& model, std::int64_t active) {
  return std::max(model.tile_us, model.tile_stream_us * static_cast<double>(active));
}

CriticalPath critical_path(const SplitPlan& plan, const CostModel& model) {
  const std::int64_t slots = num_slots(plan.device, plan.kernel);
  const double tile_us = tile_cost_us(model, active_slots(plan));
  std::priority_queue<CriticalPath, std::vector<CriticalPath>, LaterFirst> busy;
  CriticalPath longest;
  for (std::int64_t worker = 0; worker < plan.num_workers(); ++worker) {
    CriticalPath slot;
    if (static_cast<std::int64_t>(busy.size()) == slots) {
      slot = busy.top();
      busy.pop();
    }
    const auto begin = plan.worker_begin[static_cast<std::size_t>(worker)];
    const auto end = plan.worker_begin[static_cast<std::size_t>(worker) + 1];
    for (std::int32_t at = begin; at < end; ++at) {
      const WorkItem& item = plan.items[static_cast<std::size_t>(at)];
      slot.tiles += item.tile_end - item.tile_begin;
      slot.us += model.cta_us + tile_us * (item.tile_end - item.tile_begin);
    }
    slot.items += end - begin;
    if (slot.us >= longest.us) longest = slot;
    busy.push(slot);
  }
  return longest;
}

std::int64_t partials_per_slot(const SplitPlan& plan) {
  const std::int64_t partials = plan.num_partials() * num_head_tiles(plan.kernel, plan.shape.num_heads);
  return ceil_div(partials, num_slots(plan.device, plan.kernel));
}

double predict_us(const SplitPlan& plan, const CostModel& model) {
  const double split_us = critical_path(plan, model).us;
  if (plan.num_partials() == 0) return split_us;
  return split_us + model.combine_us + model.partial_us * static_cast<double>(partials_per_slot(plan));
}

}  // namespace wavefill
