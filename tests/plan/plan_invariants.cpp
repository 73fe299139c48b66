#include "plan/plan_invariants.h"

#include <fmt/format.h>

#include <algorithm>

namespace wavefill {
namespace {

std::size_t to_idx(std::int64_t value) { return static_cast<std::size_t>(value); }

std::string check_row_tiles(const PlanRequest& request, const SplitPlan& plan) {
  const DecodeShape& shape = request.shape;
  if (std::ssize(plan.row_kv_tiles) != shape.rows()) return "row_kv_tiles has not one value a row";
  for (std::size_t row = 0; row < plan.row_kv_tiles.size(); ++row) {
    const std::int64_t length = request.lengths.empty() ? shape.topk : request.lengths[row];
    const std::int64_t extra = request.extra_lengths.empty() ? shape.extra_topk : request.extra_lengths[row];
    const std::int64_t tile = request.kernel.kv_tile;
    const std::int64_t expected = (length + tile - 1) / tile + (extra + tile - 1) / tile;
    if (plan.row_kv_tiles[row] != expected) {
      return fmt::format("row {} has {} kv tiles, expected {}", row, plan.row_kv_tiles[row], expected);
    }
  }
  return {};
}

std::string check_prefixes(const SplitPlan& plan) {
  const auto& workers = plan.worker_begin;
  if (workers.empty() || workers.front() != 0 || workers.back() != std::ssize(plan.items)) {
    return "worker_begin does not span the items";
  }
  for (std::size_t i = 1; i < workers.size(); ++i) {
    if (workers[i] <= workers[i - 1]) return fmt::format("worker {} has no items", i - 1);
  }
  const auto& partials = plan.row_partial_begin;
  if (partials.size() != plan.row_kv_tiles.size() + 1 || partials.front() != 0) {
    return "row_partial_begin is no prefix over the rows";
  }
  for (std::size_t row = 0; row + 1 < partials.size(); ++row) {
    const std::int64_t count = std::int64_t{partials[row + 1]} - partials[row];
    if (count < 0 || count == 1) return fmt::format("row {} has {} partials", row, count);
  }
  return {};
}

// Items sorted by row, head tile, tile: each (row, head tile) is then one run.
std::vector<WorkItem> in_tile_order(const SplitPlan& plan) {
  std::vector<WorkItem> items = plan.items;
  std::ranges::sort(items, {}, [](const WorkItem& item) {
    return std::tuple(item.row, item.head_tile, item.tile_begin, item.tile_end);
  });
  return items;
}

std::string check_run(const SplitPlan& plan, std::span<const WorkItem> run, std::int32_t row,
                      std::int32_t head_tile) {
  const std::int32_t tiles = plan.row_kv_tiles[to_idx(row)];
  const std::int32_t first_partial = plan.row_partial_begin[to_idx(row)];
  const std::int32_t num_partials = plan.row_partial_begin[to_idx(row) + 1] - first_partial;
  if (std::ssize(run) != std::max(num_partials, 1)) {
    return fmt::format("row {} head tile {} has {} items and {} partials", row, head_tile, run.size(),
                       num_partials);
  }
  std::int32_t next_tile = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const WorkItem& item = run[i];
    if (item.tile_begin != next_tile) {
      return fmt::format("row {} head tile {}: an item begins at tile {}, expected {}", row, head_tile,
                         item.tile_begin, next_tile);
    }
    if (item.tile_end < item.tile_begin || (item.tile_end == item.tile_begin && tiles > 0)) {
      return fmt::format("row {} head tile {}: item [{}, {}) of {} tiles", row, head_tile, item.tile_begin,
                         item.tile_end, tiles);
    }
    const std::int32_t expected = num_partials == 0 ? -1 : first_partial + static_cast<std::int32_t>(i);
    if (item.partial_idx != expected) {
      return fmt::format("row {} head tile {} split {}: partial_idx {}, expected {}", row, head_tile, i,
                         item.partial_idx, expected);
    }
    next_tile = item.tile_end;
  }
  if (next_tile != tiles) {
    return fmt::format("row {} head tile {}: {} of {} tiles covered", row, head_tile, next_tile, tiles);
  }
  return {};
}

bool same_bounds(std::span<const WorkItem> a, std::span<const WorkItem> b) {
  return std::ranges::equal(a, b, [](const WorkItem& x, const WorkItem& y) {
    return x.tile_begin == y.tile_begin && x.tile_end == y.tile_end;
  });
}

std::string check_coverage(const SplitPlan& plan) {
  const std::vector<WorkItem> items = in_tile_order(plan);
  const std::int32_t head_tiles = num_head_tiles(plan.kernel, plan.shape.num_heads);
  std::span<const WorkItem> rest = items;
  for (std::int32_t row = 0; row < plan.shape.rows(); ++row) {
    std::span<const WorkItem> first_run;
    for (std::int32_t head_tile = 0; head_tile < head_tiles; ++head_tile) {
      const auto end = std::ranges::find_if(
          rest, [&](const WorkItem& item) { return item.row != row || item.head_tile != head_tile; });
      const std::span<const WorkItem> run = rest.first(to_idx(end - rest.begin()));
      if (std::string fault = check_run(plan, run, row, head_tile); !fault.empty()) return fault;
      if (head_tile == 0) first_run = run;
      if (!same_bounds(first_run, run)) {
        return fmt::format("row {}: head tile {} is split unlike head tile 0", row, head_tile);
      }
      rest = rest.subspan(run.size());
    }
  }
  return rest.empty() ? "" : "items for rows or head tiles that do not exist";
}

std::string check_workspace(const SplitPlan& plan) {
  const std::uint64_t expected =
      std::uint64_t{4} * 513 * to_idx(plan.row_partial_begin.back()) * to_idx(plan.shape.num_heads);
  if (workspace_bytes(plan) != expected) {
    return fmt::format("workspace is {} bytes, expected {}", workspace_bytes(plan), expected);
  }
  return {};
}

}  // namespace

std::string broken_invariant(const PlanRequest& request, const SplitPlan& plan) {
  if (plan.device != request.device || plan.kernel != request.kernel || plan.shape != request.shape ||
      plan.setting != request.setting || plan.batch_invariant != request.batch_invariant) {
    return "the plan does not say what it was made for";
  }
  if (std::string fault = check_row_tiles(request, plan); !fault.empty()) return fault;
  if (std::string fault = check_prefixes(plan); !fault.empty()) return fault;
  if (std::string fault = check_coverage(plan); !fault.empty()) return fault;
  return check_workspace(plan);
}

}  // namespace wavefill
