#include <utility>

#include "core/errors.h"
#include "plan/split_problem.h"

namespace wavefill {
namespace {

std::int64_t splits_of_row(std::int64_t row_tiles, std::int64_t num_splits) {
  return std::max<std::int64_t>(1, std::min(num_splits, row_tiles));
}

}  // namespace

Result<Schedule> even_shares(const SplitProblem& problem, std::int64_t num_splits, std::int64_t whole_rows) {
  const auto split_rows = problem.row_tiles.subspan(static_cast<std::size_t>(whole_rows));
  std::int64_t num_shares = whole_rows;  // <= 2^31 rows * 2^31 tiles: no overflow
  for (const std::int32_t tiles : split_rows) num_shares += splits_of_row(tiles, num_splits);
  if (num_shares > INT32_MAX / problem.head_tiles) {
    return invalid_argument("{} splits a row make {} splits of {} head tiles; allowed: <= {} work items",
                            num_splits, num_shares, problem.head_tiles, INT32_MAX);
  }

  Schedule schedule;
  schedule.shares.reserve(static_cast<std::size_t>(num_shares));
  for (std::size_t row = 0; row < problem.row_tiles.size(); ++row) {
    const std::int64_t tiles = problem.row_tiles[row];
    const std::int64_t splits = std::cmp_less(row, whole_rows) ? 1 : splits_of_row(tiles, num_splits);
    std::int32_t begin = 0;
    for (std::int64_t i = 1; i <= splits; ++i) {
      const auto end = static_cast<std::int32_t>(i * tiles / splits);
      schedule.shares.push_back(
          {.row = static_cast<std::int32_t>(row), .tile_begin = begin, .tile_end = end});
      begin = end;
    }
  }
  return schedule;
}

}  // namespace wavefill
