#include "plan/plan_frame.h"

#include <algorithm>
#include <new>

#include "core/errors.h"
#include "plan/balanced.h"

namespace wavefill {
namespace {

// Shares there may be at most: fewer than rows + parts, and no more than tiles (an empty row has one).
std::int64_t most_shares(std::int64_t rows, std::int64_t row_tiles, std::int64_t parts) {
  return std::min(rows + parts - 1, rows * std::max<std::int64_t>(row_tiles, 1));
}

// Each of the parts - 1 borders between workers cuts at most one row, and a row that is cut k times has k + 1
// partials.
std::int64_t most_partials(std::int64_t rows, std::int64_t row_tiles, std::int64_t parts) {
  const std::int64_t cuts = parts - 1;
  return std::min(cuts + std::min(cuts, rows), rows * row_tiles);
}

}  // namespace

Result<SplitPlan> make_plan_frame(const PlanRequest& request) {
  if (request.setting.kind != PolicyKind::balanced || request.batch_invariant) {
    return make_status(StatusCode::unsupported,
                       "a frame for setting {}{}; allowed: balanced, rows planned together",
                       to_string(request.setting), request.batch_invariant ? ", batch_invariant" : "");
  }
  try {
    PlanRequest full = request;
    full.lengths = {};
    full.extra_lengths = {};
    Result<SplitPlan> plan = make_plan(full);
    if (!plan.ok()) return plan;
    const std::int64_t head_tiles = num_head_tiles(request.kernel, request.shape.num_heads);
    const SplitProblem problem{.row_tiles = plan->row_kv_tiles,
                               .head_tiles = head_tiles,
                               .slots = num_slots(request.device, request.kernel),
                               .value = request.setting.value};
    const std::int64_t parts = balanced_shape(problem).parts;
    const std::int64_t rows = std::ssize(plan->row_kv_tiles);
    const std::int64_t row_tiles = plan->row_kv_tiles.front();
    plan->items.assign(static_cast<std::size_t>(most_shares(rows, row_tiles, parts) * head_tiles),
                       WorkItem{});
    plan->worker_begin.assign(static_cast<std::size_t>(parts * head_tiles + 1), 0);
    plan->row_partial_begin.assign(static_cast<std::size_t>(rows + 1), 0);
    plan->row_partial_begin.back() = static_cast<std::int32_t>(most_partials(rows, row_tiles, parts));
    return plan;
  } catch (const std::bad_alloc&) {
    return make_status(StatusCode::resource_exhausted, "out of memory for a plan of {} rows",
                       request.shape.rows());
  }
}

}  // namespace wavefill
