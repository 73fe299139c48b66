#include "backend_cuda/plan_image.h"

#include <algorithm>
#include <cstring>

#include "plan/balanced.h"
#include "plan/plan_frame.h"

namespace wavefill::cuda {
namespace {

constexpr std::size_t kItemWords = sizeof(PlanItem) / sizeof(std::int32_t);
static_assert(sizeof(PlanItem) == sizeof(WorkItem) && sizeof(WorkItem) == kItemWords * sizeof(std::int32_t),
              "an item is copied as it is");

// The cuts of row 0's items, or nothing if it has no simple split.
std::optional<PlanParams> cuts_of_first_row(const SplitPlan& plan) {
  PlanParams params;
  params.num_head_tiles = num_head_tiles(plan.kernel, plan.shape.num_heads);
  const std::int64_t units = plan.shape.rows() * params.num_head_tiles;
  const auto num_items = static_cast<std::int64_t>(plan.items.size());
  if (units == 0 || num_items % units != 0 || num_items / units > kMaxUniformSplits) return std::nullopt;
  params.num_splits = static_cast<std::int32_t>(num_items / units);

  std::int32_t num_cuts = 0;
  for (const WorkItem& item : plan.items) {
    if (item.row != 0 || item.head_tile != 0) continue;
    if (num_cuts == params.num_splits) return std::nullopt;
    params.tile_begin[num_cuts++] = item.tile_begin;
  }
  if (num_cuts != params.num_splits) return std::nullopt;
  std::sort(params.tile_begin, params.tile_begin + num_cuts);
  params.tile_begin[num_cuts] = plan.row_kv_tiles.front();
  return params;
}

// Whether `params` gives this item the place it has in the plan.
bool is_described(const PlanParams& params, const WorkItem& item) {
  const std::int32_t split = params.num_splits == 1 ? 0 : item.partial_idx - item.row * params.num_splits;
  if (params.num_splits == 1 && item.partial_idx != -1) return false;
  return split >= 0 && split < params.num_splits && item.tile_begin == params.tile_begin[split] &&
         item.tile_end == params.tile_begin[split + 1];
}

}  // namespace

std::optional<PlanParams> uniform_plan(const SplitPlan& plan) {
  if (is_plan_frame(plan) || plan.num_workers() != std::ssize(plan.items)) return std::nullopt;
  const std::optional<PlanParams> params = cuts_of_first_row(plan);
  if (!params) return std::nullopt;
  // Every tile of every row is in one item (a plan's invariant), so equal cuts make equal rows.
  const bool all =
      std::ranges::all_of(plan.items, [&](const WorkItem& item) { return is_described(*params, item); });
  return all ? params : std::nullopt;
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
  params.row_overhead_tiles = static_cast<std::int32_t>(kRowOverheadTiles);
  params.items = reinterpret_cast<PlanItem*>(words);
  params.worker_begin = words + kItemWords * frame.items.size();
  params.row_partial_begin = params.worker_begin + frame.worker_begin.size();
  return params;
}

}  // namespace wavefill::cuda
