// Graham's list schedule: how long a launch takes when each slot takes the next work item as it falls free.
#pragma once

#include <cstdint>
#include <span>

#include "plan/split_problem.h"

namespace wavefill {

struct JobGroup {
  double us = 0.0;  // duration of each job
  std::int64_t count = 0;
};

// The exact makespan of the jobs, longest first, on `slots` slots that always take the next job when they
// fall free. Precondition: durations >= 0 and falling; slots >= 1.
double list_schedule_makespan_us(std::span<const JobGroup> jobs, std::int64_t slots);

// The number of splits with the least modelled time, split and combine together; ties to fewer splits.
// The model's terms stand in docs/cost_model.md.
std::int64_t list_schedule_splits(const SplitProblem& problem);

}  // namespace wavefill
