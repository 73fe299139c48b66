// One cache's pool in host memory, and the index sets that read it in turn: no two sets share a page.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_pool.h"
#include "wavefill/decode_args.h"

namespace wavefill {

class RotatingCache {
 public:
  static constexpr std::int32_t kPageSize = 64;

  enum class Order : std::uint8_t {
    sequential,  // a row reads its tokens as they lie in a page: the window
    shuffled,    // in random order over all pages of the set: what an indexer picks
  };

  struct Options {
    std::int64_t pages_per_set = 0;  // >= ceil(rows * topk / kPageSize); 0 with topk 0
    std::int32_t num_sets = 1;
    std::int32_t topk = 0;
    Order order = Order::shuffled;
    std::uint64_t seed = 1;
  };

  // Fills a pool with copies of the pages of `pattern`, and draws the index sets. The pool is kept for as
  // long as it is large enough, and made an eighth larger than asked. Errors: resource_exhausted.
  Status prepare(const DecodeShape& shape, const KvCacheView& pattern, const Options& options);

  // Full lengths. A cache without columns has no data.
  SparseCache view(std::int32_t set) const;

  // Grows when the pool is made anew: a copy of it elsewhere is then out of date.
  std::int64_t pools_made() const { return pools_made_; }

  std::span<const std::int32_t> indices() const { return indices_; }  // [num_sets, rows, topk]

 private:
  Status reserve(const DecodeShape& shape, const KvCacheView& pattern, std::int64_t num_pages);
  void draw_index_sets(const Options& options);

  std::optional<PagePool> pool_;
  std::int64_t pools_made_ = 0;
  std::vector<std::int32_t> indices_;
  std::int64_t set_elements_ = 0;
  SparseCache view_;
};

}  // namespace wavefill
