#include "plan/balanced.h"

#include <algorithm>

#include "core/errors.h"
#include "core/math.h"

namespace wavefill {
namespace {

// An empty row takes a place in the schedule, because someone has to write its output.
std::int64_t scheduled_tiles(std::int32_t row_tiles) { return std::max(row_tiles, 1); }

// The walk's place: the next tile of the next row that no worker has yet.
class RowWalk {
 public:
  RowWalk(std::span<const std::int32_t> row_tiles, const BalancedShape& shape, std::vector<Share>& shares)
      : row_tiles_(row_tiles), shape_(shape), shares_(shares) {}

  bool done() const { return row_ == row_tiles_.size(); }

  // Gives the payload to one worker.
  void fill_worker() {
    const std::int64_t overhead = shape_.row_overhead_tiles;
    std::int64_t left = shape_.payload_tiles;
    while (!done()) {
      const std::int64_t remainder = scheduled_tiles(row_tiles_[row_]) - next_tile_;
      if (left < remainder + overhead) break;
      left -= remainder + overhead;
      take(row_tiles_[row_] - next_tile_);
    }
    // Fewer tiles than the remainder, so never a piece of an empty row, which counts as one tile.
    if (!done() && left > overhead) take(left - overhead);
  }

 private:
  void take(std::int64_t tiles) {
    const std::int64_t end = next_tile_ + tiles;
    shares_.push_back({.row = static_cast<std::int32_t>(row_),
                       .tile_begin = static_cast<std::int32_t>(next_tile_),
                       .tile_end = static_cast<std::int32_t>(end)});
    next_tile_ = end;
    if (end == row_tiles_[row_]) {
      next_tile_ = 0;
      ++row_;
    }
  }

  std::span<const std::int32_t> row_tiles_;
  const BalancedShape& shape_;
  std::vector<Share>& shares_;
  std::size_t row_ = 0;
  std::int64_t next_tile_ = 0;
};

}  // namespace

BalancedShape balanced_shape(const SplitProblem& problem) {
  const std::int64_t parts = std::max<std::int64_t>(problem.slots / problem.head_tiles, 1);
  const std::int64_t overhead = row_overhead_tiles(problem.value);
  std::int64_t total = 0;
  for (const std::int32_t tiles : problem.row_tiles) total += scheduled_tiles(tiles) + overhead;
  return {.parts = parts, .payload_tiles = ceil_div(total, parts) + overhead, .row_overhead_tiles = overhead};
}

Result<Schedule> split_balanced(const SplitProblem& problem) {
  const BalancedShape shape = balanced_shape(problem);
  const std::int64_t most_shares = std::ssize(problem.row_tiles) + shape.parts - 1;
  if (most_shares > INT32_MAX / problem.head_tiles) {
    return invalid_argument(
        "{} rows over {} workers make up to {} splits of {} head tiles; allowed: <= {} "
        "work items",
        problem.row_tiles.size(), shape.parts, most_shares, problem.head_tiles, INT32_MAX);
  }
  Schedule schedule;
  schedule.worker_begin.push_back(0);
  for (RowWalk walk(problem.row_tiles, shape, schedule.shares); !walk.done();) {
    walk.fill_worker();
    schedule.worker_begin.push_back(static_cast<std::int32_t>(schedule.shares.size()));
  }
  return schedule;
}

}  // namespace wavefill
