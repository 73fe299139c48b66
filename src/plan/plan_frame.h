// The frame of plans that a device makes for itself: sizes that suit every plan of one shape, without the
// plan.
//
// A captured graph fixes grids and addresses, while lengths change from step to step. Under `balanced` every
// plan of a shape fits the same frame: as many workers as there are parts (some may have nothing to do),
// fewer shares than rows + parts, and fewer than two partials a cut. The frame is a SplitPlan of those sizes
// whose items stand for nothing: it may be run only with args.plan_memory, in which Backend::replan() has
// made the plan.
#pragma once

#include "wavefill/plan.h"

namespace wavefill {

// request.lengths and extra_lengths are not used. Errors: those of make_plan(); unsupported (another setting
// than balanced, or batch_invariant, under which rows do not depend on each other).
Result<SplitPlan> make_plan_frame(const PlanRequest& request);

// A plan's workers have all of its items; a frame's have none.
inline bool is_plan_frame(const SplitPlan& plan) {
  return !plan.worker_begin.empty() && plan.worker_begin.back() == 0 && !plan.items.empty();
}

}  // namespace wavefill
