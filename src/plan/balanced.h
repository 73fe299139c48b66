// FlashMLA's scheduler: equal contiguous stretches of all rows' kv tiles, one a slot.
#pragma once

#include <cstdint>

#include "plan/split_problem.h"

namespace wavefill {

// What one more row (or piece of a row) costs a worker, in kv tiles, where the setting does not say: the
// constant of FlashMLA's sm90 kernel.
inline constexpr std::int64_t kRowOverheadTiles = 5;

// What it is under `value` of balanced=value.
inline std::int64_t row_overhead_tiles(std::int64_t value) { return value > 0 ? value : kRowOverheadTiles; }

struct BalancedShape {
  std::int64_t parts = 1;          // workers a head tile, at most
  std::int64_t payload_tiles = 0;  // tiles and overheads one worker takes
  std::int64_t row_overhead_tiles = 0;
};

// parts = max(floor(slots / head_tiles), 1); payload = ceil(sum(tiles + overhead) / parts) + overhead,
// an empty row counting as one tile.
BalancedShape balanced_shape(const SplitProblem& problem);

// Walks the rows once, giving each worker whole remainders while they fit and then a piece of the next.
// Every part gives up at most one overhead, and payload has one to spare, so the parts suffice; a row cut
// k times is in k + 1 parts, so there are fewer than rows + parts shares. Workers that would get nothing
// are not made.
Result<Schedule> split_balanced(const SplitProblem& problem);

}  // namespace wavefill
