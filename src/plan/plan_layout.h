// From a policy's shares to the items, workers and partials that kernels read.
#pragma once

#include "plan/split_problem.h"

namespace wavefill {

// Fills items, worker_begin and row_partial_begin of `plan`, whose other fields are set. Precondition:
// shares * head tiles <= INT32_MAX.
void lay_out(const Schedule& schedule, SplitPlan& plan);

}  // namespace wavefill
