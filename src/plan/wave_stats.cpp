// What a plan means for the device: waves, the busiest slot, workspace.
#include <algorithm>
#include <functional>
#include <queue>

#include "core/math.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

std::int64_t tiles_of_worker(const SplitPlan& plan, std::size_t worker) {
  std::int64_t tiles = 0;
  for (std::int32_t i = plan.worker_begin[worker]; i < plan.worker_begin[worker + 1]; ++i) {
    const WorkItem& item = plan.items[static_cast<std::size_t>(i)];
    tiles += item.tile_end - item.tile_begin;
  }
  return tiles;
}

// Each worker goes to the slot that falls free first, as hardware dispatches CTAs.
std::int64_t max_tiles_per_slot(const SplitPlan& plan, std::int64_t slots) {
  const std::int64_t num_workers = plan.num_workers();
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> busy_tiles;
  std::int64_t most = 0;
  for (std::int64_t worker = 0; worker < num_workers; ++worker) {
    std::int64_t tiles = tiles_of_worker(plan, static_cast<std::size_t>(worker));
    if (static_cast<std::int64_t>(busy_tiles.size()) == slots) {
      tiles += busy_tiles.top();
      busy_tiles.pop();
    }
    busy_tiles.push(tiles);
    most = std::max(most, tiles);
  }
  return most;
}

}  // namespace

WaveStats wave_stats(const SplitPlan& plan) {
  WaveStats stats;
  for (std::size_t row = 0; row + 1 < plan.row_partial_begin.size(); ++row) {
    const std::int32_t partials = plan.row_partial_begin[row + 1] - plan.row_partial_begin[row];
    const std::int32_t splits = std::max(partials, 1);
    stats.num_splits = std::max(stats.num_splits, splits);
    stats.num_splits_total += splits;
  }
  const std::int64_t slots = num_slots(plan.device, plan.kernel);
  stats.num_ctas = std::max<std::int64_t>(plan.num_workers(), 0);
  if (stats.num_ctas == 0 || slots < 1) return stats;  // a default-made plan
  stats.num_waves = ceil_div(stats.num_ctas, slots);
  stats.wave_efficiency = static_cast<double>(stats.num_ctas) / static_cast<double>(stats.num_waves * slots);
  stats.max_tiles_per_slot = max_tiles_per_slot(plan, slots);
  return stats;
}

std::size_t workspace_bytes(const SplitPlan& plan) {
  constexpr std::size_t kPartialFloats = kValueDim + 1;  // o, and its lse
  return static_cast<std::size_t>(plan.num_partials()) * static_cast<std::size_t>(plan.shape.num_heads) *
         kPartialFloats * sizeof(float);
}

}  // namespace wavefill
