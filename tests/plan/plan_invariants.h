// What must hold for every plan whatsoever. Shared by the property tests and the fuzzers.
#pragma once

#include <string>

#include "wavefill/plan.h"

namespace wavefill {

// "" if `plan` is a correct answer to `request`, else the first broken invariant in words. Checks:
// - row_kv_tiles are the tiles of the requested lengths;
// - worker_begin and row_partial_begin are prefixes; no worker is idle; no row has exactly one partial;
// - every kv tile of every (row, head tile) is in exactly one item; no item is empty unless its row is;
// - a row has items for each head tile with the same tile bounds, partial_idx in tile order from
//   row_partial_begin[row], or -1 for the one item of a whole row;
// - workspace_bytes() is what those partials need, and 0 without any.
std::string broken_invariant(const PlanRequest& request, const SplitPlan& plan);

}  // namespace wavefill
