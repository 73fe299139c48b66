#include "tune/cost_prediction.h"

#include <algorithm>
#include <vector>

#include "core/math.h"

namespace wavefill {
namespace {

// Slots that have had the same work.
struct Level {
  CriticalPath path;
  std::int64_t slots = 0;
};

// Levels by falling time, so that the slots that fall free first are at the back. Workers of one group are
// handed out a level at a time: a plan of five thousand equal workers takes a few dozen steps.
class Slots {
 public:
  explicit Slots(std::int64_t slots) : levels_{{.path = {}, .slots = slots}} {}

  void take(const WorkGroup& group, double worker_us) {
    for (std::int64_t left = group.workers; left > 0;) {
      Level& earliest = levels_.back();
      const std::int64_t taken = std::min(earliest.slots, left);
      const Level busy{.path = {.us = earliest.path.us + worker_us,
                                .items = earliest.path.items + group.items,
                                .tiles = earliest.path.tiles + group.tiles},
                       .slots = taken};
      earliest.slots -= taken;
      left -= taken;
      if (earliest.slots == 0) levels_.pop_back();
      insert(busy);
    }
  }

  const CriticalPath& longest() const { return levels_.front().path; }

 private:
  void insert(const Level& level) {
    const auto place = std::ranges::lower_bound(levels_, level.path.us, std::ranges::greater{},
                                                [](const Level& known) { return known.path.us; });
    const bool is_known = place != levels_.end() && place->path.us == level.path.us &&
                          place->path.tiles == level.path.tiles && place->path.items == level.path.items;
    if (is_known) {
      place->slots += level.slots;
    } else {
      levels_.insert(place, level);
    }
  }

  std::vector<Level> levels_;
};

}  // namespace

PlanWork work_of(const SplitPlan& plan) {
  PlanWork work;
  work.slots = num_slots(plan.device, plan.kernel);
  work.active_slots = std::min(plan.num_workers(), work.slots);
  work.has_partials = plan.num_partials() > 0;
  const std::int64_t partials = plan.num_partials() * num_head_tiles(plan.kernel, plan.shape.num_heads);
  work.partials_per_slot = ceil_div(partials, work.slots);
  for (std::int64_t worker = 0; worker < plan.num_workers(); ++worker) {
    const auto begin = plan.worker_begin[static_cast<std::size_t>(worker)];
    const auto end = plan.worker_begin[static_cast<std::size_t>(worker) + 1];
    std::int64_t tiles = 0;
    for (std::int32_t at = begin; at < end; ++at) {
      const WorkItem& item = plan.items[static_cast<std::size_t>(at)];
      tiles += item.tile_end - item.tile_begin;
    }
    if (work.groups.empty() || work.groups.back().items != end - begin || work.groups.back().tiles != tiles) {
      work.groups.push_back({.items = end - begin, .tiles = tiles, .workers = 0});
    }
    ++work.groups.back().workers;
  }
  return work;
}

double tile_cost_us(const CostModel& model, std::int64_t active) {
  return std::max(model.tile_us, model.tile_stream_us * static_cast<double>(active));
}

CriticalPath critical_path(const PlanWork& work, const CostModel& model) {
  const double tile_us = tile_cost_us(model, work.active_slots);
  Slots slots(work.slots);
  for (const WorkGroup& group : work.groups) {
    const double worker_us =
        model.cta_us * static_cast<double>(group.items) + tile_us * static_cast<double>(group.tiles);
    slots.take(group, worker_us);
  }
  return slots.longest();
}

double predict_us(const PlanWork& work, const CostModel& model) {
  const double split_us = model.launch_us + critical_path(work, model).us;
  if (!work.has_partials) return split_us;
  return split_us + model.combine_us + model.partial_us * static_cast<double>(work.partials_per_slot);
}

double predict_us(const SplitPlan& plan, const CostModel& model) { return predict_us(work_of(plan), model); }

}  // namespace wavefill
