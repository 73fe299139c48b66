#include "plan/plan_layout.h"

#include <algorithm>
#include <numeric>

namespace wavefill {
namespace {

// Lays a schedule out as the plan's items. Shares are by row and tile, so the partials of a row are
// neighbours in tile order whatever the order of the items.
class PlanLayout {
 public:
  PlanLayout(const Schedule& schedule, SplitPlan& plan)
      : schedule_(schedule), head_tiles_(num_head_tiles(plan.kernel, plan.shape.num_heads)), plan_(plan) {
    plan_.items.reserve(schedule.shares.size() * static_cast<std::size_t>(head_tiles_));
    number_partials();
  }

  void fill() {
    if (schedule_.worker_begin.empty()) {
      fill_longest_first();
    } else {
      fill_workers();
    }
  }

 private:
  // One pass over the runs of shares that are a row's.
  void number_partials() {
    const std::vector<Share>& shares = schedule_.shares;
    partial_idx_.resize(shares.size());
    plan_.row_partial_begin.assign(1, 0);
    plan_.row_partial_begin.reserve(plan_.row_kv_tiles.size() + 1);
    std::int32_t num_partials = 0;
    for (std::size_t begin = 0; begin < shares.size();) {
      std::size_t end = begin + 1;
      while (end < shares.size() && shares[end].row == shares[begin].row) ++end;
      const bool whole = end - begin == 1;
      for (std::size_t i = begin; i < end; ++i) partial_idx_[i] = whole ? -1 : num_partials++;
      plan_.row_partial_begin.push_back(num_partials);
      begin = end;
    }
  }

  // Workers of one share each, in the order they are dispatched: longest first, then by row and split,
  // with the head tiles that read the same tokens side by side. A list schedule in falling order of length
  // ends within 4/3 of the shortest possible time, in any other order only within 2 (Graham 1969); the
  // result does not depend on the order, because partials have their places.
  void fill_longest_first() {
    for (const std::uint32_t i : longest_first()) {
      for (std::int32_t head_tile = 0; head_tile < head_tiles_; ++head_tile) add_item(i, head_tile);
    }
    plan_.worker_begin.resize(plan_.items.size() + 1);
    std::iota(plan_.worker_begin.begin(), plan_.worker_begin.end(), 0);
  }

  // A stable counting sort. Shares of 2^16 tiles and more, which do not occur in practice, count as equally
  // long: the order is a matter of speed alone, and the table stays small.
  std::vector<std::uint32_t> longest_first() const {
    constexpr std::int32_t kMostTiles = 1 << 16;
    std::int32_t longest = 0;
    for (const Share& share : schedule_.shares) longest = std::max(longest, share.tiles());
    longest = std::min(longest, +kMostTiles);
    const auto place_of = [longest](const Share& share) {
      return static_cast<std::size_t>(longest - std::min(share.tiles(), longest));
    };
    std::vector<std::uint32_t> begin(static_cast<std::size_t>(longest) + 2, 0);
    for (const Share& share : schedule_.shares) ++begin[place_of(share) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::uint32_t> order(schedule_.shares.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[begin[place_of(schedule_.shares[i])]++] = i;
    return order;
  }

  // Workers of several shares. The head tiles of one stretch are side by side, as above.
  void fill_workers() {
    plan_.worker_begin.push_back(0);
    for (std::size_t w = 0; w + 1 < schedule_.worker_begin.size(); ++w) {
      const auto begin = static_cast<std::size_t>(schedule_.worker_begin[w]);
      const auto end = static_cast<std::size_t>(schedule_.worker_begin[w + 1]);
      for (std::int32_t head_tile = 0; head_tile < head_tiles_; ++head_tile) {
        for (std::size_t i = begin; i < end; ++i) add_item(i, head_tile);
        plan_.worker_begin.push_back(static_cast<std::int32_t>(plan_.items.size()));
      }
    }
  }

  void add_item(std::size_t share_idx, std::int32_t head_tile) {
    const Share& share = schedule_.shares[share_idx];
    plan_.items.push_back({.row = share.row,
                           .head_tile = head_tile,
                           .tile_begin = share.tile_begin,
                           .tile_end = share.tile_end,
                           .partial_idx = partial_idx_[share_idx]});
  }

  const Schedule& schedule_;
  std::int32_t head_tiles_;
  SplitPlan& plan_;
  std::vector<std::int32_t> partial_idx_;  // of each share
};

}  // namespace

void lay_out(const Schedule& schedule, SplitPlan& plan) { PlanLayout(schedule, plan).fill(); }

}  // namespace wavefill
