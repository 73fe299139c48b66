#include "plan/list_schedule.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/math.h"

namespace wavefill {
namespace {

struct SizeGroup {
  std::int64_t tiles = 0;
  std::int64_t count = 0;
};

// Sorted by falling size, one group a size.
void sort_and_join(std::vector<SizeGroup>& groups) {
  std::ranges::sort(groups, std::ranges::greater{}, &SizeGroup::tiles);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].tiles == groups[kept].tiles) {
      groups[kept].count += groups[i].count;
    } else {
      groups[++kept] = groups[i];
    }
  }
  groups.resize(std::min(groups.size(), kept + 1));
}

std::vector<SizeGroup> rows_by_size(const SplitProblem& problem) {
  std::vector<SizeGroup> rows;
  rows.reserve(problem.row_tiles.size());
  for (const std::int32_t tiles : problem.row_tiles) rows.push_back({.tiles = tiles, .count = 1});
  sort_and_join(rows);
  return rows;
}

// One split count's work: how many items of which size, and how many partials they leave.
struct Candidate {
  std::vector<SizeGroup> items;
  std::int64_t num_items = 0;
  std::int64_t num_partials = 0;
};

std::int64_t splits_of_row(const SizeGroup& row, std::int64_t num_splits) {
  return std::clamp<std::int64_t>(row.tiles, 1, num_splits);
}

// Whether a plan with this many splits has 32-bit item indices. Bounds all counts below.
bool is_indexable(const SplitProblem& problem, const std::vector<SizeGroup>& rows, std::int64_t num_splits) {
  std::int64_t num_shares = 0;
  for (const SizeGroup& row : rows) num_shares += row.count * splits_of_row(row, num_splits);
  return num_shares <= INT32_MAX / problem.head_tiles;
}

// The sizes that even_shares() gives: n mod s shares of one tile more than the others.
void fill_candidate(const SplitProblem& problem, const std::vector<SizeGroup>& rows, std::int64_t num_splits,
                    Candidate& candidate) {
  candidate.items.clear();
  candidate.num_items = 0;
  candidate.num_partials = 0;
  for (const SizeGroup& row : rows) {
    const std::int64_t splits = splits_of_row(row, num_splits);
    const std::int64_t size = row.tiles / splits;
    const std::int64_t longer = row.tiles % splits;
    const std::int64_t copies = row.count * problem.head_tiles;
    if (longer > 0) candidate.items.push_back({.tiles = size + 1, .count = longer * copies});
    candidate.items.push_back({.tiles = size, .count = (splits - longer) * copies});
    candidate.num_items += splits * copies;
    if (splits > 1) candidate.num_partials += splits * copies;
  }
  sort_and_join(candidate.items);
}

double combine_us(const SplitProblem& problem, const Candidate& candidate) {
  if (candidate.num_partials == 0) return 0.0;
  const auto partials_per_slot = static_cast<double>(ceil_div(candidate.num_partials, problem.slots));
  return problem.cost_model.combine_us + problem.cost_model.partial_us * partials_per_slot;
}

// Slots share the memory bandwidth, so a tile takes the longer of a lone slot's time and its share of the
// stream when every active slot reads.
void fill_jobs(const SplitProblem& problem, const Candidate& candidate, std::vector<JobGroup>& jobs) {
  const CostModel& model = problem.cost_model;
  const auto active = static_cast<double>(std::min(candidate.num_items, problem.slots));
  const double tile_us = std::max(model.tile_us, model.tile_stream_us * active);
  jobs.clear();
  for (const SizeGroup& item : candidate.items) {
    jobs.push_back({.us = model.cta_us + tile_us * static_cast<double>(item.tiles), .count = item.count});
  }
}

// No schedule is shorter than its longest job, or than the work divided by the slots.
double least_makespan_us(std::span<const JobGroup> jobs, std::int64_t slots) {
  double total_us = 0.0;
  for (const JobGroup& job : jobs) total_us += job.us * static_cast<double>(job.count);
  return std::max(jobs.front().us, total_us / static_cast<double>(slots));
}

// Slots that fall free at the same time, latest first, so that the next to fall free is at the back.
class SlotLevels {
 public:
  explicit SlotLevels(std::int64_t slots) : levels_{{.us = 0.0, .count = slots}}, slots_(slots) {}

  double makespan_us() const { return levels_.front().us; }

  void take(JobGroup jobs) {
    while (jobs.count > 0) {
      if (jobs.count >= slots_ && levels_.front().us - levels_.back().us <= jobs.us) {
        take_full_rounds(jobs);
      } else {
        take_on_earliest(jobs);
      }
    }
  }

 private:
  // While all slots fall free within one job's length, each takes exactly one of the next `slots` jobs:
  // who has just taken one is free no earlier than the last of the others. So whole rounds shift all.
  void take_full_rounds(JobGroup& jobs) {
    const std::int64_t rounds = jobs.count / slots_;
    for (JobGroup& level : levels_) level.us += static_cast<double>(rounds) * jobs.us;
    jobs.count -= rounds * slots_;
  }

  void take_on_earliest(JobGroup& jobs) {
    JobGroup& earliest = levels_.back();
    const std::int64_t taken = std::min(earliest.count, jobs.count);
    const double free_us = earliest.us + jobs.us;
    jobs.count -= taken;
    earliest.count -= taken;
    if (earliest.count == 0) levels_.pop_back();
    const auto place = std::ranges::lower_bound(levels_, free_us, std::ranges::greater{},
                                                [](const JobGroup& level) { return level.us; });
    if (place != levels_.end() && place->us == free_us) {
      place->count += taken;
    } else {
      levels_.insert(place, {.us = free_us, .count = taken});
    }
  }

  std::vector<JobGroup> levels_;
  std::int64_t slots_;
};

}  // namespace

double list_schedule_makespan_us(std::span<const JobGroup> jobs, std::int64_t slots) {
  SlotLevels levels(slots);
  for (const JobGroup& group : jobs) levels.take(group);
  return levels.makespan_us();
}

std::int64_t list_schedule_splits(const SplitProblem& problem) {
  const std::vector<SizeGroup> rows = rows_by_size(problem);
  Candidate candidate;
  std::vector<JobGroup> jobs;
  double best_us = std::numeric_limits<double>::infinity();
  std::int64_t best_splits = 1;
  for_each_split_count(problem.longest_row_tiles(), [&](std::int64_t num_splits, std::int64_t) {
    if (!is_indexable(problem, rows, num_splits)) return false;
    fill_candidate(problem, rows, num_splits, candidate);
    fill_jobs(problem, candidate, jobs);
    const double after_us = combine_us(problem, candidate);
    if (least_makespan_us(jobs, problem.slots) + after_us >= best_us) return true;
    const double us = list_schedule_makespan_us(jobs, problem.slots) + after_us;
    if (us < best_us) {
      best_us = us;
      best_splits = num_splits;
    }
    return true;
  });
  return best_splits;
}

}  // namespace wavefill
