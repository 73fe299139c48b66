#include "backend_cuda/plan_image.h"

#include <algorithm>
#include <cstring>

#include "core/math.h"
#include "plan/balanced.h"
#include "plan/plan_frame.h"

namespace wavefill::cuda {
namespace {

constexpr std::size_t kItemWords = sizeof(PlanItem) / sizeof(std::int32_t);
static_assert(sizeof(PlanItem) == sizeof(WorkItem) && sizeof(WorkItem) == kItemWords * sizeof(std::int32_t),
              "an item is copied as it is");

bool is_of(const WorkItem& item, std::int32_t first_row, std::int32_t end_row) {
  return item.row >= first_row && item.row < end_row;
}

// The cuts of the first row's items, or nothing if it has no simple split.
std::optional<PlanParams> cuts_of_first_row(const SplitPlan& plan, std::int32_t first_row,
                                            std::int32_t end_row) {
  PlanParams params;
  params.first_row = first_row;
  params.num_head_tiles = num_head_tiles(plan.kernel, plan.shape.num_heads);
  const std::int64_t units = std::int64_t{end_row - first_row} * params.num_head_tiles;
  const std::int64_t num_items = std::ranges::count_if(
      plan.items, [&](const WorkItem& item) { return is_of(item, first_row, end_row); });
  if (units == 0 || num_items % units != 0 || num_items / units > kMaxUniformSplits) return std::nullopt;
  params.num_items = static_cast<std::int32_t>(num_items);
  params.num_splits = static_cast<std::int32_t>(num_items / units);

  std::int32_t num_cuts = 0;
  for (const WorkItem& item : plan.items) {
    if (item.row != first_row || item.head_tile != 0) continue;
    if (num_cuts == params.num_splits) return std::nullopt;
    params.tile_begin[num_cuts++] = item.tile_begin;
  }
  if (num_cuts != params.num_splits) return std::nullopt;
  std::sort(params.tile_begin, params.tile_begin + num_cuts);
  params.tile_begin[num_cuts] = plan.row_kv_tiles[static_cast<std::size_t>(first_row)];
  return params;
}

// Whether `params` gives this item the place it has in the plan.
bool is_described(const SplitPlan& plan, const PlanParams& params, const WorkItem& item) {
  if (params.num_splits == 1 && item.partial_idx != -1) return false;
  const std::int32_t of_row = plan.row_partial_begin[static_cast<std::size_t>(params.first_row)] +
                              (item.row - params.first_row) * params.num_splits;
  const std::int32_t split = params.num_splits == 1 ? 0 : item.partial_idx - of_row;
  return split >= 0 && split < params.num_splits && item.tile_begin == params.tile_begin[split] &&
         item.tile_end == params.tile_begin[split + 1];
}

// Rows [first_row, end_row) as parameters alone, if they are cut at the same tiles. Every tile of every row
// is in one item (a plan's invariant), so equal cuts make equal rows.
std::optional<PlanParams> rows_cut_alike(const SplitPlan& plan, std::int32_t first_row,
                                         std::int32_t end_row) {
  const std::optional<PlanParams> params = cuts_of_first_row(plan, first_row, end_row);
  if (!params) return std::nullopt;
  const bool all = std::ranges::all_of(plan.items, [&](const WorkItem& item) {
    return !is_of(item, first_row, end_row) || is_described(plan, *params, item);
  });
  return all ? params : std::nullopt;
}

bool has_one_item_a_worker(const SplitPlan& plan) {
  return !is_plan_frame(plan) && plan.num_workers() == std::ssize(plan.items);
}

}  // namespace

std::optional<PlanParams> uniform_plan(const SplitPlan& plan) {
  if (!has_one_item_a_worker(plan)) return std::nullopt;
  return rows_cut_alike(plan, 0, static_cast<std::int32_t>(plan.shape.rows()));
}

std::optional<WholeAndSplitRows> whole_and_split_rows(const SplitPlan& plan) {
  if (!has_one_item_a_worker(plan)) return std::nullopt;
  // The first row that has partials.
  const auto begin = std::ranges::upper_bound(plan.row_partial_begin, 0) - plan.row_partial_begin.begin() - 1;
  const auto num_rows = static_cast<std::int32_t>(plan.shape.rows());
  const auto num_whole = static_cast<std::int32_t>(begin);
  if (num_whole <= 0 || num_whole >= num_rows) return std::nullopt;
  const auto whole = rows_cut_alike(plan, 0, num_whole);
  const auto split = rows_cut_alike(plan, num_whole, num_rows);
  if (!whole || !split || split->num_splits < 2) return std::nullopt;
  return WholeAndSplitRows{.whole = *whole, .split = *split};
}

bool has_neighbouring_pieces(const SplitPlan& plan) {
  if (is_plan_frame(plan)) return true;
  const std::int64_t head_tiles = num_head_tiles(plan.kernel, plan.shape.num_heads);
  const auto last_item = [&plan](std::int64_t worker) -> const WorkItem& {
    return plan.items[static_cast<std::size_t>(plan.worker_begin[static_cast<std::size_t>(worker + 1)] - 1)];
  };
  for (std::int64_t worker = 0; worker < plan.num_workers(); ++worker) {
    const auto begin = static_cast<std::size_t>(plan.worker_begin[static_cast<std::size_t>(worker)]);
    const auto end = static_cast<std::size_t>(plan.worker_begin[static_cast<std::size_t>(worker + 1)]);
    if (begin == end) return false;
    for (std::size_t i = begin; i < end; ++i) {
      const WorkItem& item = plan.items[i];
      if (item.partial_idx < 0) continue;
      if (item.partial_idx == plan.row_partial_begin[static_cast<std::size_t>(item.row)]) {
        if (i + 1 != end) return false;
        continue;
      }
      if (i != begin || worker < head_tiles) return false;
      const WorkItem& before = last_item(worker - head_tiles);
      if (before.partial_idx != item.partial_idx - 1 || before.head_tile != item.head_tile) return false;
    }
  }
  return true;
}

std::int64_t most_pieces_of_row(const SplitPlan& plan) {
  const std::int64_t rows = plan.shape.rows();
  if (is_plan_frame(plan)) {
    return ceil_div(plan.num_workers(), rows * num_head_tiles(plan.kernel, plan.shape.num_heads)) + 1;
  }
  std::int64_t most = 1;
  for (std::size_t row = 0; row + 1 < plan.row_partial_begin.size(); ++row) {
    most = std::max<std::int64_t>(most, plan.row_partial_begin[row + 1] - plan.row_partial_begin[row]);
  }
  return most;
}

std::size_t worker_partials_bytes(const SplitPlan& plan) {
  constexpr std::int32_t kHalves = 2;  // of the dims
  const std::int64_t warps = kHalves * (plan.kernel.heads_per_cta / WarpPartial::kHeads);
  return static_cast<std::size_t>(plan.num_partials() * num_head_tiles(plan.kernel, plan.shape.num_heads) *
                                  warps) *
         sizeof(WarpPartial);
}

std::size_t plan_image_bytes(const SplitPlan& plan) {
  return sizeof(std::int32_t) *
         (kItemWords * plan.items.size() + plan.worker_begin.size() + plan.row_partial_begin.size());
}

void copy_plan_image(const SplitPlan& plan, std::size_t begin, std::span<std::int32_t> to) {
  // Copies what of `words`, which stand at `at` in the image, lies in the piece that is asked for.
  const auto copy_part = [begin, to](std::size_t at, const void* words, std::size_t count) {
    const std::size_t first = std::max(at, begin);
    const std::size_t end = std::min(at + count, begin + to.size());
    if (first >= end) return;
    std::memcpy(to.data() + (first - begin),
                static_cast<const std::byte*>(words) + (first - at) * sizeof(std::int32_t),
                (end - first) * sizeof(std::int32_t));
  };
  const std::size_t item_words = kItemWords * plan.items.size();
  copy_part(0, plan.items.data(), item_words);
  copy_part(item_words, plan.worker_begin.data(), plan.worker_begin.size());
  copy_part(item_words + plan.worker_begin.size(), plan.row_partial_begin.data(),
            plan.row_partial_begin.size());
}

PlanParams image_params(const SplitPlan& plan, const void* memory) {
  PlanParams params;
  const auto* words = static_cast<const std::int32_t*>(memory);
  params.items = reinterpret_cast<const PlanItem*>(words);
  params.worker_begin = words + kItemWords * plan.items.size();
  params.row_partial_begin = params.worker_begin + plan.worker_begin.size();
  params.num_head_tiles = num_head_tiles(plan.kernel, plan.shape.num_heads);
  return params;
}

ReplanParams replan_params(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                           void* memory) {
  const auto cache = [](std::int32_t topk, const LengthView& view) {
    CacheParams params;
    params.topk = topk;
    params.lengths = view.data;
    params.lengths_stride_batch = view.stride_batch;
    params.lengths_stride_s_q = view.stride_s_q;
    return params;
  };
  auto* words = static_cast<std::int32_t*>(memory);
  ReplanParams params{};
  params.caches[0] = cache(frame.shape.topk, lengths);
  params.caches[1] = cache(frame.shape.extra_topk, extra_lengths);
  params.s_q = make_fast_divisor(static_cast<std::uint32_t>(frame.shape.s_q));
  params.num_rows = static_cast<std::int32_t>(frame.row_kv_tiles.size());
  params.num_head_tiles = num_head_tiles(frame.kernel, frame.shape.num_heads);
  params.num_parts = static_cast<std::int32_t>(frame.num_workers() / params.num_head_tiles);
  params.kv_tile = frame.kernel.kv_tile;
  params.row_overhead_tiles = static_cast<std::int32_t>(row_overhead_tiles(frame.setting.value));
  params.items = reinterpret_cast<PlanItem*>(words);
  params.worker_begin = words + kItemWords * frame.items.size();
  params.row_partial_begin = params.worker_begin + frame.worker_begin.size();
  return params;
}

}  // namespace wavefill::cuda
