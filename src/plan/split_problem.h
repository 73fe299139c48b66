// What a policy is asked, and what it answers: how each row's kv tiles become shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "wavefill/plan.h"

namespace wavefill {

struct SplitProblem {
  std::span<const std::int32_t> row_tiles;  // [rows] kv tiles of each row, >= 0; rows >= 1
  std::int64_t head_tiles = 1;              // >= 1; all head tiles of a row are split alike
  std::int64_t slots = 1;                   // >= 1
  std::int64_t value = 0;                   // the policy's parameter
  CostModel cost_model = {};                // finite and >= 0

  // CTAs of an unsplit launch.
  std::int64_t units() const { return static_cast<std::int64_t>(row_tiles.size()) * head_tiles; }

  // kv tiles of the longest row, and 1 if all rows are empty: there is always something to schedule.
  std::int64_t longest_row_tiles() const { return std::max(1, *std::ranges::max_element(row_tiles)); }
};

// One split: kv tiles [tile_begin, tile_end) of one row, for every head tile. Empty only where the row is.
struct Share {
  std::int32_t row = 0;
  std::int32_t tile_begin = 0;
  std::int32_t tile_end = 0;

  std::int32_t tiles() const { return tile_end - tile_begin; }
};

struct Schedule {
  std::vector<Share> shares;  // by row, then by tile_begin; together each tile of each row once
  // Prefix of the shares that one worker (of each head tile) does in order. Empty: each share has a
  // worker of its own, and the order of workers is free.
  std::vector<std::int32_t> worker_begin;
};

// `rows` x min(num_splits, the row's tiles) shares, at least one a row, with boundaries floor(i * n / s):
// sizes within a row differ by at most one tile. The first `whole_rows` rows are not split.
// Preconditions: num_splits >= 1, 0 <= whole_rows <= rows.
// Errors: invalid_argument when the work items would not fit 32-bit indices.
Result<Schedule> even_shares(const SplitProblem& problem, std::int64_t num_splits,
                             std::int64_t whole_rows = 0);

// Calls visit(num_splits, chunk) for each value that ceil(n / chunk) takes, fewest splits first, with
// the largest such chunk. There are at most 2 sqrt(n) of them; other split counts only cut the same
// largest share into more pieces. visit returns false to stop.
template <typename Visit>
void for_each_split_count(std::int64_t tiles, Visit visit) {
  for (std::int64_t chunk = tiles; chunk >= 1;) {
    const std::int64_t num_splits = (tiles + chunk - 1) / chunk;
    if (!visit(num_splits, chunk)) return;
    // The smallest chunk with this many splits is ceil(n / num_splits); one less has more.
    chunk = (tiles + num_splits - 1) / num_splits - 1;
  }
}

}  // namespace wavefill
